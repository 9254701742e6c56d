"""Changes of real quorums: what was planned happens, what would wedge is refused, what is open is said to be open."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kafkactl.adapters.cluster_view import Role
from kafkactl.adapters.quorum_change_port import ChangeResult, Patience
from kafkactl.adapters.quorum_goals import addition, conversion, reassignment, removal
from kafkactl.plan import Outcome
from tests.lab.cluster import KafkaCluster
from tests.lab.cluster_fixtures import ClusterOf
from tests.lab.quorum_changes import QUICK, change, endpoint_of, key_of, plan

RELEASES = [
    pytest.param("3.9.2", marks=pytest.mark.campaign),
    pytest.param("4.0.2", marks=pytest.mark.campaign),
    "4.3.1",
    pytest.param("4.4.0", marks=pytest.mark.campaign),
]
SHORT = Patience(**{name: getattr(QUICK, name) for name in ("gate", "stays_away_ms", "catch_up_ms")}, step_ms=4_000)


def _done(result: ChangeResult, *steps: str) -> None:
    taken = [f"{one.action.value} {one.id}" for one in result.steps if one.action.value != "wait"]
    assert (result.outcome, taken) == (Outcome.DONE, list(steps)), result.findings


def _refused(result: ChangeResult, id: str) -> None:
    assert result.outcome is Outcome.REFUSED
    assert id in {one.id for one in result.findings}, result.findings


@pytest.mark.parametrize("release", RELEASES)
def test_a_quorum_grows_shrinks_and_loses_its_leader_and_a_disk(
    release: str, new_cluster: ClusterOf, tmp_path: Path
) -> None:
    cluster = new_cluster(release, controllers=3, brokers=1, voters=(1,))
    cluster.start()
    journal = tmp_path / "journal"

    _done(change(cluster, reassignment("1,2,3"), journal), "add 2", "add 3")
    assert sorted(cluster.voters()) == [1, 2, 3]

    leader = cluster.leader()
    result = change(cluster, removal(key_of(cluster, leader)), journal)
    _done(result, f"remove {leader}")
    assert result.steps[0].leader_leaves
    assert sorted(cluster.voters()) == sorted({1, 2, 3} - {leader})
    assert change(cluster, removal(key_of(cluster, leader)), journal).outcome is Outcome.NOTHING_TO_DO
    new = addition(key_of(cluster, leader), [endpoint_of(cluster, leader)])
    _done(change(cluster, new, journal, role=Role.BROKER), f"add {leader}")

    others = [one for one in (1, 2, 3) if one != cluster.leader()]
    cluster.kill(others[0])
    _wait_dead(cluster, others[0])
    _refused(change(cluster, removal(key_of(cluster, others[1])), journal), "quorum-would-wedge")
    lost = cluster.directory_id(others[0])
    cluster.replace_disk(others[0])
    cluster.wait_complete()
    _done(change(cluster, reassignment("1,2,3"), journal), f"remove {others[0]}", f"add {others[0]}")
    assert cluster.voters()[others[0]] == cluster.directory_id(others[0]) != lost
    assert _broker_serves(cluster)


@pytest.mark.parametrize("release", RELEASES)
def test_five_voters_of_which_two_die(release: str, new_cluster: ClusterOf, tmp_path: Path) -> None:
    cluster = new_cluster(release, controllers=5, brokers=1, voters=(1, 2, 3))
    cluster.start()
    journal = tmp_path / "journal"
    _done(change(cluster, reassignment("1,2,3,4,5"), journal, role=Role.BROKER), "add 4", "add 5")
    dead = [one for one in (5, 4, 3) if one != cluster.leader()][:2]
    cluster.kill(*dead)
    _wait_dead(cluster, *dead)
    alive = sorted({1, 2, 3, 4, 5} - set(dead))
    _refused(change(cluster, removal(key_of(cluster, alive[-1])), journal), "quorum-would-wedge")
    result = change(cluster, reassignment(",".join(map(str, alive))), journal)
    _done(result, *(f"remove {one}" for one in sorted(dead)))
    assert sorted(cluster.voters()) == alive
    assert _broker_serves(cluster)


@pytest.mark.parametrize("release", RELEASES)
def test_a_removal_that_hangs_lands_when_a_paused_voter_comes_back(
    release: str, new_cluster: ClusterOf, tmp_path: Path
) -> None:
    """Both followers that would have to commit it are stopped just before it is sent (measured: 4 voters, 2.3)."""
    cluster = new_cluster(release, controllers=4, brokers=0)
    cluster.start()
    journal = tmp_path / "journal"
    followers = [one for one in (1, 2, 3, 4) if one != cluster.leader()]
    goal = removal(key_of(cluster, followers[0]))

    def pause_before(event: object) -> None:
        if getattr(event, "kind", "") == "send":
            cluster.pause(*followers[1:])

    result = change(cluster, goal, journal, patience=SHORT, tell=pause_before)
    assert result.outcome is Outcome.UNKNOWN, result.findings
    assert [one.state.value for one in result.steps] == ["unknown"]
    assert f"the removal of {followers[0]} may still commit, without another request" in result.may_happen[0]
    cluster.resume(*followers[1:])
    again = change(cluster, goal, journal)
    assert again.outcome in (Outcome.DONE, Outcome.NOTHING_TO_DO), again.findings
    assert sorted(cluster.voters()) == sorted({1, 2, 3, 4} - {followers[0]})


def test_who_must_not_vote(cluster_of: ClusterOf, tmp_path: Path) -> None:
    cluster = cluster_of("4.3.1", controllers=3, brokers=1)
    journal = tmp_path / "journal"
    voters = cluster.voters()
    _refused(plan(cluster, reassignment("1,2,11")), "broker-only-node")
    _refused(change(cluster, reassignment("1,2,11"), journal, role=Role.BROKER), "broker-only-node")
    _refused(change(cluster, reassignment("1,2,99"), journal), "target-not-fetching")
    wrong = removal(key_of(cluster, 1).__class__(node_id=2, directory_id=key_of(cluster, 1).directory_id))
    _refused(change(cluster, wrong, journal), "voter-has-another-directory")
    _refused(change(cluster, reassignment(""), journal), "empty-target")
    _refused(change(cluster, reassignment("1,2"), journal), "even-voter-count")
    assert cluster.voters() == voters


@pytest.mark.parametrize("release", ["4.3.1", pytest.param("4.4.0", marks=pytest.mark.campaign)])
def test_a_static_quorum_is_converted(release: str, new_cluster: ClusterOf, tmp_path: Path) -> None:
    cluster = new_cluster(release, controllers=3, brokers=1, dynamic=False)
    cluster.start()
    journal = tmp_path / "journal"
    _refused(change(cluster, reassignment("1,2,3,4"), journal), "quorum-is-static")
    result = change(cluster, conversion(), journal)
    _done(result, "upgrade None")
    assert cluster.voters() == {one: cluster.directory_id(one) for one in (1, 2, 3)}
    assert all(cluster.levels(one)["kraft.version"] == 1 for one in (1, 2, 3, 11))
    (edit,) = [one for one in result.findings if one.id == "configuration-names-static-voters"]
    assert str(cluster.controller_address(1)) in edit.next_step
    assert change(cluster, conversion(), journal).outcome is Outcome.NOTHING_TO_DO
    gone = next(one for one in (1, 2, 3) if one != cluster.leader())
    _done(change(cluster, removal(key_of(cluster, gone)), journal), f"remove {gone}")


@pytest.mark.parametrize(
    "release", [pytest.param("3.9.2", marks=pytest.mark.campaign), pytest.param("4.0.2", marks=pytest.mark.campaign)]
)
def test_a_release_that_only_claims_to_convert_is_not_asked(
    release: str, new_cluster: ClusterOf, tmp_path: Path
) -> None:
    """3.9 writes the level and stays static; 4.0.2 answers success, writes it too, and ignores it."""
    cluster = new_cluster(release, controllers=3, brokers=0, dynamic=False)
    cluster.start()
    _refused(change(cluster, conversion(), tmp_path / "journal"), "conversion-not-supported")
    assert "kraft.version" not in cluster.levels(1)


def _wait_dead(cluster: KafkaCluster, *node_ids: int) -> None:
    """Until the leader takes them for dead, and somebody leads."""
    cluster.wait_for(lambda: cluster.leader() not in (-1, *node_ids), "a leader that lives")
    time.sleep(4.5)


def _broker_serves(cluster: KafkaCluster) -> bool:
    with cluster.client(Role.BROKER) as client:
        return bool(client.cluster().nodes)
