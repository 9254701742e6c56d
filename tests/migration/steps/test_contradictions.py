"""Evidence that is old, foreign, contradictory or sparse: no confident wrong state, and no rollback based on one.

The cases are mutations of real captures of 3.7.2 and 3.9.2 that once led astray.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkactl.core.findings import Outcome, Severity
from kafkactl.core.frozen import changed
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.steps.forward import next_step, plan_forward
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.table import State, observed_state, state_of_evidence
from kafkactl.migration.zktree.tree import tree_of
from tests.hypothesis_profiles import examples
from tests.migration.state.states_seen import HEALTHY, KR, MIG, Seen
from tests.migration.zk_trees import CLUSTER_ID

_M11, _M8, _M6, _M4L = (HEALTHY[name] for name in ("M11", "M8", "M6", "M4L"))
_FIELDS = ("alive", "kafka_version", "mode", "config", "meta_properties", "api_versions", "quorum", "metrics")


def but(observation: Observation, role: str | None = None, **fields: Any) -> Observation:
    """Return it with fields of every node, or of those of a role, set."""
    nodes = (changed(node, **fields) if role in (None, node.role.value) else node for node in observation.nodes)
    return changed(observation, nodes=tuple(nodes))


def without_state(seen: Seen, **fields: Any) -> Observation:
    """Return an observation with neither a log nor a metric."""
    return changed(but(seen.observation(), metrics=None, **fields), logs={})


def blocked(observation: Observation) -> set[str]:
    plan = plan_rollback(observation)
    assert (plan.outcome, plan.steps) == (Outcome.REFUSED, ())
    return {finding.id for finding in plan.findings if finding.severity is Severity.BLOCKER}


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(data=st.data())
def test_finalized_migration_is_never_rolled_back(data: st.DataObject) -> None:
    # Whatever is not seen of it, and however old the log is that is.
    name = data.draw(st.sampled_from(["M11", "M8", "M6", None]))
    logs = {} if name is None else HEALTHY[name].observation().logs
    seen = changed(_M11.observation(), logs=logs)
    fields = data.draw(st.sets(st.sampled_from(_FIELDS)))
    role = data.draw(st.sampled_from(["broker", "controller", None]))
    seen = but(seen, role, **dict.fromkeys(fields), **({"config_text": None} if "config" in fields else {}))
    if data.draw(st.booleans()):
        seen = changed(seen, nodes=data.draw(st.sampled_from([seen.brokers, seen.controllers, ()])))
    if not seen.logs or any(controller.api_versions for controller in seen.controllers):
        assert plan_rollback(seen).outcome is not Outcome.PLANNED, observed_state(seen)


def test_leader_without_the_flag_has_finalized_the_migration() -> None:
    log = _M8.observation().logs
    seen = changed(but(_M11.observation(), metrics=None), logs=log)
    assert observed_state(seen).state is State.M11
    assert blocked(seen) == {"migration-finalized"}


def test_rollback_is_blocked_if_no_source_excludes_finalization() -> None:
    assert blocked(changed(without_state(_M8), nodes=_M8.observation().brokers)) == {"finalization-not-excluded"}
    assert blocked(changed(without_state(_M8), nodes=())) == {"finalization-not-excluded"}
    assert plan_rollback(without_state(_M8)).outcome is Outcome.PLANNED  # its controller has the flag
    assert plan_rollback(changed(without_state(_M6), nodes=())).outcome is Outcome.PLANNED  # brokers in ZooKeeper


@pytest.mark.parametrize("name", ["M6", "M7", "M8"])
@pytest.mark.parametrize("older", ["M3", "M4L"])
def test_old_copy_of_the_log_does_not_show_the_present_state(name: str, older: str) -> None:
    # It would be a stale /migration: stop all controllers at once.
    seen = changed(but(HEALTHY[name].but(end=900).observation(), metrics=None), logs=HEALTHY[older].observation().logs)
    found = observed_state(seen)
    assert found.state.value == name
    assert "metadata log" in [finding.subject for finding in found.findings if finding.id == "evidence-missing"]


def test_log_that_waits_for_the_copy_while_a_broker_runs_on_kraft() -> None:
    seen = changed(but(_M8.observation(), metrics=None, quorum=None), logs=HEALTHY["M3"].observation().logs)
    assert observed_state(seen).state is State.M8


@pytest.mark.parametrize(
    ("age_ms", "state"),
    [
        (400, State.SPLIT_BRAIN),
        (60_000, State.SPLIT_BRAIN),
        (60_001, State.STALE_MIGRATION),
        (3_600_000, State.STALE_MIGRATION),
    ],
    ids=["written", "a minute ago", "longer ago", "not written"],
)
def test_controllers_next_to_a_zookeeper_controller_are_stopped_first(age_ms: int, state: State) -> None:
    seen = without_state(_M6.but(holder="zk", migration_age_ms=age_ms))
    assert observed_state(seen).state is state
    assert plan_forward(seen).outcome is Outcome.REFUSED
    assert plan_rollback(seen).pending[0].action == "stop-controllers"


@pytest.mark.parametrize("seen", [_M4L, _M6, _M8], ids=["M4L", "M6", "M8"])
def test_evidence_is_insufficient_without_znodes_and_quorum(seen: Seen) -> None:
    found = changed(without_state(seen), tree=None)
    assert observed_state(found).state is State.NOT_ENOUGH_EVIDENCE
    assert blocked(found) == {"not-enough-evidence"}


@pytest.mark.parametrize("modes", [{1: MIG, 2: MIG, 3: MIG}, {1: KR, 2: MIG, 3: MIG}], ids=["none on KRaft", "one"])
def test_missing_migration_znode_under_kraft_is_a_lost_state(modes: dict[int, Any]) -> None:
    seen = without_state(_M6.but(modes=modes, migration=None))
    assert observed_state(seen).state is State.LOST_MIGRATION_ZNODE


@pytest.mark.parametrize("name", ["M4", "M6", "M8"])
def test_unreadable_controller_znode_is_a_blocker(name: str) -> None:
    observation = HEALTHY[name].observation()
    assert observation.tree is not None
    znodes = [
        changed(znode, data=b"{") if znode.path == "/controller" else znode
        for znode in observation.tree.znodes.values()
    ]
    assert "znode-unreadable" in blocked(changed(observation, tree=tree_of(znodes)))


def test_no_controller_for_a_moment_is_not_a_reason_to_raise_the_epoch() -> None:
    seen = HEALTHY["M0"].but(holder=None, zk_epoch=4, state_epoch=4)
    assert plan_rollback(seen.observation()).outcome is Outcome.NOTHING_TO_DO
    beaten = seen.but(state_epoch=9)
    assert "raise-controller-epoch" in [step.action for step in plan_rollback(beaten.observation()).pending]


@pytest.mark.parametrize("name", HEALTHY)
def test_no_step_is_planned_for_brokers_of_another_cluster(name: str) -> None:
    own = HEALTHY[name].observation()
    other = {"cluster.id": "AnotherClusterAnotherC", "version": "0"}
    assert other["cluster.id"] != CLUSTER_ID
    seen = but(own, "broker", meta_properties=other)
    assert "node-of-another-cluster" in blocked(seen)
    assert plan_forward(seen).outcome is Outcome.REFUSED
    evidence = evidence_of(seen)
    assert next_step(evidence, state_of_evidence(evidence)) is None


@pytest.mark.parametrize(
    ("controllers", "migration", "state"),
    [(True, -1, State.M5), (False, -1, State.COPY_CRASHED), (True, 118, State.M6)],
)
def test_state_of_3_4_at_the_begin_of_the_copy_is_recognised(controllers: bool, migration: int, state: State) -> None:
    seen = _M6.but(controllers={3001: controllers}, end=120, copy=(None, None), migration=migration)
    observation = seen.but(version="3.4.1").observation()
    logs = {id: changed(log, migration_states=((41, 1),)) for id, log in observation.logs.items()}
    assert observed_state(changed(but(observation, metrics=None), logs=logs)).state is state
