"""The order of every roll: who is down first, rack by rack, the ZooKeeper controller last of all."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.frozen import changed
from kafkactl.migration.observed.observation import Mode, Observation
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.steps.forward import plan_forward
from kafkactl.migration.steps.order import rack_of, roll_order
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.step import File, Move, Way
from tests.migration.state.states_seen import HEALTHY, MIG, Seen


def in_racks(seen: Seen, racks: dict[int, str]) -> Observation:
    """Return the same with `broker.rack` in the files."""
    observation = seen.observation()
    nodes = (
        changed(node, config={**(node.config or {}), "broker.rack": racks[node.id]}) if node.id in racks else node
        for node in observation.nodes
    )
    return changed(observation, nodes=tuple(nodes))


def restarted(plan: Way, file: File) -> list[int | None]:
    return [step.node for step in plan.steps if step.action is Move.RESTART_NODE and step.file is file]


SIX = {1: "b", 2: "a", 3: "c", 4: "a", 5: "b", 6: "c"}


@pytest.mark.parametrize(
    ("racks", "order"),
    [
        ({}, [2, 3, 4, 5, 6, 1]),  # by id, and broker 1 holds /controller
        (SIX, [2, 4, 3, 6, 5, 1]),  # its rack is the last one
        (dict.fromkeys(SIX, "a"), [2, 3, 4, 5, 6, 1]),
        ({2: "a", 3: "a"}, [2, 3, 4, 5, 6, 1]),  # those without a rack are together
    ],
    ids=["no racks", "three racks", "one rack", "some without"],
)
def test_brokers_enter_migration_mode_in_order(racks: dict[int, str], order: list[int]) -> None:
    seen = HEALTHY["M3"].but(modes=dict.fromkeys(SIX, Mode.ZK))
    steps = plan_forward(in_racks(seen, racks)).steps
    found = [step.node for step in steps if step.action is Move.RESTART_NODE and step.file is File.MIGRATION]
    assert found == order
    barriers = [step.node for step in steps if step.barrier is not None and step.file is File.MIGRATION]
    assert set(barriers) == {1}


def test_brokers_are_restarted_rack_by_rack() -> None:
    modes = dict.fromkeys(SIX, MIG)
    seen = HEALTHY["M6"].but(modes=modes, registered=dict.fromkeys(SIX, True))
    assert restarted(plan_forward(in_racks(seen, SIX)), File.KRAFT) == [1, 5, 2, 4, 3, 6]
    assert restarted(plan_rollback(in_racks(seen, SIX)), File.ORIGINAL) == [1, 5, 2, 4, 3, 6]
    down = {3001: False}
    elected = seen.but(controllers=down, holder="zk", migration=None, zk_epoch=5)
    assert restarted(plan_rollback(in_racks(elected, SIX)), File.ORIGINAL) == [2, 4, 3, 6, 5, 1]


def test_stopped_broker_is_started_before_another_is_stopped() -> None:
    seen = HEALTHY["M8"].but(modes={1: Mode.KRAFT, 2: Mode.KRAFT, 3: None}, files={3: Mode.KRAFT})
    plan = plan_rollback(seen.observation())
    assert restarted(plan, File.MIGRATION) == [3, 1, 2]


@given(data=st.data())
def test_racks_stay_together(data: st.DataObject) -> None:
    ids = data.draw(st.sets(st.integers(1, 12), min_size=1))
    racks = {id: data.draw(st.sampled_from(["a", "b", "c"])) for id in ids if data.draw(st.booleans())}
    down = data.draw(st.sets(st.sampled_from(sorted(ids))))
    last = data.draw(st.sampled_from([*sorted(ids - down), None]))
    seen = HEALTHY["M3"].but(modes={id: None if id in down else Mode.ZK for id in ids})
    evidence = evidence_of(in_racks(seen, racks))
    brokers = [broker for broker in evidence.brokers if broker.node is not None]
    found = roll_order(brokers, evidence, last=last)
    assert sorted(broker.id for broker in found) == sorted(ids)
    assert [broker.id in down for broker in found] == sorted((broker.id in down for broker in found), reverse=True)
    up = [broker for broker in found if broker.id not in down]
    visited = [rack for rack, _ in groupby(rack_of(broker, evidence) for broker in up)]
    assert len(visited) == len(set(visited))
    assert last is None or found[-1].id == last


def test_rack_is_known_by_file_registration_or_znode() -> None:
    observation = HEALTHY["M6"].observation()
    (log,) = observation.logs.values()
    registered = {id: changed(registration, rack=f"r{id}") for id, registration in log.registrations.items()}
    registered_in_log = changed(observation, logs={3001: changed(log, registrations=registered)})
    evidence = evidence_of(registered_in_log)
    assert [rack_of(broker, evidence) for broker in evidence.brokers] == ["r1", "r2", "r3"]
    step = plan_forward(registered_in_log).pending[0]
    assert step.node == 1
