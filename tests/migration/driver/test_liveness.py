"""Nodes counted before a node is stopped: the voters of the quorum, and the replicas that were observed."""

from __future__ import annotations

import pytest

from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.migration.driver.liveness import majority_at_risk, replicas_at_risk, stops_a_living_node
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.steps.step import Move, Step
from tests.migration.state.states_seen import HEALTHY, without

_M8 = HEALTHY["M8"]


def restart(id: int, role: Role) -> Step:
    return Step(action=Move.RESTART_NODE, target=f"{role} {id}", gate="", why="", node=id, role=role)


def seen(*alive: int, of: tuple[int, ...] = (3001, 3002, 3003), observed: tuple[int, ...] | None = None) -> Observation:
    """Return a cluster on KRaft whose voters are `of`; those that are not `observed` are in no inventory."""
    observation = _M8.but(controllers={id: id in alive for id in of}).observation()
    listed = of if observed is None else observed
    nodes = (node for node in observation.nodes if node.role is Role.BROKER or node.id in listed)
    return changed(observation, nodes=tuple(nodes))


@pytest.mark.parametrize(
    ("alive", "counted"),
    [((3001, 3002, 3003), None), ((3001, 3002), [3002]), ((3001,), [])],
    ids=["three answer", "two answer", "one answers"],
)
def test_quorum_of_three_is_left_with_two_that_answer(alive: tuple[int, ...], counted: list[int] | None) -> None:
    found = majority_at_risk(seen(*alive), restart(3001, Role.CONTROLLER))
    assert [finding.evidence["alive"] for finding in found] == ([] if counted is None else [counted])
    if counted is not None:
        assert f"only {len(counted)} of 3 controllers" in found[0].message


def test_two_controllers_have_no_majority_to_lose() -> None:
    assert majority_at_risk(seen(3001, of=(3001, 3002)), restart(3001, Role.CONTROLLER)) == ()


def test_voters_of_the_quorum_are_counted_and_not_only_those_that_were_observed() -> None:
    # Without it two of five would be left, although all three of the inventory answer.
    three = (3001, 3002, 3003)
    observation = seen(*three, of=(*three, 3004, 3005), observed=three)
    (found,) = majority_at_risk(observation, restart(3001, Role.CONTROLLER))
    assert found.evidence == {"alive": [3002, 3003], "voters": [3001, 3002, 3003, 3004, 3005]}
    assert "2 of 5 controllers" in found.message
    assert "controller 3004" in found.message


def test_without_an_answer_of_the_quorum_the_observed_controllers_are_counted() -> None:
    observation = without(seen(3001), quorum=None)
    (found,) = majority_at_risk(observation, restart(3001, Role.CONTROLLER))
    assert found.evidence == {"alive": [], "voters": [3001, 3002, 3003]}


@pytest.mark.parametrize(
    ("action", "alive", "stops"),
    [
        (Move.RESTART_NODE, True, True),
        (Move.STOP_NODE, True, True),
        (Move.RESTART_NODE, False, False),
        (Move.PUT_CONFIG, True, False),
    ],
)
def test_only_what_answers_is_stopped(action: Move, alive: bool, stops: bool) -> None:
    observation = _M8.but(controllers={3001: alive}).observation()
    step = changed(restart(3001, Role.CONTROLLER), action=action)
    assert stops_a_living_node(observation, step) is stops


def test_step_about_no_node_stops_none() -> None:
    step = Step(action=Move.STOP_NODE, target="controllers", gate="", why="")
    assert not stops_a_living_node(_M8.observation(), step)


def test_partitions_that_a_restart_would_leave_without_a_replica_are_counted() -> None:
    # orders-0 is on the brokers 1, 2 and 3, and all are in its ISR in ZooKeeper.
    cluster = HEALTHY["M4"]
    one_left = cluster.but(modes={**cluster.modes, 2: None, 3: None}).observation()
    (found,) = replicas_at_risk(one_left, restart(1, Role.BROKER))
    assert (found.id, found.evidence) == ("last-replica-at-risk", {"partitions": 1})
    assert "orders-0" in found.message
    two_left = cluster.but(modes={**cluster.modes, 3: None}).observation()
    assert replicas_at_risk(two_left, restart(1, Role.BROKER)) == ()
