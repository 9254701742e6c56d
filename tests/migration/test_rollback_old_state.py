"""A partition's state that KRaft wrote when its ZooKeeper session ended, and that ZooKeeper never got (3.9.2, seen)."""

from __future__ import annotations

from kafkactl.frozen import changed
from kafkactl.migration.observation import Observation
from kafkactl.migration.rollback import plan_rollback
from kafkactl.migration.state import observed_state
from kafkactl.plan import Outcome, Severity
from tests.migration.observations import state, world

ID = "zookeeper-differs-from-kraft"
STATE = "/brokers/topics/orders/partitions/1/state"


def old_state(name: str = "M6") -> Observation:
    """ZooKeeper has an old leader and ISR of one partition."""
    return world(name).znode(STATE, state(leader=1, isr=[1, 2], leader_epoch=3)).observation()


def without_controllers(seen: Observation) -> Observation:
    nodes = (changed(one, alive=False, quorum=None, metrics=None, api_versions=None) for one in seen.controllers)
    return changed(seen, nodes=(*seen.brokers, *nodes))


def test_nothing_is_refused_where_both_say_the_same() -> None:
    assert ID not in [one.id for one in plan_rollback(world("M6").observation()).findings]


def test_a_way_back_that_could_cut_off_acked_messages_is_refused() -> None:
    plan = plan_rollback(old_state())
    assert plan.outcome is Outcome.REFUSED
    (found,) = [one for one in plan.findings if one.id == ID]
    assert found.severity is Severity.BLOCKER and "Restart the leading controller" in (found.next_step or "")


def test_the_loss_can_be_accepted_by_name() -> None:
    plan = plan_rollback(old_state(), accepted=frozenset({ID}))
    assert plan.outcome is Outcome.PLANNED
    assert (ID, Severity.WARNING) in [(one.id, one.severity) for one in plan.findings]


def test_where_no_controller_could_write_it_anew_the_way_back_goes_on() -> None:
    """A cluster without any controller is worse."""
    seen = without_controllers(old_state())
    assert observed_state(seen).state == "lost-quorum"
    plan = plan_rollback(seen)
    assert plan.outcome is Outcome.PLANNED
    assert (ID, Severity.WARNING) in [(one.id, one.severity) for one in plan.findings]
