"""The answers of `kafkactl demo`. Null is what does not apply."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Finding, Shape


class Step(Shape):
    """A paragraph, or a command that ran with what it printed: the fields of the other are null."""

    text: str | None
    command: str | None = Field(description="The whole line, as it would be typed.")
    exit_code: int | None
    stdout: str | None
    stderr: str | None


class Scene(Shape):
    """A scene that was shown."""

    name: Literal["wedge", "fleet", "mount", "dryrun", "report"]
    title: str
    steps: list[Step]


class Demo(Answer):
    """`demo`: the scenes with the commands that ran, and what is left of it."""

    kind: Literal["demo"]
    cluster: Literal["fake", "kafka"] | None = Field(description="Null where no scene needed a cluster.")
    release: str | None = Field(description="The release of Kafka that ran, with --kafka.")
    folder: str | None = Field(description="The folder that was kept, with --keep.")
    report: str | None = Field(description="The HTML page, where it was kept.")
    scenes: list[Scene]
    findings: list[Finding]


class ListedScene(Shape):
    """One line of `demo --list`."""

    name: str
    title: str


class DemoList(Answer):
    """`demo --list`."""

    kind: Literal["demo.list"]
    scenes: list[ListedScene]
