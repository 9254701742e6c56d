"""`kafkactl storage unformat`: take a format back where it is proved that no node started from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework.confirmation import confirm_cluster_id
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import confirm_option, kafka_version_option, writing_options
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.findings import Finding, Outcome
    from kafkactl.storage.format.unformat import UnformatPlan
    from kafkactl.storage.model import Applied

_TITLES = {
    "done": ("Unformatted node {node_id}", "good"),
    "nothing-to-do": ("Nothing of node {node_id} is formatted", "good"),
    "planned": ("Would unformat node {node_id}", "strong"),
    "refused": ("Refused to unformat node {node_id}", "bad"),
    "failed": ("Failed to unformat node {node_id}", "bad"),
    "partial": ("Unformatted only a part of node {node_id}", "bad"),
}


@leaf_command(
    "unformat",
    examples=(
        "kafkactl storage unformat -c server.properties --dry-run",
        "kafkactl storage unformat -c server.properties --confirm CLUSTER_ID",
    ),
    codes=(0, 1, 2, 3, 5, 6),
)
@click.option("-c", "--config", required=True, metavar="FILE", help="The node's server.properties.")
@click.option("--only", multiple=True, metavar="DIR", help="Only this directory; repeatable.")
@kafka_version_option
@confirm_option
@writing_options
def command(
    *, config: str, only: tuple[str, ...], kafka_version: str | None, confirm: str | None, dry_run: bool, yes: bool
) -> None:
    """Remove what a format wrote, where no node has started from it.

    It cannot be undone, so the cluster's id is asked for, or given by --confirm; --yes is not enough.
    """
    from pathlib import Path

    from kafkactl.adapters.disks.apply_unformat import apply_unformat
    from kafkactl.adapters.disks.directories import observe_node
    from kafkactl.adapters.files.config_providers import resolve
    from kafkactl.adapters.files.filesystem import OsFilesystem
    from kafkactl.adapters.files.input_files import InputKind, read_input
    from kafkactl.features.catalog.releases import find_release, newest_release
    from kafkactl.findings import Outcome
    from kafkactl.storage.config.node_config import read_node_config
    from kafkactl.storage.format.unformat import plan_unformat

    release = find_release(kafka_version) if kafka_version else newest_release()
    data = read_input(Path(config), "the node's configuration", InputKind.NODE_CONFIG)
    node = read_node_config(data, file=config, release=release, resolve=resolve)
    plan = plan_unformat(node, observe_node(node), only=only)
    if dry_run or plan.outcome is not Outcome.PLANNED:
        _emit(plan, plan.outcome, plan.findings, None)
    refusal = _ask(plan, confirm, yes)
    if refusal is not None:
        _emit(plan, Outcome.REFUSED, [*plan.findings, refusal], None)
    applied = apply_unformat(plan, OsFilesystem())
    _emit(plan, applied.outcome, applied.findings, applied)


def _ask(plan: UnformatPlan, given: str | None, yes: bool) -> Finding | None:
    from kafkactl.commands.framework.confirmation import confirm

    subject = f"node {plan.node_id}"
    names = ", ".join(one.path for one in plan.directories if one.action == "unformat")
    if plan.cluster_id is None:  # only leftovers: nothing that says whose they are is lost
        return confirm(f"Remove what an interrupted run left in {names}?", yes=yes, subject=subject)
    question = f"The format of {names} will be removed."
    return confirm_cluster_id(question, plan.cluster_id, confirm=given, subject=subject)


def _emit(plan: UnformatPlan, outcome: Outcome, findings: Sequence[Finding], applied: Applied | None) -> None:
    answer = {
        "outcome": outcome,
        "cluster_id": plan.cluster_id,
        "node_id": plan.node_id,
        "directories": [
            {
                "path": one.path,
                "role": one.role,
                "action": one.action,
                "progress": None if applied is None else applied.progress[one.path],
                "files": [str(PurePosixPath(one.path) / name) for name in one.names],
            }
            for one in plan.directories
        ],
        "findings": list(findings),
    }
    emit("storage.unformat", answer, render=_show, exit_code=outcome.exit_code)


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    title, tone = _TITLES[answer["outcome"]]
    page.heading(title.format(**answer), tone)
    page.fields((("cluster id", answer["cluster_id"]),))
    page.table(
        ("directory", "role", "action", "removes"),
        (
            (
                one["path"],
                one["role"],
                one["progress"] or one["action"],
                ", ".join(map(_name, one["files"])) or None,
            )
            for one in answer["directories"]
        ),
    )
    page.findings(answer["findings"])


def _name(path: str) -> str:
    return PurePosixPath(path).name
