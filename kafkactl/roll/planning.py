"""`roll plan`: every step in order with its effects, its gates, and the rollback that is possible then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeAlias

from kafkactl.change.plan_document import checksum
from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.findings import Finding, Severity, blocker, warning
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.core.wording import first_few
from kafkactl.protocol.catalog.levels import default_levels
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.schema.spec import Versions
from kafkactl.roll.case import RollCase, Until, Way
from kafkactl.roll.checks.run import RollCheck, check_roll
from kafkactl.roll.gates import BEFORE, RollGate, gates_before
from kafkactl.roll.journal import Action
from kafkactl.roll.liveness import is_alive
from kafkactl.roll.observation import RollNode
from kafkactl.roll.order import RollOrder, batches_of, is_away, nodes_to_do, roll_order
from kafkactl.roll.predict import StepPrediction, predict_steps
from kafkactl.roll.releases import rules_of
from kafkactl.roll.rollback_path import How, old_release, path_under, rollback_path
from kafkactl.roll.rules.binaries import ranges
from kafkactl.roll.start_gates import AFTER

KIND: Final = "roll.plan"
SCHEMA_VERSION: Final = 1
_SESSION_MS: Final = 9_000
"""broker.session.timeout.ms if a file does not set it."""
_SESSION: Final = "broker.session.timeout.ms"
Stop: TypeAlias = tuple[Until, tuple[int, ...]]
"""Nodes that are stopped together, and the phase to which the step belongs."""


class StepRollback(StrEnum):
    """Rollback after a step was begun: by the binaries alone, after lowering levels, or none."""

    YES = "yes"
    LEVELS_FIRST = "levels-first"
    NO = "no"


_WAYS: Final = {
    How.NONE_NEEDED: StepRollback.YES,
    How.BINARIES: StepRollback.YES,
    How.LEVELS_FIRST: StepRollback.LEVELS_FIRST,
    How.NO: StepRollback.NO,
}


@frozen
class RollStep:
    """A step of a roll. `phase` is the part of the roll to which the step belongs."""

    number: int
    phase: Until
    action: Action
    nodes: tuple[int, ...]
    release: str | None
    gate_before: tuple[RollGate, ...]
    gate_after: tuple[RollGate, ...]
    predicted: StepPrediction | None
    """Partitions and quorum while the nodes are down; null for steps that stop nothing."""
    rollback: StepRollback
    rollback_reason: str
    least_ms: int | None
    """Least time of a stop and start of brokers: on 4.x a broker is refused until its old session has expired."""

    to_dict = json_of(
        "number", "phase", "action", "nodes", "release", "gate_before", "gate_after", "predicted", "way_back=rollback",
        "way_back_reason=rollback_reason", "least_ms",
    )  # fmt: skip


@frozen
class RollTotals:
    """Sums over all steps. The sums of predictions are null if a stop has none, because no metadata log was read."""

    steps: int
    leader_changes: int | None
    offline: int | None
    """Partitions without a leader, summed over the stops."""
    under_min_isr: int | None
    """Partitions below min.insync.replicas, summed over the stops."""
    least_ms: int

    to_dict = by_fields


@frozen
class RollPlan:
    """Answer of `roll plan`."""

    cluster_id: str | None
    way: Way
    to: str | None
    order: RollOrder
    batches: tuple[tuple[int, ...], ...]
    """Brokers that are stopped together, in order."""
    steps: tuple[RollStep, ...]
    totals: RollTotals
    findings: tuple[Finding, ...]
    plan_sha256: str
    """Checksum of the plan: equal for equal steps."""
    out: str | None = None
    """The plan file that was written."""

    @property
    def has_blockers(self) -> bool:
        """Return True if something stops the roll."""
        return any(finding.severity is Severity.BLOCKER for finding in self.findings)

    to_dict = json_of(
        "cluster_id", "way", "to", "order", "batches", "steps", "totals", "findings", "plan_sha256", "out",
        kind="roll.plan",
    )  # fmt: skip


def plan_roll(case: RollCase, check: RollCheck | None = None) -> RollPlan:
    """Return the plan of the remaining steps of a roll, with the findings of its check."""
    order = roll_order(case)
    batches = batches_of(case, order.brokers)
    order = changed(order, brokers=tuple(broker for batch in batches for broker in batch))
    steps = tuple(_numbered(_steps(case, order, batches)))
    findings = (check or check_roll(case)).findings
    plan = RollPlan(
        cluster_id=case.observation.cluster_id,
        way=case.way,
        to=case.request.to,
        order=order,
        batches=batches,
        steps=steps,
        totals=_totals(steps),
        findings=(*findings, *_partial(case)),
        plan_sha256="",
    )
    return changed(plan, plan_sha256=checksum(plan_document(plan)))


def plan_document(plan: RollPlan) -> dict[str, Any]:
    """Return the content of a plan file without its checksum. Gates are named, not evaluated."""
    steps = []
    for step in plan.steps:
        shown = step.to_dict()
        steps.append({**shown, "gate_before": _ids(step.gate_before), "gate_after": _ids(step.gate_after)})
    return {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "cluster_id": plan.cluster_id,
        "way": plan.way.value,
        "to": plan.to,
        "order": plan.order.to_dict(),
        "batches": [list(batch) for batch in plan.batches],
        "steps": steps,
    }


def _ids(gates: Sequence[RollGate]) -> list[str]:
    return [gate.id for gate in gates]


def _numbered(steps: Iterator[RollStep]) -> Iterator[RollStep]:
    return (changed(step, number=number) for number, step in enumerate(steps, start=1))


def _steps(case: RollCase, order: RollOrder, batches: Sequence[tuple[int, ...]]) -> Iterator[RollStep]:
    """Yield the steps: those of the nodes in order, then levels and proof as far as they are asked for."""
    until = Until(case.request.until or (Until.PROOF if case.goal is None else Until.BINARIES))
    controllers: list[Stop] = [(Until.CONTROLLERS, (id,)) for id in order.controllers]
    brokers: list[Stop] = [(Until.BROKERS, batch) for batch in batches]
    if case.way is Way.DOWNGRADE:
        stops = brokers if until is Until.BROKERS else [*brokers, *controllers]
    else:
        stops = controllers if until is Until.CONTROLLERS else _away_first(case, [*controllers, *brokers])
    predictions = predict_steps(case, [nodes for _, nodes in stops])
    is_first = True
    for (phase, nodes), predicted in zip(stops, predictions, strict=True):
        yield from _of_nodes(case, phase, nodes, predicted, is_first=is_first)
        is_first = False
    way, reason = _way_now(case)
    verify = _step(Until.PROOF, Action.VERIFY, (), way=way, reason=reason)
    if until not in (Until.CONTROLLERS, Until.BROKERS):
        yield verify if until is Until.PROOF else changed(verify, phase=Until.BINARIES)
    if until is Until.LEVELS and lower_levels(case):
        raised, why = _way_after_levels(case)
        yield _step(Until.LEVELS, Action.RAISE_LEVELS, (), way=raised, reason=why, release=_shown(case))


def _away_first(case: RollCase, stops: Sequence[Stop]) -> list[Stop]:
    """Return the stops of an upgrade: nodes that are down or not back come before all others."""
    away = {node.id for node in nodes_to_do(case) if is_away(case, node)}
    return [*(stop for stop in stops if set(stop[1]) <= away), *(stop for stop in stops if not set(stop[1]) <= away)]


def _of_nodes(
    case: RollCase, phase: Until, nodes: tuple[int, ...], predicted: StepPrediction | None, *, is_first: bool
) -> Iterator[RollStep]:
    """Yield the steps of one batch, one after the other: install, put-config, stop, start, wait."""
    way, reason = _way_now(case)
    before = tuple(RollGate(id=id, passed=None) for id in BEFORE)
    after = tuple(RollGate(id=id, passed=None) for id in AFTER)
    if is_first:
        before = gates_before(case, nodes)
    release = _shown(case)
    if case.goal is not None:
        yield _step(phase, Action.INSTALL, nodes, way=way, reason=reason, release=release)
    rendered = tuple(id for id in nodes if id in case.request.rendered)
    if rendered:
        yield _step(phase, Action.PUT_CONFIG, rendered, way=way, reason=reason)
    if not all(is_alive(case, node_id) is False for node_id in nodes):
        stop = _step(phase, Action.STOP, nodes, way=way, reason=reason)
        yield changed(stop, gate_before=before, predicted=predicted)
    start = _step(phase, Action.START, nodes, way=way, reason=reason, release=release)
    yield changed(start, least_ms=_least_ms(case, nodes))
    yield changed(_step(phase, Action.WAIT, nodes, way=way, reason=reason, release=release), gate_after=after)


def _step(
    phase: Until, action: Action, nodes: tuple[int, ...], *, way: StepRollback, reason: str, release: str | None = None
) -> RollStep:
    return RollStep(
        number=0,
        phase=phase,
        action=action,
        nodes=nodes,
        release=release,
        gate_before=(),
        gate_after=(),
        predicted=None,
        rollback=way,
        rollback_reason=reason,
        least_ms=None,
    )


def _shown(case: RollCase) -> str | None:
    return None if case.goal is None else case.request.to


def _least_ms(case: RollCase, nodes: Sequence[int]) -> int | None:
    """Return the session timeout that has to expire before a broker of 4.x is registered again, also after a clean
    stop."""
    sessions = []
    for node_id in nodes:
        node = case.observation.node(node_id)
        leader = None if case.leader_id is None else rules_of(case.versions.get(case.leader_id))
        if node is None or not node.is_broker or leader is None or leader.zookeeper_mode:
            continue
        text = (case.properties_of(node) or {}).get(_SESSION, "").strip()
        sessions.append(int(text) if text.isdigit() and len(text) < 12 else _SESSION_MS)
    return max(sessions, default=None)


def _way_now(case: RollCase) -> tuple[StepRollback, str]:
    """Return the rollback during the binaries, whose steps do not change levels."""
    old = old_release(case)
    if case.way is Way.RESTART and case.goal is None:
        return StepRollback.YES, "the release stays the same; the configuration before is put back in the same way"
    if case.way is Way.DOWNGRADE:
        return StepRollback.YES, "the newer release reads what the older one writes"
    found = rollback_path(case) if old is None else path_under(case, old, case.levels if case.has_log else None)
    return _WAYS[found.how], found.reason


def _way_after_levels(case: RollCase) -> tuple[StepRollback, str]:
    """Return the rollback after the levels were raised to those of the goal."""
    old, goal = old_release(case), rules_of(case.goal)
    if old is None or goal is None:
        return StepRollback.NO, "the old release is unknown"
    found = path_under(case, old, {**case.levels, **levels_of(goal)})
    return _WAYS[found.how], found.reason


def levels_of(release: Release) -> Mapping[str, int]:
    """Return the levels that `features upgrade --release-version` gives a cluster, kraft.version left out."""
    return {METADATA_VERSION: release.production_level, **default_levels(release, release.production_level)}


def lower_levels(case: RollCase) -> dict[str, int]:
    """Return the levels of the goal that the cluster does not have yet; none for a downgrade."""
    release = None if case.way is Way.DOWNGRADE else rules_of(case.goal)
    wanted = {} if release is None else levels_of(release)
    return {name: level for name, level in wanted.items() if case.levels.get(name, 0) < level}


def _totals(steps: Sequence[RollStep]) -> RollTotals:
    predicted = [step.predicted for step in steps if step.predicted is not None]
    is_known = all(step.predicted is not None for step in steps if step.action is Action.STOP)
    return RollTotals(
        steps=len(steps),
        leader_changes=sum(found.leader_changes for found in predicted) if is_known else None,
        offline=sum(found.offline for found in predicted) if is_known else None,
        under_min_isr=sum(found.under_min_isr for found in predicted) if is_known else None,
        least_ms=sum(step.least_ms or 0 for step in steps),
    )


def _partial(case: RollCase) -> Iterator[Finding]:
    """Yield a finding about the nodes that a roll of some nodes leaves out."""
    left = [node for node in case.observation.nodes if node.id in case.skipped and case.is_done(node) is not True]
    if case.goal is None or not left:
        return
    names = first_few([node.name for node in left])
    keeps = "keeps its release" if len(left) == 1 else "keep their release"
    needs_all = case.request.until is Until.LEVELS and any(_hinders_levels(case, node) for node in left)
    yield (blocker if needs_all else warning)(
        "partial-roll",
        "roll",
        f"{names} {keeps}: releases are mixed afterwards, and levels of Kafka {case.goal} cannot be raised",
        "Include every node, or roll without `--until levels`." if needs_all else "",
        nodes=[node.id for node in left],
    )


def _hinders_levels(case: RollCase, node: RollNode) -> bool:
    """Return True if a node is not known to support the levels of the goal; one that never registered is not asked."""
    own, goal = rules_of(case.last.get(node.id)), rules_of(case.goal)
    if own is None or goal is None:
        return False
    spans = ranges(own)
    return any(level not in spans.get(name, Versions(0, 0)) for name, level in levels_of(goal).items())
