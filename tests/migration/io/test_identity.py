"""Identity of nodes: the cluster by DescribeCluster or a refused Fetch, the id by the node's own answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookEnd
from kafkactl.change.hooks.words import Verb
from kafkactl.commands.demo.broker import CLOSE, Asked, FakeBroker, Reply
from kafkactl.commands.demo.quorum import FakeQuorum
from kafkactl.core.values import Role
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.connection import Access, connect
from kafkactl.migration.inventory import InventoryNode
from kafkactl.migration.io.identity import identify
from kafkactl.migration.io.local_node import run_locally
from kafkactl.migration.observed.observation import IdentitySeen
from kafkactl.net.transport import parse_addresses

OURS, OTHER = "qcW5mzVjTpOjVnxJ0WmYIg", "AnotherClusterAnotherC"
DESCRIBE_CLUSTER, DESCRIBE_CONFIGS = 60, 32


def asked(node: FakeBroker | str, *, id: int = 1) -> IdentitySeen:
    """Return what a node says, asked as the one that it should be."""
    deadline = Deadline.after(60_000, SystemClock())
    (address,) = parse_addresses(str(node if isinstance(node, str) else node.address))
    with connect(address, Access(), deadline) as connection:
        return identify(connection, expected_id=id, cluster_id=OURS, deadline=deadline)[0]


def broker(**answers: Any) -> FakeBroker:
    return FakeBroker(lambda request: answers.get(request.name))


def described(id: int) -> Any:
    """Answer DescribeConfigs of broker `id`, which describes no other."""
    text = f"Unexpected broker id, expected {id} or empty string, but received"

    def script(request: Asked) -> Any:
        name = request.body["Resources"][0]["ResourceName"]
        wrong = {"ErrorCode": 42, "ErrorMessage": f"{text} {name}", "ResourceType": 4, "ResourceName": name}
        right = {"ErrorCode": 0, "ErrorMessage": None, "ResourceType": 4, "ResourceName": name, "Configs": []}
        return Reply(body={"Results": [right if name == str(id) else wrong]})

    return script


def cluster(id: str) -> Reply:
    nodes = [{"BrokerId": 7, "Host": "b7", "Port": 9092, "Rack": None, "IsFenced": False}]
    return Reply(body={"ClusterId": id, "ControllerId": 1, "Brokers": nodes})


def test_broker_names_its_cluster_and_itself() -> None:
    def script(request: Asked) -> Any:
        return (
            described(3)(request)
            if request.name == "DescribeConfigs"
            else {"DescribeCluster": cluster(OTHER)}.get(request.name)
        )

    node = FakeBroker(script)
    del node.ranges[55]
    with node:
        seen = asked(node)
    assert (seen.role, seen.cluster_id, seen.node_id) == (Role.BROKER, OTHER, 3)
    assert seen.endpoints == {7: "b7:9092"}


def test_broker_that_may_not_be_asked_for_its_settings_names_its_cluster() -> None:
    denied = {"ErrorCode": 31, "ErrorMessage": "denied", "ResourceType": 4, "ResourceName": "1", "Configs": []}
    with broker(DescribeCluster=cluster(OURS), DescribeConfigs=Reply(body={"Results": [denied]})) as node:
        seen = asked(node)
    assert (seen.cluster_id, seen.node_id, seen.denied) == (OURS, None, ("DescribeConfigs",))


def test_node_that_closes_the_connection_has_no_identity() -> None:
    with broker(DescribeCluster=CLOSE) as node:
        assert asked(node).cluster_id is None


@pytest.fixture
def quorum() -> Iterator[FakeQuorum]:
    with FakeQuorum(controllers=2, voters=(1, 2)) as made:
        made.cluster_id = OTHER
        yield made


def test_identity_of_a_controller_is_known_from_3_7_on(quorum: FakeQuorum) -> None:
    seen = asked(str(quorum.address(2)))
    assert (seen.role, seen.cluster_id, seen.node_id) == (Role.CONTROLLER, OTHER, 2)


@pytest.mark.parametrize(("code", "is_ours"), [(104, False), (0, True), (6, True)])
def test_controller_before_3_7_refuses_a_fetch_for_another_cluster(code: int, is_ours: bool) -> None:
    fetches: list[Any] = []

    def script(request: Asked) -> Any:
        if request.name == "Fetch":
            fetches.append(request.body)
            return Reply(body={"ErrorCode": code, "Responses": []})
        return Reply(body={"ErrorCode": 0, "Topics": []}) if request.name == "DescribeQuorum" else None

    node = FakeBroker(script, versions={52: (0, 0)})
    for key in (DESCRIBE_CLUSTER, DESCRIBE_CONFIGS):
        del node.ranges[key]
    with node:
        seen = asked(node)
    assert (seen.cluster_id, seen.asked_cluster_id, seen.is_of_asked) == (None, OURS, is_ours)
    assert [api["ClusterId"] for api in fetches] == [OURS]
    partition = fetches[0]["Topics"][0]["Partitions"][0]
    assert partition["CurrentLeaderEpoch"] == 0  # of an epoch that no leader has: no record is asked for


@pytest.mark.parametrize(
    ("meta", "wiped"),
    [
        (f"cluster.id={OURS}\nnode.id=3001\n", True),
        ("version=1\n", True),
        (f"cluster.id={OTHER}\nnode.id=3001\n", False),
        (f"cluster.id={OURS}\nnode.id=3002\n", False),
    ],
)
def test_disk_of_another_cluster_or_node_is_not_put_aside(meta: str, wiped: bool, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "meta.properties").write_text(meta)
    node = InventoryNode(id=3001, role=Role.CONTROLLER, host="h", address="h:1", config=str(tmp_path / "c"))
    extra = {"metadata_dir": str(disk), "cluster_id": OURS}
    run = run_locally(node, Request(verb=Verb.WIPE, node=3001, phase="original", seq=6, instruction="", extra=extra))
    assert (run.end is HookEnd.DONE) is wiped, run.message
    assert disk.exists() is not wiped
