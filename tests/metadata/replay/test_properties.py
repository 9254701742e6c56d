"""Properties of the fold: it can be cut anywhere, and a snapshot of an image gives that image."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.json import image_text
from kafkactl.metadata.image.model import EMPTY, Image
from kafkactl.metadata.image.records import image_records, level_of, losses
from kafkactl.metadata.image.snapshot_writer import snapshot_batches, snapshot_size
from kafkactl.metadata.log import checkpoint as checkpoint_file
from kafkactl.metadata.log.checkpoint import decode_checkpoint
from kafkactl.metadata.replay.reference import replay
from kafkactl.protocol.log.frame import decode_record, encode_record
from kafkactl.protocol.record_batch import decode_header
from kafkactl.protocol.schema.definitions import message
from tests.metadata.random_logs import random_log
from tests.metadata.records import placed, records_of
from tests.metadata.snapshots import encode_snapshot
from tests.sampling import one_in

SEEDS = st.integers(min_value=0, max_value=2**32)


def end_of(seed: int, count: int = 120, level: int = 30) -> Image:
    return replay(placed(*random_log(random.Random(seed), count, level))).image


@given(seed=SEEDS, cuts=st.lists(st.integers(min_value=0, max_value=120), max_size=6))
def test_log_can_be_cut_anywhere(seed, cuts):
    records = placed(*random_log(random.Random(seed), 120))
    whole = replay(records)
    image, findings = EMPTY, []
    bounds = sorted({0, *cuts, len(records)})
    for start, end in itertools.pairwise(bounds):
        part = replay(records[start:end], image)
        image = part.image
        findings += part.findings
    assert image == whole.image
    assert image_sha256(image) == image_sha256(whole.image)
    if len(whole.findings) < 20:
        assert tuple(findings) == whole.findings


@given(seed=SEEDS)
def test_image_is_not_changed_by_a_replay_that_starts_from_it(seed):
    records = placed(*random_log(random.Random(seed), 80))
    image = replay(records[:40]).image
    before = "".join(image_text(image))
    replay(records[40:], image)
    assert "".join(image_text(image)) == before


@given(seed=SEEDS)
def test_encoded_records_are_decoded_unchanged(seed):
    # The records fit their definitions, so the properties hold for logs and not only for dicts.
    for record in random_log(random.Random(seed), 40):
        assert decode_record(encode_record(message(record.type), record.version, record.data)) == record


@given(seed=SEEDS, elr=st.booleans())
def test_snapshot_of_an_image_is_that_image(seed, elr):
    image = replace(end_of(seed), transaction=None)
    image = replace(image, zk_migration_state=0, features={**image.features, "eligible.leader.replicas.version": 1})
    level = level_of(image)
    assert level is not None
    assert losses(image, level) == ()
    data = encode_snapshot(image, epoch=7, last_contained_log_timestamp_ms=5, now_ms=9)
    checkpoint = decode_checkpoint(data)
    assert checkpoint.problems == ()
    assert checkpoint.epoch == 7
    found = replay(records_of(data), snapshot=True)
    assert image_sha256(found.image) == image_sha256(image)


@given(seed=SEEDS, level=st.sampled_from([7, 8, 11, 14, 15, 17, 22, 23, 30]), batch_bytes=st.integers(100, 5_000))
def test_size_of_a_snapshot_is_that_of_its_bytes(seed, level, batch_bytes):
    image = end_of(seed)
    image = replace(image, features={**image.features, "metadata.version": level})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(checkpoint_file, "MAX_BATCH_BYTES", batch_bytes)
        batches = list(snapshot_batches(image, epoch=7, last_contained_log_timestamp_ms=5, now_ms=9))
        size = snapshot_size(image)
    records = sum(decode_header(batch, 0).record_count for batch in batches)
    assert size == (sum(map(len, batches)), records)


@pytest.mark.parametrize("level", [7, 8, 11, 14, 15, 17, 22, 23, 30])
@pytest.mark.parametrize("seed", one_in(4, range(8)))
def test_at_a_lower_level_what_is_lost_is_reported(seed, level):
    # Whatever differs after the round trip is in the losses, and a second round trip loses nothing more.
    image = end_of(seed)
    lower = level_of(image, level)
    assert lower is not None
    same = replace(image, features={**image.features, "metadata.version": level})
    data = encode_snapshot(same, epoch=1, last_contained_log_timestamp_ms=0, now_ms=0)
    found = replay(records_of(data), snapshot=True).image
    assert (image_sha256(found) == image_sha256(same)) == (losses(image, lower) == ())
    again = encode_snapshot(found, epoch=1, last_contained_log_timestamp_ms=0, now_ms=0)
    assert again == data
    assert losses(found, lower) == ()


def test_records_of_an_image_have_the_versions_of_the_level():
    def versions(level: int) -> dict[str, int]:
        image = end_of(3, 400)
        chosen = level_of(image, level)
        assert chosen is not None
        return {record.type: record.version for record in image_records(image, chosen)}

    assert [versions(level)["RegisterBrokerRecord"] for level in (4, 7, 8, 16, 17, 29, 30, 33)] == [
        0, 1, 2, 2, 3, 3, 4, 4,
    ]  # fmt: skip
    assert [versions(level)["PartitionRecord"] for level in (7, 16, 17, 22, 23, 30)] == [0, 0, 1, 1, 2, 2]
