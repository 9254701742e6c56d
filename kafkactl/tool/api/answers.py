"""Answers of the commands about kafkactl itself."""

from __future__ import annotations

from typing import Literal, TypedDict

from kafkactl.core.answers import json_of
from kafkactl.core.explanations import Explanation
from kafkactl.core.frozen import frozen


class Completion(TypedDict):
    """The answer `completion`."""

    shell: Literal["bash", "zsh", "fish"]
    script: str


@frozen
class Explained:
    """The answer `explain`."""

    explanation: Explanation
    renamed_from: str | None
    """The id that was asked for, where it has a new name; None otherwise."""

    to_dict = json_of("**explanation", "renamed_from", kind="explain")


@frozen
class ExplainedIds:
    """The answer `explain.list`."""

    explanations: tuple[Explanation, ...]

    to_dict = json_of("explanations", kind="explain.list")


class Schema(TypedDict):
    """The answer `schema`."""

    title: str
    """The kind that the schema describes."""


class KnownKind(TypedDict):
    """A line of `schema --list`."""

    name: str
    about: str


class SchemaList(TypedDict):
    """The answer `schema.list`."""

    kinds: list[KnownKind]
