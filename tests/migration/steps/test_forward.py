"""The forward plan from every state, and the gates between its states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.explanations import explanations
from kafkactl.core.findings import Outcome, Severity
from kafkactl.core.frozen import changed
from kafkactl.migration.driver.gate import gates_of
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.steps.forward import next_step, plan_forward
from kafkactl.migration.steps.m4 import witnesses
from kafkactl.migration.steps.m5 import expected_copy
from kafkactl.migration.steps.step import Barrier, File, Move, Way
from kafkactl.migration.steps.table import State, state_of_evidence
from tests.migration.observations import world
from tests.migration.state.states_seen import HEALTHY, KR, MIG, ZK, Seen
from tests.migration.steps.test_table import SITUATIONS, partial
from tests.migration.zk_trees import text

_M3, _M4, _M6, _M8 = (HEALTHY[name] for name in ("M3", "M4", "M6", "M8"))


def pending(plan: Way) -> list[str]:
    return [step.action.value if step.node is None else f"{step.action.value} {step.node}" for step in plan.pending]


def _enter(id: int) -> list[str]:
    return [f"put-config {id}", f"restart-node {id}", f"wait-broker-registered {id}"]


_KRAFT = [word for id in (1, 2, 3) for word in _enter(id)]
_FINAL = ["put-config 3001", "restart-node 3001", "wait-finalized"]
WAYS: dict[str, tuple[Seen, list[str]]] = {
    "M0": (
        HEALTHY["M0"].but(controllers={3001: False}, formatted=False, flags={3001: False}),
        ["put-config 3001", "format-disk 3001", "start-node 3001", "wait-quorum", *_enter(2), *_enter(3), *_enter(1),
         "wait-copy", *_KRAFT, *_FINAL],
    ),
    "M2": (
        HEALTHY["M2"],
        ["start-node 3001", "wait-quorum", *_enter(2), *_enter(3), *_enter(1), "wait-copy", *_KRAFT, *_FINAL],
    ),
    "M3": (_M3, [*_enter(2), *_enter(3), *_enter(1), "wait-copy", *_KRAFT, *_FINAL]),
    "M4": (_M4, [*_enter(2), *_enter(3), "wait-copy", *_KRAFT, *_FINAL]),
    "M4, a file is in place": (
        _M4.but(files={2: MIG}),
        ["restart-node 2", "wait-broker-registered 2", *_enter(3), "wait-copy", *_KRAFT, *_FINAL],
    ),
    "M4, restarted and not registered": (
        _M4.but(modes={1: MIG, 2: MIG, 3: ZK}), ["wait-broker-registered 2", *_enter(3), "wait-copy", *_KRAFT, *_FINAL],
    ),
    "M4, a broker left again": (
        _M4.but(modes={1: ZK, 2: ZK, 3: ZK}), [*_enter(2), *_enter(3), *_enter(1), "wait-copy", *_KRAFT, *_FINAL],
    ),
    "M4L": (HEALTHY["M4L"], [*_enter(3), "wait-copy", *_KRAFT, *_FINAL]),
    "M5": (HEALTHY["M5"], ["wait-copy", *_KRAFT, *_FINAL]),
    "M6": (_M6, [*_KRAFT, *_FINAL]),
    "M7": (HEALTHY["M7"], [*_enter(2), *_enter(3), *_FINAL]),
    "M7, a broker is down with its file": (
        HEALTHY["M7"].but(modes={1: KR, 2: None, 3: MIG}, files={2: KR}),
        ["restart-node 2", "wait-broker-registered 2", *_enter(3), *_FINAL],
    ),
    "M8": (_M8, _FINAL),
    "M8, a controller is down": (
        _M8.but(controllers={3001: True, 3002: False, 3003: True}),
        ["start-node 3002", *(f"{word} {id}" for id in (3002, 3003, 3001) for word in ("put-config", "restart-node")),
         "wait-finalized"],
    ),
    "M7, a controller is down": (
        HEALTHY["M7"].but(controllers={3001: True, 3002: True, 3003: False}),
        ["start-node 3003", *_enter(2), *_enter(3),
         *(f"{word} {id}" for id in (3002, 3003, 3001) for word in ("put-config", "restart-node")), "wait-finalized"],
    ),
    "M10": (HEALTHY["M10"], ["put-config 3002", "restart-node 3002"]),
    "killed in the copy": (
        HEALTHY["M5"].but(controllers={3001: False}), ["start-node 3001", "wait-copy", *_KRAFT, *_FINAL],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_forward_plan_has_the_expected_steps(name: str) -> None:
    seen, expected = WAYS[name]
    plan = plan_forward(seen.observation())
    assert (plan.outcome, pending(plan)) == (Outcome.PLANNED, expected), plan.findings
    assert [step.number for step in plan.steps] == list(range(1, len(plan.steps) + 1))


def test_disk_of_an_earlier_try_is_wiped_before_it_is_started_again() -> None:
    plan = plan_forward(SITUATIONS["rolled back from M6"][0].observation())
    assert (plan.outcome, plan.findings[0].id) == (Outcome.REFUSED, "controller-disk-left-over")


def test_at_the_end_there_is_nothing_to_do() -> None:
    plan = plan_forward(HEALTHY["M11"].observation())
    assert (plan.outcome, plan.steps) == (Outcome.NOTHING_TO_DO, ())


@pytest.mark.parametrize("name", [name for name, (_, state) in SITUATIONS.items() if State(state).is_broken])
def test_broken_state_is_not_continued_from(name: str) -> None:
    seen, state = SITUATIONS[name]
    plan = plan_forward(seen.observation())
    assert plan.outcome is (Outcome.PLANNED if state in ("copy-crashed", "lost-quorum") else Outcome.REFUSED)
    assert plan.findings[0].id == state


def test_controller_is_not_started_to_end_at_the_same_znode_again() -> None:
    seen = world("M5").but(controllers={3001: False})
    assert pending(plan_forward(seen.observation()))[0] == "start-node 3001"
    seen.znode("/config/clients/slow", text({"version": 1, "config": {"producer_byte_rate": "abc"}}))
    evidence = evidence_of(seen.observation())
    plan, copy = plan_forward(seen.observation()), expected_copy(evidence, State.COPY_CRASHED)
    assert (plan.outcome, plan.steps, plan.findings[0].id) == (Outcome.REFUSED, (), "copy-crashed")
    assert copy is not None and copy.outcome == "dies"
    assert next_step(evidence, state_of_evidence(evidence)) is None


@pytest.mark.parametrize(
    ("name", "moves"),
    [("M3", ["put-config 2"]), ("M4L", ["put-config 3"]), ("M5", ["wait-copy"]), ("M6", ["put-config 1"])],
)
def test_next_step_is_the_first_pending_step_of_the_plan(name: str, moves: list[str]) -> None:
    step = plan_forward(HEALTHY[name].observation()).pending[0]
    assert [step.action.value if step.node is None else f"{step.action} {step.node}"] == moves


def test_plan_has_its_consequences_for_clients() -> None:
    assert plan_forward(_M6.observation()).consequences[0].startswith("3 restarts of brokers onto KRaft.")
    assert plan_forward(_M8.observation()).consequences[0].startswith("1 restart of a controller.")


def test_plan_without_controllers_has_a_finding() -> None:
    ids = [finding.id for finding in plan_forward(HEALTHY["M0"].but(controllers={}).observation()).findings]
    assert ids == ["controllers-not-named"]
    assert not plan_forward(HEALTHY["M2"].observation()).findings


def test_before_the_last_broker_there_is_a_barrier() -> None:
    for name in ("M3", "M4", "M4L"):
        steps = plan_forward(HEALTHY[name].observation()).pending
        assert {step.node for step in steps if step.barrier is Barrier.LAST_BROKER} == {1 if name == "M3" else 3}


def test_every_step_of_the_last_controllers_is_behind_the_barrier_and_the_leader_is_last() -> None:
    seen = _M8.but(controllers={3001: True, 3002: True, 3003: True})  # 3001 leads
    steps = [step for step in plan_forward(seen.observation()).pending if step.file is File.FINAL]
    assert [step.node for step in steps] == [3002, 3002, 3003, 3003, 3001, 3001]
    assert {step.barrier for step in steps} == {Barrier.FINALIZE}


@pytest.mark.slow
@given(data=st.data())
def test_no_partial_observation_raises_and_no_kraft_file_comes_early(data: st.DataObject) -> None:
    seen, _ = SITUATIONS[data.draw(st.sampled_from(sorted(SITUATIONS)))]
    observation = partial(seen.observation(), data)
    plan = plan_forward(observation)
    moves = [step.action for step in plan.pending]
    first = next((at for at, step in enumerate(plan.pending) if step.file is File.KRAFT), None)
    if first is not None and Move.WAIT_COPY in moves:
        assert first > moves.index(Move.WAIT_COPY)


CLOSED: dict[str, tuple[str, Seen, str]] = {
    "a controller is not formatted": (
        "M2", HEALTHY["M2"].but(formatted=False), "controller-disk-not-seen",
    ),
    "nobody leads": ("M3", _M3.but(leader=False), "quorum-not-ready"),
    "a controller is down": ("M3", _M3.but(controllers={3001: True, 3002: True, 3003: False}), "quorum-not-ready"),
    "/migration is not there yet": ("M3", _M3.but(migration=None), "quorum-not-ready"),
    "a broker has not entered": ("M4", _M4, "broker-not-entered"),
    "a broker left again": ("M4L", HEALTHY["M4L"].but(modes={1: ZK, 2: MIG, 3: ZK}), "registered-broker-without-flag"),
    "the copy runs": ("M5", HEALTHY["M5"], "copy-not-done"),
    "copied and not mirrored": ("M5", _M6.but(end=240, migration=236), "copy-not-done"),
    "the driver is stuck": ("M6", _M6.but(end=900, migration_age_ms=300_000), "dual-write-not-seen"),
    "a broker is not on KRaft": ("M7", HEALTHY["M7"], "broker-not-on-kraft"),
    "of half of the controllers nothing was heard before the end": (
        "M8", _M8.but(controllers={3001: True, 3002: None}), "quorum-not-ready",
    ),
    "a dead broker is registered as migrating": (
        "M8", _M8.but(registered={1: False, 2: False, 3: False, 4: True}), "migrating-registration-left",
    ),
    "a controller is not final": ("M10", HEALTHY["M10"], "controller-not-final"),
}  # fmt: skip


@pytest.mark.parametrize("name", CLOSED)
def test_closed_gate_has_a_finding(name: str) -> None:
    state, seen, reason = CLOSED[name]
    gates = gates_of(State(state), seen.observation())
    assert reason in [finding.id for finding in gates]
    assert any(finding.severity is not Severity.INFO for finding in gates)
    assert {finding.id for finding in gates} <= set(explanations())


def test_copy_waits_for_a_controller_that_does_not_respond() -> None:
    # 3.9.2 with static voters: "Still waiting for all controller nodes ready to begin the migration."
    seen = HEALTHY["M4L"].but(registered={1: True, 2: True, 3: True}, modes={1: MIG, 2: MIG, 3: MIG})
    seen = seen.but(controllers={3001: True, 3002: True, 3003: False})
    gates = gates_of(State.M5, seen.observation())
    assert [finding.subject for finding in gates if finding.id == "quorum-not-ready"] == ["controller 3003"]
    steps = {finding.next_step for finding in gates if finding.id == "copy-not-done"}
    assert steps == {"Start controller 3003 first."}


def test_copy_that_is_done_is_not_waited_for() -> None:
    assert "copy-not-done" not in [finding.id for finding in gates_of(State.M5, _M6.observation())]


def test_missing_answer_of_a_broker_is_unknown() -> None:
    seen = {broker.id: witnesses(broker) for broker in evidence_of(_M4.observation()).brokers}
    assert (seen[1]["registered_migrating"], seen[2]["registered_migrating"]) == (True, False)
    unheard = evidence_of(_M4.but(log=None).observation()).brokers
    assert {witnesses(broker)["registered_migrating"] for broker in unheard} == {None}


def _later(seen: Seen) -> tuple[Observation, Observation]:
    """Return two looks ten seconds apart, the log twenty no-ops on."""
    first = seen.observation()
    moved = seen.but(end=seen.end + 20, migration=seen.migration + 20 if isinstance(seen.migration, int) else None)
    return first, changed(moved.observation(), time_ms=first.time_ms + 10_000)


@pytest.mark.parametrize("name", ["M6", "M8"])
def test_gate_is_confirmed_in_two_observations(name: str) -> None:
    first, second = _later(HEALTHY[name])
    ids = [finding.id for finding in gates_of(State(name), second, first)]
    assert not {"condition-not-confirmed", "dual-write-stalled", "dual-write-not-seen"} & set(ids)
    assert "condition-not-confirmed" in [
        finding.id for finding in gates_of(State(name), changed(second, time_ms=first.time_ms + 1), first)
    ]


def test_offset_that_does_not_advance_while_the_log_grows_is_not_dual_write() -> None:
    first = _M6.observation()
    second = changed(_M6.but(end=_M6.end + 15).observation(), time_ms=first.time_ms + 10_000)
    stalled = [finding for finding in gates_of(State.M6, second, first) if finding.id == "dual-write-stalled"]
    assert [finding.subject for finding in stalled] == ["/migration"]


@given(data=st.data())
def test_no_gate_raises(data: st.DataObject) -> None:
    seen, state = SITUATIONS[data.draw(st.sampled_from(sorted(SITUATIONS)))]
    gates_of(State(state), partial(seen.observation(), data))
