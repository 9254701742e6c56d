"""`kafkactl roll plan`: every step in order, what it does to partitions and quorum, and its gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.roll.options import (
    RequestOptions,
    RollSource,
    open_observation,
    request_of,
    request_options,
    source_options,
)

if TYPE_CHECKING:
    from kafkactl.roll.api import RollPlan

_MAJORITY = {True: "majority", False: "no majority", None: "unknown"}


@leaf_command(
    "plan",
    examples=(
        "kafkactl roll plan --inventory roll.toml --to 4.3.1",
        "kafkactl roll plan --observation observation --to 4.3.1 --batch rack -o json",
        "kafkactl roll plan --inventory roll.toml --to 4.3.1 --out roll.json",
    ),
    codes=(*exit_codes.READING, exit_codes.REFUSED),
    timeout="10m",
)
@source_options
@request_options
@click.option("--out", metavar="FILE", help="Write the plan to FILE, readable by its owner only, for review.")
@click.option("--overwrite", is_flag=True, help="Overwrite an existing plan file.")
def command(
    *, source: RollSource, asked: RequestOptions, out: str | None, overwrite: bool
) -> None:  # fmt: skip
    """Show every step of a rolling restart or upgrade, its effects, its gates, and the rollback at that point.

    Nothing is changed. Controllers come first, the leader last; brokers follow in the order that moves
    the fewest leaders. The figures are those of `dryrun rolling-restart`. The exit code is 7 if something
    blocks the roll; then no plan file is written.
    """
    from kafkactl.roll.api import plan

    observation = open_observation(source)
    found = plan(observation, request_of(asked, observation, source.inventory), out=out, overwrite=overwrite)
    code = exit_codes.PROBLEMS_FOUND if found.has_blockers else exit_codes.DONE
    emit("roll.plan", found, render=_show, exit_code=code)


def _show(page: Page, found: RollPlan) -> None:
    title = f"{found.way.value} to {found.to}" if found.to else "restart with the same release"
    page.heading(f"{title}: {found.totals.steps} steps", "bad" if found.has_blockers else "good")
    page.fields(
        [
            ("controllers", ", ".join(map(str, found.order.controllers)) or None),
            ("brokers", "; ".join(", ".join(map(str, batch)) for batch in found.batches) or None),
            ("leader changes", _sum_of(found.totals.leader_changes)),
            ("offline", _sum_of(found.totals.offline)),
            ("below min ISR", _sum_of(found.totals.under_min_isr)),
            ("plan", found.out or found.plan_sha256),
        ]
    )
    page.table(
        ("step", "phase", "action", "nodes", "moves", "offline", "below min ISR", "quorum", "rollback"),
        [
            (
                step.number,
                step.phase.value,
                step.action.value,
                ", ".join(map(str, step.nodes)),
                None if step.predicted is None else step.predicted.leader_changes,
                None if step.predicted is None else step.predicted.offline,
                None if step.predicted is None else step.predicted.under_min_isr,
                None if step.predicted is None else _MAJORITY[step.predicted.majority],
                step.rollback.value,
            )
            for step in found.steps
        ],
    )
    page.findings(found.findings)


def _sum_of(count: int | None) -> str:
    return "unknown" if count is None else f"{count} over all stops"
