"""Partitions that have no leader while brokers are away: of which is a copy left, and how do they get a leader again?

Measured on 3.9.2, 4.3.1 and 4.4.0 with a broker that was lost permanently: an unclean election makes a replica that is
left the leader, out of sync or not; without such a replica it is refused (ELIGIBLE_LEADERS_NOT_AVAILABLE) until the
partition is reassigned to a broker that is there, and the partition then begins empty.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.core.wording import counted, first_few
from kafkactl.metadata.image.model import LEADER_AT, REPLICAS_AT, Image, partition_of
from kafkactl.quorum.recover.observed_disks import MOST_NAMED


@frozen
class LeaderlessPartitions:
    """Partitions without a leader, by name. `electable` have a replica on a broker that is there, `bare` have none."""

    electable: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Return the names of all stranded partitions."""
        return [*self.electable, *self.bare]

    @property
    def first_names(self) -> list[str]:
        """Return as many names as an answer shows."""
        return self.names[:MOST_NAMED]

    @property
    def count_text(self) -> str:
        """Return `1 partition has` or `3 partitions have`."""
        count = len(self.electable) + len(self.bare)
        return f"{counted(count, 'partition')} {'has' if count == 1 else 'have'}"

    @property
    def next_step(self) -> str:
        """Return the next step: brokers first, then what works if they are lost."""
        steps = ["Start the brokers that hold them. If these are lost permanently:"]
        if self.electable:
            steps.append(
                "`kafka-leader-election.sh --election-type unclean` makes the copy that is left the truth"
                f" ({first_few(list(self.electable))}; records that it lacks are gone)."
            )
        if self.bare:
            steps.append(
                f"No copy is left of {first_few(list(self.bare))}: reassign them to brokers that are there"
                " (`kafka-reassign-partitions.sh`), and then elect them unclean: they begin empty."
            )
        steps.append("Last, `kafka-cluster.sh unregister --id ID` and reassign what still names the lost broker.")
        return " ".join(steps)

    @property
    def evidence(self) -> dict[str, Any]:
        """Return the first names, and the names without any replica."""
        return {"partitions": self.first_names, "without_replica": list(self.bare[:MOST_NAMED])}


def without_leader(image: Image) -> LeaderlessPartitions:
    """Return the partitions without a leader, or whose leader is fenced or not registered."""
    alive = {id for id, broker in image.brokers.items() if not broker.fenced}
    electable: list[tuple[str, int]] = []
    bare: list[tuple[str, int]] = []
    for topic in image.topics.values():
        for number, state in topic.partitions.states.items():
            if state[LEADER_AT] not in alive:
                found = bare if alive.isdisjoint(state[REPLICAS_AT]) else electable
                found.append((topic.name, number))
    return LeaderlessPartitions(electable=_names(electable), bare=_names(bare))


def without_in_sync_disk(image: Image, lacking: Mapping[int, Collection[Uuid]]) -> LeaderlessPartitions:
    """Return partitions without a disk of an eligible leader; `lacking` has the missing directories of each broker.

    A clean leader comes from the ISR or the eligible leader replicas (KIP-966).
    """
    if not lacking:
        return LeaderlessPartitions()
    shown = {
        id: {directory for directory in image.brokers[id].directories if directory not in missing}
        for id, missing in lacking.items()
    }
    electable: list[tuple[str, int]] = []
    bare: list[tuple[str, int]] = []
    for topic in image.topics.values():
        for number, state in topic.partitions.states.items():
            partition = partition_of(state)
            left = {
                replica
                for replica, directory in zip(partition.replicas, partition.directories, strict=False)
                if replica not in shown or directory in shown[replica]
            }
            if left.isdisjoint((*partition.isr, *partition.eligible_leader_replicas)):
                (electable if left else bare).append((topic.name, number))
    return LeaderlessPartitions(electable=_names(electable), bare=_names(bare))


def _names(found: list[tuple[str, int]]) -> tuple[str, ...]:
    return tuple(f"{name}-{number}" for name, number in sorted(found))
