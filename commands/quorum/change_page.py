"""A change of the quorum on a page, drawn from the value of the operation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kafkactl.commands.framework.confirmation import show_unconfirmed, unconfirmed
from kafkactl.commands.rendering.page import Cell, Page, Word
from kafkactl.commands.rendering.simulation_blocks import show_simulation

if TYPE_CHECKING:
    from kafkactl.quorum.api.change import QuorumChange
    from kafkactl.quorum.forecast import Forecast
    from kafkactl.quorum.step import Step

_STATE_TONES = {"done": "good", "failed": "bad", "unknown": "warn", "skipped": "dim", "pending": "plain"}
_HEADINGS = {
    "done": ("Done: {goal}", "good"),
    "nothing-to-do": ("Nothing to do: {goal}", "good"),
    "planned": ("Plan: {goal}", "strong"),
    "refused": ("Refused: {goal}", "bad"),
    "failed": ("Failed: {goal}", "bad"),
    "partial": ("Partly done: {goal}", "warn"),
    "unknown": ("Outcome unknown: {goal}", "warn"),
}

_OBSERVED_AFTER = ("failed", "partial", "unknown")


def change_page(page: Page, change: QuorumChange, *, goal: str) -> None:
    """Show the goal, the steps, the forecast, the findings, and automatic changes that may still happen.

    A plan that was not confirmed was shown before the question, and is not shown again.
    """
    if (refusal := unconfirmed(change.findings)) is not None:
        show_unconfirmed(page, refusal)
        return
    text, tone = _HEADINGS[change.outcome]
    page.heading(text.format(goal=goal), tone)
    page.fields(_facts(change))
    page.table(("step", "action", "controller", "voters after", "survives", "state"), _steps(change.result.steps))
    page.table(("controller", "directory id"), _directories(change.result.steps))
    for line in _expected(change.forecast):
        page.line(line)
    if change.outcome in _OBSERVED_AFTER and change.result.after is not None and change.result.after.tolerates is None:
        page.line("Now: which voters are alive was not observed; see `kafkactl quorum describe`.")
    show_simulation(page, None if change.simulation is None else change.simulation.to_dict())
    _tell_rest(page, change)


def _tell_rest(page: Page, change: QuorumChange) -> None:
    """Print findings, what may still happen, and the path of the journal."""
    page.findings(change.findings)
    for sentence in change.result.may_happen:
        page.line(Word(f"May still happen: {sentence}.", "warn"))
    if change.outcome in ("unknown", "partial") and change.journal:
        page.line(f"Run the command again to resume. Requests sent so far are recorded in {change.journal}")


def _facts(change: QuorumChange) -> list[tuple[str, Cell]]:
    result = change.result
    before, after = result.voters_before, result.voters_after
    return [
        ("cluster", result.cluster_id),
        ("voters", _voters(before, after)),
        ("plan", change.out),
        ("sha256", change.plan_sha256),
        ("stopped", "by the operator" if result.interrupted else None),
    ]


def _voters(before: Sequence[int], after: Sequence[int]) -> str:
    if not before and not after:
        return "not known"
    return _ids(before) if before == after else f"{_ids(before)}, now {_ids(after)}"


def _steps(steps: Iterable[Step]) -> Iterable[Sequence[Cell]]:
    for step in steps:
        yield (
            step.number,
            "remove (leads)" if step.leader_leaves else step.action.value,
            step.id,
            _ids(step.ids_after),
            f"{step.tolerates_before} -> {step.tolerates_after}",
            Word(step.state.value, _STATE_TONES[step.state]),
        )


def _directories(steps: Iterable[Step]) -> Iterable[Sequence[Cell]]:
    named = {(step.id, str(step.directory_id)): None for step in steps if step.directory_id is not None}
    return sorted(named)


def _expected(forecast: Iterable[Forecast]) -> Iterable[str]:
    """Yield each sentence once, with all the steps after which it is true."""
    after: dict[str, list[int]] = {}
    for prediction in forecast:
        for sentence in prediction.sentences:
            after.setdefault(sentence, []).append(prediction.number)
    for sentence, numbers in after.items():
        steps = [f"step {number}" for number in numbers if number]
        when = " and ".join((["now"] if 0 in numbers else []) + ([f"after {', '.join(steps)}"] if steps else []))
        yield f"{when[0].upper()}{when[1:]}: {sentence}."


def _ids(ids: Iterable[int]) -> str:
    return ",".join(str(id) for id in ids) or "-"
