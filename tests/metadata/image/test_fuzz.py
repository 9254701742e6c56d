"""Damaged logs and snapshots: nothing raises, and a state that is not the true one is never given without a word."""

from __future__ import annotations

import functools
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.lint import lint
from kafkactl.metadata.replay.log_replay import replay_runs
from kafkactl.metadata.replay.reference import Replay
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.record_batch import decode_batches, encode_batch
from tests.metadata.image.goldens import log, snapshots

PLACES = st.integers(min_value=0, max_value=1 << 30)
CHANGES = st.lists(st.tuples(PLACES, st.integers(1, 255)), min_size=1, max_size=4)


@functools.cache
def content(kind: str) -> bytes:
    return log("4.4.0") if kind == "log" else snapshots("4.4.0")[-1].data


def replayed(data: bytes, kind: str = "log") -> Replay:
    return replay_runs(walk_runs([data]), snapshot=kind == "snapshot")


@functools.cache
def truth(kind: str) -> str:
    found = replayed(content(kind), kind)
    assert found.findings == ()
    return image_sha256(found.image)


def assert_honest(found: Replay, true_sha256: str) -> None:
    lint(found.image)
    assert found.findings or image_sha256(found.image) == true_sha256


@pytest.mark.parametrize("kind", ["log", "snapshot"])
@given(changes=CHANGES)
def test_flipped_bytes_lead_to_a_finding_or_the_same_image(kind, changes):
    data = bytearray(content(kind))
    for place, mask in changes:
        data[place % len(data)] ^= mask
    assert_honest(replayed(bytes(data), kind), truth(kind))


@pytest.mark.parametrize("kind", ["log", "snapshot"])
@given(start=PLACES, size=st.integers(1, 400))
def test_missing_bytes_lead_to_a_finding(kind, start, size):
    data = content(kind)
    at = 1 + start % (len(data) - size - 1)  # neither the beginning nor the end: their loss leaves no gap
    found = replayed(data[:at] + data[at + size :], kind)
    assert found.findings


@given(place=PLACES)
def test_torn_end_is_reported(place):
    data = content("log")
    cut = place % len(data)
    found = replayed(data[:cut])
    ends = {batch.header.end for batch in decode_batches(data)} | {0}
    assert bool(found.findings) == (cut not in ends)


@given(swapped=st.integers(1, 60))
def test_batches_in_a_wrong_order_are_reported(swapped):
    data = content("log")
    places = [batch.header.position for batch in decode_batches(data)] + [len(data)]
    batches = [data[place:other] for place, other in itertools.pairwise(places)]
    batches[swapped], batches[swapped + 1] = batches[swapped + 1], batches[swapped]
    assert "offset-gap" in {finding.id for finding in replayed(b"".join(batches)).findings}


@given(offset=PLACES, values=st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=5))
def test_records_of_any_bytes_are_counted(offset, values):
    batch = encode_batch([(None, value) for value in values], base_offset=offset, timestamp_ms=0)
    found = replayed(batch)
    lint(found.image)
    image_sha256(found.image)
    assert sum(found.counts.values()) == len(values)


def test_epoch_that_goes_back_is_reported():
    first = encode_batch([(None, b"\x01\x14\x00\x00")], base_offset=0, timestamp_ms=0, partition_leader_epoch=5)
    second = encode_batch([(None, b"\x01\x14\x00\x00")], base_offset=1, timestamp_ms=0, partition_leader_epoch=4)
    assert "leader-epoch-regression" in {finding.id for finding in replayed(first + second).findings}
