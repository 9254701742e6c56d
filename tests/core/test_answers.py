"""The JSON of values: by their fields, or by the entries that a class lists."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import pytest

from kafkactl.core.answers import by_fields, json_of, plain_values, read_fields
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Endpoint, Uuid

ID = Uuid.parse("AAAAAAAAAAAAAAAAAAAAAQ")


class Mode(StrEnum):
    STATIC = "static"


@frozen
class Part:
    name: str
    mode: Mode | None = None
    ids: tuple[Uuid, ...] = ()
    sizes: dict[int, Any] | None = None

    to_dict = by_fields


@frozen
class Whole:
    part: Part | None
    number: int

    @property
    def twice(self) -> int:
        return 2 * self.number

    to_dict = json_of("step=number", "twice", "name=part.name", "part", kind="whole")


@frozen
class Wrapped:
    whole: Whole
    file: str | None = None

    to_dict = json_of("**whole", "file")


class Span(NamedTuple):
    first: int
    last: int | None = None


@frozen
class Saved:
    parts: tuple[Part, ...]
    pair: tuple[str, int]
    span: Span | None
    by_id: dict[int, Part]
    ready: bool = False


def test_fields_are_entries_in_their_order() -> None:
    found = Part(name="a", mode=Mode.STATIC, ids=(ID,), sizes={3: (1, 2)}).to_dict()
    assert list(found.items()) == [("name", "a"), ("mode", "static"), ("ids", [str(ID)]), ("sizes", {"3": [1, 2]})]
    assert type(found["mode"]) is str


def test_entries_have_other_names_and_are_parts() -> None:
    part = {"name": "a", "mode": None, "ids": [], "sizes": None}
    assert Whole(part=Part(name="a"), number=4).to_dict() == {"step": 4, "twice": 8, "name": "a", "part": part}


def test_part_of_nothing_is_nothing() -> None:
    assert Whole(part=None, number=4).to_dict() == {"step": 4, "twice": 8, "name": None, "part": None}


def test_entries_of_a_value_are_among_those_of_another() -> None:
    found = Wrapped(whole=Whole(part=None, number=4), file="f").to_dict()
    assert list(found) == ["step", "twice", "name", "part", "file"]


def test_documentation_names_the_kind() -> None:
    assert Whole.to_dict.__doc__ == "The answer `whole`."


@frozen
class Kept:
    mode: Mode
    parts: tuple[Endpoint, ...]
    first: Endpoint | None
    notes: Mapping[str, Any]
    count: int = 7

    to_dict = by_fields


def test_saved_answer_is_read_into_its_class() -> None:
    endpoint = Endpoint(listener="A", host="h", port=1)
    kept = Kept(mode=Mode.STATIC, parts=(endpoint,), first=None, notes={"a": [1]})
    assert read_fields(Kept, {**kept.to_dict(), "kind": "kept"}) == kept
    saved = {"mode": "static", "parts": [], "first": endpoint.to_dict(), "notes": {}}
    assert read_fields(Kept, saved) == Kept(mode=Mode.STATIC, parts=(), first=endpoint, notes={})


@pytest.mark.parametrize("changed", [{"mode": "other"}, {"parts": 3}, {"first": {"host": "h"}}])
def test_wrong_value_of_a_field_is_refused(changed: dict[str, Any]) -> None:
    saved = {"mode": "static", "parts": [], "first": None, "notes": {}}
    with pytest.raises(ValueError):
        read_fields(Kept, saved | changed)


def test_values_with_an_own_json_are_asked_for_it() -> None:
    endpoint = Endpoint(listener="CONTROLLER", host="h", port=1)
    assert plain_values([endpoint]) == [{"listener": "CONTROLLER", "host": "h", "port": 1}]


@pytest.mark.parametrize("value", [object(), b"bytes", {1}])
def test_other_types_are_a_bug(value: object) -> None:
    with pytest.raises(TypeError, match=f"{type(value).__name__} has no place in an answer"):
        plain_values({"a": [value]})


def test_saved_fields_are_read_by_their_types() -> None:
    part = Part(name="a", mode=Mode.STATIC, ids=(ID,), sizes={3: (1, 2)})
    saved = {
        "parts": [part.to_dict(), {"name": "b", "mode": None}], "pair": ["c", 1], "span": {"first": 1, "last": None},
        "by_id": {"7": part.to_dict()}, "of a newer release": 1,
    }  # fmt: skip
    read = Part(name="a", mode=Mode.STATIC, ids=(ID,), sizes={3: [1, 2]})
    assert read_fields(Saved, saved) == Saved(
        parts=(read, Part(name="b")), pair=("c", 1), span=Span(1), by_id={7: read}
    )
    assert read_fields(Saved, saved | {"span": None}).span is None


@pytest.mark.parametrize(
    "changes",
    [
        {"parts": None}, {"parts": {}}, {"parts": [1]}, {"parts": [{"mode": None}]}, {"parts": [{"name": 1}]},
        {"parts": [{"name": "a", "mode": "other"}]}, {"parts": [{"name": "a", "ids": ["short"]}]},
        {"parts": [{"name": "a", "ids": [1]}]}, {"parts": [{"name": "a", "ids": "AB"}]}, {"pair": ["c"]},
        {"pair": ["c", True]}, {"span": {}}, {"span": [1, 2]}, {"by_id": {"x": {"name": "a"}}}, {"by_id": []},
        {"ready": None}, {"ready": 1},
    ],
    ids=str,
)  # fmt: skip
def test_content_of_another_type_is_refused(changes: dict[str, Any]) -> None:
    whole = {"parts": [], "pair": ["c", 1], "span": None, "by_id": {}}
    assert read_fields(Saved, whole)
    with pytest.raises(ValueError):
        read_fields(Saved, whole | changes)


@frozen
class Choice:
    word: Literal["static", "dynamic"] | None
    mode: Literal[Mode.STATIC] | None = None


def test_word_of_a_list_is_read_and_another_word_is_refused() -> None:
    found = read_fields(Choice, {"word": "dynamic", "mode": "static"})
    assert (found.word, found.mode) == ("dynamic", Mode.STATIC)
    assert found.mode is Mode.STATIC
    assert read_fields(Choice, {"word": None}).word is None
    for data in ({"word": "other"}, {"word": None, "mode": "dynamic"}):
        with pytest.raises(ValueError):
            read_fields(Choice, data)
