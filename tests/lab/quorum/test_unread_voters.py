"""A leader that was cut off misses a change of voters, a fault of released Kafka: two histories, and the warning.

Controllers 1, 2 and 3 vote, 4 follows. The leader is cut off (all others are paused) and goes on to write; then the
others elect a new leader, which removes the old one and adds controller 4. The old leader returns, its records are
truncated, and it follows; but it does not read voters below the offset at which its log had ended, so it counts
itself and the other two as voters. Two of the real voters are paused next.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from kafkactl.core.errors import KafkactlError, UnknownOutcomeError
from kafkactl.core.findings import Finding
from kafkactl.core.values import Role, Uuid
from kafkactl.kafka.client import Client, Limits
from kafkactl.quorum.change.goals import removal
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.quorum.changes import endpoint_of, key_of, plan

FETCH_TIMEOUT_S = 5
SETTINGS = (("controller.quorum.fetch.timeout.ms", str(FETCH_TIMEOUT_S * 1_000)),)
WARNING = "former-leader-not-restarted"
BROKER_CONFIG, SET = 4, 0
WRITTEN = 200
"""Records of the leader that was cut off: the next one, which appends two a second, changes the voters below them."""
JOINS = 4
RELEASES = ["4.4.0", *(pytest.param(release, marks=pytest.mark.campaign) for release in ("3.9.2", "4.3.1"))]


class Nodes(NamedTuple):
    """The leader that was cut off, the leader after it, and the voter that is left."""

    former: int
    leader: int
    voter: int


@pytest.mark.parametrize("release", RELEASES)
def test_two_histories_are_acknowledged(release: str, new_cluster: ClusterOf) -> None:
    # The old leader is elected by one real voter of three, while the other two follow another leader.
    cluster, nodes = cut_off(release, new_cluster)
    change_voters(cluster, nodes)
    back(cluster, nodes)
    (warned,) = warnings_of(cluster, nodes)
    assert (warned.subject, "voters_changed_at" in warned.evidence) == (f"controller {nodes.former}", True)

    pause_the_majority(cluster, nodes)
    acknowledged(cluster, "1", voters=[1, 2, 3], among=(nodes.former,))
    cluster.pause(nodes.former, nodes.voter)
    cluster.resume(nodes.leader, JOINS)
    acknowledged(cluster, "2", voters=sorted({nodes.leader, nodes.voter, JOINS}), among=(nodes.leader, JOINS))


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["3.9.2", "4.3.1", "4.4.0"])
def test_after_a_restart_it_cannot_be_elected(release: str, new_cluster: ClusterOf) -> None:
    cluster, nodes = cut_off(release, new_cluster)
    change_voters(cluster, nodes)
    back(cluster, nodes)
    cluster.stop(nodes.former)
    cluster.start(nodes.former)
    assert warnings_of(cluster, nodes) == []

    cluster.pause(nodes.leader, JOINS)
    deadline = time.monotonic() + 8 * FETCH_TIMEOUT_S
    while time.monotonic() < deadline:
        assert not leads(cluster, nodes.former, nodes.voter)
        time.sleep(0.5)
    cluster.resume(nodes.leader, JOINS)


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["3.9.2", "4.3.1", "4.4.0"])
def test_plan_warns_until_the_former_leader_was_restarted(release: str, new_cluster: ClusterOf) -> None:
    cluster, nodes = cut_off(release, new_cluster)
    cluster.resume(nodes.former)
    cluster.wait_for(lambda: follows(cluster, nodes.former), "the former leader follows", 120)
    assert [finding.subject for finding in warnings_of(cluster, nodes)] == [f"controller {nodes.former}"]
    cluster.stop(nodes.former)
    cluster.start(nodes.former)
    cluster.wait_for(lambda: follows(cluster, nodes.former), "the former leader follows", 120)
    assert warnings_of(cluster, nodes) == []


def warnings_of(cluster: KafkaCluster, nodes: Nodes) -> list[Finding]:
    """Return what a plan to remove a voter says of leaders of before. The log has been read: an unread one has no
    warnings."""
    findings = plan(cluster, removal(key_of(cluster, nodes.voter))).findings
    assert not {finding.id for finding in findings} & {"metadata-log-not-read", "no-quorum-leader"}, findings
    return [finding for finding in findings if finding.id == WARNING]


def cut_off(release: str, new_cluster: ClusterOf) -> tuple[KafkaCluster, Nodes]:
    """Return a cluster whose leader wrote what no other controller has, and is paused; another one leads."""
    cluster = new_cluster(release, controllers=4, brokers=0, voters=(1, 2, 3), settings=SETTINGS).start()
    former = cluster.leader()
    others = [node for node in (1, 2, 3) if node != former]
    cluster.pause(*others, JOINS)
    end = end_of(cluster, former)
    # Fetches that waited are answered with the next record: the others have nothing of what is written after that.
    cluster.wait_for(lambda: end_of(cluster, former) > end + 1, "two more records")
    settings = settings_body({f"cut.off.{number}": "x" for number in range(WRITTEN)})
    for name, body in (("RemoveRaftVoter", voter_body(cluster, others[0])), ("IncrementalAlterConfigs", settings)):
        with contextlib.suppress(UnknownOutcomeError):
            ask(cluster, former, name, body, timeout_ms=1_000)
    cluster.wait_for(lambda: end_of(cluster, former) > end + WRITTEN, "records that no other controller has")
    cluster.pause(former)
    cluster.resume(*others, JOINS)
    cluster.wait_for(lambda: leads(cluster, *others), "another leader", 12 * FETCH_TIMEOUT_S)
    leader, voter = sorted(others, key=lambda node: not leads(cluster, node))
    return cluster, Nodes(former=former, leader=leader, voter=voter)


def change_voters(cluster: KafkaCluster, nodes: Nodes) -> None:
    """Remove the former leader and add controller 4, at once: the records come below the end of the former log."""
    cluster.wait_for(lambda: JOINS in ids(cluster.quorum(nodes.leader)["Observers"]), "controller 4 follows", 120)
    removed = ask(cluster, nodes.leader, "RemoveRaftVoter", voter_body(cluster, nodes.former))
    at = endpoint_of(cluster, JOINS)
    listeners = [{"Name": at.listener, "Host": at.host, "Port": at.port}]
    added = ask(
        cluster,
        nodes.leader,
        "AddRaftVoter",
        {**voter_body(cluster, JOINS), "TimeoutMs": 20_000, "Listeners": listeners},
        timeout_ms=25_000,
    )
    assert (removed["ErrorCode"], added["ErrorCode"]) == (0, 0), (removed, added)


def back(cluster: KafkaCluster, nodes: Nodes) -> None:
    """Check that the former leader runs again and follows, as an observer."""
    time.sleep(3)  # the leader's BeginQuorumEpoch has run into its time limit
    cluster.resume(nodes.former)
    cluster.wait_for(lambda: follows(cluster, nodes.former), "the former leader follows", 120)
    time.sleep(1)


def pause_the_majority(cluster: KafkaCluster, nodes: Nodes) -> None:
    """Pause the leader and controller 4 when the former leader has each record of the voter that is left.

    That voter never votes for a controller whose log is shorter than its own.
    """
    cluster.pause(nodes.voter)
    end = end_of(cluster, nodes.leader)
    # The fetch of the paused voter is answered with at most one more record.
    cluster.wait_for(lambda: ends_of(cluster, nodes.leader)[nodes.former] > end + 2, "records of the former leader")
    cluster.pause(nodes.leader, JOINS)
    cluster.resume(nodes.voter)


def ends_of(cluster: KafkaCluster, leader: int) -> dict[int, int]:
    """Return the log end of each replica, as this leader sees it."""
    quorum = cluster.quorum(leader)
    return {replica["ReplicaId"]: replica["LogEndOffset"] for replica in quorum["CurrentVoters"] + quorum["Observers"]}


def end_of(cluster: KafkaCluster, leader: int) -> int:
    """Return the log end of a leader, as the leader itself sees it."""
    return ends_of(cluster, leader)[leader]


def follows(cluster: KafkaCluster, node_id: int) -> bool:
    """Return True if the node has what is committed, as the leader sees it."""
    quorum = cluster.quorum()
    ends = {replica["ReplicaId"]: replica["LogEndOffset"] for replica in quorum["CurrentVoters"] + quorum["Observers"]}
    return bool(ends.get(node_id, -1) >= quorum["HighWatermark"] - 1 > 0)


def leads(cluster: KafkaCluster, *node_ids: int) -> bool:
    """Return True if one of these leads and has committed in its epoch."""
    return any(voters_of(cluster, node_id) for node_id in node_ids)


def voters_of(cluster: KafkaCluster, node_id: int) -> list[int]:
    """Return the voters of that controller, if it leads and has committed in its epoch."""
    with contextlib.suppress(KafkactlError):
        quorum = cluster.quorum(node_id)
        if not quorum["ErrorCode"] and quorum["LeaderId"] == node_id and quorum["HighWatermark"] > 0:
            return ids(quorum["CurrentVoters"])
    return []


def ids(replicas: list[dict[str, Any]]) -> list[int]:
    return sorted(replica["ReplicaId"] for replica in replicas)


def acknowledged(cluster: KafkaCluster, value: str, *, voters: list[int], among: tuple[int, ...]) -> None:
    """Set a default of all brokers: one of these leads, by these voters, and acknowledges it."""
    body = settings_body({"log.cleaner.threads": value})

    def sets_it() -> bool:
        return any(
            voters_of(cluster, node_id) == voters
            and ask(cluster, node_id, "IncrementalAlterConfigs", body)["Responses"][0]["ErrorCode"] == 0
            for node_id in among
        )

    cluster.wait_for(sets_it, f"a leader of {voters} among {among}", 15 * FETCH_TIMEOUT_S)


def settings_body(settings: Mapping[str, str]) -> dict[str, Any]:
    """Return a change of defaults of all brokers, a record each."""
    changes = [{"Name": name, "ConfigOperation": SET, "Value": value} for name, value in settings.items()]
    resource = {"ResourceType": BROKER_CONFIG, "ResourceName": "", "Configs": changes}
    return {"Resources": [resource], "ValidateOnly": False}


def voter_body(cluster: KafkaCluster, node_id: int) -> dict[str, Any]:
    directory = Uuid.parse(cluster.directory_id(node_id))
    return {"ClusterId": cluster.disks.cluster_id, "VoterId": node_id, "VoterDirectoryId": directory}


def ask(
    cluster: KafkaCluster, node_id: int, name: str, body: dict[str, Any], timeout_ms: float = 10_000
) -> dict[str, Any]:
    """Send a change to one controller, whatever it makes of it."""
    address = cluster.controller_address(node_id)
    limits = Limits(timeout_ms=timeout_ms, request_timeout_ms=timeout_ms)
    with Client([address], Role.CONTROLLER, limits=limits) as client:
        answered: dict[str, Any] = dict(client.ask_node(address, name, body, changes=True).body)
    return answered
