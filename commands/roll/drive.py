"""Options, questions and page that `roll run` and `roll rollback` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.option_group import option_group
from kafkactl.commands.framework.options import Duration
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.progress_lines import ProgressLines

if TYPE_CHECKING:
    from kafkactl.commands.rendering.page import Page
    from kafkactl.core.findings import Finding
    from kafkactl.roll.api import RollInventory, RollOptions, RollRequest, RollRun
    from kafkactl.roll.driver.acts import Act
    from kafkactl.roll.driver.answer import RollRunStep

CODES = (
    exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.REFUSED, exit_codes.UNREACHABLE,
    exit_codes.PARTLY_DONE, exit_codes.UNKNOWN, exit_codes.INTERRUPTED,
)  # fmt: skip


class DriveArguments(NamedTuple):
    """The options of `drive_options`."""

    soak_ms: int = 0
    gate_interval_ms: int = 10_000
    gate_timeout_ms: int = 600_000
    stop_timeout_ms: int = 360_000


# Decorator: timeouts of the driver; the function gets the parameter `arguments`, a DriveArguments.
drive_options = option_group(
    "arguments",
    DriveArguments,
    click.option(
        "--soak", "soak_ms", type=Duration(has_zero=True), default="0s", show_default=True, metavar="TIME",
        help="How long a gate has to stay open before the next stop, at least --gate-interval.",
    ),
    click.option(
        "--gate-interval", "gate_interval_ms", type=Duration(), default="10s", show_default=True, metavar="TIME",
        help="The time between the two observations that confirm a gate.",
    ),
    click.option(
        "--gate-timeout", "gate_timeout_ms", type=Duration(), default="10m", show_default=True, metavar="TIME",
        help="How long to wait for a gate.",
    ),
    click.option(
        "--stop-timeout", "stop_timeout_ms", type=Duration(), default="6m", show_default=True, metavar="TIME",
        help="How long a stop may take before the run ends with shutdown-not-finished. No process is killed.",
    ),
)  # fmt: skip


def options_of(arguments: DriveArguments) -> RollOptions:
    """Return the options as the driver takes them."""
    from kafkactl.roll.api import RollOptions

    return RollOptions(**arguments._asdict())


class Questions:
    """Confirmations before the first act, and before levels are raised."""

    def __init__(self, *, yes: bool, confirm: str | None) -> None:
        self._yes, self._confirm = yes, confirm

    def __call__(self, act: Act, cluster_id: str | None) -> Finding | None:
        """Return a refusal, or None."""
        from kafkactl.commands.framework.confirmation import confirm, confirm_cluster_id

        if act.raises_levels:
            question = f"The levels are raised to those of Kafka {act.release}; the old binary may never come up again."
            return confirm_cluster_id(question, cluster_id or "", confirm=self._confirm, subject="levels")
        nodes = ", ".join(map(str, act.nodes))
        question = f"The first step is {act.action.value} of node {nodes}. Begin?"
        return confirm(question, yes=self._yes, subject="roll")


def drive(
    kind: str,
    act: Callable[..., RollRun],
    inventory: RollInventory,
    request: RollRequest,
    *,
    arguments: DriveArguments,
    questions: Questions,
) -> NoReturn:
    """Run or roll back (`act`) with progress on stderr, and print how the run ended."""
    lines = ProgressLines()
    options = options_of(arguments)
    answer(kind, act(inventory, request, options=options, ask=questions, on_event=lines, on_request=lines.by_hand))


def answer(kind: str, found: RollRun) -> NoReturn:
    """Print how a run ended, or what it would do."""
    code = exit_codes.INTERRUPTED if found.interrupted else found.outcome.exit_code
    output.emit(kind, found, render=_show, exit_code=code)


def _show(page: Page, found: RollRun) -> None:
    tone = "good" if found.outcome.value in ("done", "nothing-to-do", "planned") else "bad"
    to = f" to {found.to}" if found.to else ""
    way = "roll" if found.way is None or (found.to and found.way == "restart") else found.way.value
    page.heading(f"{way}{to}: {found.outcome.value}", tone)
    page.findings(found.findings)
    page.table(
        ("step", "action", "nodes", "state", "moves", "offline", "below min ISR", "back after"),
        [
            (
                step.number,
                step.action,
                ", ".join(map(str, step.nodes)),
                step.state,
                _figure(step, "leader_changes"),
                _figure(step, "offline"),
                _figure(step, "under_min_isr"),
                None if step.observed is None or step.observed.back_ms is None
                else f"{step.observed.back_ms / 1000:.1f} s",
            )
            for step in found.steps
        ],
    )  # fmt: skip
    page.table(
        ("node", "runs", "incarnation", "ranges", "in sync"),
        [
            (node.node_id, node.release, node.incarnation, _yes(node.ranges_ok), _yes(node.isr_whole))
            for node in found.proof
        ],
    )
    if found.rollback is not None:
        page.fields([("rollback", f"{found.rollback.how.value}: {found.rollback.reason}")])


def _figure(step: RollRunStep, name: str) -> str | None:
    """Return the counted figure, else the predicted one, else nothing."""
    counted = None if step.observed is None else getattr(step.observed, name)
    if counted is not None:
        return str(counted)
    return None if step.predicted is None else f"{getattr(step.predicted, name)} predicted"


def _yes(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"
