"""Answers of the commands about kafkactl itself."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from kafkactl.commands.models.shared import Answer, Shape


class Completion(Answer):
    """`completion SHELL`."""

    kind: Literal["completion"]
    shell: Literal["bash", "zsh", "fish"]
    script: str


class Explain(Answer):
    """`explain ID`."""

    kind: Literal["explain"]
    id: str
    cause: str
    consequence: str
    remedy: str
    renamed_from: str | None = Field(description="The id that was asked for, where it has a new name; null otherwise.")


class ExplainedId(Shape):
    """One id of errors and findings."""

    id: str
    cause: str
    consequence: str
    remedy: str


class ExplainList(Answer):
    """`explain --list`, and `explain NUMBER` of a check with several findings."""

    kind: Literal["explain.list"]
    explanations: list[ExplainedId]


class Schema(Answer):
    """`schema KIND`: a JSON Schema (draft 2020-12) with `kind` and `schema_version` next to its own keywords."""

    model_config = ConfigDict(defer_build=True, extra="allow")

    kind: Literal["schema"]
    title: str = Field(description="The kind that the schema describes.")


class KnownKind(Shape):
    """One line of `schema --list`."""

    name: str
    about: str


class SchemaList(Answer):
    """`schema --list`."""

    kind: Literal["schema.list"]
    kinds: list[KnownKind]
