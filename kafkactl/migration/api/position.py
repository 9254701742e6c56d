"""Position of a migration, from the evidence of all nodes, next to the state in the driver's journal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.findings import Finding, blockers, each_once
from kafkactl.core.frozen import frozen
from kafkactl.migration.api.checking import edits_of
from kafkactl.migration.api.observing import Lacking, lacking
from kafkactl.migration.checks.registry import check
from kafkactl.migration.checks.remaining_work import afterwards
from kafkactl.migration.driver.routes import remembered_of
from kafkactl.migration.io.journal_view import JournalView, read_journal_view
from kafkactl.migration.state.evidence import Evidence, evidence_of
from kafkactl.migration.state.names import State
from kafkactl.migration.state.view import ObservedDict, observed_view
from kafkactl.migration.steps.forward import next_step
from kafkactl.migration.steps.gates import APART_MS, gates_of_rollback, gates_seen
from kafkactl.migration.steps.rollback import rollback_of
from kafkactl.migration.steps.table import ObservedState, definition_of, state_of_evidence

if TYPE_CHECKING:
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.observed.observation import Observation
    from kafkactl.migration.steps.step import Step

_ALARM = "finalization-begun"  # a controller without the flag, while ZooKeeper is written still
_NOT_LED = frozenset({"quorum-without-leader", "started-controllers-ended"})
_FINALIZING, _BACK = "finalize", "rollback"
_DONE = "done"


@frozen
class JournalSummary:
    """Summary of the journal."""

    file: str
    state: str | None
    """The last state that the driver observed."""
    goal: str | None
    pending: str | None
    """The action that was begun and of which no end is written."""
    outcome: str | None
    """Outcome of the last run."""

    @property
    def is_going_back(self) -> bool:
        """Return True if a rollback was begun and has not ended."""
        return self.goal == _BACK and self.outcome != _DONE

    to_dict = by_fields


@frozen
class MigrationStatus:
    """The observed state, what is missing for the next one (`gates`), and the next step; None if there is none.

    `journal` is what the driver remembers, None without one. `has_problems`: the migration is broken, stopped, or
    being finalized by something else than the driver.
    """

    observed_state: ObservedState
    evidence: Evidence
    observation: Observation
    gates: tuple[Finding, ...]
    """Findings between this state and the next one; if all are of severity info, the gate is open."""
    findings: tuple[Finding, ...]
    """Findings about what is wrong, not known, or left over."""
    next_step: Step | None
    journal: JournalSummary | None
    """None if no journal was given, or none is there."""
    has_problems: bool
    lacks: Lacking | None

    @property
    def state(self) -> State:
        """Return M0 to M11, M4L, or the name of a state that no procedure leads to."""
        return self.observed_state.state

    @property
    def observed(self) -> ObservedDict:
        """Return the state by each source of evidence; null is what was not observed."""
        return observed_view(self.evidence, self.state)

    @property
    def agrees(self) -> bool | None:
        """Return True if journal and cluster have the same state; None without a journal.

        A state that is planned, armed or about to follow automatically is not a disagreement.
        """
        if self.journal is None or self.journal.state is None:
            return None
        definition = definition_of(self.journal.state)
        shown = None if definition is None else definition.observed_as
        return (self.journal.state if shown is None else shown) == self.state

    to_dict = json_of(
        "state=state.value", "state_words=state.words", "why=observed_state.why", "time_ms=observation.time_ms",
        "observed", "journal", "agrees", "driver_lock=observation.lock", "gates", "next_action=next_step", "findings",
        kind="migrate.status",
    )  # fmt: skip


_LEFT_BEHIND: Final = frozenset({"controller-disk-of-earlier-attempt", "stale-migration-znode"})


class StatusWatch:
    """The status of a migration that is observed again and again: a later one knows the one before, so that gates are
    confirmed in two observations.

    `journal` is a journal of the driver (default: that of the inventory); `is_live`: the observations are of the live
    cluster, so that the nodes' files are compared with the journal.
    """

    def __init__(self, inventory: Inventory | None = None, *, journal: str | None = None, is_live: bool = True) -> None:
        self._inventory = inventory
        self._journal = journal
        self._is_live = is_live
        self._earlier = _Earlier()

    def status(self, observation: Observation) -> MigrationStatus:
        """Return the position of the migration by this observation.

        Raises InputError for a journal that cannot be read.
        """
        evidence = evidence_of(observation)
        observed = state_of_evidence(evidence)
        checked = check(observation, evidence=evidence)
        before = self._earlier.before(observation, observed.state)
        alarms = tuple(finding for finding in checked if finding.id == _ALARM)
        journal = self._opened()
        remembered = None if journal is None else _remembered(journal)
        edits: tuple[Finding, ...] = ()
        if self._is_live and self._inventory is not None:
            edits = edits_of(journal, self._inventory, observation)
        if journal is not None and remembered is not None and remembered.is_going_back:
            facts = remembered_of(journal.recorded)
            back = rollback_of(evidence, observed, self._inventory, remembered=facts).pending
            gates = gates_of_rollback(next(iter(back), None), checked)
        else:
            back, gates = (), gates_seen(observed.state, evidence, checked=checked, earlier=before)
        then = afterwards(observation) if observed.state is State.M11 else ()
        is_alarm = bool(alarms) and (remembered is None or remembered.goal != _FINALIZING)
        return MigrationStatus(
            observed_state=observed,
            evidence=evidence,
            observation=observation,
            gates=(*gates, *alarms, *edits),
            findings=each_once((*observation.findings, *observed.findings, *observed.leftovers, *then)),
            next_step=next(iter(back), None) or next_step(evidence, observed, self._inventory),
            journal=remembered,
            has_problems=_has_problems(observed, (*gates, *edits), is_alarm=is_alarm, is_going_back=bool(back)),
            lacks=lacking(observation, observed.state),
        )

    def _opened(self) -> JournalView | None:
        """Open the journal; return None if none was given and the inventory's does not exist."""
        if self._journal is None and self._inventory is None:
            return None
        return read_journal_view(self._journal, self._inventory)


