"""A command with everything in it, for the tests of what all commands share."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import click

from kafkactl.commands.framework.confirmation import confirm, confirm_cluster_id
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import confirm_option, writing_options
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.core.errors import RefusedError
from kafkactl.core.findings import Finding, Outcome, Severity

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"

FINDINGS = (
    Finding(id="a-note", severity=Severity.INFO, subject="node 1", message="Only so that you know."),
    Finding(
        id="cluster-id-mismatch",
        severity=Severity.BLOCKER,
        subject="directory /disk1",
        message="It belongs to cluster A.",
        evidence={"found": "A", "expected": None, "same": False},
        next_step="Look at the disk.",
    ),
)


@leaf_command("sample", examples=("kafkactl sample -t ID",), codes=(0, 1, 2, 3, 6))
@click.option("-t", "--cluster-id", metavar="ID", default=CLUSTER_ID)
@click.option("-g", "--ignore-formatted", is_flag=True)
@click.option("-f", "--feature", multiple=True)
@click.option("--do", default="answer")
@writing_options
@confirm_option
def command(
    cluster_id: str, ignore_formatted: bool, feature: tuple[str, ...], do: str, dry_run: bool, yes: bool, confirm: str
) -> None:
    """Run a sample."""
    output.say("talking")
    output.detail("talking more")
    _ACTIONS.get(do, _answer)(cluster_id=cluster_id, yes=yes, confirm=confirm)
    payload = {
        "outcome": Outcome.PLANNED if dry_run else Outcome.DONE,
        "cluster_id": cluster_id,
        "ignore_formatted": ignore_formatted,
        "features": feature,
        "nothing": None,
        "directories": [{"path": "/disk1/" + "x" * 120, "id": 1}, {"path": "/disk2", "id": 2}],
        "findings": FINDINGS,
    }
    output.emit("sample", payload, render=_show, listing="directories")


def _show(page: Page, payload: Mapping[str, Any]) -> None:
    page.heading("Sample", tone="good")
    page.fields([("cluster id", payload["cluster_id"]), ("left out", None), ("number", 3)])
    page.table(
        ("path", "id"), [(directory["path"], Word(str(directory["id"]), "bad")) for directory in payload["directories"]]
    )
    page.findings(payload["findings"])


def _answer(**_: Any) -> None:
    return


def _refuse(**_: Any) -> None:
    raise RefusedError("somebody holds the lock", id="a-note", cause="a process", next_step="stop it: password=hunter2")


def _crash(**_: Any) -> None:
    raise ZeroDivisionError("with password=hunter2 inside")


def _missing_file(**_: Any) -> None:
    with open("/nonexistent/file"):  # noqa: PTH123
        pass


def _interrupt(**_: Any) -> None:
    raise KeyboardInterrupt


def _sleep(**_: Any) -> None:
    time.sleep(10)


def _ask(*, yes: bool, **_: Any) -> None:
    _refused_or_go_on(confirm("Go on?", yes=yes, subject="node 1"))


def _ask_hard(*, cluster_id: str, confirm: str | None, **_: Any) -> None:
    _refused_or_go_on(confirm_cluster_id("All is lost.", cluster_id, confirm=confirm, subject="node 1"))


def _refused_or_go_on(finding: Finding | None) -> None:
    if finding:
        payload = {"outcome": Outcome.REFUSED, "findings": [finding]}
        output.emit("sample", payload, render=lambda page, answer: page.findings(answer["findings"]), exit_code=3)


_ACTIONS: dict[str, Any] = {
    "refuse": _refuse,
    "crash": _crash,
    "missing-file": _missing_file,
    "interrupt": _interrupt,
    "sleep": _sleep,
    "ask": _ask,
    "ask-hard": _ask_hard,
}
