"""The gates of steps and states: the reasons why a gate is closed, the timeout, and steps without an observation."""

from __future__ import annotations

from kafkactl.change.hooks.words import Verb
from kafkactl.core.findings import Finding
from kafkactl.core.values import Role
from kafkactl.migration.checks.case import case_of
from kafkactl.migration.checks.registry import check
from kafkactl.migration.checks.topic_ids import stray_finding
from kafkactl.migration.driver.actions import Place, is_running
from kafkactl.migration.driver.gate_text import observed_instead
from kafkactl.migration.driver.moves import RunContext, StepPlan
from kafkactl.migration.driver.ports import MigrationWaitPolicy
from kafkactl.migration.driver.stops import isr_incomplete, not_caught_up
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.gates import gates_seen
from kafkactl.migration.steps.step import STARTS, File, Move, Progress, Step


def gates_of(state: State, observation: Observation, earlier: Observation | None = None) -> tuple[Finding, ...]:
    """Return the findings between a state and the next one, with those of the checks; see `gates_seen`."""
    evidence = evidence_of(observation)
    return gates_seen(state, evidence, checked=check(observation, evidence=evidence), earlier=earlier)


def limit_of(step: Step, policy: MigrationWaitPolicy) -> int:
    """Return the timeout of a gate in ms.

    Brokers elect a controller in milliseconds, or the next run has to start one of them again. A run does not restart
    a broker without consent: without a controller the broker may have to be killed to stop.
    """
    if step.action is Move.WAIT_COPY:
        return policy.copy_ms
    if step.action is Move.WAIT_ZOOKEEPER_CONTROLLER:
        return min(policy.znode_ms, policy.gate_ms)
    return policy.gate_ms


def why_closed(context: RunContext, step: Step, route: StepPlan, seen: Observation) -> tuple[str, ...]:
    """Return the reasons why the gate of a step is closed; none if it is open.

    A registration outlives its broker for some seconds, so a node that was started has to answer as well.
    """
    same = [
        other
        for other in route.steps
        if (other.action, other.target, other.file) == (step.action, step.target, step.file)
    ]
    if any(other.state is Progress.PENDING for other in same):
        return (observed_instead(seen, step),)
    if step.action is Move.FORMAT_DISK:
        return _formatted_for_another(context, step, seen)
    if step.action not in STARTS or step.node is None or step.role is None:
        return ()
    if answers(seen.node(step.node, step.role)) is False:
        return (f"nothing listens at the address of {step.target}",)
    if step.action is not Move.RESTART_NODE:
        return ()
    return isr_incomplete(seen, step.node) if step.role is Role.BROKER else not_caught_up(seen, step.node)


def _formatted_for_another(context: RunContext, step: Step, seen: Observation) -> tuple[str, ...]:
    """Return the reason if a disk is formatted for another cluster."""
    node = None if step.node is None else seen.node(step.node, Role.CONTROLLER)
    found = None if node is None else (node.meta_properties or {}).get("cluster.id")
    if found is None or found == context.cluster_id:
        return ()
    return (f"meta.properties of {step.target} has cluster.id {found}, not {context.cluster_id}",)


def is_blind(context: RunContext, step: Step, *, asked: bool) -> bool:
    """Return True if only the start of the node shows the result of a step, because its file or disk is unreadable."""
    if step.node is None:
        return False
    if step.action is Move.FORMAT_DISK:
        node = context.node(step.node)
        return not (node.hooks.is_local or node.log is not None)
    is_file = step.action in (Move.PUT_CONFIG, Move.RESTORE_CONFIG)
    return asked and is_file and not context.world.has_hook(Verb.GET_CONFIG, step.node)


def new_strays(seen: Observation, step: Step) -> Finding | None:
    """Report `*-stray` directories after a broker was started with its KRaft file."""
    if step.action is not Move.RESTART_NODE or step.role is not Role.BROKER or step.file is not File.KRAFT:
        return None
    node = None if step.node is None else seen.node(step.node, Role.BROKER)
    return stray_finding(case_of(seen), node.name) if node is not None and node.strays else None


def boot_left_ms(context: RunContext, step: Step, place: Place, up_ms: int) -> int:
    """Return the time in ms that a node, started `up_ms` ago, may still take to boot; 0 if the step has to be taken.

    A node that answers is no longer booting, and a node without a process has ended. A process that exists gets the
    whole timeout of a gate again, because a restart would begin the recovery of its logs again. If no hook shows the
    process, its age decides.
    """
    if step.action not in STARTS or step.node is None or step.role is None:
        return 0
    running = is_running(context.world, place)
    if running is False or answers(context.world.observe().node(step.node, step.role)):
        return 0
    limit_ms = limit_of(step, context.policy)
    return limit_ms if running else max(0, limit_ms - up_ms)
