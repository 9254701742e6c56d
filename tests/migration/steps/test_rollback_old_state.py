"""A partition's state that KRaft wrote when its ZooKeeper session ended, and that ZooKeeper never got (3.9.2, seen)."""

from __future__ import annotations

from kafkactl.core.findings import Outcome, Severity
from kafkactl.core.frozen import changed
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.table import observed_state
from tests.migration.observations import state, world
from tests.migration.zk_trees import text

ID = "zookeeper-differs-from-kraft"
MISSES = "zookeeper-misses-metadata"
STATE = "/brokers/topics/orders/partitions/1/state"


def old_state(name: str = "M6") -> Observation:
    """Return a ZooKeeper tree with an old leader and ISR of one partition."""
    return world(name).znode(STATE, state(leader=1, isr=[1, 2], leader_epoch=3)).observation()


def without_controllers(seen: Observation) -> Observation:
    nodes = (
        changed(controller, alive=False, quorum=None, metrics=None, api_versions=None)
        for controller in seen.controllers
    )
    return changed(seen, nodes=(*seen.brokers, *nodes))


def test_equal_states_are_not_refused() -> None:
    assert ID not in [finding.id for finding in plan_rollback(world("M6").observation()).findings]


def test_rollback_that_could_cut_off_acked_messages_is_refused() -> None:
    plan = plan_rollback(old_state())
    assert plan.outcome is Outcome.REFUSED
    (found,) = [finding for finding in plan.findings if finding.id == ID]
    assert found.severity is Severity.BLOCKER and "Restart the leading controller" in (found.next_step or "")


def test_loss_can_be_accepted_by_name() -> None:
    plan = plan_rollback(old_state(), accepted=frozenset({ID}))
    assert plan.outcome is Outcome.PLANNED
    assert (ID, Severity.WARNING) in [(finding.id, finding.severity) for finding in plan.findings]


def test_rollback_continues_with_a_warning_if_no_controller_can_write_the_state() -> None:
    # A cluster without any controller is worse.
    seen = without_controllers(old_state())
    assert observed_state(seen).state == "lost-quorum"
    plan = plan_rollback(seen)
    assert plan.outcome is Outcome.PLANNED
    assert (ID, Severity.WARNING) in [(finding.id, finding.severity) for finding in plan.findings]


def test_credential_that_only_kraft_has_is_not_lost_without_a_word() -> None:
    credential = {"Mechanism": 1, "Salt": b"s", "StoredKey": b"k", "ServerKey": b"v", "Iterations": 4096}
    seen = world("M6").replayed(("UserScramCredentialRecord", {"Name": "eve", **credential})).observation()
    plan = plan_rollback(seen)
    assert plan.outcome is Outcome.REFUSED
    assert "scram-credential eve" in next(finding.message for finding in plan.findings if finding.id == MISSES)
    assert plan_rollback(seen, accepted=frozenset({MISSES})).outcome is Outcome.PLANNED


def test_quota_that_only_zookeeper_has_comes_back_with_it_and_that_is_reported() -> None:
    seen = world("M6").znode("/config/clients/slow", text({"version": 1, "config": {"producer_byte_rate": "9"}}))
    plan = plan_rollback(seen.observation())
    assert plan.outcome is Outcome.PLANNED
    assert (ID, Severity.WARNING) in [(finding.id, finding.severity) for finding in plan.findings]


def test_name_that_was_copied_with_its_escapes_is_in_zookeeper_by_its_right_name() -> None:
    # KAFKA-16222: the rollback repairs it.
    quota = {"Entity": [{"EntityType": "user", "EntityName": "eve%40x"}], "Key": "producer_byte_rate", "Value": 9.0}
    seen = world("M6").znode("/config/users/eve%40x", text({"version": 1, "config": {"producer_byte_rate": "9"}}))
    plan = plan_rollback(seen.replayed(("ClientQuotaRecord", quota)).observation())
    assert (ID, Severity.WARNING) in [(finding.id, finding.severity) for finding in plan.findings]
    assert MISSES not in [finding.id for finding in plan.findings]
    assert plan.outcome is Outcome.PLANNED
