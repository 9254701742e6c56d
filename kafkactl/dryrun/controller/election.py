"""Rules by which the active controller changes leader, ISR and ELR of one partition.

One function, `change_partition`, for every cause there is: a broker fenced, shut down, unregistered or back again, an
election that was asked for, a reassignment, an ISR that its leader reports. What differs is the target (which replicas
should be in the ISR, which election is allowed) and who may lead. Sources: `PartitionChangeBuilder.java`,
`PartitionReassignmentReplicas.java`, `PartitionRegistration.merge`, KIP-966; what differs between releases is in
`ElectionRules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeAlias

from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import MIGRATING, RECOVERING, Partition
from kafkactl.protocol.codec import Message
from kafkactl.protocol.text.java_text import hash_map_order

LEADER_KEPT: Final = -2  # PartitionChangeRecord.Leader: no change
RECOVERY_KEPT: Final = -1

Ids: TypeAlias = tuple[int, ...]


class Election(StrEnum):
    """Candidates of an election. ONLINE: from the ISR, or the ELR when the ISR is empty; UNCLEAN: then any replica that
    lives; PREFERRED: as ONLINE, the first replica before the present leader."""

    ONLINE = "online"
    UNCLEAN = "unclean"
    PREFERRED = "preferred"


class Completion(StrEnum):
    """Condition under which a reassignment ends (`PartitionReassignmentReplicas.maybeCompleteReassignment`).

    The ISR is taken without the replicas that are being removed, and at least one replica has to be left.

    ADDED: all added replicas are in it (to 3.7). ALL: all replicas of the target are (3.8 to 4.2, KAFKA-15665); a
    replica that is marked both as added and as removed is not waited for. ADDED_UNLESS_FEWER: all added replicas are,
    and where more are removed than added all of the target (4.3, KAFKA-19975).
    """

    ADDED = "added"
    ALL = "all"
    ADDED_UNLESS_FEWER = "added-unless-fewer"


@frozen
class ElectionRules:
    """Rules of elections by the release of the active controller and the finalized levels.

    `elr`: eligible.leader.replicas.version is at least 1. `directories`: metadata.version is at least 3.7-IV2.
    `epoch_on_shrink`: a smaller ISR raises the leader epoch (metadata.version below 3.6-IV0, KAFKA-15021; up to 3.9
    also while a migration from ZooKeeper is enabled). `last_known_must_live`: up to 4.0 the last known leader is
    elected even when it is dead (KAFKA-19522). `last_known_of_any_loss`: the last known leader is kept whenever a
    partition loses its leader (4.1.1), before that only when the ISR becomes empty. `completes_when`: when a
    reassignment ends. `unclean_by_config`: unclean.leader.election.enable takes effect (3.9 on);
    before, only a request elects uncleanly. `shrinks_by_target`: up to 3.7 the epoch is also raised if the ISR that
    is aimed at is smaller and the last member stays, as when a leaderless partition's only broker is fenced again.
    """

    elr: bool
    directories: bool
    epoch_on_shrink: bool
    last_known_must_live: bool
    last_known_of_any_loss: bool
    completes_when: Completion
    unclean_by_config: bool
    shrinks_by_target: bool


@frozen
class Target:
    """Target state of a partition; None keeps the present value.

    `min_isr` is the effective one: min.insync.replicas, at most the number of replicas of the topic's partition 0.
    `unclean_shutdown` are replicas that came back without a clean shutdown: they lose their place in the ELR.
    """

    min_isr: int
    isr: Ids | None = None
    replicas: Ids | None = None
    removing: Ids | None = None
    adding: Ids | None = None
    election: Election = Election.ONLINE
    unclean_shutdown: frozenset[int] = frozenset()
    recovery_state: int = RECOVERY_KEPT


class PartitionChange(NamedTuple):
    """A PartitionChangeRecord's fields: None, -2 (leader) and -1 (recovery state) change nothing."""

    isr: Ids | None = None
    leader: int = LEADER_KEPT
    replicas: Ids | None = None
    removing_replicas: Ids | None = None
    adding_replicas: Ids | None = None
    leader_recovery_state: int = RECOVERY_KEPT
    eligible_leader_replicas: Ids | None = None
    last_known_elr: Ids | None = None
    directories: tuple[Uuid, ...] | None = None


_NOTHING = PartitionChange()


