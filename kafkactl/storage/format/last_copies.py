"""Partitions that lose their last copy if an empty directory of a broker takes the place of a lost one.

Kafka elects a replica of the ISR or the ELR that serves, whatever is in its directory: an empty one is elected if a
partition without a leader waits for it, and the other replicas remove what it lacks (measured on 3.9.2 and 4.3.1). The
metadata log shows which partitions wait: the running quorum's, or else the node's own copy, which ends at the moment at
which the node stopped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from kafkactl.core.findings import Finding, Severity, warning
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import Uuid
from kafkactl.core.wording import counted, first_few
from kafkactl.metadata.image.model import (
    DIRECTORIES_AT,
    LEADER_AT,
    LOST,
    REPLICAS_AT,
    Image,
    PartitionState,
    candidates,
)
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.format.disks import stored_directory_id
from kafkactl.storage.model import LastCopies, ObservedNode

_ID: Final = "last-copy-in-lost-directory"
_MOST_NAMED: Final = 20


def kept_directories(observed: ObservedNode) -> frozenset[Uuid]:
    """Return the ids of the node's directories that are formatted."""
    ids = (stored_directory_id(directory) for directory in observed.directories)
    return frozenset(id for id in ids if id is not None)


def needs_log(config: NodeConfig, observed: ObservedNode) -> bool:
    """Return True if the format gives a broker an empty directory: the log shows what an earlier one held."""
    return "broker" in config.roles and any(directory.meta_properties is None for directory in observed.directories)


def last_copies(image: Image, node_id: int, kept: Collection[Uuid], *, source: str, is_own: bool) -> LastCopies:
    """Return the partitions that wait for a replica in a directory that the node no longer has.

    `is_own`: the log is the node's own copy, in which the node still leads what it led when it stopped.
    """
    found = {
        f"{topic.name}-{number}": len(state[REPLICAS_AT])
        for topic in image.topics.values()
        for number, state in topic.partitions.states.items()
        if node_id in state[REPLICAS_AT] and _waits(state, node_id, is_own=is_own) and _is_lost(state, node_id, kept)
    }
    return LastCopies(
        source=source,
        is_own=is_own,
        count=len(found),
        partitions=tuple(sorted(found)[:_MOST_NAMED]),
        has_other_replicas=any(replicas > 1 for replicas in found.values()),
    )


def _waits(state: PartitionState, node_id: int, *, is_own: bool) -> bool:
    eligible = candidates(state)
    if is_own:
        return set(eligible) == {node_id} and state[LEADER_AT] in (NO_LEADER, node_id)
    return state[LEADER_AT] == NO_LEADER and node_id in eligible


def _is_lost(state: PartitionState, node_id: int, kept: Collection[Uuid]) -> bool:
    """Return True if the replica was in none of the directories that the node still has; unassigned ones count as lost
    if the node has none."""
    at = 16 * state[REPLICAS_AT].index(node_id)
    raw = state[DIRECTORIES_AT][at : at + 16]
    if not kept:
        return True
    if len(raw) < 16:
        return False
    directory = Uuid(raw)
    return directory == LOST or not (directory.is_reserved or directory in kept)


def refuse_last_copies(findings: Iterable[Finding], observed: ObservedNode) -> Iterator[Finding]:
    """Yield the findings of an `ensure`, which a start follows at once: it refuses what a `format` warns of, if another
    replica can be elected first."""
    copies = observed.last_copies
    step = (
        f"Elect another replica before this broker starts (`kafkactl explain {_ID}`). To give up what only the lost"
        " directory had, format the empty one with `kafkactl storage format -g`."
    )
    for finding in findings:
        is_refused = finding.id == _ID and copies is not None and copies.has_other_replicas
        yield changed(finding, severity=Severity.BLOCKER, next_step=step) if is_refused else finding


def warn_of_last_copies(config: NodeConfig, observed: ObservedNode) -> Iterator[Finding]:
    """Warn of partitions whose records an empty directory would cost."""
    found = observed.last_copies
    if found is None or not found.count:
        return
    verb = "waits" if found.count == 1 else "wait"
    when = "when the node stopped, " if found.is_own else ""
    yield warning(
        _ID,
        f"broker {config.node_id}",
        f"{counted(found.count, 'partition')} {verb} for a replica in a directory that this broker no longer has:"
        f" {first_few(found.partitions, count=found.count)}, {when}by {found.source}. Kafka elects the replica in the"
        " empty directory that takes its place, and the other replicas remove the records that it lacks",
        source=found.source,
        count=found.count,
        partitions=list(found.partitions),
    )
