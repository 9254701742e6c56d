"""Holds every JSON answer that a test provokes against the published schema of its kind, strictly."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

from kafkactl.core.answer_kinds import answer_kinds, answer_schema
from tests.schema_checker import jsonschema

OF_THE_TESTS = {"sample"}


def check_answer(text: str) -> None:
    """Fail unless this output, of a run with `-o json`, is one object that its schema describes in full."""
    answer = json.loads(text)
    assert list(answer)[:2] == ["kind", "schema_version"]
    if answer["kind"] not in OF_THE_TESTS:
        assert answer["kind"] in answer_kinds(), f"{answer['kind']} has no schema"
        trouble = [f"{error.json_path}: {error.message}" for error in _validator(answer["kind"]).iter_errors(answer)]
        assert not trouble, trouble


@functools.cache
def _validator(kind: str) -> jsonschema.Draft202012Validator:
    schema = answer_schema(kind)  # which tests/commands/test_schema.py checks
    if kind != "schema":  # a JSON Schema in answer form: any keyword may stand in it
        for shape in (schema, *schema.get("$defs", {}).values()):
            _close(shape)
    return _remembering()(schema)


def _remembering() -> type[jsonschema.Draft202012Validator]:
    """Return a validator that looks at a part of an answer once: the clusters of the tests are shown in thousands of
    answers.

    What passed is known by its shape, which a `$ref` names, and by its text.
    """
    passed: set[tuple[str, str]] = set()
    original = jsonschema.Draft202012Validator.VALIDATORS["$ref"]

    def ref(validator: Any, name: str, part: Any, schema: Any) -> Iterator[Any]:
        known = (name, json.dumps(part))
        if known not in passed:
            errors = list(original(validator, name, part, schema))
            yield from errors
            if not errors:
                passed.add(known)

    return jsonschema.validators.extend(jsonschema.Draft202012Validator, {"$ref": ref})  # type: ignore[no-any-return]


def _close(shape: dict[str, Any]) -> None:
    """Refuse a field that is not described: what we publish lets readers ignore fields that are added."""
    if "properties" in shape:
        shape["additionalProperties"] = False


def published() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every kind and its schema."""
    for kind in answer_kinds():
        yield kind, answer_schema(kind)
