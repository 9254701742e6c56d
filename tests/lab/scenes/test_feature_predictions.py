"""Predictions of feature changes, against the answers of real controllers to a dry run of each.

Every level of every feature in each of the three directions, and pairs of features, on a node of each kind of rules.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.change.reply import Reply
from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.state import QuorumState, Replica
from kafkactl.cluster.registrations import BrokerRegistration, Registrations
from kafkactl.cluster.state import ClusterState
from kafkactl.core.errors import UnknownOutcomeError
from kafkactl.core.values import ZERO_UUID, Role, Uuid
from kafkactl.features.change.results import read_response, update_features_request
from kafkactl.features.plan.change import UpgradeType
from kafkactl.features.plan.predict import predicted_acceptance
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.client import Client
from kafkactl.kafka.connection import Access, Connection, connect
from kafkactl.net.transport import Address
from kafkactl.protocol.api_versions import NodeVersions
from tests.lab.harness import config
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.storage_tool import StorageToolServer

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
DIRECTORY = Uuid(b"\1" * 16)
KRAFT = "kraft.version"
QUORUM = {"Topics": [{"TopicName": "__cluster_metadata", "Partitions": [{"PartitionIndex": 0}]}]}
EVERY = [
    pytest.param("3.9.2", "3.8-IV0"),
    pytest.param("4.3.1", "4.0-IV1"),
    pytest.param("3.7.2", "3.6-IV2", marks=pytest.mark.campaign),
    pytest.param("4.0.2", "4.0-IV1", marks=pytest.mark.campaign),
    pytest.param("4.4.0", "4.3-IV0", marks=pytest.mark.campaign),
]


def deadline() -> Deadline:
    return Deadline.after(60_000, SystemClock())


def observed(versions: NodeVersions) -> ClusterState:
    """Return the cluster of one combined node, as it says itself."""
    broker = BrokerRegistration(
        id=1, epoch=1, incarnation_id=DIRECTORY, fenced=False, in_controlled_shutdown=False,
        features=versions.supported, endpoints=(), directory_ids=(),
    )  # fmt: skip
    nodes = tuple(ClusterNode(id=1, role=role, answers=True, versions=versions) for role in Role)
    return ClusterState(
        cluster_id=CLUSTER_ID,
        finalized=versions.finalized,
        active_controller=1,
        nodes=nodes,
        registrations=Registrations(brokers={1: broker}, controllers={}, levels=versions.finalized),
        quorum=QuorumState(
            cluster_id=CLUSTER_ID, mode=None, kraft_version=None, leader_id=1, leader_epoch=1, high_watermark=None,
            voters=(Replica(id=1, directory_id=DIRECTORY, alive=True),),
        ),
    )  # fmt: skip


def wishes(versions: NodeVersions) -> Iterator[dict[str, int]]:
    """Yield every level from below to above what is supported, of every feature and of one that there is not; some
    pairs."""
    for name, supported in [*versions.supported.items(), ("foo.version", None)]:
        levels = range(max(supported.lowest - 1, 0), supported.highest + 2) if supported else range(2)
        yield from ({name: level} for level in levels)
    metadata = versions.finalized["metadata.version"]
    for name, level, step in product(versions.supported, (0, 1), (-1, 0, 1)):
        if name not in (KRAFT, "metadata.version"):
            yield {name: level, "metadata.version": metadata + step}


def asked(connection: Connection, levels: dict[str, int], kind: UpgradeType) -> dict[str, Reply]:
    body = update_features_request(levels, kind, validate_only=True, timeout_ms=5000)
    answer = connection.ask("UpdateFeatures", body, deadline=deadline())
    return {result.name: result.reply for result in read_response(levels, answer.version, answer.body)}


@pytest.mark.parametrize(("release", "level"), EVERY)
def test_dry_runs_end_as_predicted(
    storage_tool: StorageToolServer, tmp_path: Path, free_port: Callable[[], int], release: str, level: str
) -> None:
    broker_port, controller_port = free_port(), free_port()
    settings = config.combined(
        node_id=1, log_dirs=[tmp_path / "data"], broker_port=broker_port, controller_port=controller_port,
        quorum=config.static_quorum({1: controller_port}),
    )  # fmt: skip
    node = KafkaNode(release, settings, tmp_path)
    result = storage_tool.run(release, ["format", "-t", CLUSTER_ID, "-c", node.config_file, "-r", level])
    assert result.exit_code == 0, result
    with node:
        node.start().wait_ready()
        with connect(Address("127.0.0.1", controller_port), Access(), deadline()) as connection:
            state, differing, compared = observed(connection.versions), [], 0
            for levels, kind in product(wishes(connection.versions), UpgradeType):
                answers = asked(connection, levels, kind)
                for name, foreseen in predicted_acceptance(state, levels, kind).items():
                    compared += foreseen is not None
                    if foreseen is not None and answers[name] is not (Reply.ACCEPTED if foreseen else Reply.REFUSED):
                        differing.append((levels, kind.name, name, answers[name].value))
    assert differing == []
    assert compared >= 60


# The test asks Kafka alone: a fact of each release, for which the prediction is unknown.
@pytest.mark.campaign
@pytest.mark.parametrize("release", ["4.3.1", "4.4.0"])
def test_directories_that_voters_have_not_reported_are_known_to_the_leader_only(
    storage_tool: StorageToolServer, tmp_path: Path, free_port: Callable[[], int], release: str
) -> None:
    # Some seconds after the election the dry run is accepted, and DescribeQuorum looks as it did before.
    ports = {1: free_port(), 2: free_port()}
    quorum = config.static_quorum(ports)
    settings = [
        config.controller(node_id=node, log_dirs=[tmp_path / str(node)], port=port, quorum=quorum)
        for node, port in ports.items()
    ]
    nodes = [KafkaNode(release, setting, tmp_path) for setting in settings]
    for node in nodes:
        assert storage_tool.run(release, ["format", "-t", CLUSTER_ID, "-c", node.config_file]).exit_code == 0
    body = update_features_request({KRAFT: 1}, UpgradeType.UPGRADE, validate_only=True, timeout_ms=5000)
    addresses = [Address("127.0.0.1", port) for port in ports.values()]
    with nodes[0], nodes[1]:
        for node in nodes:
            node.start()
        for node in nodes:
            node.wait_ready()
        until = time.monotonic() + 120
        with Client(addresses, Role.CONTROLLER) as client:
            accepted = False
            while not accepted and time.monotonic() < until:
                with contextlib.suppress(UnknownOutcomeError):  # elected, and not yet active
                    answer = client.ask_active_controller("UpdateFeatures", body, changes=True)
                    (result,) = read_response([KRAFT], answer.version, answer.body)
                    assert result.error_code in (0, 95), result
                    accepted = result.reply is Reply.ACCEPTED
                time.sleep(0.2)
            shown = client.ask_active_controller("DescribeQuorum", QUORUM).body["Topics"][0]["Partitions"][0]
    assert accepted
    assert {voter["ReplicaDirectoryId"] for voter in shown["CurrentVoters"]} == {ZERO_UUID}
