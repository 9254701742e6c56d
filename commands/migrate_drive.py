"""What `migrate run`, `rollback` and `finalize` share: options, a drive from the first look to the answer, its page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import click

from kafkactl.commands import exit_codes, output
from kafkactl.commands.options import Duration

if TYPE_CHECKING:
    from kafkactl.adapters.migration_driver_port import Event, Patience, RunResult
    from kafkactl.adapters.migration_driver_steps import Crew
    from kafkactl.adapters.migration_journal_view import JournalView
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.observation import Observation

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


def drive_options(function: Function) -> Function:
    """Decorator: how patient the driver is; the function gets the parameter `arguments`, a DriveArguments."""

    def call(**parameters: Any) -> Any:
        given = {name: parameters.pop(name) for name in DriveArguments._fields}
        return function(arguments=DriveArguments(**given), **parameters)

    call.__doc__, call.__annotations__ = function.__doc__, function.__annotations__
    decorated: Any = call
    decorated.__click_params__ = getattr(function, "__click_params__", [])
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
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
)  # fmt: skip


def patience_of(arguments: DriveArguments, seen: Observation) -> Patience:
    """How long the driver waits; for the copy as long as the tree that was seen takes."""
    from kafkactl.adapters.migration_driver_port import Patience
    from kafkactl.frozen import changed

    interval_ms, given_ms = arguments.gate_interval_ms, arguments.gate_timeout_ms
    usual = Patience(apart_ms=interval_ms, look_every_ms=min(2_000, max(200, interval_ms)))
    if given_ms is not None:
        return changed(usual, gate_ms=given_ms, copy_ms=given_ms)
    return changed(usual, copy_ms=_copy_ms(seen) or usual.copy_ms)


def _copy_ms(seen: Observation) -> int | None:
    from kafkactl.migration.copy_expected import copy_deadline_ms, expected_copy
    from kafkactl.migration.state import situation_of
    from kafkactl.migration.state_evidence import evidence_of

    evidence = evidence_of(seen)
    copy = expected_copy(evidence, situation_of(evidence).state)
    return None if copy is None else copy_deadline_ms(copy)


def perform(kind: str, inventory: Inventory, arguments: DriveArguments, drive: Drive) -> NoReturn:
    """Look, open the journal, drive, answer."""
    from kafkactl.adapters.migration_driver_open import facts_for_the_answer, live_world, open_crew

    talk = Talk()
    world = live_world(inventory, lambda text: output.say(f"to do: {text}", "warn"))
    seen = world.observe()
    crew = open_crew(inventory, world, seen, patience=patience_of(arguments, seen), tell=talk)
    with crew.journal:
        result = drive(crew, seen)
    payload = {
        **result.to_dict(),
        "time_ms": seen.time_ms,
        "consequences": [],
        **facts_for_the_answer(crew),
    }
    exit_code = exit_codes.INTERRUPTED if result.interrupted else result.outcome.exit_code
    output.emit(kind, payload, render=page, exit_code=exit_code)


def rehearse(
    kind: str, inventory: Inventory, way: Any, accepted: tuple[str, ...], *, until: str | None = None
) -> NoReturn:
    """The plan of a run that touches nothing and opens no journal: refused where the run would be."""
    from kafkactl.adapters.migration_driver_open import cluster_id_of, live_world
    from kafkactl.adapters.migration_driver_port import DoneStep, RunResult
    from kafkactl.migration.checks import check, open_questions
    from kafkactl.migration.state_names import State
    from kafkactl.plan import Outcome, blockers

    seen = live_world(inventory, output.say).observe()
    route = way(seen, journal_of(inventory, seen).memory)
    found = check(seen, accepted=frozenset(accepted))
    stops = (*blockers(route.findings), *blockers(found), *open_questions(found))
    last = None if until is None else State(until).place
    steps = [one for one in route.steps if last is None or one.phase is None or (one.phase.place or 0) <= last]
    result = RunResult(
        outcome=Outcome.REFUSED if stops and route.outcome is not Outcome.NOTHING_TO_DO else route.outcome,
        state_before=route.state,
        state_after=route.state,
        steps=tuple(DoneStep(step=one, state=one.state.value, number=one.number) for one in steps),
        findings=tuple({(one.id, one.subject): one for one in (*stops, *route.findings)}.values()),
        next_action=route.next_action,
    )
    facts = {"time_ms": seen.time_ms, "consequences": [], "cluster_id": cluster_id_of(inventory, seen), "journal": None}
    output.emit(kind, {**result.to_dict(), **facts}, render=page, exit_code=result.outcome.exit_code)


def journal_of(inventory: Inventory, seen: Observation) -> JournalView:
    """The journal of this cluster, which is only read; one without a word where there is none.

    Raises InputError as `look_into_journal` does.
    """
    from pathlib import Path

    from kafkactl.adapters.migration_driver_open import cluster_id_of, journal_file
    from kafkactl.adapters.migration_journal_view import JournalView, look_into_journal
    from kafkactl.errors import UnreachableError

    try:
        path = journal_file(inventory, cluster_id_of(inventory, seen))
    except UnreachableError:  # the plan says itself what follows from not knowing the cluster
        return JournalView()
    found = look_into_journal(path, inventory) if Path(path).exists() else None
    return found or JournalView()


class Talk:
    """Tells on stderr how a migration goes, a line for each thing; what is waited for once, with `-v` every time."""

    def __init__(self) -> None:
        self._waits: set[str] = set()

    def __call__(self, event: Event) -> None:
        """One event."""
        if event.kind == "wait":
            first = event.text.partition(":")[0]
            if first in self._waits:
                output.detail(event.text)
                return
            self._waits.add(first)
        text, tone = event.text, _TONES.get(event.kind, "plain")
        output.say(f"waiting: {text}" if event.kind == "wait" else text, tone)
        sys.stderr.flush()


_TONES = {"state": "strong", "done": "good", "failed": "bad", "wait": "dim", "ask": "warn"}
_OUTCOMES = {"done": "good", "nothing-to-do": "good", "refused": "bad", "failed": "bad"}


def page(drawn: Any, answer: Mapping[str, Any]) -> None:
    """The answer for people."""
    from kafkactl.commands.page import Word

    outcome, state = str(answer["outcome"]), answer["state"]
    words = f", {answer['state_words']}" if state else ""
    drawn.heading(f"{outcome}: {state or 'no state'}{words}", _OUTCOMES.get(outcome, "warn"))
    drawn.table(
        ("", "step", "state", "done when"),
        [
            (
                one["number"],
                f"{one['action']} {one['target']}" + (f" ({one['file']})" if one["file"] else ""),
                Word(one["state"], {"done": "good", "failed": "bad", "unknown": "warn"}.get(one["state"], "plain")),
                one["gate"],
            )
            for one in answer["steps"]
        ],
    )
    drawn.findings(answer["findings"])
    if answer["next_action"]:
        drawn.line(answer["next_action"])
    if answer["journal"]:
        drawn.fields([("journal", answer["journal"])])
