"""The check of saved answers agrees with a JSON Schema validator."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from kafkactl.core.answer_kinds import answer_kinds, answer_schema, has_published_shape
from tests.sampling import one_in

VALUES = [None, True, 1, "1", [], {}, [None], {"a": None}, "done", 1.5]
KEYWORDS = {
    "$schema", "title", "description", "type", "properties", "required", "$defs", "$ref", "items", "enum", "const",
    "anyOf", "additionalProperties",
}  # fmt: skip


@pytest.mark.parametrize("kind", one_in(4, answer_kinds()))
def test_check_agrees_with_a_validator(kind: str) -> None:
    schema = answer_schema(kind)
    validator = jsonschema.Draft202012Validator(schema)
    rng = random.Random(kind)
    results = set()
    for _ in range(12):
        answer = sample(schema, schema.get("$defs", {}), rng)
        for altered in (answer, *variants(answer, rng)):
            valid = validator.is_valid(altered)
            assert has_published_shape(kind, altered) is valid, altered
            results.add(valid)
    assert results == {True, False}


@pytest.mark.parametrize("kind", answer_kinds())
def test_schemas_use_only_keywords_that_the_check_knows(kind: str) -> None:
    assert set(keywords(answer_schema(kind))) <= KEYWORDS


def test_version_must_be_a_number() -> None:
    answer = {"kind": "storage.random-uuid", "schema_version": 1, "uuid": "x"}
    assert has_published_shape("storage.random-uuid", answer)
    assert not has_published_shape("storage.random-uuid", answer | {"schema_version": True})


def sample(schema: dict[str, Any], defs: dict[str, Any], rng: random.Random) -> Any:
    """Return a value that the schema describes."""
    if "$ref" in schema:
        return sample(defs[schema["$ref"].rpartition("/")[2]], defs, rng)
    if "anyOf" in schema:
        return sample(rng.choice(schema["anyOf"]), defs, rng)
    if "const" in schema or "enum" in schema:
        return rng.choice(schema.get("enum", [schema.get("const")]))
    others = schema.get("additionalProperties")
    match schema.get("type"):
        case "object":
            more = {"other": sample(others, defs, rng)} if isinstance(others, dict) else {}
            return {name: sample(part, defs, rng) for name, part in schema.get("properties", {}).items()} | more
        case "array":
            return [sample(schema["items"], defs, rng) for _ in range(rng.randint(0, 2))]
        case None:
            return rng.choice(VALUES)
        case simple:
            return {"null": None, "boolean": True, "integer": 7, "number": 0.5, "string": "text"}[simple]


def variants(answer: Any, rng: random.Random) -> Iterator[Any]:
    """Return copies of an answer in which one value is another one, or missing."""
    places = list(containers(answer))
    for _ in range(5):
        altered = copy.deepcopy(answer)
        path, key = rng.choice(places)
        holder = altered
        for step in path:
            holder = holder[step]
        if rng.random() < 0.3:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
        yield altered


def containers(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    entries = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in entries:
        yield path, key
        yield from containers(value, (*path, key))


def keywords(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        for name, value in part.items():
            yield name
            named = name in ("properties", "$defs")
            for below in value.values() if named else [value]:
                yield from keywords(below)
    elif isinstance(part, list):
        for item in part:
            yield from keywords(item)
