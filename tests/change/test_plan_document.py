"""Plan files: what the checksum is of, how the file is laid out, and what is refused."""

from __future__ import annotations

import hashlib

import pytest

from kafkactl.change.plan_document import checked, checksum, read_document, render_document
from kafkactl.core.errors import InputError, RefusedError

DOCUMENT = {"kind": "x.plan", "schema_version": 1, "steps": [{"b": 1, "a": "é"}]}
CANONICAL = '{"kind":"x.plan","schema_version":1,"steps":[{"a":"é","b":1}]}'


def read(data: bytes) -> dict:
    return read_document(data, file="plan.json", kind="x.plan", schema_version=1, made_by="kafkactl x --out FILE")


def test_checksum_is_of_the_canonical_json_without_itself():
    expected = hashlib.sha256(CANONICAL.encode()).hexdigest()
    assert checksum(DOCUMENT) == expected
    assert checksum({"plan_sha256": "any", **dict(reversed(DOCUMENT.items()))}) == expected


def test_file_is_for_eyes_and_diffs():
    lines = render_document({"kind": "x", "a": [1]}).decode().splitlines()
    assert lines[:4] == ["{", ' "a": [', "  1", " ],"]
    assert lines[4] == ' "kind": "x",'
    assert render_document(DOCUMENT) == render_document(dict(reversed(DOCUMENT.items())))


def test_written_plan_is_read_again():
    assert read(render_document(DOCUMENT)) == {**DOCUMENT, "plan_sha256": checksum(DOCUMENT)}


@pytest.mark.parametrize(
    ("was", "now", "refusal", "id"),
    [
        (b'"b": 1', b'"b": 2', RefusedError, "plan-file-edited"),
        (b'"x.plan"', b'"y.plan"', InputError, "not-a-plan-file"),
        (b'"schema_version": 1', b'"schema_version": 2', InputError, "not-a-plan-file"),
        (b"{\n", b"[\n", InputError, "not-a-plan-file"),
    ],
)
def test_changed_plan_is_refused(was, now, refusal, id):
    data = render_document(DOCUMENT)
    assert was in data
    with pytest.raises(refusal) as refused:
        read(data.replace(was, now, 1))
    assert refused.value.id == id
    assert "plan.json" in refused.value.message


def test_plan_of_another_version_says_which_it_is_and_which_is_known():
    data = render_document(DOCUMENT).replace(b'"schema_version": 1', b'"schema_version": 2')
    with pytest.raises(InputError) as refused:
        read(data)
    assert "schema_version is 2, this kafkactl knows 1" in refused.value.message


def test_true_is_not_a_node_id():
    assert checked(True, bool, "forced") is True
    assert checked(1, int, "node_id") == 1
    with pytest.raises(ValueError, match="node_id is bool, expected is int"):
        checked(True, int, "node_id")
