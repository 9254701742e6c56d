"""Identity of a voter's process and disk: one id with two directories, and disks of another voter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkactl.cluster.quorum.observation import DiskSeen
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.core.findings import Finding, warning
from kafkactl.core.values import Uuid


def check_directories(state: QuorumState) -> Iterator[Finding]:
    """Yield observers with a voter's id and another directory: a disk that was replaced, or a second process."""
    for observer in state.observers:
        voter = state.voter(observer.id)
        if voter is None or None in (voter.directory_id, observer.directory_id) or not observer.alive:
            continue
        if voter.directory_id == observer.directory_id:
            continue
        if voter.alive:
            yield two_processes(observer.id, voter.directory_id, observer.directory_id)
        else:
            yield warning(
                "voter-runs-on-another-disk",
                f"controller {observer.id}",
                f"controller {observer.id} runs on directory {observer.directory_id}, the voter set has "
                f"{voter.directory_id}: it cannot vote",
                voter=str(voter.directory_id),
                observer=str(observer.directory_id),
            )


def two_processes(node_id: int, voter: Uuid | None, observer: Uuid | None) -> Finding:
    """Return the warning about a node id under which a voter is alive and an observer with another directory fetches.

    A broker that was given a controller's id exits as soon as that controller leads (measured on 4.3.1).
    """
    return warning(
        "one-id-two-processes",
        f"node {node_id}",
        f"two processes run under node id {node_id}: the voter with directory {voter}, and an observer with directory"
        f" {observer}",
        voter=str(voter),
        observer=str(observer),
    )


def check_disks(state: QuorumState, disks: Sequence[DiskSeen]) -> Iterator[Finding]:
    """Yield the disks that have a voter's node id and are not the disk of that voter."""
    for disk in disks:
        voter = None if disk.node_id is None else state.voter(disk.node_id)
        if voter is None or None in (voter.directory_id, disk.directory_id):
            continue
        if voter.directory_id != disk.directory_id:
            yield warning(
                "directory-id-not-in-voter-set",
                f"directory {disk.path}",
                f"{disk.path} is of node {voter.id} and has directory id {disk.directory_id}; voter {voter.id} has"
                f" {voter.directory_id}: it is not the disk of that voter, and cannot vote",
                f"Look for the disk with directory id {voter.directory_id}. If it is gone, count voter {voter.id} as"
                " lost; with this disk the node only observes.",
                voter=str(voter.directory_id),
                disk=str(disk.directory_id),
            )
