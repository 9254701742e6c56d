"""The area `this-host`: nodes of this host run, and would start again on their disks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafkactl.cluster.node import NotAsked
from kafkactl.core.findings import Finding, warning
from kafkactl.status.answer import AreaStatus, StatusVerdict
from kafkactl.status.next_command import Target
from kafkactl.status.observation import HostNode, Observation
from kafkactl.status.parts import area_of, joined, unknown_area

AREA: Final = "this-host"
COUNTS: Final = ("nodes", "running")


def host_area(observation: Observation, target: Target) -> AreaStatus | None:
    """Return the status of the nodes of this host; None if none was found or named."""
    nodes = observation.host
    if nodes is None:
        return None
    if isinstance(nodes, NotAsked):
        return unknown_area(AREA, nodes, COUNTS, None)
    foreign = [node for node in nodes if _is_foreign(node, observation)]
    broken = [node for node in nodes if node.will_start is False]
    stopped = [node for node in nodes if node.runs is False]
    unknown = [node for node in nodes if node.runs is None or node.will_start is None]
    verdict = StatusVerdict.OK
    if broken or foreign:
        verdict = StatusVerdict.PROBLEM
    elif stopped:
        verdict = StatusVerdict.WATCH
    elif unknown:
        verdict = StatusVerdict.UNKNOWN
    worst = next(iter([*broken, *foreign, *stopped, *unknown, *nodes]), None)
    return area_of(
        AREA,
        verdict,
        joined(_text(node) for node in nodes),
        headlines=_headlines(broken, foreign, stopped, unknown),
        counts={
            "nodes": len(nodes),
            "running": None if any(node.runs is None for node in nodes) else sum(node.runs is True for node in nodes),
        },
        findings=tuple(_findings(nodes, stopped, foreign, observation)),
        command=None if worst is None else target.local_command(["storage", "verify", "-c", worst.file]),
    )


def _is_foreign(node: HostNode, observation: Observation) -> bool:
    return None not in (node.cluster_id, observation.cluster_id) and node.cluster_id != observation.cluster_id


def _name(node: HostNode) -> str:
    return f"the node of {node.file}" if node.node_id is None else f"node {node.node_id}"


def _text(node: HostNode) -> str:
    name = _name(node)
    runs = {True: f"{name} runs", False: f"{name} does not run", None: f"whether {name} runs is not known"}[node.runs]
    disks = {
        True: "disks match · metadata log sound",
        False: "would not start again",
        None: "its next start is not known",
    }[node.will_start]
    return f"{runs} · {disks}"


def _headlines(
    broken: Sequence[HostNode], foreign: Sequence[HostNode], stopped: Sequence[HostNode], unknown: Sequence[HostNode]
) -> Iterator[str]:
    yield from (f"{_name(node)} would not start again on its disks" for node in broken)
    yield from (f"{_name(node)} is of another cluster than the one that answers" for node in foreign)
    yield from (f"{_name(node)} does not run" for node in stopped)
    yield from (f"whether {_name(node)} would start again is not known" for node in unknown)


def _findings(
    nodes: Sequence[HostNode], stopped: Sequence[HostNode], foreign: Sequence[HostNode], observation: Observation
) -> Iterator[Finding]:
    for node in nodes:
        yield from node.findings
    for node in stopped:
        yield warning("node-not-running", _name(node), f"no process holds the directories of {_name(node)}")
    for node in foreign:
        yield warning(
            "node-of-another-cluster",
            _name(node),
            f"the disks of {_name(node)} are of cluster {node.cluster_id}, the cluster that answers is"
            f" {observation.cluster_id}",
            "Name the node's own cluster with -c alone, or correct the connection options.",
        )
