"""Kafka's own image classes against ours: one log, one state; and our snapshots, read by Kafka's reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.log_generator import LogGenerator, Shape
from kafkactl.core.kafka_names import KRAFT_VERSION
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.image.snapshot_writer import snapshot_name
from kafkactl.metadata.replay.log_replay import replay_runs
from kafkactl.metadata.replay.reference import replay
from kafkactl.protocol.log.batch_runs import walk_runs
from tests.lab.harness import releases
from tests.lab.oracles.images import ImageOracle
from tests.metadata.image import goldens as image_goldens
from tests.metadata.snapshots import encode_snapshot

OFTEN = ("3.3.2", "3.9.2", "4.4.0")


@pytest.fixture(
    scope="module",
    params=[
        version if version in OFTEN else pytest.param(version, marks=pytest.mark.campaign)
        for version in releases.VERSIONS
    ],
)
def oracle(request: pytest.FixtureRequest) -> Iterator[ImageOracle]:
    with ImageOracle(request.param) as running:
        yield running


def what_kafka_keeps(image: Image, release: str) -> Image:
    """Remove the parts that Kafka's image lacks: the quorum; from 4.0 on the migration's state and kraft.version."""
    kept = replace(image, kraft_version=None, voters=None, transaction=None)
    if release.startswith("3."):
        return kept
    features = {name: level for name, level in image.features.items() if name != KRAFT_VERSION}
    return replace(kept, zk_migration_state=0, features=features)


def assert_same(oracle: ImageOracle, file: Path, scratch: Path) -> None:
    """Check that Kafka's image of the log, known by the records it writes, is ours, and that Kafka reads our snapshot
    as it."""
    ours = replay_runs(walk_runs([file.read_bytes()]))
    assert {finding.id for finding in ours.findings} <= {"aborted-transaction"}
    kafkas = replay(oracle.records_of_image([file], scratch), snapshot=True)
    assert kafkas.findings == ()
    assert image_sha256(kafkas.image) == image_sha256(what_kafka_keeps(ours.image, oracle.release))
    assert ours.position is not None
    end_offset, epoch = ours.position.offset + 1, ours.position.epoch
    checkpoint = scratch / snapshot_name(end_offset, epoch)
    checkpoint.write_bytes(
        encode_snapshot(ours.image, epoch=epoch, last_contained_log_timestamp_ms=ours.position.timestamp_ms, now_ms=1)
    )
    assert oracle.same(checkpoint, end_offset, epoch, [file]) == "equal"


def test_every_log_that_a_release_can_read(oracle, tmp_path):
    # Its own, and those of older releases whose level it still knows (4.x begins with 7, which all have).
    read = [release for release in image_goldens.RELEASES if _number(release) <= _number(oracle.release)]
    for release in read:
        file = tmp_path / f"{release}.log"
        file.write_bytes(image_goldens.log(release))
        assert_same(oracle, file, tmp_path)
    assert oracle.release in read


# Its metadata.version is 30, which 4.3 brought.
@pytest.mark.parametrize("oracle", ["4.4.0", pytest.param("4.3.1", marks=pytest.mark.campaign)], indirect=True)
def test_image_of_a_generated_log_equals_that_of_kafka(oracle, tmp_path):
    # Transactions that end and that are aborted, elections, ELR: ten thousand records of the newest level.
    file = tmp_path / "generated.log"
    file.write_bytes(b"".join(LogGenerator(Shape(records=10_000, partitions=1_000)).batches()))
    assert_same(oracle, file, tmp_path)


def _number(release: str) -> tuple[int, ...]:
    return releases.release(release).number
