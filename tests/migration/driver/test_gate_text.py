"""Text for an operator while a gate is closed: the observed state, and the one that is waited for."""

from __future__ import annotations

import pytest

from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.migration.driver.gate_text import observed_instead
from kafkactl.migration.observed.observation import Observation, QuorumSeen
from kafkactl.migration.steps.step import File, Move, Step
from tests.migration.state.states_seen import HEALTHY, Seen, without

_M3, _M4, _M7, _M8 = (HEALTHY[name] for name in ("M3", "M4", "M7", "M8"))
_FLAG = "zookeeper.metadata.migration.enable"


def restart(id: int, role: Role, file: File | None = None) -> Step:
    return Step(action=Move.RESTART_NODE, target=f"{role} {id}", gate="", why="", node=id, role=role, file=file)


def wait(action: Move) -> Step:
    return Step(action=action, target="quorum", gate="", why="")


@pytest.mark.parametrize(
    ("has_flag", "file", "words"),
    [
        (False, File.MIGRATION, f"controller 3001 answers, and still runs without {_FLAG}"),
        (True, File.FINAL, f"controller 3001 answers, and still runs with {_FLAG}"),
        (True, File.MIGRATION, "controller 3001 answers"),
        (False, File.FINAL, "controller 3001 answers"),
    ],
)
def test_controller_with_its_earlier_file_is_described(has_flag: bool, file: File, words: str) -> None:
    observation = _M8.but(flags={3001: has_flag}).observation()
    assert observed_instead(observation, restart(3001, Role.CONTROLLER, file)) == words


def test_controller_known_from_the_quorum_only_is_named_in_the_wait() -> None:
    observation = without(_M8.observation(), api_versions=None)
    step = restart(3001, Role.CONTROLLER, File.FINAL)
    assert observed_instead(observation, step) == "controller 3001 answers"


@pytest.mark.parametrize(
    ("seen", "id", "words"),
    [
        (_M4, 2, "broker 2 answers and runs on ZooKeeper"),
        (_M4, 1, "broker 1 answers and runs in migration mode, registered as migrating"),
        (_M4.but(fenced=(1,)), 1, "broker 1 answers and runs in migration mode, registered as migrating, fenced"),
        (_M4.but(registered={}), 1, "broker 1 answers and runs in migration mode, not registered yet"),
        (_M7, 1, "broker 1 answers and runs on KRaft, registered"),
        (_M7, 2, "broker 2 answers and runs in migration mode, registered as migrating"),
    ],
)
def test_gate_shows_the_mode_and_registration_of_a_broker(seen: Seen, id: int, words: str) -> None:
    assert observed_instead(seen.observation(), restart(id, Role.BROKER)) == words


@pytest.mark.parametrize(
    ("controllers", "words"),
    [
        ({3001: False}, "controller 3001 does not answer yet"),
        ({3001: True, 3002: False, 3003: False}, "controller 3002, controller 3003 do not answer yet"),
        ({3001: True}, "controller 3001 leads, /migration is not-copied"),
    ],
)
def test_awaited_quorum_is_described(controllers: dict[int, bool | None], words: str) -> None:
    observation = _M3.but(controllers=controllers).observation()
    assert observed_instead(observation, wait(Move.WAIT_QUORUM)) == words


def test_gate_shows_a_quorum_without_a_leader() -> None:
    observation = _with_answer(QuorumSeen(partition_error=6))
    assert observed_instead(observation, wait(Move.WAIT_QUORUM)) == "no controller leads yet"


def test_denied_question_leaves_the_leader_unknown() -> None:
    words = observed_instead(_with_answer(QuorumSeen(error_code=31)), wait(Move.WAIT_QUORUM))
    assert words == "the leader is unknown: controller 3001 denied DescribeQuorum to the user of kafkactl"


def _with_answer(answer: QuorumSeen) -> Observation:
    observation = _M3.but(leader=False).observation()
    nodes = [changed(node, quorum=answer) if node.role is Role.CONTROLLER else node for node in observation.nodes]
    return changed(observation, nodes=tuple(nodes))


def test_holder_of_the_controller_znode_is_named_while_an_election_or_the_copy_is_awaited() -> None:
    observation = _M3.observation()
    assert observed_instead(observation, wait(Move.WAIT_ZOOKEEPER_CONTROLLER)) == "/controller is held by zookeeper"
    copy = "/controller is held by zookeeper, /migration is not-copied"
    assert observed_instead(observation, wait(Move.WAIT_COPY)) == copy


def test_silent_node_and_missing_file_are_described() -> None:
    observation = _M4.but(modes={**_M4.modes, 2: None}).observation()
    step = restart(2, Role.BROKER, File.MIGRATION)
    assert observed_instead(observation, step) == "broker 2 does not answer yet"
    put = changed(step, action=Move.PUT_CONFIG)
    assert observed_instead(observation, put) == "the file of broker 2 is not its migration file yet"
