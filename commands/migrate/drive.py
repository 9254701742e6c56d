"""What `migrate run`, `rollback` and `finalize` share: options, a drive from the first look to the answer, its page."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.option_group import option_group
from kafkactl.commands.framework.options import Duration
from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering import output

if TYPE_CHECKING:
    from kafkactl.adapters.migration.journal_view import JournalView
    from kafkactl.change.clock import Clock
    from kafkactl.migration.driver.files import RenderedFiles
    from kafkactl.migration.driver.ports import Event, Patience, RunResult, World
    from kafkactl.migration.driver.steps import Crew
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.observed.observation import Observation

Function = TypeVar("Function", bound=Callable[..., Any])
Drive = Callable[["Crew", "Observation"], "RunResult"]

CODES = (
    exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.REFUSED, exit_codes.UNREACHABLE,
    exit_codes.PARTLY_DONE, exit_codes.UNKNOWN, exit_codes.INTERRUPTED,
)  # fmt: skip


class DriveArguments(NamedTuple):
    """The options of `drive_options`."""

    gate_interval_ms: int
    gate_timeout_ms: int | None
    accept_observed: bool
    hand_edits: str = "refuse"
    rendered: str | None = None


# Decorator: how patient the driver is; the function gets the parameter `arguments`, a DriveArguments.
drive_options = option_group(
    "arguments",
    DriveArguments,
    click.option(
        "--gate-interval", "gate_interval_ms", type=Duration(), default="10s", show_default=True, metavar="TIME",
        help="How far apart the two looks are that a gate has to pass.",
    ),
    click.option(
        "--gate-timeout", "gate_timeout_ms", type=Duration(), metavar="TIME",
        help="How long a gate is waited for after a hook that says done. "
        "[default: 10m; for the copy three times the predicted time, and 2m]",
    ),
    click.option(
        "--accept-observed", is_flag=True,
        help="Go on from what is there, where the journal remembers another situation.",
    ),
    click.option(
        "--hand-edits", type=click.Choice(["refuse", "carry", "overwrite"]), default="refuse", show_default=True,
        help="What becomes of a file that was edited since the driver read or wrote it: the run is refused, the edit"
        " is kept in every later file, or the file is replaced.",
    ),
    click.option(
        "--rendered", metavar="DIR",
        help="Use the files of this folder of `migrate render`, with what was added to them. [default: render them; a"
        " later run remembers the folder]",
    ),
)  # fmt: skip


def folder_of(arguments: DriveArguments) -> str | None:
    """The folder of `--rendered`, whole: a later run may be started elsewhere."""
    from pathlib import Path

    return None if arguments.rendered is None else str(Path(arguments.rendered).resolve())


def patience_of(arguments: DriveArguments, seen: Observation) -> Patience:
    """How long the driver waits; for the copy as long as the tree that was seen takes."""
    from kafkactl.frozen import changed
    from kafkactl.migration.driver.ports import Patience

    interval_ms, given_ms = arguments.gate_interval_ms, arguments.gate_timeout_ms
    usual = Patience(apart_ms=interval_ms, look_every_ms=min(2_000, max(200, interval_ms)))
    if given_ms is not None:
        return changed(usual, gate_ms=given_ms, copy_ms=given_ms)
    return changed(usual, copy_ms=_copy_ms(seen) or usual.copy_ms)


def _copy_ms(seen: Observation) -> int | None:
    from kafkactl.migration.plan.expected_copy import copy_deadline_ms, expected_copy
    from kafkactl.migration.state.evidence import evidence_of
    from kafkactl.migration.state.table import situation_of

    evidence = evidence_of(seen)
    copy = expected_copy(evidence, situation_of(evidence).state)
    return None if copy is None else copy_deadline_ms(copy)


def perform(kind: str, inventory: Inventory, arguments: DriveArguments, drive: Drive) -> NoReturn:
    """Look, open the journal, drive, answer."""
    from kafkactl.commands.migrate.page import drive_page
    from kafkactl.migration.render.hand_edits import HandEdits
    from kafkactl.operations.migrate.driver import facts_for_the_answer, live_world, open_crew

    talk = Talk()
    world = live_world(inventory, talk.by_hand)
    seen = world.observe()
    crew = open_crew(
        inventory, world, seen, patience=patience_of(arguments, seen), tell=talk,
        edits=HandEdits(arguments.hand_edits), rendered=folder_of(arguments),
    )  # fmt: skip
    with crew.journal, crew.lock:
        result = drive(crew, seen)
    payload = {
        **result.to_dict(),
        "time_ms": seen.time_ms,
        "consequences": [],
        **facts_for_the_answer(crew),
    }
    exit_code = exit_codes.INTERRUPTED if result.interrupted else result.outcome.exit_code
    output.emit(kind, payload, render=drive_page, exit_code=exit_code)


def rehearse(
    kind: str,
    inventory: Inventory,
    way: Any,
    accepted: tuple[str, ...],
    arguments: DriveArguments,
    *,
    until: str | None = None,
) -> NoReturn:
    """The plan of a run that touches nothing and opens no journal: refused where the run would be."""
    from kafkactl.commands.migrate.page import drive_page
    from kafkactl.findings import Severity, blockers
    from kafkactl.frozen import changed
    from kafkactl.migration.checks.registry import check, open_questions
    from kafkactl.migration.driver.guards import OF_ITS_OWN, ForwardGuard, Rehearsal, is_cured_by_first_steps
    from kafkactl.migration.driver.ports import DoneStep, RunResult
    from kafkactl.migration.driver.routes import first_due
    from kafkactl.migration.state.names import State
    from kafkactl.operations.migrate.driver import cluster_id_of, live_world

    world = live_world(inventory, output.say)
    seen = world.observe()
    journal = journal_of(inventory, seen)
    route = way(seen, journal.memory)
    files = files_of(inventory, world, journal, arguments)
    guard = ForwardGuard(Rehearsal(world=world, inventory=inventory, files=files), accepted=frozenset(accepted))
    step = first_due(route, until)
    stops = (*blockers(route.findings), *(() if step is None else guard.objections(seen, None, route, step)))
    found = [one for one in check(seen, accepted=frozenset(accepted)) if not is_cured_by_first_steps(route, one)]
    # What stops a later step only is shown, and stops nothing yet: the run itself goes on, too.
    found = [one for one in found if one.id not in OF_ITS_OWN]
    later = [changed(one, severity=Severity.WARNING) for one in (*blockers(found), *open_questions(found)) if step]
    last = None if until is None else State(until).place
    steps = [one for one in route.steps if last is None or one.phase is None or (one.phase.place or 0) <= last]
    result = RunResult(
        outcome=_outcome_of(route, step, stops),
        state_before=route.state,
        state_after=route.state,
        steps=tuple(DoneStep(step=one, state=one.state.value, number=one.number) for one in steps),
        findings=_blockers_first({(one.id, one.subject): one for one in (*later, *route.findings, *stops)}.values()),
        next_action=route.next_action,
    )
    facts = {"time_ms": seen.time_ms, "consequences": [], "cluster_id": cluster_id_of(inventory, seen), "journal": None}
    output.emit(kind, {**result.to_dict(), **facts}, render=drive_page, exit_code=result.outcome.exit_code)


def _blockers_first(findings: Any) -> tuple[Any, ...]:
    from kafkactl.findings import Severity

    return tuple(sorted(findings, key=lambda one: list(Severity).index(one.severity)))


def _outcome_of(route: Any, step: Any, stops: Any) -> Any:
    """What the run would come to: refused where its first step is, nothing to do where no step is due."""
    from kafkactl.findings import Outcome

    if stops or route.outcome is Outcome.REFUSED:
        return Outcome.REFUSED
    return Outcome.NOTHING_TO_DO if step is None else route.outcome


def files_of(inventory: Inventory, world: World, journal: JournalView, arguments: DriveArguments) -> RenderedFiles:
    """The nodes' files of every phase, as the run would take them."""
    from kafkactl.adapters.migration.operator_files import FilesOfOperator
    from kafkactl.migration.driver.files import RenderedFiles
    from kafkactl.migration.render.hand_edits import HandEdits

    edits = HandEdits(arguments.hand_edits)
    return RenderedFiles(inventory, world, journal, FilesOfOperator(), edits=edits, rendered=folder_of(arguments))


