"""Answers of `kafkactl demo`."""

from __future__ import annotations

from typing import Literal, TypedDict

from kafkactl.commands.demo.run import Demo
from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen


class DemoStep(TypedDict):
    """A paragraph, or a command that ran with what it printed: the fields of the other are None."""

    text: str | None
    command: str | None
    """The whole line, as it would be typed."""
    exit_code: int | None
    stdout: str | None
    stderr: str | None


class DemoScene(TypedDict):
    """A scene that was shown."""

    name: Literal["wedge", "mount", "dryrun", "report"]
    title: str
    steps: list[DemoStep]


@frozen
class ShownDemo:
    """The scenes with the commands that ran, and what is left of the demo."""

    demo: Demo
    scenes: list[DemoScene]
    findings: tuple[Finding, ...] = ()

    to_dict = json_of("**demo", "scenes", "findings", kind="demo")


class ListedScene(TypedDict):
    """A line of `demo --list`."""

    name: str
    title: str


class SceneList(TypedDict):
    """The answer `demo.list`."""

    scenes: list[ListedScene]
