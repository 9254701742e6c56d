"""Guards before each step of a run: the checks, the gate of the state that is left, the comparison.

At a milestone (a field of the state's definition) two or three observations in a row have to be clean, and an unknown
fact has to be accepted by name. Between milestones only blockers count: a roll causes warnings of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from kafkactl.core.findings import Finding, Severity, blocker, blockers, warning
from kafkactl.core.frozen import changed, frozen
from kafkactl.migration.checks.ids import accept_word, is_accepted
from kafkactl.migration.checks.registry import check
from kafkactl.migration.compare.comparison import compare_observation
from kafkactl.migration.driver.files import missing_files
from kafkactl.migration.driver.gate import gates_of
from kafkactl.migration.driver.liveness import majority_at_risk, replicas_at_risk
from kafkactl.migration.driver.moves import Files, RunContext, StepPlan
from kafkactl.migration.driver.ports import MigrationPort
from kafkactl.migration.inventory import Inventory
from kafkactl.migration.observed.observation import Mode, Observation
from kafkactl.migration.observed.silence import refusals
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.state.names import State
from kafkactl.migration.state.soak import election_between, soak_findings, soak_of
from kafkactl.migration.steps.definition import Milestone
from kafkactl.migration.steps.m4 import LAST_BROKER
from kafkactl.migration.steps.step import Move, Progress, Step
from kafkactl.migration.steps.table import definition_of
from kafkactl.migration.zktree.znode import encode_znodes

# Steps that bring the quorum up, or only look: what is missing before them is what they bring.
_MENDING: Final = frozenset(
    {
        Move.FORMAT_DISK,
        Move.START_NODE,
        Move.WAIT_QUORUM,
        Move.WAIT_BROKER_REGISTERED,
        Move.WAIT_COPY,
        Move.WAIT_FINALIZED,
    }
)
_WAITS: Final = frozenset(move for move in Move if move.value.startswith("wait-"))
_OF_A_RESTART: Final = frozenset(
    {
        "file-not-in-effect",
        "broker-down",
        "controller-down",
        "registered-broker-absent",
        "broker-registered-nowhere",
        "broker-fenced",
        "broker-not-in-zookeeper",
        "entered-broker-not-registered",
        "registered-broker-without-flag",
        "kraft-broker-on-zookeeper",
        "broker-state-inconsistent",
    }
)
# While a broker is down, what was its alone has no leader.
_OF_A_STOP: Final = frozenset(
    {"offline-partitions", "under-replicated-partitions", "replica-on-absent-broker", "config-of-absent-broker"}
)
# It only warns, because it is resolved automatically; but nothing is restarted before it has (C-33).
_WAITED_FOR: Final = frozenset({"under-replicated-partitions"})
_HOPELESS: Final = frozenset({"claim-interrupted", "kraft-controller-left-over"})
_STRAYS: Final = "X-5.2"
OF_ITS_OWN: Final = frozenset({"rollback-needs-controller-epoch"})
"""Warnings that the progress of a run itself makes, and that a rollback by kafkactl deals with: for those who go by
hand, and nothing to accept here."""
_SEEN_ONCE: Final = "condition-not-confirmed"  # the driver counts its own looks, and knows how far apart they were


class Guard(Protocol):
    """The questions of a driver before it takes a step."""

    def observations_needed(self, route: StepPlan, step: Step) -> int:
        """Return the number of clean observations in a row that the step needs."""
        ...

    def objections(
        self, seen: Observation, earlier: Observation | None, route: StepPlan, step: Step
    ) -> tuple[Finding, ...]:
        """Return the findings that stop the step."""
        ...

    def pass_by(self, seen: Observation, route: StepPlan, step: Step) -> None:
        """Note that the step is about to be taken."""
        ...

    def hopeless(self, seen: Observation) -> Finding | None:
        """Return a finding that keeps every gate closed while it lasts."""
        ...


class NoGuard:
    """A guard without objections, for plans that contain their own refusals."""

    def observations_needed(self, _route: StepPlan, _step: Step) -> int:
        """Return one."""
        return 1

    def objections(
        self, _seen: Observation, _earlier: Observation | None, _route: StepPlan, _step: Step
    ) -> tuple[Finding, ...]:
        """Return no findings."""
        return ()

    def pass_by(self, _seen: Observation, _route: StepPlan, _step: Step) -> None:
        """Ignore the step."""

    def hopeless(self, _seen: Observation) -> Finding | None:
        """Return None: the plan reports such findings."""
        return None


class BackGuard:
    """The guard of a rollback: before the first step every file is available, and no edit is replaced without consent.

    Later there is no controller, so a missing file would prolong the outage.
    """

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._is_ready = False

    def observations_needed(self, _route: StepPlan, _step: Step) -> int:
        """Return one: the plan itself is made again after every step."""
        return 1

    def objections(
        self, seen: Observation, _earlier: Observation | None, route: StepPlan, step: Step
    ) -> tuple[Finding, ...]:
        """Return missing files, and a majority or a last replica that the next restart would make unavailable."""
        if closed := closed_to_kafkactl(seen, step):
            return closed
        if risks := (*majority_at_risk(seen, step), *replicas_at_risk(seen, step)):
            return risks
        if self._is_ready:
            return ()
        found = (
            *self._context.files.objections(seen, route.steps),
            *missing_files(self._context.files, self._context.inventory, route.steps, seen),
        )
        self._is_ready = not found
        return found

    def pass_by(self, _seen: Observation, _route: StepPlan, _step: Step) -> None:
        """Ignore the step."""

    def hopeless(self, _seen: Observation) -> Finding | None:
        """Return None: the plan reports such findings."""
        return None


@frozen
class Rehearsal:
    """The context of a dry run, which observes and keeps nothing."""

    world: MigrationPort
    inventory: Inventory
    files: Files


class ForwardGuard:
    """`accepted` are ids of findings and questions that the operator knows of; each accepts that one only.

    The files of all steps up to the state `until` have to be in hand before the first of them (None: of all steps).
    """

    def __init__(
        self, context: RunContext | Rehearsal, *, accepted: frozenset[str] = frozenset(), until: str | None = None
    ) -> None:
        self._context = context
        self._accepted = accepted
        self._last = None if until is None else State(until).place
        self._passed: set[str] = set()
        self._files_settled = False

    def observations_needed(self, route: StepPlan, step: Step) -> int:
        """Return more than one at a milestone, once a run for each milestone; most before what cannot be undone."""
        due = self._due(route, step)
        return 1 if due is None else due.observations

    def _due(self, route: StepPlan, step: Step) -> Milestone | None:
        found = milestone(route, step)
        return None if found is None or found.name in self._passed else found

    def objections(
        self, seen: Observation, earlier: Observation | None, route: StepPlan, step: Step
    ) -> tuple[Finding, ...]:
        """Return the objections to the step, blockers first. Nothing else is judged while a node could not be asked."""
        if closed := closed_to_kafkactl(seen, step):
            return closed
        if risks := majority_at_risk(seen, step):
            return risks
        wanted_steps = [step for step in route.steps if step.is_before(self._last)]
        if not self._files_settled and (files := self._context.files.objections(seen, wanted_steps)):
            return files
        due = self._due(route, step)
        if due is None and step.action in _MENDING:
            return ()
        found = [
            finding
            for finding in check(seen, accepted=self._accepted)
            if not _is_brought_by(seen, step, finding) and not is_cured_by_first_steps(route, finding)
        ]
        if due is None:
            return tuple(
                finding for finding in found if finding.severity is Severity.BLOCKER or finding.id in _WAITED_FOR
            )
        # Once brokers have KRaft files, what is known from ZooKeeper alone is unknown.
        wanted = blockers(found) if due.compares else self._not_accepted(found)
        if due.asks_gate:
            gates = gates_of(State(route.state), seen, earlier)
            wanted += self._not_accepted(finding for finding in gates if finding.id != _SEEN_ONCE)
        if due.lists_strays:
            wanted += self._not_accepted(self._strays_unseen(seen))
        if due.compares:
            wanted += self._not_accepted(_compared(seen, step))
        if due.asks_soak:
            wanted += self._not_accepted(self._too_fresh(seen, earlier))
        unique = {
            (finding.id, finding.subject): finding for finding in wanted if not _is_brought_by(seen, step, finding)
        }
        return tuple(sorted(unique.values(), key=lambda finding: list(Severity).index(finding.severity)))

    def _too_fresh(self, seen: Observation, earlier: Observation | None) -> Iterable[Finding]:
        """Report an M8 that is shorter than the inventory asks, and an election between two observations."""
        evidence = evidence_of(seen)
        yield from soak_findings(soak_of(evidence), wanted_hours=self._context.inventory.soak_hours)
        if earlier is not None:
            yield from election_between(evidence_of(earlier), evidence)

    def _strays_unseen(self, seen: Observation) -> Iterable[Finding]:
        for broker in seen.brokers:
            if broker.strays is None:
                yield warning(
                    "stray-check-unavailable",
                    broker.name,
                    f"the log directories of {broker.name} were not listed: it has no fs_probe hook, or the hook"
                    " failed, or neither the inventory nor its own file names them; partitions that it puts aside as"
                    " *-stray after its restart are not seen",
                    check=_STRAYS,
                )

    def pass_by(self, seen: Observation, route: StepPlan, step: Step) -> None:
        """Keep ZooKeeper's tree at a milestone."""
        self._files_settled = True
        due = self._due(route, step)
        if due is None:
            return
        self._passed.add(due.name)
        if seen.tree is not None and isinstance(self._context, RunContext):
            znodes = sorted(seen.tree.znodes.values(), key=lambda znode: znode.path)
            self._context.journal.keep("tree", {"before": due.name, "state": route.state}, encode_znodes(znodes))

    def hopeless(self, seen: Observation) -> Finding | None:
        """Return the finding of a copy that does not begin or continue; the cluster has no controller meanwhile."""
        return next((finding for finding in check(seen) if finding.id in _HOPELESS), None)

    def _not_accepted(self, found: Iterable[Finding]) -> list[Finding]:
        """Return the blockers, and the warnings that are not accepted, with the option that accepts each."""
        kept = []
        for finding in found:
            if finding.severity is Severity.BLOCKER:
                kept.append(finding)
            elif (
                finding.severity is Severity.WARNING
                and finding.id not in OF_ITS_OWN
                and not is_accepted(finding, self._accepted)
            ):
                known = f"Or go on knowing it: --accept {accept_word(finding)}"
                kept.append(changed(finding, next_step=f"{finding.advice} {known}"))
        return kept


