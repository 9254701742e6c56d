"""The answer of `apply`: every node as it was checked, and as it was then applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafkactl.commands.rendering.page import Page
from kafkactl.commands.storage.format_answer import format_answer

if TYPE_CHECKING:
    from kafkactl.findings import Finding, Outcome
    from kafkactl.storage.fleet.plan_file import FleetPlan, PlannedNode
    from kafkactl.storage.model import Applied, FormatPlan

_TITLES = {
    "done": ("Formatted as planned", "good"),
    "nothing-to-do": ("All of it is formatted as planned already", "good"),
    "planned": ("Would format", "strong"),
    "refused": ("Refused: nothing was written on any node", "bad"),
    "failed": ("Failed", "bad"),
    "partial": ("Done in part", "bad"),
    "unknown": ("The outcome is unknown", "bad"),
}


def apply_answer(
    plan: FleetPlan,
    plan_sha256: str,
    *,
    nodes: Sequence[PlannedNode],
    checked: Sequence[FormatPlan],
    applied: Sequence[Applied] | None,
    outcome: Outcome,
    findings: Sequence[Finding] = (),
) -> dict[str, Any]:
    """The payload. `applied` is None where nothing was tried; `findings` are told beside those of the nodes."""
    from kafkactl.storage.fleet.plan import of_node, together

    results: Sequence[FormatPlan | Applied] = checked if applied is None else applied
    told = [
        (node.id, of_node(node.id, finding))
        for node, one in zip(nodes, results, strict=True)
        for finding in one.findings
    ]
    return {
        "outcome": outcome,
        "cluster_id": plan.cluster_id,
        "kafka_version": plan.kafka_version,
        "plan_sha256": plan_sha256,
        "nodes": [
            _node(node, checked[position], None if applied is None else applied[position], outcome)
            for position, node in enumerate(nodes)
        ],
        "findings": [*together(told), *findings],
    }


def _node(node: PlannedNode, checked: FormatPlan, applied: Applied | None, whole: Outcome) -> dict[str, Any]:
    own = checked.outcome if applied is None else applied.outcome
    # Where nothing was tried although it could have been, the whole was refused for another node's sake.
    outcome = whole if applied is None and whole.value == "refused" else own
    answer = format_answer(checked, outcome=outcome, findings=(), applied=applied)
    return {
        "id": node.id,
        "host": node.host,
        "config": node.config,
        "voter_mode": node.voter_mode,
        "outcome": outcome,
        "directories": answer["directories"],
        "scram_users": _scram_users(node),
    }


def _scram_users(node: PlannedNode) -> list[dict[str, Any]] | None:
    """Whom the plan lets in; None where what it writes cannot be read as users."""
    from kafkactl.errors import InputError
    from kafkactl.storage.fleet.plan_check import scram_users

    try:
        users = scram_users(node)
    except InputError:
        return None
    return [{"name": one.name, "mechanism": one.mechanism.name, "iterations": one.iterations} for one in users]


def show_apply(page: Page, answer: Mapping[str, Any]) -> None:
    """The same answer for people."""
    page.heading(*_TITLES[answer["outcome"]])
    page.fields((("cluster id", answer["cluster_id"]), ("Kafka", answer["kafka_version"])))
    page.groups((f"node {node['id']}  {node['host']}: {node['outcome']}", _rows(node)) for node in answer["nodes"])
    page.findings(answer["findings"])


def _rows(node: Mapping[str, Any]) -> list[tuple[str, str, str, str | None]]:
    rows = []
    for directory in node["directories"]:
        what = directory["progress"] or directory["action"]
        rows.append((directory["role"], what, directory["path"], directory["directory_id"]))
        if what == "format":  # not done yet: what exactly will be
            rows += [("", "file", file["path"], _access(file, directory)) for file in directory["files"]]
    users = node["scram_users"] or ()
    return rows + [("user", user["mechanism"], user["name"], f"{user['iterations']} iterations") for user in users]


def _access(file: Mapping[str, Any], directory: Mapping[str, Any]) -> str:
    return f"mode {file['mode'] or 'by umask'}, owner {directory['owner'] or 'this user'}, {file['size']} bytes"
