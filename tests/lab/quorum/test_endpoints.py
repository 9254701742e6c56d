"""A wrong port in the voter set of a real cluster: Kafka commits it, and `quorum describe` finds it.

The leader probes a new voter over whatever connection it has to that node id; one that is left from an earlier attempt
hides that no process listens where the request says. 3.9 never repairs it, 4.x does at the voter's next update.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kafkactl.cluster.io.fetched_registrations import fetch_registrations
from kafkactl.cluster.io.quorum_view import QuorumObserver
from kafkactl.core.values import Role, Uuid
from kafkactl.net.transport import Address
from kafkactl.quorum.guard_candidate import check_endpoints
from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.ports import HOST, free_port

NONE, TIMED_OUT = 0, 7
REPAIRED_S = 20.0


def add_voter(cluster: KafkaCluster, node_id: int, directory_id: Uuid, port: int) -> int:
    """Return the error code that the leader answers to AddRaftVoter."""
    body = {
        "ClusterId": cluster.cluster_id,
        "TimeoutMs": 30_000,
        "VoterId": node_id,
        "VoterDirectoryId": directory_id,
        "Listeners": [{"Name": "CONTROLLER", "Host": HOST, "Port": port}],
    }
    with cluster.client(Role.CONTROLLER) as client:
        code: int = client.ask_active_controller("AddRaftVoter", body, changes=True).body["ErrorCode"]
    return code


def commit_a_wrong_port(cluster: KafkaCluster, joined: int) -> int:
    """Make `joined` a voter at a port where no process listens; that port."""
    right = cluster.controller_address(joined).port
    directory_id = Uuid.parse(cluster.directory_id(joined))
    # An attempt with a directory that is not there: refused, after the leader has connected.
    assert add_voter(cluster, joined, Uuid(b"\x77" * 16), right) == TIMED_OUT
    wrong = free_port()
    code = cluster.wait_for(
        lambda: [add_voter(cluster, joined, directory_id, wrong)] if _may_add(cluster, joined) else [], "an observer"
    )
    assert code == [NONE]
    return wrong


def _may_add(cluster: KafkaCluster, joined: int) -> bool:
    quorum = cluster.quorum()
    return any(
        observer["ReplicaId"] == joined and observer["LastCaughtUpTimestamp"] > 0 for observer in quorum["Observers"]
    )


def _ids(endpoints: list[dict[str, str]]) -> set[tuple[str, str]]:
    return {(finding["id"], finding["subject"]) for finding in endpoints}


def test_wrong_port_that_3_9_commits_permanently_is_found(new_cluster: ClusterOf, kafkactl: Callable[..., Run]) -> None:
    cluster = new_cluster("3.9.2", controllers=2, brokers=1, voters=(1,)).start()
    wrong = commit_a_wrong_port(cluster, 2)
    time.sleep(5)
    for option, addresses in (
        ("--bootstrap-controller", str(cluster.controller_address(1))),
        ("--bootstrap-controller", cluster.bootstrap_controller),
        ("--bootstrap-server", cluster.bootstrap_server),
    ):
        run = kafkactl("quorum", "describe", option, addresses, "-o", "json")
        assert run.code == 0, run
        assert {voter["id"]: voter["alive"] for voter in run.json["voters"]} == {1: True, 2: True}
        assert run.json["voters"][1]["endpoints"] == [{"listener": "CONTROLLER", "host": HOST, "port": wrong}]
        found = {("voter-endpoint-silent", "controller 2"), ("voter-endpoint-not-registered", "controller 2")}
        assert _ids(run.json["findings"]) == found, (option, addresses)
    with cluster.client() as client, QuorumObserver(client) as observer:
        state = observer.observe(registrations=fetch_registrations(client))
    assert state.registrations is not None
    assert state.registrations.controllers[2].endpoints[0].port == cluster.controller_address(2).port
    assert {endpoint.id for endpoint in check_endpoints(state)} == {
        "voter-endpoint-silent",
        "voter-endpoint-not-registered",
    }


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["4.3.1", "4.4.0"])
def test_later_releases_repair_it(release: str, new_cluster: ClusterOf, kafkactl: Callable[..., Run]) -> None:
    cluster = new_cluster(release, controllers=2, brokers=0, voters=(1,)).start()
    commit_a_wrong_port(cluster, 2)
    right = cluster.controller_address(2)
    deadline = time.monotonic() + REPAIRED_S
    while time.monotonic() < deadline:
        run = kafkactl("quorum", "describe", "--bootstrap-controller", cluster.bootstrap_controller, "-o", "json")
        (endpoint,) = run.json["voters"][1]["endpoints"]
        if Address(endpoint["host"], endpoint["port"]) == right:
            break
        time.sleep(0.2)
    assert (run.code, run.json["findings"], endpoint["port"]) == (0, [], right.port)
