"""`kafkactl log lint`: what in the state of a cluster does not fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import bundle_option
from kafkactl.commands.framework.connection import ConnectionArguments, reading_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.log_options import (
    check_point,
    code_of,
    from_cluster_option,
    log_place,
    past_damage_option,
    point_options,
    stored_without_log,
)
from kafkactl.commands.framework.options import PATH
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.rendering.progress import shown_progress

if TYPE_CHECKING:
    from kafkactl.metadata.api.image import LintResult


@leaf_command(
    "lint",
    examples=(
        "kafkactl log lint /disk1/__cluster_metadata-0",
        "kafkactl log lint --from-cluster --bootstrap-controller host:9093 -o json",
    ),
    codes=exit_codes.READING,
    timeout="1h",
)  # fmt: skip
@click.argument("sources", metavar="[SOURCE]...", nargs=-1, type=PATH)
@from_cluster_option
@bundle_option
@point_options
@past_damage_option
@reading_options
def command(
    *,
    sources: tuple[str, ...],
    from_cluster: bool,
    bundle: str | None,
    at: int | None,
    at_time: int | None,
    past_damage: bool,
    connection: ConnectionArguments,
) -> None:
    """Replay a metadata log and report anomalies in it and in the resulting state.

    Anomalies are records that contradict earlier ones, aborted transactions that some nodes keep,
    replicas on unregistered brokers, leaders outside the ISR, configuration of deleted topics. The
    exit code is 7 for errors; other anomalies are warnings.
    """
    from kafkactl.metadata.api.image import LintResult, lint, load_image

    check_point(at, at_time)
    if bundle is not None and not sources and at is None and at_time is None:
        answer = stored_without_log(bundle, "log.lint")
        if answer is not None:
            kept = LintResult.of_answer(answer)
            code = code_of(kept.findings)
            emit("log.lint", answer, render=lambda page, _: _show(page, kept), exit_code=code, listing="findings")
    with (
        shown_progress("Reading the log"),
        log_place(sources, connection, from_cluster=from_cluster, bundle=bundle) as place,
    ):
        loaded = load_image(place, at=at, at_time_ms=at_time, whole=True, past_damage=past_damage)
        found = lint(loaded, place if at is None and at_time is None else None)
    emit("log.lint", found, render=_show, exit_code=code_of(found.findings), listing="findings")


def _show(page: Page, result: LintResult) -> None:
    from kafkactl.core.findings import blockers

    findings, total = result.findings, sum(result.records.values())
    heading = f"{len(findings)} findings" if len(findings) != 1 else "1 finding"
    tone = "bad" if blockers(findings) else "warn" if findings else "good"
    page.heading(f"{heading if findings else 'Nothing strange'} in {total} records", tone)
    page.findings(findings)