def status(
    observation: Observation,
    inventory: Inventory | None = None,
    *,
    journal: str | None = None,
    is_live: bool = False,
) -> MigrationStatus:
    """Return the position of a migration by one observation.

    `inventory`, `journal` and `is_live` as in `StatusWatch`.
    """
    return StatusWatch(inventory, journal=journal, is_live=is_live).status(observation)


class _Earlier:
    """Earlier observation with which the next one is compared: of the same state, and old enough to confirm a gate.

    Two are kept, for observations may be a second apart, and each can be a large tree.
    """

    def __init__(self) -> None:
        self._older: Observation | None = None
        self._newer: Observation | None = None
        self._state: object = None

    def before(self, observation: Observation, state: object) -> Observation | None:
        """Return the observation to compare this one with; None for the first."""
        first, changed = self._newer, state != self._state
        self._state = state
        if first is None or changed:
            self._older, self._newer = None, observation
            return first
        if observation.time_ms - first.time_ms >= APART_MS:
            self._older, self._newer = first, observation
            return first
        return self._older or first


def _has_problems(observed: ObservedState, gates: Iterable[Finding], *, is_alarm: bool, is_going_back: bool) -> bool:
    """Return True if something is broken or stops a migration that is under way; before it `check` reports that.

    A controller without the flag counts, too: after it leads there is no rollback. Leftovers of an earlier attempt
    count as well: the next start of a controller does harm with them.
    """
    found = blockers(gates)
    if any(finding.id in _LEFT_BEHIND for finding in found):
        return True
    # In M2 controllers are not started yet, or run without a majority, in which they must not be left.
    early = observed.state in (State.M0, State.M1) or (
        observed.state is State.M2 and not any(finding.id in _NOT_LED for finding in found)
    )
    return observed.state.is_broken or is_alarm or bool(found and (is_going_back or not early))


def _remembered(found: JournalView) -> JournalSummary:
    recorded, pending = found.recorded, found.recorded.pending
    return JournalSummary(
        file=found.file,
        state=recorded.state,
        goal=recorded.goal,
        pending=None if pending is None else f"{pending.action} {pending.target}",
        outcome=recorded.outcome,
    )
