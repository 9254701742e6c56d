"""`migrate status`, `plan` and `rollback` for people."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering.glyphs import TONE_OF_SEVERITY, glyph
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.wording import counted

if TYPE_CHECKING:
    from kafkactl.migration.api.driving import DriveResult
    from kafkactl.migration.api.planning import MigrationPlan
    from kafkactl.migration.api.position import MigrationStatus
    from kafkactl.migration.api.rollback_run import RollbackPlan
    from kafkactl.migration.driver.ports import DoneStep
    from kafkactl.migration.state.view import BrokerDict, ControllerDict
    from kafkactl.migration.steps.step import Step

_TONES = {"planned": "strong", "refused": "bad", "nothing-to-do": "good"}
_SEEN = {True: "yes", False: "no", None: "?"}
_LAST = "M11"
_LONG = 140
_ON_BOARD = 6  # findings; behind them come nodes, which are to be seen, too


def status_page(page: Page, status: MigrationStatus) -> None:
    """Show the state, its evidence, and the next step."""
    page.heading(f"{status.state}: {status.state.words}", _tone(status))
    page.line(status.observed_state.why)
    _both_sides(page, status)
    _brokers(page, status.observed["brokers"])
    _controllers(page, status.observed["controllers"])
    gates = _not_info(status.gates)
    page.heading(_gate_words(status, is_open=not gates))
    page.findings(gates)
    shown = {_key(gate) for gate in gates}
    page.findings(finding for finding in status.findings if _key(finding) not in shown)
    step = status.next_step
    if step is not None:
        page.line(Word(_next_words(status, step), "strong"))
        page.line(f"because {step.why}; done when {step.gate}")


def _next_words(status: MigrationStatus, step: Step) -> str:
    """Return the next step. One that blockers stop is not the first thing to do: `run` refuses it."""
    is_blocked = any(gate.severity is Severity.BLOCKER for gate in status.gates)
    is_stopped = is_blocked and step.action == "put-config" and not status.state.is_broken
    return f"Next{', once no blocker is left' if is_stopped else ''}: {step.action} {step.target}"


def board_page(page: Page, status: MigrationStatus) -> None:
    """Show the state on one screen that is redrawn; problems that need the operator come first."""
    page.line(Word(f"{status.state}: {status.state.words}", _tone(status)))
    observed_at = time.localtime(status.observation.time_ms / 1000)
    page.line(f"{time.strftime('%H:%M:%S', observed_at)}  {status.observed_state.why}")
    journal, step = status.journal, status.next_step
    if journal is not None:
        words = f"the journal says {journal.state or 'nothing'}"
        words += f"; under way: {journal.pending}" if journal.pending else ""
        page.line(Word(words, "bad" if status.agrees is False and not journal.pending else "plain"))
    if step is not None and not (journal and journal.pending):  # else it is being executed
        page.line(Word(_next_words(status, step), "strong"))
    _problems(page, status)
    page.fields(_facts(status))
    _controllers(page, status.observed["controllers"])
    _brokers(page, status.observed["brokers"])


def _problems(page: Page, status: MigrationStatus) -> None:
    """Show blockers and failures of the migration, a line each, blockers first."""
    found = {_key(finding): finding for finding in _not_info((*status.gates, *status.findings))}
    heavy = sorted(found.values(), key=lambda finding: finding.severity is not Severity.BLOCKER)
    if heavy:
        page.line()
    for finding in heavy[:_ON_BOARD]:
        text = f"{glyph(finding.severity)} {finding.subject}: {finding.message}"
        short = text if len(text) <= _LONG else f"{text[:_LONG].rpartition(' ')[0]} {glyph('more')}"
        page.line(Word(short, TONE_OF_SEVERITY[finding.severity]))
    if len(heavy) > _ON_BOARD:
        page.line(Word(f"{glyph('more')} and {len(heavy) - _ON_BOARD} more", "dim"))


def _tone(status: MigrationStatus) -> str:
    return "good" if status.state.startswith("M") else "bad"


def _gate_words(status: MigrationStatus, *, is_open: bool) -> str:
    state = status.state
    if status.journal is not None and status.journal.is_going_back:
        return "A rollback is under way" if is_open else "A rollback is under way; to be resolved in it"
    if state == _LAST:
        return "The migration is complete; remaining work"
    if not is_open:
        return "Conditions not yet met for the next state"
    if not state.startswith("M"):
        return f"No state follows until this is resolved: kafkactl explain {state}"
    return "All conditions for the next state are met"


def _key(finding: Finding) -> tuple[str, str]:
    """Return the key of a finding; only one of two findings with the same key is shown."""
    return finding.id, finding.subject


def _not_info(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is not Severity.INFO]


def _both_sides(page: Page, status: MigrationStatus) -> None:
    journal = status.journal
    if journal is not None:
        page.table(
            ("", "observed", "journal"),
            [
                ("state", status.state, Word(journal.state or "-", "plain" if status.agrees else "bad")),
                ("under way", None, journal.pending),
            ],
        )
    page.fields(_facts(status))


def _facts(status: MigrationStatus) -> list[tuple[str, Any]]:
    """Return the facts about the whole cluster."""
    seen, lock = status.observed, status.observation.lock
    holder, znode, lag = seen["controller"], seen["migration_znode"], seen["dual_write"]
    held = f"{holder['held_by']} {holder['id']}" if holder["id"] is not None else holder["held_by"]
    return [
        ("migration state", seen["zk_migration_state"]),
        ("/controller", f"{held}{' (ephemeral)' if holder['ephemeral'] else ''}"),
        ("/controller_epoch", seen["controller_epoch"]),
        (
            "/migration",
            znode["says"] if znode["metadata_offset"] is None else f"offset {znode['metadata_offset']}",
        ),
        ("log end", None if seen["log"] is None else f"{seen['log']['end_offset']}, epoch {seen['log']['epoch']}"),
        ("ZooKeeper behind", None if lag["lag"] is None or status.state == _LAST else f"{lag['lag']} records"),
        ("controllers", seen["quorum"]),
        ("driver's lock", None if lock is None else lock.words),
        ("all on KRaft for", None if seen["soak"] is None else seen["soak"]["words"]),
    ]


def _brokers(page: Page, brokers: Sequence[BrokerDict]) -> None:
    page.table(
        ("broker", "runs as", "file", "znode", "registered", "tag 3", "observer"),
        [
            (
                broker["id"],
                broker["mode"] or (Word("down", "bad") if broker["alive"] is False else None),
                broker["file"],
                _seen(broker["znode"]),
                _registered(broker),
                _seen(broker["tag"]),
                _seen(broker["observer"]),
            )
            for broker in brokers
        ],
    )


def _controllers(page: Page, controllers: Sequence[ControllerDict]) -> None:
    page.table(
        ("controller", "alive", "leads", "ready", "state"),
        [
            (
                controller["id"],
                _seen(controller["alive"]),
                _seen(controller["leader"]),
                _seen(controller["ready"]),
                controller["zk_migration_state"],
            )
            for controller in controllers
        ],
    )


def _registered(broker: BrokerDict) -> Word:
    if not broker["registered"]:
        return _seen(broker["registered"])
    words = "migrating" if broker["migrating"] else "kraft"
    return Word(f"{words}, fenced" if broker["fenced"] else words, "bad" if broker["fenced"] else "plain")


def _seen(value: bool | None) -> Word:
    return Word(_SEEN[value], "dim" if value is None else "plain")


def plan_page(page: Page, plan: MigrationPlan) -> None:
    """Show the steps forward, and the content of the copy."""
    _way(page, plan)
    copy = plan.copy
    if copy is not None:
        page.heading("The copy")
        page.fields(
            [
                ("outcome", copy.outcome),
                ("records", copy.records),
                ("batches", copy.batches),
                ("bytes", copy.bytes),
                ("seconds, about", str(copy.seconds)),
            ]
        )
        page.table(("record", "count"), list(copy.by_type.items()))
    _end_of_plan(page, plan)


def rollback_page(page: Page, plan: RollbackPlan) -> None:
    """Show the steps of the rollback."""
    _way(page, plan)
    _end_of_plan(page, plan)


def _way(page: Page, plan: MigrationPlan | RollbackPlan) -> None:
    state = plan.way.state
    page.heading(f"{plan.outcome}: from {state}, {state.words}", _TONES.get(plan.outcome, "strong"))
    page.table(
        ("", "step", "state", "done when"),
        [
            (
                step.number,
                Word(f"{step.words}, asks first", "warn") if step.barrier else step.words,
                Word(step.state, "good" if step.state == "done" else "plain"),
                step.gate,
            )
            for step in plan.way.steps
        ],
    )


def _end_of_plan(page: Page, plan: MigrationPlan | RollbackPlan) -> None:
    for sentence in plan.way.consequences:
        page.line(sentence)
    page.findings(plan.findings)


def unknowns(page: Page, findings: Sequence[Finding]) -> None:
    """Show a line for each question, and the options that accept it."""
    if not findings:
        return
    page.heading("Unknown: not in the observation")
    page.table(("id", "check", "about", "why"), [
        (finding.evidence["question"], *finding.subject.split(" ", 1), finding.evidence["unknown"])
        for finding in findings
    ])  # fmt: skip
    names = " ".join(f"--accept {id}" for id in dict.fromkeys(finding.evidence["question"] for finding in findings))
    page.line(Word(f"Check these yourself, then accept them: {names}", "dim"))


def is_unknown(finding: Finding) -> bool:
    """Return True if a finding is a question that the observation does not answer."""
    return "unknown" in finding.evidence and "question" in finding.evidence


_ROWS = 12
_STEP_TONES = {"done": "good", "failed": "bad", "unknown": "warn", "asked": "warn"}


def drive_page(page: Page, run: DriveResult) -> None:
    """Show the end of a run: blockers before remaining steps, and every step only if short or requested (-v)."""
    result = run.result
    words = f", {result.state_words}" if result.state_after else ""
    page.heading(f"{run.outcome}: {result.state_after or 'no state'}{words}", _OUTCOMES.get(run.outcome, "warn"))
    shows_all = current_settings().verbose or run.outcome == "planned"
    steps = result.steps
    taken = [step for step in steps if step.state != "pending"]
    _steps(page, steps if shows_all else taken if len(taken) <= _ROWS else [step for step in taken if _is_odd(step)])
    if not shows_all:
        _counted(page, steps, taken)
    page.findings(finding for finding in run.findings if not is_unknown(finding))
    unknowns(page, [finding for finding in run.findings if is_unknown(finding)])
    if result.next_action:
        page.line(result.next_action)
    page.fields([("journal", run.journal)])


def _steps(page: Page, steps: Sequence[DoneStep]) -> None:
    page.table(
        ("", "step", "state", "done when"),
        [
            (step.number, step.step.words, Word(step.state, _STEP_TONES.get(step.state, "plain")), step.step.gate)
            for step in steps
        ],
    )


def _is_odd(step: DoneStep) -> bool:
    return step.state != "done"


def _counted(page: Page, steps: Sequence[DoneStep], taken: Sequence[DoneStep]) -> None:
    """Show the numbers of steps without a row of their own."""
    done = [step.step.action for step in taken if not _is_odd(step)]
    if len(taken) > _ROWS:
        kinds = ", ".join(f"{action} {done.count(action)}" for action in dict.fromkeys(done))
        page.line(f"{len(done)} steps done: {kinds}")
    left = [step.step for step in steps if step.state == "pending"]
    if left:
        page.line(f"{counted(len(left), 'step')} left, the next: {left[0].words}")
    if left or len(taken) > _ROWS:
        page.line(Word("-v shows every step", "dim"))


_OUTCOMES = {"done": "good", "nothing-to-do": "good", "refused": "bad", "failed": "bad"}
