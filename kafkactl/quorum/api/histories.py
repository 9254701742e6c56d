"""Comparison of disks with the quorum they are shown with: its history, or another one that a start would cut."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from kafkactl.cluster.quorum.observation import DiskSeen
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.core.errors import InputError, KafkactlError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import changed
from kafkactl.dryrun.engine.replicas import Replica, replica_of
from kafkactl.metadata.io.live import saved_log
from kafkactl.metadata.io.source import open_source
from kafkactl.metadata.verify.histories import CONTRADICTIONS, RECOVER_ALONE, divergence_findings, partings

if TYPE_CHECKING:
    from kafkactl.kafka.client import Client

_RUNNING = "the running quorum"


def check_histories(state: QuorumState, disks: Sequence[DiskSeen], client: Client | None) -> tuple[Finding, ...]:
    """Return the contradictions between the logs on disks, or between each of them and the log of a leader.

    The log of the leader is fetched and kept in a temporary folder while it is compared.
    """
    of_cluster = [disk for disk in disks if disk.cluster_id in (None, state.cluster_id)]
    if client is None or not state.has_leader:
        return tuple(_contradictions(_replicas(of_cluster))) if len(of_cluster) > 1 else ()
    if not of_cluster:
        return ()
    try:
        with saved_log(client) as folder:
            live = changed(replica_of(open_source(folder)), path=_RUNNING)
            return tuple(_against(live, _replicas(of_cluster)))
    except KafkactlError as error:
        text = f"whether the disks hold the log of the running quorum is not known: {error.message}"
        return (warning("metadata-log-not-read", "metadata log", text, error.advice, error=error.id),)


def without_return(findings: Sequence[Finding], disks: Sequence[DiskSeen]) -> Iterator[Finding]:
    """Yield the findings; the advice to bring a voter back is left out if its disk holds another history."""
    other = {finding.subject.removeprefix("log ") for finding in findings if finding.id in CONTRADICTIONS}
    paths = {f"controller {disk.node_id}": disk.path for disk in disks if disk.path in other}
    for finding in findings:
        if finding.id == "voter-is-dead" and finding.subject in paths:
            step = f"Do not bring it back with {paths[finding.subject]}, which holds another history."
            yield replace(finding, next_step=step)
        else:
            yield finding


def _replicas(disks: Sequence[DiskSeen]) -> list[Replica]:
    """Return the logs of disks. One without segments and checkpoints has nothing that can be compared."""
    found = []
    for disk in disks:
        with suppress(InputError):
            found.append(changed(replica_of(open_source(disk.path)), path=disk.path))
    return found


def _contradictions(replicas: Sequence[Replica]) -> Iterator[Finding]:
    if len(replicas) > 1:
        yield from (finding for finding in divergence_findings(replicas) if finding.id in CONTRADICTIONS)


def _against(live: Replica, replicas: Sequence[Replica]) -> Iterator[Finding]:
    """Report each disk whose log diverges from the running quorum; the disks are not compared with each other."""
    for replica in replicas:
        if not partings([live, replica], live):
            continue
        path = shlex.quote(replica.path)
        step = (
            f"Do not start the node with this disk: it follows the running quorum, and cuts its log. Copy {path} aside;"
            f" `kafkactl log diff {path} --from-cluster` with the address of a controller shows what only it has."
            f" If something is missed, stop the running nodes, brokers first; {RECOVER_ALONE}"
        )
        for finding in divergence_findings([live, replica], live):
            if finding.id in CONTRADICTIONS:
                yield replace(finding, subject=f"log {replica.path}", next_step=step)
