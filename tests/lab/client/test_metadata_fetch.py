"""The metadata log as real controllers serve it equals what is on their disks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.cluster.io.metadata_fetch import FetchedPiece, fetch_metadata_log, iterate_metadata_log
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client
from kafkactl.net.transport import Address
from kafkactl.protocol.record_batch import decode_batches
from tests.lab.harness import config, releases
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.harness.waiting import answer_once

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
RELEASES = ("3.9.2", "4.3.1")
EVERY = [
    pytest.param(version, marks=() if version in RELEASES else pytest.mark.campaign) for version in releases.VERSIONS
]
QUORUM = {"Topics": [{"TopicName": "__cluster_metadata", "Partitions": [{"PartitionIndex": 0}]}]}
SNAPSHOT_SOON = {"metadata.log.max.record.bytes.between.snapshots": "20"}


@pytest.mark.parametrize("release", EVERY)
def test_fetched_log_is_equal_to_the_disk(
    storage_tool: StorageToolServer, tmp_path: Path, free_port: Callable[[], int], release: str
) -> None:
    broker, controller = free_port(), free_port()
    settings = config.combined(
        node_id=1, log_dirs=[tmp_path / "data"], broker_port=broker, controller_port=controller,
        quorum=config.static_quorum({1: controller}),
    )  # fmt: skip
    node = KafkaNode(release, settings, tmp_path)
    assert storage_tool.run(release, ["format", "-t", CLUSTER_ID, "-c", node.config_file]).exit_code == 0
    log_dir = tmp_path / "data" / "__cluster_metadata-0"
    with node:
        node.start().wait_ready()
        for role, port in ((Role.BROKER, broker), (Role.CONTROLLER, controller)):
            with Client([Address("127.0.0.1", port)], role) as client:
                log = fetch_metadata_log(client)
                on_disk = (log_dir / f"{0:020}.log").read_bytes()
                fetched = b"".join(log.pieces())
                assert (log.snapshot, log.leader_id) == (None, 1)
                assert len(fetched) > 200
                assert on_disk.startswith(fetched)
                assert [batch.header.last_offset + 1 for batch in decode_batches(fetched)][-1] == log.high_watermark
                rest = list(iterate_metadata_log(client, from_offset=2, up_to=4))
                assert all(isinstance(piece, FetchedPiece) and piece.data in on_disk for piece in rest)
                observers = client.ask_active_controller("DescribeQuorum", QUORUM).body["Topics"][0]["Partitions"][0]
                assert [observer["ReplicaId"] for observer in observers["Observers"]] == []


@pytest.mark.parametrize("release", RELEASES)
def test_snapshot_is_the_file_of_its_name(
    storage_tool: StorageToolServer, tmp_path: Path, free_port: Callable[[], int], release: str
) -> None:
    controller = free_port()
    quorum = config.static_quorum({1: controller})
    settings = config.controller(node_id=1, log_dirs=[tmp_path / "data"], port=controller, quorum=quorum)
    node = KafkaNode(release, settings | SNAPSHOT_SOON, tmp_path)
    assert storage_tool.run(release, ["format", "-t", CLUSTER_ID, "-c", node.config_file]).exit_code == 0
    log_dir = tmp_path / "data" / "__cluster_metadata-0"
    with node:
        node.start().wait_ready()
        with Client([Address("127.0.0.1", controller)], Role.CONTROLLER) as client:
            log = answer_once(lambda log: log.snapshot is not None, lambda: fetch_metadata_log(client))
        assert log.snapshot is not None
        name = f"{log.snapshot.end_offset:020}-{log.snapshot.epoch:010}.checkpoint"
        assert b"".join(log.snapshot.pieces()) == (log_dir / name).read_bytes()
        assert log.first_offset is None or log.first_offset >= log.snapshot.end_offset
