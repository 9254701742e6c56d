"""Common part of upgrade, downgrade, disable and plan: from the command line to the answer and its page."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

from kafkactl.commands.framework.confirmation import show_unconfirmed, unconfirmed
from kafkactl.commands.framework.connection import ConnectionArguments, guard_cluster, open_client
from kafkactl.commands.rendering.output import detail, emit, say
from kafkactl.commands.rendering.page import Cell, Page, Word

if TYPE_CHECKING:
    from kafkactl.features.api.cluster import FeatureChange
    from kafkactl.features.change.proof import Proof
    from kafkactl.features.plan.change import FeatureChange as LevelChange
    from kafkactl.features.plan.plan import FeatureStep
    from kafkactl.features.plan.request import FeatureRequest
    from kafkactl.kafka.client import Client

# The command's own time limit leaves some time to say what is known.
SHARE_OF_TIME = 0.8
_HEADINGS = {
    "done": ("Done", "good"),
    "nothing-to-do": ("Nothing to do: the levels are what was asked for", "good"),
    "planned": ("This can be done; nothing was changed", "good"),
    "refused": ("Refused; nothing was changed", "bad"),
    "failed": ("Failed", "bad"),
    "partial": ("Partly done", "bad"),
    "unknown": ("Outcome unknown", "warn"),
}


def change(request: FeatureRequest, *, dry_run: bool, connection: ConnectionArguments) -> NoReturn:
    """Carry out a change, or plan it and ask the controller for its dry run, and print the answer."""
    with open_client(connection) as client:
        found = _planned(client, request) if dry_run else _changed(client, request, connection)
    answer(found)


def save(request: FeatureRequest, out: str, *, overwrite: bool, connection: ConnectionArguments) -> NoReturn:
    """Plan a change into a file, and print the answer."""
    from kafkactl.features.api.plan_files import save_plan

    with open_client(connection) as client:
        found = save_plan(client, request, out, overwrite=overwrite)
    answer(found)


def answer(found: FeatureChange) -> NoReturn:
    """Print what was planned or done, first in the words of Kafka's tool, and end."""
    lines = found.lines

    def show(page: Page, found: FeatureChange) -> None:
        # On a terminal the findings report it once, where Kafka's tool reports it once for each feature.
        for line in () if sys.stdout.isatty() and found.outcome == "refused" and found.findings else lines:
            page.line(line)
        show_change(page, found, server_asked=bool(lines))

    if (failed := found.failure_line) is not None:
        say(failed, "bad")
    from kafkactl.core.findings import change_exit_code

    emit("features.change", found, render=show, exit_code=change_exit_code(found.outcome, found.findings))


def _planned(client: Client, request: FeatureRequest) -> FeatureChange:
    from kafkactl.features.api.cluster import plan_change

    return plan_change(client, request)


def _changed(client: Client, request: FeatureRequest, connection: ConnectionArguments) -> FeatureChange:
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.features.api.cluster import change_levels

    guard_cluster(client, connection)
    timeout_ms = SHARE_OF_TIME * current_settings().timeout_ms
    return change_levels(client, request, timeout_ms=timeout_ms, on_note=tell)


def tell(text: str) -> None:
    """Report progress: on a terminal always, else if more output is asked for."""
    if sys.stderr.isatty():
        say(text, "dim")
    else:
        detail(text)


def show_change(page: Page, found: FeatureChange, *, server_asked: bool) -> None:
    """Show changes, their effects, the steps, what the controller reports, the proof, and findings."""
    if (refusal := unconfirmed(found.findings)) is not None:  # the plan was shown before the question
        show_unconfirmed(page, refusal)
        return
    plan, outcome = found.plan, found.outcome
    text, tone = _HEADINGS[outcome]
    page.heading(text, tone)
    page.table(("feature", "from", "to", "kind", "undo"), _changes(plan.changes, is_refused=outcome == "refused"))
    if outcome == "planned":
        page.groups(
            (Word(f"{change.name}:", "strong"), [("-", line) for line in change.consequences])
            for change in plan.changes
            if change.consequences
        )
    page.fields((("plan", found.out), ("sha256", found.plan_sha256)))
    if len(plan.steps) > 1:
        page.table(("step", "one request for"), _steps(plan.steps))
    if server_asked and not found.resolved:
        page.table(("feature", "kafkactl expects", "the controller says"), _compared(found))
    page.table(("node", "role", "levels"), _proof(found.proof))
    page.findings(found.findings)


def _changes(changes: Sequence[LevelChange], *, is_refused: bool) -> Iterator[Sequence[Cell]]:
    from kafkactl.features.api.levels import level_name

    for change in changes:
        name = change.name
        back = Word("-", "dim") if is_refused else _undo(change)
        yield name, level_name(name, change.before), level_name(name, change.after), change.kind.value, back


def _undo(change: LevelChange) -> Word:
    """Return in a word whether the change can be undone."""
    if change.reversible:
        return Word("yes" if change.how_to_undo else "-", "dim")
    return Word(change.how_to_undo.partition(" ")[0].rstrip(":"), "warn")  # none, unknown


def _steps(steps: Sequence[FeatureStep]) -> Iterator[Sequence[Cell]]:
    for step in steps:
        yield step.number, ", ".join(f"{name}={level}" for name, level in step.levels.items())


def _compared(found: FeatureChange) -> Iterator[Sequence[Cell]]:
    from kafkactl.core.findings import Outcome

    for answered in found.answers:
        name = answered.result.name
        expected, says = found.predictions.get(name), answered.outcome is Outcome.PLANNED
        differs = expected is not None and expected != says
        yield name, _verdict(expected), Word(_verdict(says), "bad" if differs else "plain")


def _verdict(accepted: bool | None) -> str:
    return {True: "accepted", False: "refused", None: "cannot tell"}[accepted]


def _proof(proof: Proof | None) -> Iterator[Sequence[Cell]]:
    for node in () if proof is None else proof.nodes:
        levels = node.levels
        if levels is None:
            yield node.node_id, node.role, Word("no answer", "warn")
        else:
            yield node.node_id, node.role, ", ".join(f"{name}={level}" for name, level in levels.items())
