"""The client against nodes of released Kafka: what they say of themselves, and who leads."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import KafkactlError, UnknownOutcomeError, UnreachableError
from kafkactl.core.values import Role
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.attempts import all_at_once
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.cluster_view import ClusterView
from kafkactl.kafka.connection import Access, connect
from kafkactl.kafka.retries import Backoff
from kafkactl.net.transport import Address
from kafkactl.protocol.catalog.index import features_of
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.protocol.framing import Response
from tests.fakes.proxy import Fault, FaultyProxy
from tests.lab.harness import config, releases
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.storage_tool import StorageToolServer

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
FreePort = Callable[[], int]
EVERY = [
    pytest.param(version, marks=() if version in ("3.9.2", "4.4.0") else pytest.mark.campaign)
    for version in releases.VERSIONS
]
NEWEST = [
    pytest.param(version, marks=() if version == "4.4.0" else pytest.mark.campaign) for version in releases.VERSIONS
]
# In whose answer to the first ApiVersions request the newest version is named (KIP-511); 4 came with 3.9.
ASKED_ONCE_SINCE = (3, 9)
CONTROLLERS_HIDE_LEVELS = {"3.3"}  # their answer has no finalized features, and -1 as their epoch
INVALID_REQUEST = 42
UPDATE_FEATURES, DESCRIBE_QUORUM = 57, 55
QUORUM = {"Topics": [{"TopicName": "__cluster_metadata", "Partitions": [{"PartitionIndex": 0}]}]}


def deadline(duration_ms: float = 60_000) -> Deadline:
    return Deadline.after(duration_ms, SystemClock())


@contextmanager
def combined_node(
    release: str, tool: StorageToolServer, folder: Path, free_port: FreePort, **changed: str
) -> Iterator[tuple[KafkaNode, Address, Address]]:
    """Yield a started node, the address of its broker listener and that of its controller listener."""
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
    known = {name: feature.latest_production for name, feature in features_of(facts).items()}
    known["metadata.version"] = facts.production_level
    with combined_node(release, storage_tool, tmp_path, free_port) as (_, broker, controller):
        for address in (broker, controller):
            with connect(address, Access(), deadline()) as connection:
                versions = connection.versions
                answer = connection.ask("DescribeQuorum", QUORUM, deadline=deadline())
                nameless = {"ClientSoftwareName": "!", "ClientSoftwareVersion": "!"}
                error = connection.ask("ApiVersions", nameless, deadline=deadline(), version=3)
            # Only UNSUPPORTED_VERSION is reported in version 0; other errors in the version that was asked in.
            assert (error.body["ErrorCode"], error.version) == (INVALID_REQUEST, 3)
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


@pytest.mark.parametrize("release", NEWEST)
def test_active_controller_is_found_from_its_follower(
    storage_tool: StorageToolServer, tmp_path: Path, free_port: FreePort, release: str
) -> None:
    ports = {1: free_port(), 2: free_port()}
    nodes = [
        KafkaNode(
            release,
            config.controller(
                node_id=node_id, log_dirs=[tmp_path / str(node_id)], port=port, quorum=config.static_quorum(ports)
            ),
            tmp_path,
        )
        for node_id, port in ports.items()
    ]
    for node in nodes:
        assert storage_tool.run(release, ["format", "-t", CLUSTER_ID, "-c", node.config_file]).exit_code == 0
    addresses = {node_id: Address("127.0.0.1", port) for node_id, port in ports.items()}
    with nodes[0], nodes[1]:
        for node in nodes:
            node.start()
        for node in nodes:
            node.wait_ready()
        with Client(list(addresses.values()), Role.CONTROLLER) as client:
            answer = client.ask_active_controller("DescribeQuorum", QUORUM)
            leader = addresses[answer.body["Topics"][0]["Partitions"][0]["LeaderId"]]
            assert client.find_leader() == leader
            assert {
                partition.id for partition in _partitions(client, addresses) if isinstance(partition, KafkactlError)
            } == set()
        (follower,) = set(addresses.values()) - {leader}
        # Until 3.7 a controller does not tell of others at all.
        if releases.release(release).number >= (3, 7):
            with Client([follower], Role.CONTROLLER) as client:
                view = _registered(client, len(addresses))
                assert (view.cluster_id, {node.id: node.address for node in view.nodes}) == (CLUSTER_ID, addresses)
                assert addresses[view.controller_id] == leader
                assert client.find_leader() == leader
                update = {"timeoutMs": 5000, "FeatureUpdates": [], "ValidateOnly": True}
                assert client.ask_active_controller("UpdateFeatures", update, changes=True).body["ErrorCode"] == 0
        with Client([leader], Role.BROKER) as client, pytest.raises(UnreachableError) as caught:
            client.cluster()
        assert caught.value.id == "wrong-endpoint-type"


def _registered(client: Client, count: int) -> ClusterView:
    """Return the view with all nodes: a controller that has just started refuses (35), then names no node, then all."""
    until = deadline()
    while not until.passed:
        with contextlib.suppress(UnreachableError):
            view = client.cluster()
            if len(view.nodes) == count:
                return view
        time.sleep(0.1)
    pytest.fail(f"{count} nodes did not register")


def _partitions(client: Client, addresses: dict[int, Address]) -> list[object]:
    def ask(address: Address, _: Deadline) -> Response:
        return client.ask_node(address, "DescribeQuorum", QUORUM)

    return list(all_at_once(list(addresses.values()), ask, deadline()).values())


def _patient(client: Client) -> ClusterView:
    """Return the view of a client whose limits are those for a node that hangs: a busy one may answer late as well."""
    until = deadline()
    while True:
        try:
            return client.cluster()
        except UnreachableError:
            if until.passed:
                raise


def test_paused_and_killed_nodes_are_reported(
    storage_tool: StorageToolServer, tmp_path: Path, free_port: FreePort
) -> None:
    with combined_node("4.4.0", storage_tool, tmp_path, free_port) as (node, broker, controller):
        limits = Limits(timeout_ms=1500, request_timeout_ms=1000)
        with Client([broker], Role.BROKER, limits=limits) as client:
            assert _patient(client).cluster_id == CLUSTER_ID
            node.pause()
            update = {"timeoutMs": 5000, "FeatureUpdates": [], "ValidateOnly": True}
            with pytest.raises(UnknownOutcomeError) as lost:
                client.ask_active_controller("UpdateFeatures", update, changes=True)
            assert lost.value.id == "reply-lost"
            with pytest.raises(UnreachableError) as silent:
                client.cluster()
            assert silent.value.id == "connection-timed-out"
            node.resume()
            assert _patient(client).cluster_id == CLUSTER_ID
            with Client([broker], Role.CONTROLLER) as wrong, pytest.raises(UnreachableError) as caught:
                wrong.find_leader()
            assert caught.value.id == "wrong-endpoint-type"
            node.kill()
            with pytest.raises(UnreachableError) as gone:
                client.cluster()
            assert gone.value.id == "connection-refused"
        (error,) = Client([controller], Role.CONTROLLER, limits=limits).versions([controller]).values()
        assert isinstance(error, KafkactlError)
        assert error.id == "connection-refused"


def test_request_over_a_failing_network_is_sent_at_most_once(
    storage_tool: StorageToolServer, tmp_path: Path, free_port: FreePort
) -> None:
    limits = Limits(timeout_ms=12_000, request_timeout_ms=2_000, backoff=Backoff(first_ms=1, rounds=3))
    update = {"timeoutMs": 5000, "FeatureUpdates": [], "ValidateOnly": True}
    with combined_node("4.4.0", storage_tool, tmp_path, free_port) as (_, broker, controller):
        for address, role in ((broker, Role.BROKER), (controller, Role.CONTROLLER)):
            for fault in Fault:
                with FaultyProxy(address) as network, Client([network.address], role, limits=limits) as client:
                    network.late_s = 10.0
                    network.arm(fault, UPDATE_FEATURES)
                    if fault.answers:
                        assert client.ask_active_controller("UpdateFeatures", update, changes=True).body
                    else:
                        with pytest.raises(UnknownOutcomeError):
                            client.ask_active_controller("UpdateFeatures", update, changes=True)
                    network.arm(fault, DESCRIBE_QUORUM)
                    answer = client.ask_active_controller("DescribeQuorum", QUORUM)
                    assert answer.body["Topics"][0]["Partitions"][0]["LeaderId"] == 1
                    assert network.struck == 2
