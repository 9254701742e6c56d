"""A node of Kafka starts from a snapshot that we wrote, on a disk without a log, and continues with it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kafkactl.metadata.image.diff import diff
from kafkactl.metadata.image.model import EMPTY, Image
from kafkactl.metadata.image.snapshot_writer import snapshot_name
from kafkactl.metadata.replay.log_replay import replay_runs
from kafkactl.metadata.replay.reference import replay
from kafkactl.protocol.log.batch_runs import walk_runs
from tests.campaigns.goldens.formats import METADATA_LOG, SNAPSHOT_OFTEN
from tests.campaigns.goldens.images import CLUSTER_ID
from tests.lab.harness import config, ports
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.storage_tool import StorageToolServer
from tests.metadata.image import goldens as image_goldens
from tests.metadata.records import records_of
from tests.metadata.snapshots import encode_snapshot

EPOCH = 5
WAIT_S = 180


@pytest.mark.parametrize(
    "release",
    [
        "4.4.0",
        *(
            pytest.param(version, marks=pytest.mark.campaign)
            for version in image_goldens.RELEASES
            if version != "4.4.0"
        ),
    ],
)
def test_node_starts_from_our_snapshot(release: str, storage_tool: StorageToolServer, tmp_path: Path):
    found = replay_runs(walk_runs([image_goldens.log(release)]))
    assert found.position is not None
    end_offset = found.position.offset + 1
    node = _formatted(release, storage_tool, tmp_path)
    folder = tmp_path / "disk" / METADATA_LOG
    folder.mkdir(exist_ok=True)
    content = encode_snapshot(
        found.image, epoch=EPOCH, last_contained_log_timestamp_ms=found.position.timestamp_ms, now_ms=1
    )
    (folder / snapshot_name(end_offset, EPOCH)).write_bytes(content)
    with node:
        node.start().wait_ready()
        newer = _newer_snapshot(folder, end_offset)
        node.stop()
    _check(found.image, folder, end_offset, newer)


def _formatted(release: str, tool: StorageToolServer, work: Path) -> KafkaNode:
    broker_port, controller_port = ports.free_ports(2)
    quorum = config.static_quorum({1: controller_port})
    settings = config.combined(
        node_id=1, log_dirs=[work / "disk"], broker_port=broker_port, controller_port=controller_port, quorum=quorum
    )
    node = KafkaNode(release, settings | SNAPSHOT_OFTEN, work)
    result = tool.run(release, ["format", "-t", CLUSTER_ID, "-c", node.config_file])
    assert result.exit_code == 0, result
    return node


def _newer_snapshot(folder: Path, end_offset: int) -> Path:
    """Return the first snapshot that the node wrote of its own accord after its broker had registered."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        for file in sorted(folder.glob("*.checkpoint")):
            offset = int(file.name.split("-")[0])
            if offset > end_offset and not replay(records_of(file.read_bytes())).image.brokers[1].fenced:
                return file
        time.sleep(0.2)
    raise AssertionError(f"no newer snapshot: {sorted(file.name for file in folder.iterdir())}")


def _check(before: Image, folder: Path, end_offset: int, newer: Path) -> None:
    """Check that what the node wrote is our image with the records of its new log, and that no topic of ours is
    missing."""
    segments = [file.read_bytes() for file in sorted(folder.glob("*.log"))]
    at = int(newer.name.split("-")[0])
    ours = replay_runs(walk_runs(segments), before, first_offset=end_offset, end_offset=at)
    assert ours.findings == ()
    assert ours.position is not None
    assert ours.position.epoch > EPOCH
    kafkas = replay(records_of(newer.read_bytes()), snapshot=True).image
    assert diff(ours.image, kafkas) == ()
    for part in ("topics", "configs", "acls", "scram", "client_quotas", "delegation_tokens"):
        held = getattr(before, part)
        assert getattr(kafkas, part).keys() == held.keys()
        assert held or part in ("scram", "delegation_tokens")
    assert before != EMPTY
