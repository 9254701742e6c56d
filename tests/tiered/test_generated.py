"""Generated metadata logs: what an audit finds is what the generator's own books say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.tiered_generator import SHAPES, Group, Shape, batch_of, found_by, write_logs
from kafkactl.protocol.record_batch import decode_batches
from kafkactl.tiered.api.verbs import Request, audit, load
from kafkactl.tiered.reading import read_records
from tests.tiered.logs import BEGIN_MS, Topic

ODD = Shape(
    "odd",
    (
        Group("a", 2, 3, 8, deleted=5, epoch_every=2, retries=30, again=30, refusals=50, refused=2, custom_bytes=9),
        Group("b", 1, 2, 5, again=100, refused=1),
    ),
    metadata_partitions=3,
)


@pytest.mark.parametrize("name", ["regular", "diverse", "few"])
def test_audit_finds_what_was_generated(tmp_path: Path, name: str) -> None:
    expected = write_logs(tmp_path, SHAPES[name](200))
    assert found_by(audit(load(Request(sources=(str(tmp_path),))))) == replace(expected, bytes=0)


@pytest.mark.parametrize("seed", range(3))
def test_failures_of_each_kind_are_found_in_generated_histories(tmp_path: Path, seed: int) -> None:
    expected = write_logs(tmp_path, replace(ODD, seed=seed))
    assert expected.found["superseded"] and expected.found["dangling-delete"]
    assert found_by(audit(load(Request(sources=(str(tmp_path),))))) == replace(expected, bytes=0)


def test_its_batches_are_those_of_an_idempotent_producer() -> None:
    value = Topic("orders", 1).update(0, "a", 1)
    (batch,) = decode_batches(batch_of(value, 7, BEGIN_MS, 3))
    assert (batch.header.base_offset, batch.header.producer_id, batch.header.base_sequence) == (7, 4000, 3)
    assert [record.value for record in batch.records] == [value]
    (placed,) = read_records([batch_of(value, 7, BEGIN_MS, 3)], file="m0", first_offset=7)
    assert placed.timestamp_ms == BEGIN_MS  # type: ignore[union-attr]
