"""Nodes of which nothing was observed, and the reason: no answer, or an answer that did not let kafkactl in.

Nothing follows from the second kind about the node itself: it runs, or another process has its port. A question that
the node denied to the user of kafkactl is of the second kind, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafkactl.core.findings import Finding
from kafkactl.migration.observed.observation import NodeSeen, Observation

REFUSES_CLIENT: Final = "node-refuses-client"
_NOT_OBSERVED: Final = "node-not-observed"
NO_ANSWER: Final = frozenset(
    {"connection-refused", "connection-timed-out", "connection-failed", "connection-closed", "unknown-host"}
)
"""Errors of a connection to which no process has answered; after every other error one has."""


def silent_brokers(observation: Observation) -> frozenset[int]:
    """Return the brokers that were asked and did not answer: refused, or nothing came (paused, cut off)."""
    unmet = {
        finding.subject for finding in observation.findings if finding.id == _NOT_OBSERVED and not _is_refusal(finding)
    }
    return frozenset(broker.id for broker in observation.brokers if broker.alive is False or broker.name in unmet)


def refusals(observation: Observation) -> tuple[Finding, ...]:
    """Return the findings about nodes that answered and did not let kafkactl in."""
    return tuple(finding for finding in observation.findings if _is_refusal(finding))


def refusing(observation: Observation) -> frozenset[str]:
    """Return the names of these nodes (`broker 1`)."""
    return frozenset(finding.subject for finding in refusals(observation))


def _is_refusal(finding: Finding) -> bool:
    if finding.id == REFUSES_CLIENT:
        return True
    # Observations that were saved by kafkactl 0.1 have one id for both.
    reason = finding.evidence.get("reason")
    return finding.id == _NOT_OBSERVED and isinstance(reason, str) and "-" in reason and reason not in NO_ANSWER


def denying(nodes: Iterable[NodeSeen]) -> tuple[NodeSeen, ...]:
    """Return the nodes that denied DescribeQuorum to the user of kafkactl."""
    return tuple(node for node in nodes if node.quorum is not None and node.quorum.is_denied)


def principals(nodes: Iterable[NodeSeen]) -> str:
    """Return the users as which kafkactl asked these nodes, `the user of kafkactl` if the login does not show it."""
    found = {node.identity.principal for node in nodes if node.identity is not None and node.identity.principal}
    return ", ".join(sorted(found)) or "the user of kafkactl"


def leader_unknown(observation: Observation) -> str | None:
    """Return why the leader of the quorum could not be asked for: a clause; None if every controller said or is down.

    A controller that does not lead says so (NOT_LEADER_OR_FOLLOWER). Any other error, and no answer at all of a process
    that may run, leave the leader unknown.
    """
    if observation.quorum is not None:
        return None
    denied = denying(observation.controllers)
    reasons = []
    if denied:
        names = ", ".join(node.name for node in denied)
        reasons.append(f"{names} denied DescribeQuorum to {principals(denied)}")
    closed_to_us = refusing(observation)
    for node in observation.controllers:
        if node.name in closed_to_us:
            reasons.append(f"{node.name} did not let kafkactl in")
        elif node.alive is not False and node not in denied and (node.quorum is None or not node.quorum.is_follower):
            reasons.append(f"{node.name} was not asked, or gave no answer")
    return "; ".join(reasons) or None
