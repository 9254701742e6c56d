from __future__ import annotations

from typing import Any

import pytest

from kafkactl.core.errors import SchemaError
from kafkactl.protocol.schema.build import build_message
from kafkactl.protocol.schema.spec import NO_VERSIONS, Versions
from tests.protocol.schema.layouts import layout_at

Field = dict[str, Any]


def message(*fields: Field, **changes: Any) -> dict[str, Any]:
    return {
        "apiKey": 1, "type": "metadata", "name": "Thing", "validVersions": "0-3", "flexibleVersions": "1+",
        "fields": list(fields),
    } | changes  # fmt: skip


def field(name: str = "A", **facts: Any) -> Field:
    return {"name": name, "type": "int32", "versions": "0+"} | facts


def test_message_is_built_as_a_value() -> None:
    spec = build_message(message(field("Id"), field("Name", type="string", nullableVersions="2+", versions="1+")))
    assert (spec.name, spec.kind, spec.api_key) == ("Thing", "metadata", 1)
    assert spec.valid_versions == Versions(0, 3)
    assert not spec.is_flexible(0)
    assert spec.is_flexible(1)
    number, name = spec.fields
    assert (number.kind, number.default, number.nullable_versions) == ("int32", 0, NO_VERSIONS)
    assert (name.kind, name.default, name.nullable_versions) == ("string", "", Versions(2, 32767))
    assert [field.name for field in layout_at(spec, 0).fields] == ["Id"]
    assert [field.nullable for field in layout_at(spec, 2).fields] == [False, True]


def test_structs_are_cut_to_the_versions_of_what_holds_them() -> None:
    inner = field("X", versions="0+")
    spec = build_message(message(field("S", type="[]Part", versions="1-2", fields=[inner])))
    (struct,) = spec.fields
    assert (struct.kind, struct.is_array, struct.type_name) == ("struct", True, "Part")
    assert struct.fields[0].versions == Versions(1, 2)


def test_common_structs_are_put_in_place_of_their_names() -> None:
    common = [{"name": "Part", "versions": "1+", "fields": [field("X"), field("Y", versions="2+")]}]
    spec = build_message(message(field("One", type="Part"), field("Many", type="[]Part"), commonStructs=common))
    assert [[inner.name for inner in field.fields] for field in spec.fields] == [["X", "Y"], ["X", "Y"]]
    assert spec.fields[0].fields[0].versions == Versions(1, 32767)


def test_versions_may_be_left_out_of_a_tagged_field() -> None:
    tagged = {"name": "A", "type": "int8", "taggedVersions": "2+", "tag": "0"}
    spec = build_message(message(tagged))
    assert (spec.fields[0].versions, spec.fields[0].tag) == (Versions(2, 32767), 0)
    assert layout_at(spec, 1).fields == ()
    assert layout_at(spec, 2).fields[0].tag == 0


def test_field_may_be_in_its_place_first_and_tagged_later() -> None:
    spec = build_message(message(field(taggedVersions="2+", tag=0)))
    assert [layout_at(spec, version).fields[0].tag for version in range(4)] == [None, None, 0, 0]


def tagged(name: str, tag: object, versions: str = "1+") -> Field:
    return field(name, versions="0+", taggedVersions=versions, tag=tag)


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (message(field(type="int24")), "unknown type 'int24'"),
        (message(field(type="")), "unknown type"),
        (message(field(type=None)), "needs a type"),
        (message(field(type="[][]int8")), "unknown type"),
        (message(field(type="Part")), "struct Part is not defined"),
        (message(field(type="int32", fields=[field()])), "has no fields of its own"),
        (message(tagged("A", 0), tagged("B", 0)), "two fields share a tag"),
        (message(tagged("A", 0), tagged("B", 2)), "do not run from 0"),
        (message(tagged("A", 1)), "do not run from 0"),
        (message(tagged("A", 0, "0+")), "only 1\\+ are flexible"),
        (message(tagged("A", 0, "1-2")), "have an end"),
        (message(field(tag=0)), "belong together"),
        (message(field(taggedVersions="1+")), "belong together"),
        (message(tagged("A", "x")), "is not a number"),
        (message(tagged("A", True)), "is not a number"),
        (message(field(versions="2+", taggedVersions="1+", tag=0)), "but there only in 2\\+"),
        (message(field(), field()), "stands twice"),
        (message(field(versions="0-1,3+")), "not a version range"),
        (message(field(versions=None)), "not a version range"),
        (message(field(nullableVersions="0+")), "an int32 cannot be null"),
        (message(field(name="a-b")), "is not a name"),
        (message(field(colour="red")), "unknown key 'colour'"),
        (message(field(ignorable="maybe")), "neither true nor false"),
        (message(name=""), "is not a name"),
        (message(type="answer"), "unknown message type"),
        (message(apiKey=None), "needs an apiKey"),
        (message(apiKey=True), "needs an apiKey"),
        (message(type="data"), "has no apiKey"),
        (message(validVersions="3-1"), "runs backwards"),
        (message(flexibleVersions="1-2"), "has an end"),
        (message(flexibleVersions=None), "not a version range"),
        (message(author="me"), "unknown key 'author'"),
        (message(commonStructs=[{"name": "P", "versions": "0+", "fields": []}] * 2), "P is defined twice"),
        (
            message(field(type="P"), commonStructs=[{"name": "P", "versions": "0+", "fields": [field(type="P")]}]),
            "contains itself",
        ),
        (
            message(field(type="P", fields=[]), commonStructs=[{"name": "P", "versions": "0+", "fields": []}]),
            "defined twice, here and in commonStructs",
        ),
    ],
)
def test_definition_that_breaks_a_rule_is_refused(definition: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words) as caught:
        build_message(definition)
    assert caught.value.id == "invalid-definition"
    assert "Thing" in caught.value.message or "name" in caught.value.message


def test_error_names_the_path_of_the_field() -> None:
    inner = field("Deep", type="int24")
    with pytest.raises(SchemaError, match=r"Thing\.Outer\.Deep: unknown type"):
        build_message(message(field("Outer", type="[]Part", fields=[inner])))