def change_partition(
    partition: Partition,
    target: Target,
    acceptable: Callable[[int], bool],
    rules: ElectionRules,
    default_directory: Callable[[int], Uuid] = lambda _: MIGRATING,
) -> PartitionChange | None:
    """Return the change that the controller would write; None if it would write nothing.

    `acceptable` returns whether a broker may lead this partition: registered, not fenced, not shutting down, its
    directory online. `default_directory` returns the directory of a replica that is new on a broker.
    """
    builder = _Builder(partition, target, acceptable, rules)
    change = builder.build(default_directory)
    return None if change == _NOTHING else change


def merge(partition: Partition, change: PartitionChange) -> Partition:
    """Return the partition after a change (`PartitionRegistration.merge`).

    Every change raises the partition epoch, and one with a leader the leader epoch, even if it names the same leader.
    """
    replicas = _or(change.replicas, partition.replicas)
    directories = partition.directories if change.directories is None else change.directories
    moves = change.replicas is not None or change.directories is not None or len(directories) != len(replicas)
    if moves and all(uuid == MIGRATING for uuid in directories):
        directories = (MIGRATING,) * len(replicas)
    kept = change.leader == LEADER_KEPT
    state = change.leader_recovery_state
    return Partition(
        replicas=replicas,
        isr=_or(change.isr, partition.isr),
        removing_replicas=_or(change.removing_replicas, partition.removing_replicas),
        adding_replicas=_or(change.adding_replicas, partition.adding_replicas),
        leader=partition.leader if kept else change.leader,
        leader_recovery_state=partition.leader_recovery_state if state == RECOVERY_KEPT else state,
        leader_epoch=partition.leader_epoch + (not kept),
        partition_epoch=partition.partition_epoch + 1,
        directories=directories,
        eligible_leader_replicas=_or(change.eligible_leader_replicas, partition.eligible_leader_replicas),
        last_known_elr=_or(change.last_known_elr, partition.last_known_elr),
    )


def change_data(topic_id: Uuid, partition: int, change: PartitionChange) -> Message:
    """Return the data of the PartitionChangeRecord, in its field names."""
    return {
        "PartitionId": partition,
        "TopicId": topic_id,
        "Isr": _list(change.isr),
        "Leader": change.leader,
        "Replicas": _list(change.replicas),
        "RemovingReplicas": _list(change.removing_replicas),
        "AddingReplicas": _list(change.adding_replicas),
        "LeaderRecoveryState": change.leader_recovery_state,
        "EligibleLeaderReplicas": _list(change.eligible_leader_replicas),
        "LastKnownElr": _list(change.last_known_elr),
        "Directories": _list(change.directories),
    }


def without(ids: Ids, *gone: int) -> Ids:
    """Return the list without some members, in its order."""
    return tuple(id for id in ids if id not in gone)


