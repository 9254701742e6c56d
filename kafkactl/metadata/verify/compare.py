"""Comparison of the logs of a cluster's nodes: whether they agree, and which of them is the best.

Each log counts up to its first damage or gap (`NodeLog.kept`): a node that starts keeps no more. Of several the one is
best whose valid part, or whose newest snapshot beyond it, ends at the highest epoch and offset: Raft's rule for
elections, for controllers' and brokers' copies alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafkactl.core.findings import Finding, Severity
from kafkactl.metadata.dump.findings import EMPTY_LOG, empty_log
from kafkactl.metadata.verify.check import NodeLog, check_log, remark
from kafkactl.metadata.verify.histories import divergence_findings, precedes_founding, reference_of

_BLOCKER: Final = Severity.BLOCKER
_WARNING: Final = Severity.WARNING


def check_logs(nodes: Sequence[NodeLog]) -> list[Finding]:
    """Return the findings about the logs, and about differences between them."""
    findings = [finding for node in nodes for finding in check_log(node)]
    findings += _empty(nodes)
    if len(nodes) > 1 and may_agree(nodes):
        findings += [*divergence_findings(nodes, reference_of(ranking(nodes))), *_ranking_findings(nodes)]
    elif len(nodes) > 1:
        findings += _clusters(nodes)
    return findings


def ranking(nodes: Sequence[NodeLog]) -> list[NodeLog]:
    """Return the logs of one cluster, best first: by the valid part, whole before damaged, then as given."""
    return sorted(nodes, key=lambda node: (-node.place[0], -node.place[1], node.damage is not None))


def may_agree(nodes: Sequence[NodeLog]) -> bool:
    """Return True if the logs are compared: those of different clusters have nothing in common."""
    return len({node.cluster_id for node in nodes if node.cluster_id is not None}) < 2


def _clusters(nodes: Sequence[NodeLog]) -> Iterator[Finding]:
    listed = ", ".join(f"{node.path}: {node.cluster_id}" for node in nodes)
    yield remark(
        "several-clusters",
        _BLOCKER,
        "the sources",
        f"the sources belong to different clusters: {listed}",
        clusters=sorted({node.cluster_id for node in nodes if node.cluster_id is not None}),
    )


def _ranking_findings(nodes: Sequence[NodeLog]) -> Iterator[Finding]:
    """Report every log that is not whole: the better disk, and what only the damaged one still holds."""
    best = ranking(nodes)[0]
    farthest = max(node.place[1] for node in nodes)
    for node in nodes:
        if node.damage is None:
            yield from _behind_its_zeros(node, best)
            continue
        (epoch, end), why = node.place, node.damage[1]
        text = f"{why[:1].upper()}{why[1:]}: its valid part ends at offset {end} (epoch {epoch}). "
        if node is best:
            text += "No other log reaches further, so this is the best disk nevertheless."
            step = f"In a recovery begin with {node.path}: only its valid part counts."
        else:
            text += f"{best.path} is the better disk: it reaches offset {best.place[1]} (epoch {best.place[0]})."
            step = f"In a recovery begin with {best.path}, and keep this disk until the recovery is verified."
        last = node.beyond.last_offset
        if last is not None and last >= farthest:
            text += f" Records up to offset {last} can be read after the damage, and no other log has them."
        yield _ranked(node, best, text, step)


def _behind_its_zeros(node: NodeLog, best: NodeLog) -> Iterator[Finding]:
    """Report zeros in a log. Kafka writes none: if a power failure left them, a longer log shows what belongs there."""
    if node.zeros_from is None or best.place <= node.place:
        return
    (epoch, end), (best_epoch, best_end) = node.place, best.place
    yield _ranked(
        node,
        best,
        f"From offset {node.zeros_from} on it holds zeros, as after a power failure: its valid part ends at offset"
        f" {end} (epoch {epoch}). {best.path} reaches offset {best_end} (epoch {best_epoch}): the zeros stand for"
        " records.",
        f"A voter with others fetches them. The only voter would lead without them, and brokers that have them exit or"
        f" cut their copies: do not start it, recover from {best.path} (`kafkactl quorum recover`).",
    )


def _ranked(node: NodeLog, best: NodeLog, text: str, step: str) -> Finding:
    """Report a log whose valid part ends early, next to the best one."""
    (epoch, end), (best_epoch, best_end) = node.place, best.place
    return remark(
        "damaged-log-ranked",
        _WARNING,
        f"log {node.path}",
        text,
        step,
        offset=end,
        epoch=epoch,
        best=best.path,
        best_offset=best_end,
        best_epoch=best_epoch,
    )


def _empty(nodes: Sequence[NodeLog]) -> Iterator[Finding]:
    """Report a log without a record: next to logs of the same cluster it belongs to a voter that lost everything."""
    others = [node for node in nodes if not node.is_empty]
    for node in nodes:
        if node.is_empty and others:
            if precedes_founding(node, reference_of(others)):
                continue
            text = (
                f"The log contains no metadata record, and {others[0].path} reaches offset "
                f"{others[0].place[1]}: this node has "
                "lost its log, or was never part of the quorum."
            )
            step = "Do not let empty voters be a majority: they elect each other, and the rest follows them."
            yield remark(EMPTY_LOG, _BLOCKER, f"log {node.path}", text, step)
        elif node.is_empty:
            yield empty_log(node.path)
