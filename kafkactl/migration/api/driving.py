"""Common part of every drive of a migration: options, questions, and a run from the first observation on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from kafkactl.core.answers import json_of
from kafkactl.core.callbacks import NoteCallback
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Finding, Outcome, Severity, blockers
from kafkactl.core.frozen import changed, frozen
from kafkactl.migration.api import driver
from kafkactl.migration.api.observing import NOT_LET_IN
from kafkactl.migration.checks.registry import check, open_questions
from kafkactl.migration.driver.files import RenderedFiles
from kafkactl.migration.driver.guards import OF_ITS_OWN, ForwardGuard, Rehearsal, is_cured_by_first_steps
from kafkactl.migration.driver.moves import RunContext, StepPlan
from kafkactl.migration.driver.ports import DoneStep, Event, MigrationPort, MigrationWaitPolicy, RunResult
from kafkactl.migration.driver.routes import first_due
from kafkactl.migration.driver.run import Ask, Plan
from kafkactl.migration.io.journal_view import JournalView, read_journal_view
from kafkactl.migration.io.operator_files import FilesOfOperator
from kafkactl.migration.render.hand_edits import edit_answers
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.state.names import State
from kafkactl.migration.state.soak import soak_of
from kafkactl.migration.steps.m5 import copy_deadline_ms, expected_copy
from kafkactl.migration.steps.table import state_of_evidence

if TYPE_CHECKING:
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.observed.observation import Observation
    from kafkactl.migration.steps.step import Step

EventCallback: TypeAlias = Callable[[Event], None]


@frozen
class DriveOptions:
    """Options of a run: its waits, what is accepted, and how edited files are treated.

    `gate_interval_ms` is the time between the two observations that a gate has to pass, `gate_timeout_ms` how long it
    is waited for (None: 10 minutes, and for the copy three times the predicted time). `accepted` as in `check`.
    `accept_observed` continues from what is observed if the journal has another situation. `hand_edits` is
    refuse, carry or overwrite, or such words for single nodes (`carry@broker-1,overwrite@controller-3001`).
    `rendered` is a folder of `render` whose files are used.
    """

    accepted: frozenset[str] = frozenset()
    gate_interval_ms: int = 10_000
    gate_timeout_ms: int | None = None
    accept_observed: bool = False
    hand_edits: str = "refuse"
    rendered: str | None = None


@frozen
class Question:
    """Question before the first step, and before a step that cannot be undone (`step.barrier`)."""

    route: StepPlan
    step: Step
    cluster_id: str
    seen: Observation

    @property
    def soak_words(self) -> str | None:
        """Return the time for which every broker has been on KRaft, for people; None if it is unknown."""
        soak = soak_of(evidence_of(self.seen))
        return None if soak is None else soak.words


AskCallback: TypeAlias = Callable[[Question], Finding | None]
"""Gets a question; its finding refuses the step, and ends the run."""


def agree(question: Question) -> Finding | None:
    """Refuse nothing."""


def ignore_event(event: Event) -> None:
    """Leave it unsaid."""


@frozen
class DriveResult:
    """Result of a run or of its plan: `journal` is the file that records the run, None for a plan."""

    result: RunResult
    time_ms: int
    cluster_id: str | None
    journal: str | None

    @property
    def outcome(self) -> Outcome:
        """Return `planned`, `nothing-to-do` or `refused`; of a run also `done`, `failed`, `partial` or `unknown`."""
        return self.result.outcome

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the blockers, and what should be known."""
        return tuple(self.result.findings)

    @property
    def is_not_let_in(self) -> bool:
        """Return True if the run was refused because nodes did not let kafkactl in, or denied it a question."""
        return self.outcome is Outcome.REFUSED and any(
            finding.id in NOT_LET_IN or (finding.id == "node-not-identified" and finding.evidence.get("denied"))
            for finding in self.findings
        )

    @property
    def consequences(self) -> tuple[str, ...]:
        """Return the consequences of a plan; a run has none."""
        return ()

    to_dict = json_of("**result", "time_ms", "consequences", "cluster_id", "journal", kind="migrate.run")


def asking(ask: AskCallback, context: RunContext, seen: Observation, *, once: bool = False) -> Ask:
    """Return `ask` as the driver calls it; `once`: for the first step only."""
    asked: list[str] = []

    def asks(route: StepPlan, step: Step) -> Finding | None:
        if once and asked:
            return None
        asked.append(step.target)
        return ask(Question(route=route, step=step, cluster_id=context.cluster_id, seen=seen))

    return asks


