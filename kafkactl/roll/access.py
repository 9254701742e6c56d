"""Next steps that make an unknown part of an observation known: a right, a login, an address.

Invariant: what could not be observed says nothing of the cluster, so the reason's own step is the only one, in every
check, gate and next action that lacks that part.
"""

from __future__ import annotations

from kafkactl.core.remedies import remedy_of
from kafkactl.roll.observation import (
    CLUSTER_NOT_OBSERVED,
    LOG_NOT_OBSERVED,
    NODE_NOT_OBSERVED,
    RollNode,
    RollObservation,
)


def quorum_step(seen: RollObservation) -> str:
    """Return the step that makes an unknown quorum known, "" if it is known, or unknown without a reason."""
    return "" if seen.quorum_view is not None else _step_of(seen, CLUSTER_NOT_OBSERVED, "quorum")


def log_step(seen: RollObservation) -> str:
    """Return the step that makes an unknown metadata log known, "" if it is known, or unknown without a reason."""
    if seen.log is not None:
        return ""
    return _step_of(seen, LOG_NOT_OBSERVED) or _step_of(seen, CLUSTER_NOT_OBSERVED, "quorum")


def node_step(seen: RollObservation, node: RollNode) -> str:
    """Return the step that lets kafkactl ask a node that it could not ask, "" for any other node."""
    return _step_of(seen, NODE_NOT_OBSERVED, node.name) if node.alive is None else ""


def step_to_know(seen: RollObservation, node_id: int | None = None) -> str:
    """Return the step for a fact that is unknown, of this node if it is one of a node; else to observe again."""
    node = None if node_id is None else seen.node(node_id)
    own = "" if node is None else node_step(seen, node)
    others = (step for other in seen.nodes if (step := node_step(seen, other)))
    return own or log_step(seen) or quorum_step(seen) or next(others, remedy_of("cluster-evidence-missing"))


def _step_of(seen: RollObservation, id: str, subject: str | None = None) -> str:
    found = (finding for finding in seen.findings if finding.id == id and subject in (None, finding.subject))
    return next((finding.advice for finding in found), "")