class _Builder:
    """The target of a change while it is worked out; the steps of `build` are Kafka's, in Kafka's order."""

    def __init__(
        self, partition: Partition, target: Target, acceptable: Callable[[int], bool], rules: ElectionRules
    ) -> None:
        self.before = partition
        self.target = target
        self.rules = rules
        self.acceptable = acceptable
        self.isr = _or(target.isr, partition.isr)
        self.replicas = _or(target.replicas, partition.replicas)
        self.removing = _or(target.removing, partition.removing_replicas)
        self.adding = _or(target.adding, partition.adding_replicas)
        self.elr = partition.eligible_leader_replicas
        self.change: dict[str, Any] = {}

    def build(self, default_directory: Callable[[int], Uuid]) -> PartitionChange:
        self._complete_reassignment()
        self._find_eligible()
        self._elect()
        if "leader" not in self.change and not set(self.before.replicas) <= set(self.replicas):
            self.change["leader"] = self.before.leader  # a replica leaves: fence its fetches by the epoch
        self._set_eligible()
        if "isr" not in self.change and (self.isr or self.rules.elr) and self.isr != self.before.isr:
            self.change["isr"] = self.isr  # without ELR the last member stays in the ISR
        self._raise_epoch_on_shrink()
        self._set_last_known()
        self._set_assignment(default_directory)
        state = self.target.recovery_state
        if state not in (RECOVERY_KEPT, self.before.leader_recovery_state):
            self.change["leader_recovery_state"] = state
        return PartitionChange(**self.change)

    def _complete_reassignment(self) -> None:
        if not (self.removing or self.adding):
            return
        isr, replicas = without(self.isr, *self.removing), without(self.replicas, *self.removing)
        when, fewer = self.rules.completes_when, len(self.adding) < len(self.removing)
        if not isr or not replicas or (when is not Completion.ALL and not set(self.adding) <= set(isr)):
            return
        waits_for_all = when is Completion.ALL or (when is Completion.ADDED_UNLESS_FEWER and fewer)
        if waits_for_all and not set(replicas) <= set(isr):
            return
        self.isr, self.replicas, self.removing, self.adding = isr, replicas, (), ()

    def _find_eligible(self) -> None:
        """Set the ELR: empty at min ISR or above; below it, replicas that were in the ISR or the ELR stay eligible."""
        if not self.rules.elr:
            return
        if len(self.isr) >= self.target.min_isr:
            self.elr = ()
            return
        candidates = list(dict.fromkeys((*self.elr, *self.before.isr)))
        ordered = [candidates[at] for at in hash_map_order(candidates)]  # Kafka walks a HashSet of them
        self.elr = tuple(
            replica for replica in ordered if replica not in self.isr and replica not in self.target.unclean_shutdown
        )

    def _elect(self) -> None:
        leader, unclean = self._winner()
        if leader == self.before.leader:
            return
        if leader in self.elr:
            self.isr, self.elr = (leader,), without(self.elr, leader)
        self.change["leader"] = leader
        if unclean:
            self.change["isr"] = (leader,)
            if self.before.leader_recovery_state != RECOVERING:
                self.change["leader_recovery_state"] = RECOVERING

    def _winner(self) -> tuple[int, bool]:
        """Return the leader, and whether it was elected without being in sync."""
        order = (self.before.leader, *self.replicas)
        if self.target.election is Election.PREFERRED:
            order = (self.replicas[0], *order)
        for replica in order:
            if self._valid(replica):
                return replica, False
        if self._last_known_may_lead():
            return self.before.last_known_elr[0], True
        if self.target.election is Election.UNCLEAN:
            for replica in self.replicas:
                if self.acceptable(replica):
                    return replica, True
        return NO_LEADER, False

    def _valid(self, replica: int) -> bool:
        return (replica in self.isr or (not self.isr and replica in self.elr)) and self.acceptable(replica)

    def _last_known_may_lead(self) -> bool:
        known = self.before.last_known_elr
        if not self.rules.elr or self.isr or self.elr or len(known) != 1:
            return False
        return not self.rules.last_known_must_live or self.acceptable(known[0])

    def _set_eligible(self) -> None:
        elr = () if "isr" in self.change or not self.rules.elr else self.elr
        if elr != self.before.eligible_leader_replicas:
            self.change["eligible_leader_replicas"] = elr

    def _raise_epoch_on_shrink(self) -> None:
        if not self.rules.epoch_on_shrink or "leader" in self.change:
            return
        isr = self.isr if self.rules.shrinks_by_target else self.change.get("isr", self.before.isr)
        if not set(self.before.isr) <= set(isr):
            self.change["leader"] = self.before.leader

    def _set_last_known(self) -> None:
        if not self.rules.elr:
            return
        known, leader = self.before.last_known_elr, self.change.get("leader", LEADER_KEPT)
        if self.rules.last_known_of_any_loss:
            store, clear = leader == NO_LEADER and not known, leader >= 0
        else:
            store = self.change.get("isr") == () and known != (self.before.leader,)
            clear = leader >= 0 or NO_LEADER not in (self.before.leader, leader)
        if store:
            self.change["last_known_elr"] = (self.before.leader,)
        elif clear and known:
            self.change["last_known_elr"] = ()

    def _set_assignment(self, default_directory: Callable[[int], Uuid]) -> None:
        before = self.before
        stays = self.replicas is before.replicas and len(before.directories) == len(self.replicas)
        if self.replicas and self.rules.directories and not stays:
            known = dict(zip(before.replicas, before.directories, strict=False))
            directories = tuple(
                known[replica] if replica in known else default_directory(replica) for replica in self.replicas
            )
            if directories != before.directories:
                self.change["directories"] = directories
        if self.replicas and self.replicas != before.replicas:
            self.change["replicas"] = self.replicas
        if self.removing != before.removing_replicas:
            self.change["removing_replicas"] = self.removing
        if self.adding != before.adding_replicas:
            self.change["adding_replicas"] = self.adding


def _or(new: Ids | None, old: Ids) -> Ids:
    return old if new is None else new


def _list(values: Iterable[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