def closed_to_kafkactl(seen: Observation, step: Step) -> tuple[Finding, ...]:
    """Return the nodes that did not let kafkactl in, as blockers of every step that does more than wait."""
    if step.action in _WAITS:
        return ()
    return tuple(changed(finding, severity=Severity.BLOCKER) for finding in refusals(seen))


def _is_brought_by(seen: Observation, step: Step, finding: Finding) -> bool:
    """Return True if this step, the restart of a broker, cures the finding: the broker is down or has its old file."""
    if step.action is not Move.RESTART_NODE or step.node is None:
        return False
    node = seen.node(step.node)
    held = None if seen.log is None else seen.log.registrations.get(step.node)
    fell_back = node is not None and node.mode is Mode.ZK and held is not None and not held.migrating
    is_down = node is not None and (node.alive is False or fell_back)
    return (finding.subject == step.target and finding.id in _OF_A_RESTART) or (is_down and finding.id in _OF_A_STOP)


def is_cured_by_first_steps(route: StepPlan, finding: Finding) -> bool:
    """Return True if a step of the route installs the file that a formatted controller lacks, before its start."""
    return finding.id == "controller-without-flag" and any(
        step.action is Move.PUT_CONFIG and step.phase is State.M2 and step.target == finding.subject
        for step in route.steps
        if step.state is Progress.PENDING
    )


def milestone(route: StepPlan, step: Step) -> Milestone | None:
    """Return the milestone that a step is the first one after; None if there is none."""
    if LAST_BROKER.precedes(step):
        return LAST_BROKER
    definition = definition_of(route.state)
    found = None if definition is None else definition.milestone
    return found if found is not None and found.precedes(step) else None


def _compared(seen: Observation, step: Step) -> tuple[Finding, ...]:
    """Return the findings of the comparison, without a broker that an earlier run stopped and this step starts."""
    comparison = compare_observation(seen)
    own = step.target if step.action is Move.RESTART_NODE else None
    unexplained = [
        difference
        for difference in comparison.differences
        if difference.explained is None and f"{difference.entity} {difference.key}" != own
    ]
    if not unexplained:
        return comparison.findings
    first = ", ".join(f"{difference.entity} {difference.key}" for difference in unexplained[:5])
    return (
        *comparison.findings,
        blocker(
            "zookeeper-and-kraft-differ",
            "migration",
            f"{len(unexplained)} differences between ZooKeeper and KRaft that nothing explains: {first}",
            differences=len(unexplained),
        ),
    )
