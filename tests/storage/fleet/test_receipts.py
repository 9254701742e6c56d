from __future__ import annotations

import pytest

from kafkactl.core.errors import InputError
from kafkactl.storage.fleet.receipts import Receipt, Reformat, parse_receipt, receipt_name, render_receipt

RECEIPT = Receipt(
    node_id=3,
    cluster_id="XgM8cvG1S-mQ3k4wGhkVpQ",
    plan_sha256="0" * 64,
    applied_ms=1_700_000_000_000,
    directories={"/a": "JEXY6aqzQY-32P5TStzaFg", "/b": None},
    reformats=(Reformat(directory="/a", time_ms=1, reason="disk replaced"),),
)


def test_receipt_comes_back_as_it_was():
    assert parse_receipt(render_receipt(RECEIPT), file="x") == RECEIPT
    assert receipt_name(3) == "node-3.json"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"kind": "storage.plan", "schema_version": 1}',
        render_receipt(RECEIPT).replace(b'"schema_version": 1', b'"schema_version": 2'),
        render_receipt(RECEIPT).replace(b'"directories"', b'"directory"'),
        render_receipt(RECEIPT).replace(b'"node_id": 3', b'"node_id": Infinity'),
        render_receipt(RECEIPT).replace(b'"node_id": 3', b'"node_id": 3.5'),
        b'{"a":' * 100_000,
    ],
)
def test_receipt_that_cannot_be_understood_is_an_error(data):
    with pytest.raises(InputError) as caught:
        parse_receipt(data, file="/plans/node-3.json")
    assert caught.value.id == "receipt-damaged"
    assert "/plans/node-3.json" in caught.value.message
