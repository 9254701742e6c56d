"""The answer of `apply`: every node as it was checked, and as it was then applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafkactl.commands.format_answer import format_answer
from kafkactl.commands.page import Page

if TYPE_CHECKING:
    from kafkactl.plan import Finding, Outcome
    from kafkactl.storage.model import Applied, FormatPlan
    from kafkactl.storage.plan_file import FleetPlan, PlannedNode

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
    from kafkactl.storage.fleet import of_node, together

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
    return {"id": node.id, "host": node.host, "outcome": outcome, "directories": answer["directories"]}


def show_apply(page: Page, answer: Mapping[str, Any]) -> None:
    """The same answer for people."""
    page.heading(*_TITLES[answer["outcome"]])
    page.fields((("cluster id", answer["cluster_id"]), ("Kafka", answer["kafka_version"])))
    page.groups((f"node {node['id']}  {node['host']}: {node['outcome']}", _rows(node)) for node in answer["nodes"])
    page.findings(answer["findings"])


def _rows(node: Mapping[str, Any]) -> list[tuple[str, str, str, str | None]]:
    return [
        (one["role"], one["progress"] or one["action"], one["path"], one["directory_id"]) for one in node["directories"]
    ]
