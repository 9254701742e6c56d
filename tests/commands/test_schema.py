from __future__ import annotations

import json

import jsonschema
import pytest

from kafkactl.core.answer_kinds import answer_kinds
from tests.answers import published
from tests.sampling import one_in

HOSTILE_LINES = {"schema": ("{text}", "--list")}


@pytest.mark.parametrize("kind", one_in(4, answer_kinds()))
def test_every_schema_is_one_and_names_its_kind(kafkactl, kind):
    run = kafkactl("schema", kind)
    assert run.code == 0
    schema = json.loads(run.stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == kind
    if kind != "finding":
        assert schema["properties"]["kind"]["const"] == kind
        assert {"kind", "schema_version"} <= set(schema["required"])
    assert kafkactl("schema", kind, "-o", "json").json["properties"] == schema["properties"]


# A million lines need not all say that nothing is wrong with them. An image has its levels in it; only the answer of a
# bundle that has no log gives them apart.
LEFT_OUT = {
    "log.dump DumpedRecord": {"error"},
    "log.history HistoryRecord": {"error"},
    "log.image log.image": {"features"},
}


@pytest.mark.slow
def test_every_field_is_required_so_that_absent_is_null():
    for kind, schema in published():
        for name, shape in ((kind, schema), *schema.get("$defs", {}).items()):
            if "properties" in shape:
                left_out = LEFT_OUT.get(f"{kind} {name}", set())
                assert set(shape["required"]) | left_out == set(shape["properties"]), f"{kind} {name}"


@pytest.mark.slow
def test_readers_may_ignore_fields_that_are_added():
    for _, schema in published():
        assert '"additionalProperties": false' not in json.dumps(schema)


def test_kinds_are_listed(kafkactl):
    lines = [json.loads(line) for line in kafkactl("schema", "--list", "-o", "jsonl").stdout.splitlines()]
    assert [line["name"] for line in lines] == list(answer_kinds())
    assert "storage.format" in kafkactl("schema", "--list").stdout