def perform(
    inventory: Inventory,
    options: DriveOptions,
    drive: Callable[[RunContext, Observation], RunResult],
    on_event: EventCallback,
    on_request: NoteCallback,
) -> DriveResult:
    """Observe, open the journal, drive."""
    world = driver.live_world(inventory, on_request)
    seen = world.observe()
    context = driver.open_context(
        inventory,
        world,
        seen,
        policy=policy_of(options, seen),
        tell=on_event,
        edits=edit_answers(options.hand_edits),
        rendered=_folder_of(options),
    )
    with context.journal, context.lock:
        result = drive(context, seen)
    return DriveResult(result=result, time_ms=seen.time_ms, **driver.facts_for_the_answer(context))


def rehearse(
    inventory: Inventory,
    way: Plan,
    options: DriveOptions,
    on_request: NoteCallback,
    *,
    until: str | None = None,
) -> DriveResult:
    """Return the plan of a run that touches nothing and opens no journal: refused if the run would be."""
    world = driver.live_world(inventory, on_request)
    seen = world.observe()
    journal = journal_of(inventory, seen)
    route = way(seen, journal.recorded)
    files = files_of(inventory, world, journal, options)
    rehearsal = Rehearsal(world=world, inventory=inventory, files=files)
    guard = ForwardGuard(rehearsal, accepted=options.accepted, until=until)
    step = first_due(route, until)
    stops = (*blockers(route.findings), *(() if step is None else guard.objections(seen, None, route, step)))
    found = [
        finding for finding in check(seen, accepted=options.accepted) if not is_cured_by_first_steps(route, finding)
    ]
    # What stops a later step only is shown, and stops nothing yet: the run itself goes on, too.
    found = [finding for finding in found if finding.id not in OF_ITS_OWN]
    later = [
        changed(finding, severity=Severity.WARNING) for finding in (*blockers(found), *open_questions(found)) if step
    ]
    last = None if until is None else State(until).place
    steps = [step for step in route.steps if step.is_before(last)]
    result = RunResult(
        outcome=_outcome_of(route, step, stops),
        state_before=route.state,
        state_after=route.state,
        steps=tuple(DoneStep(step=step, state=step.state.value, number=step.number) for step in steps),
        findings=_blockers_first(
            {(finding.id, finding.subject): finding for finding in (*later, *route.findings, *stops)}.values()
        ),
        next_action=route.next_action,
    )
    return DriveResult(
        result=result, time_ms=seen.time_ms, cluster_id=driver.cluster_id_of(inventory, seen), journal=None
    )


def _blockers_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: list(Severity).index(finding.severity)))


def _outcome_of(route: StepPlan, step: Step | None, stops: Sequence[Finding]) -> Outcome:
    """Return the outcome that the run would have: refused if its first step is, nothing to do if no step is due."""
    if stops or route.outcome is Outcome.REFUSED:
        return Outcome.REFUSED
    return Outcome.NOTHING_TO_DO if step is None else route.outcome


def _folder_of(options: DriveOptions) -> str | None:
    """Return the absolute folder of rendered files: a later run may be started from another folder."""
    return None if options.rendered is None else str(Path(options.rendered).resolve())


def files_of(inventory: Inventory, world: MigrationPort, journal: JournalView, options: DriveOptions) -> RenderedFiles:
    """Return the nodes' files of every phase, as the run would use them."""
    edits = edit_answers(options.hand_edits)
    return RenderedFiles(inventory, world, journal, FilesOfOperator(), edits=edits, rendered=_folder_of(options))


def policy_of(options: DriveOptions, seen: Observation) -> MigrationWaitPolicy:
    """Return the limits of the driver's waits; that of the copy follows the size of the observed tree."""
    interval_ms, given_ms = options.gate_interval_ms, options.gate_timeout_ms
    usual = MigrationWaitPolicy(apart_ms=interval_ms, observe_every_ms=min(2_000, max(200, interval_ms)))
    if given_ms is not None:
        return changed(usual, gate_ms=given_ms, copy_ms=given_ms)
    return changed(usual, copy_ms=_copy_ms(seen) or usual.copy_ms)


def _copy_ms(seen: Observation) -> int | None:
    evidence = evidence_of(seen)
    copy = expected_copy(evidence, state_of_evidence(evidence).state)
    return None if copy is None else copy_deadline_ms(copy)


def journal_of(inventory: Inventory, seen: Observation) -> JournalView:
    """Return the journal of this cluster, which is only read; one without entries if none exists.

    Raises InputError as `read_journal_view` does.
    """
    try:
        path = driver.journal_file(inventory, driver.cluster_id_of(inventory, seen))
    except UnreachableError:  # the plan states itself what follows from not knowing the cluster
        return JournalView()
    found = read_journal_view(path, inventory) if Path(path).exists() else None
    return found or JournalView()