def journal_of(inventory: Inventory, seen: Observation) -> JournalView:
    """The journal of this cluster, which is only read; one without a word where there is none.

    Raises InputError as `look_into_journal` does.
    """
    from pathlib import Path

    from kafkactl.adapters.migration.journal_view import JournalView, look_into_journal
    from kafkactl.errors import UnreachableError
    from kafkactl.operations.migrate.driver import cluster_id_of, journal_file

    try:
        path = journal_file(inventory, cluster_id_of(inventory, seen))
    except UnreachableError:  # the plan says itself what follows from not knowing the cluster
        return JournalView()
    found = look_into_journal(path, inventory) if Path(path).exists() else None
    return found or JournalView()


class Talk:
    """Prints the progress of a migration to stderr: a line an event, with the time of day and that since the start.

    A wait is printed when it begins, and then what was observed last: every ten seconds on a terminal, every
    minute elsewhere, with `-v` at every look.
    """

    def __init__(self, *, is_terminal: bool | None = None, clock: Clock | None = None) -> None:
        from kafkactl.adapters.files.clock import SystemClock

        self._clock = clock or SystemClock()
        self._began_ms = self._clock.now_ms()
        on_screen = sys.stderr.isatty() if is_terminal is None else is_terminal
        self._again_ms = _AGAIN_ON_SCREEN_MS if on_screen else _AGAIN_IN_LOG_MS
        self._waits = ""
        self._since_ms = self._told_ms = 0.0

    def __call__(self, event: Event) -> None:
        """One event."""
        if event.kind == "wait":
            self._wait(event)
        else:
            self._waits = ""
            self.line(event.text, _TONES.get(event.kind, "plain"))

    def line(self, text: str, tone: str = "plain") -> None:
        """A line with its time."""
        since_s = int((self._clock.now_ms() - self._began_ms) // 1000)
        output.say(f"{time.strftime('%H:%M:%S')} +{since_s // 60}:{since_s % 60:02}  {text}", tone)
        sys.stderr.flush()

    def by_hand(self, text: str) -> None:
        """What the operator is asked for; the commands below its first line are alone on theirs, to be pasted whole."""
        asked, *commands = text.split("\n")
        self.line(f"to do: {asked}", "warn")
        for command in commands:
            output.say(command, "warn")
        sys.stderr.flush()

    def _wait(self, event: Event) -> None:
        now_ms = self._clock.now_ms()
        seen = f"; {event.seen}" if event.seen else ""
        if event.text != self._waits:
            self._waits, self._since_ms, self._told_ms = event.text, now_ms, now_ms
            self.line(f"waiting for {event.text}{seen}", "dim")
        elif now_ms - self._told_ms >= self._again_ms or current_settings().verbose:
            self._told_ms = now_ms
            seen = f"; seen last: {event.seen}" if event.seen else ""
            short = event.text.partition(" (")[0]
            self.line(f"waiting since {(now_ms - self._since_ms) / 1000:.0f} s for {short}{seen}", "dim")


_AGAIN_ON_SCREEN_MS, _AGAIN_IN_LOG_MS = 10_000, 60_000
_TONES = {"state": "strong", "done": "good", "failed": "bad", "wait": "dim", "ask": "warn"}
