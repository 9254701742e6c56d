"""The client against nodes of released Kafka: what they say of themselves, and who leads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkactl.adapters.clock import Deadline, SystemClock
from kafkactl.adapters.connection import Access, connect
from kafkactl.adapters.transport import Address
from kafkactl.features.catalog import features_of
from kafkactl.features.releases import find_release
from tests.lab import config, releases
from tests.lab.node import KafkaNode
from tests.lab.storage_tool import StorageToolServer

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
FreePort = Callable[[], int]
EVERY = [
    pytest.param(version, marks=() if version in ("3.9.2", "4.4.0") else pytest.mark.campaign)
    for version in releases.VERSIONS
]
# In whose answer to the first ApiVersions request the newest version is named (KIP-511); 4 came with 3.9.
ASKED_ONCE_SINCE = (3, 9)
CONTROLLERS_HIDE_LEVELS = {"3.3"}  # their answer has no finalized features, and -1 as their epoch
QUORUM = {"Topics": [{"TopicName": "__cluster_metadata", "Partitions": [{"PartitionIndex": 0}]}]}


def deadline(duration_ms: float = 10_000) -> Deadline:
    return Deadline.after(duration_ms, SystemClock())


@contextmanager
def combined_node(
    release: str, tool: StorageToolServer, folder: Path, free_port: FreePort, **changed: str
) -> Iterator[tuple[KafkaNode, Address, Address]]:
    """A started node, the address of its broker listener and that of its controller listener."""
    broker_port, controller_port = free_port(), free_port()
    settings = config.combined(
        node_id=1, log_dirs=[folder / "data"], broker_port=broker_port, controller_port=controller_port,
        quorum=config.static_quorum({1: controller_port}),
    )  # fmt: skip
    node = KafkaNode(release, settings | changed, folder)
    result = tool.run(release, ["format", "-t", CLUSTER_ID, "-c", node.config_file])
    assert result.exit_code == 0, result
    with node:
        node.start().wait_ready()
        yield node, Address("127.0.0.1", broker_port), Address("127.0.0.1", controller_port)


@pytest.mark.parametrize("release", EVERY)
def test_brokers_and_controllers_of_every_release_describe_themselves(
    storage_tool: StorageToolServer, tmp_path: Path, free_port: FreePort, release: str
) -> None:
    facts = find_release(release)
    known = {name: one.latest_production for name, one in features_of(facts).items()}
    known["metadata.version"] = facts.production_level
    with combined_node(release, storage_tool, tmp_path, free_port) as (_, broker, controller):
        for address in (broker, controller):
            with connect(address, Access(), deadline()) as connection:
                versions = connection.versions
                answer = connection.ask("DescribeQuorum", QUORUM, deadline=deadline())
            asked_once = releases.release(release).number[:2] >= ASKED_ONCE_SINCE
            assert versions.version == (4 if asked_once else 3)
            assert versions.hides_features != asked_once
            for name, supported in versions.supported.items():
                assert supported.highest == known[name], (name, supported)
            if asked_once:
                assert set(versions.supported) == {name for name, level in known.items() if level}
            finalized = {"metadata.version": known["metadata.version"]}
            if address is controller and facts.name in CONTROLLERS_HIDE_LEVELS:
                finalized = {}
            assert finalized.items() <= versions.finalized.items()
            assert answer.body["Topics"][0]["Partitions"][0]["LeaderId"] == 1
