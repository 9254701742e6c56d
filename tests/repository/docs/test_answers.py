"""Snapshots in schemas/answers/, equal to what the classes of the answers publish."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NotRequired, TypedDict

import pytest

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.findings import Finding, note
from kafkactl.core.frozen import frozen
from scripts import make_answers
from scripts.answers.schema import SchemaMaker, entries

SHOWN_LINES = 20


def test_published_schemas_are_those_of_the_classes() -> None:
    published = {path.name: path.read_text(encoding="utf-8") for path in make_answers.FOLDER.glob("*.json")}
    made = make_answers.documents()
    changes = itertools.chain.from_iterable(
        difflib.unified_diff(
            published.get(name, "").splitlines(), made.get(name, "").splitlines(), name, name, lineterm="", n=0
        )
        for name in sorted({*published, *made})
    )
    shown = "\n".join(itertools.islice(changes, SHOWN_LINES))
    assert not shown, f"an answer has changed; `{make_answers.COMMAND}` writes schemas/answers/ again:\n{shown}"


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@frozen
class Part:
    """A part of a sample.

    Only the first paragraph is published.
    """

    size: int
    """Size in bytes."""
    colours: tuple[Colour, ...]

    to_dict = by_fields


@frozen
class Sample:
    part: Part | None
    names: Mapping[str, float]
    mode: Literal["static", "dynamic"]
    colour: Colour

    @property
    def level(self) -> int | None:
        """Return the level, None if unknown."""
        return None

    to_dict = json_of("part", "size=part.size", "names", "mode", "level", "colour=colour.value")


class Row(TypedDict):
    id: int
    why: NotRequired[str]


def test_types_and_descriptions_come_from_the_class() -> None:
    maker = SchemaMaker()
    found = maker.of_class(Sample)
    text = {"type": "string"}
    assert found["properties"] == {
        "part": {"anyOf": [{"$ref": "#/$defs/Part"}, {"type": "null"}]},
        "size": {
            "description": "Size in bytes.",
            "anyOf": [{"type": "integer"}, {"type": "null"}],
        },
        "names": {"type": "object", "additionalProperties": {"type": "number"}},
        "mode": {"enum": ["static", "dynamic"], **text},
        "level": {"description": "The level, null if unknown.", "anyOf": [{"type": "integer"}, {"type": "null"}]},
        "colour": text,
    }
    assert found["required"] == list(found["properties"])
    assert maker.defs["Part"]["description"] == "A part of a sample."
    assert maker.defs["Part"]["properties"]["colours"] == {
        "type": "array", "items": {"enum": ["red", "blue"], **text},
    }  # fmt: skip


def test_entry_that_may_be_left_out_is_not_required() -> None:
    assert SchemaMaker().of_class(Row)["required"] == ["id"]


def test_method_written_by_hand_is_refused() -> None:
    with pytest.raises(TypeError, match="written by hand"):
        SchemaMaker().of_class(SchemaMaker)


def test_entries_of_a_finding_are_those_of_its_method() -> None:
    finding = note("sample", "node 1", "message")
    assert [entry.name for entry in entries(Finding)] == list(finding.to_dict())
