"""A simulated active controller: it handles the events that a real one handles and returns the records it would write.

It starts from an image and changes only its own copy of the state. Each method is one operation of the real controller,
with the records in the order in which Kafka writes them. Partitions within an operation are ordered by topic name and
number, while Kafka iterates over hash tables. Sources: `ReplicationControlManager.java`,
`ClusterControlManager.java`; measured on 3.9.2, 4.0.2, 4.3.1 and 4.4.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import Uuid
from kafkactl.dryrun.controller.appended_records import Operation, PartitionUpdate, record
from kafkactl.dryrun.controller.election import Election, Ids, PartitionChange, Target, change_partition, merge, without
from kafkactl.dryrun.controller.facts import Facts, min_isr_of, unclean_allowed
from kafkactl.dryrun.controller.members import last_registration
from kafkactl.metadata.image.model import (
    DIRECTORIES_AT,
    ELR_AT,
    ISR_AT,
    LEADER_AT,
    LEADER_EPOCH_AT,
    LOST,
    MIGRATING,
    RECOVERING,
    REPLICAS_AT,
    UNASSIGNED,
    Broker,
    Image,
    Partition,
    Topic,
    partition_of,
)
from kafkactl.metadata.image.nodes import broker_data
from kafkactl.protocol.log.frame import MetadataRecord

Key: TypeAlias = tuple[Uuid, int]  # topic id, partition


class ActiveController:
    """The controller's picture of the cluster, and what it has written so far (`operations`)."""

    def __init__(self, image: Image, facts: Facts) -> None:
        self.image = image
        self.facts = facts
        self.brokers: dict[int, Broker] = dict(image.brokers)
        self.changed: dict[Key, Partition] = {}
        self.operations: list[Operation] = []
        self.touched: dict[Key, Partition] = {}  # what changed since `mark`, as it was then
        self.unclean: set[Key] = set()  # since `mark` led by a replica that was not known to be in sync
        self._changed_of: dict[Uuid, dict[int, Partition]] = {}  # `changed` by topic: a uuid is dear to hash
        self._held: dict[int, list[Key]] | None = None  # by broker, the partitions that have a replica there
        self._leaderless: set[Key] | None = None
        self._directories: dict[bytes, tuple[Uuid, ...]] = {}  # equal lists are one object, and so are equal changes
        self._changes: dict[PartitionChange, PartitionChange] = {}
        self._tally: list[int] | None = None
        self._topics = sorted(image.topics.values(), key=lambda topic: topic.name)
        self._settings: dict[str, tuple[int, bool]] = {}

    def partition(self, key: Key) -> Partition:
        """Return a partition as it is now."""
        found = self.changed.get(key)
        if found is not None:
            return found
        state = self.image.topics[key[0]].partitions.states[key[1]]
        raw = state[DIRECTORIES_AT]
        directories = self._directories.get(raw)
        if directories is None:
            directories = self._directories[raw] = partition_of(state).directories
        return Partition._make((*state[:DIRECTORIES_AT], directories, *state[DIRECTORIES_AT + 1 :]))

    def settings(self, topic: Topic) -> tuple[int, bool]:
        """Return the effective min ISR of a topic (from 3.7 on at most the replicas of its partition 0), and whether an
        unclean election is allowed."""
        if topic.name not in self._settings:
            states = topic.partitions.states
            first = states.get(0) or next(iter(states.values()))
            least = self.facts.rules.enough(min_isr_of(self.image, self.facts, topic.name), len(first[REPLICAS_AT]))
            self._settings[topic.name] = least, unclean_allowed(self.image, self.facts, topic.name)
        return self._settings[topic.name]

    def min_isr(self, topic: Topic) -> int:
        """Return min.insync.replicas of a topic as it is set."""
        return self.settings(topic)[0]

    def is_active(self, broker_id: int) -> bool:
        """Return True if a broker is registered and may lead."""
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.is_active

    def keys(self, wanted: Callable[[Any], bool]) -> list[Key]:
        """Return the partitions that are so, by topic name and number.

        `wanted` is given fields in the order of Partition.
        """
        return [(topic.id, number) for topic, number, fields in self.all_fields() if wanted(fields)]

    def names(self, keys: Iterable[Key]) -> list[str]:
        """Return the partitions as `topic-0`."""
        return [f"{self.image.topics[topic].name}-{number}" for topic, number in keys]

    def all_fields(self) -> Iterator[tuple[Topic, int, Any]]:
        """Yield the present state of every partition: topic, number, fields in the order of Partition; by topic name
        and number."""
        for topic in self._topics:
            changed = self._changed_of.get(topic.id, {})
            states = topic.partitions.states
            for number in sorted(states):
                yield topic, number, changed.get(number) or states[number]

    def with_isr(self, broker_id: int) -> list[Key]:
        """Return the partitions that have a broker in their ISR."""
        return [key for key in self.held_by(broker_id) if broker_id in self.partition(key).isr]

    def with_elr(self, broker_id: int) -> list[Key]:
        """Return the partitions for which a broker is an eligible leader."""
        return [key for key in self.held_by(broker_id) if broker_id in self.partition(key).eligible_leader_replicas]

    def held_by(self, broker_id: int) -> list[Key]:
        """Return the partitions that name a broker in their replicas, ISR or ELR, by topic name and number.

        They are looked up once for all brokers, until replicas change.
        """
        if self._held is None:
            self._held = {}
            for topic, number, fields in self.all_fields():
                key = topic.id, number
                for broker in dict.fromkeys((*fields[REPLICAS_AT], *fields[ISR_AT], *fields[ELR_AT])):
                    self._held.setdefault(broker, []).append(key)
        return self._held.get(broker_id, [])

    def without_leader(self) -> list[Key]:
        """Return the partitions that have no leader, by topic name and number."""
        if self._leaderless is None:
            self._leaderless = set(self.keys(lambda fields: fields[LEADER_AT] == NO_LEADER))
        topics = self.image.topics
        return sorted(self._leaderless, key=lambda key: (topics[key[0]].name, key[1]))

    def mark(self) -> None:
        """Clear `touched`, which collects changes from here on, and `unclean`, the unclean elections."""
        self.touched = {}
        self.unclean = set()

    def tally(self) -> tuple[int, int, int, int]:
        """Count partitions in all, without a leader, under min ISR (or without a leader), at min ISR."""
        if self._tally is None:
            self._tally = [0, 0, 0, 0]
            kinds: Counter[tuple[int, tuple[int, bool, int]]] = Counter()
            for topic, number, fields in self.all_fields():
                kinds[self.min_isr(topic), _kind(fields)] += self.weight((topic.id, number))
            for (least, kind), count in kinds.items():
                self._count(least, kind, count)
        return tuple(self._tally)  # type: ignore[return-value]

    def weight(self, _key: Key) -> int:
        """Return the number of partitions that this one represents: more than 1 only in `shapes.ShapedController`."""
        return 1

    def _count(self, least: int, kind: tuple[int, bool, int], by: int) -> None:
        assert self._tally is not None
        in_sync, led, replicas = kind
        enough = self.facts.rules.enough(least, replicas)
        self._tally[0] += by
        self._tally[1] += by * (not led)
        self._tally[2] += by * (not led or in_sync < enough)
        self._tally[3] += by * (led and in_sync == enough)

    def fence(self, broker_id: int) -> Operation:
        """Fence a broker after its session expired, or its stop: it leaves every ISR first (`handleBrokerFenced`)."""
        items = self._update(self.with_isr(broker_id), remove=broker_id)
        change = self.registration_change(broker_id, Fenced=1)
        self.brokers[broker_id] = replace(self.brokers[broker_id], fenced=True)
        return self._done(f"broker {broker_id} is fenced", *items, change)

    def begin_shutdown(self, broker_id: int) -> Operation:
        """Begin the controlled shutdown of a broker: mark it, then remove it from every ISR
        (`handleBrokerInControlledShutdown`)."""
        head = []
        if not self.brokers[broker_id].in_controlled_shutdown:
            head.append(self.registration_change(broker_id, 1, InControlledShutdown=1))
        items = self._update(self.with_isr(broker_id), remove=broker_id)
        self.brokers[broker_id] = replace(self.brokers[broker_id], in_controlled_shutdown=True)
        return self._done(f"broker {broker_id} begins a controlled shutdown", *head, *items)

    def unfence(self, broker_id: int) -> Operation:
        """Unfence a broker that has caught up, then check every partition without a leader (`handleBrokerUnfenced`)."""
        change = self.registration_change(broker_id, Fenced=-1)
        items = self._update(self.without_leader(), add=broker_id)
        self.brokers[broker_id] = replace(self.brokers[broker_id], fenced=False)
        return self._done(f"broker {broker_id} is unfenced", change, *items)

    def unregister(self, broker_id: int) -> Operation:
        """Remove the registration of a broker (`handleBrokerUnregistered`): it moves from the ISRs to the ELRs, and
        remains there."""
        items = self._update(self.with_isr(broker_id), remove=broker_id)
        items += self._update(self.with_elr(broker_id), remove=broker_id)
        broker = self.brokers[broker_id]
        gone = record("UnregisterBrokerRecord", {"BrokerId": broker_id, "BrokerEpoch": broker.epoch})
        operation = self._done(f"broker {broker_id} is unregistered", *items, gone)
        del self.brokers[broker_id]
        return operation

    def register(
        self, broker_id: int, incarnation_id: Uuid, *, clean: bool, directories: tuple[Uuid, ...] | None = None
    ) -> Operation:
        """Register a new incarnation (`registerBroker`).

        With `clean` it reports a clean shutdown, and the controller accepts that, except for a broker that is not
        registered: there is no broker epoch to compare with.

        After an unclean shutdown, with ELR, the broker is removed from every ISR and ELR. Its broker epoch is the
        offset at which this operation begins, or close to it.
        """
        isr, clean = self.with_isr(broker_id), clean and broker_id in self.brokers
        if self.facts.rules.elections.elr and not clean:
            items = self._update(isr, unclean=broker_id)
            items += self._update(self.with_elr(broker_id), unclean=broker_id)
        else:
            items = self._update(isr, remove=broker_id) if self.facts.rules.registration_clears_isr else []
        before = self.brokers.get(broker_id) or last_registration(self.image, self.facts, broker_id)
        self.brokers[broker_id] = replace(
            before,
            epoch=self.next_offset,
            incarnation_id=incarnation_id,
            fenced=True,
            in_controlled_shutdown=False,
            directories=before.directories if directories is None else directories,
            cordoned=None,
        )
        return self._done(f"broker {broker_id} registers", *items, self._registration(broker_id))

    def report_cordoned(self, broker_id: int) -> Operation | None:
        """Report the cordoned directories of the first heartbeats: at each start, from metadata.version 4.3-IV0."""
        if not self.facts.rules.cordons:
            return None
        cordoned = self.image.brokers[broker_id].cordoned or () if broker_id in self.image.brokers else ()
        change = self.registration_change(broker_id, 3, CordonedLogDirs=list(cordoned))
        self.brokers[broker_id] = replace(self.brokers[broker_id], cordoned=cordoned)
        return self._done(f"broker {broker_id} reports its cordoned directories", change)

    def report_directories(self, broker_id: int, moved: Mapping[Uuid, Uuid]) -> Operation | None:
        """Report the directories of the broker's replicas, as old to new id (`handleAssignReplicasToDirs`)."""
        if not self.facts.rules.elections.directories:
            return None
        items = []
        for key in self.held_by(broker_id):
            before = self.partition(key)
            places = zip(before.replicas, before.directories, strict=False)
            found = tuple(moved.get(at, at) if replica == broker_id else at for replica, at in places)
            if found != before.directories:
                items.append(self.put(key, before, PartitionChange(directories=found)))
        return self._done(f"broker {broker_id} reports the directories of its replicas", *items) if items else None

    def alter_isr(self, changes: Iterable[tuple[Key, tuple[int, ...]]], name: str) -> Operation | None:
        """Apply the present ISR that leaders report, which also ends the recovery of a partition (`alterPartition`)."""
        items = self._alike(changes, self.is_active, recovery_state=0)
        return self._done(name, *items) if items else None

    def elect_unclean(self, *, other_than: Collection[Key] = ()) -> Operation | None:
        """Elect a leader out of sync for each leaderless partition whose configuration allows that (`electUnclean`,
        every unclean.leader.election.interval.ms)."""
        allowed = [key for key in self.without_leader() if self.settings(self.image.topics[key[0]])[1]]
        items = self._update(key for key in allowed if key not in other_than)
        return self._done("unclean elections by configuration", *items) if items else None

    def apply(self, name: str, *items: MetadataRecord | PartitionUpdate) -> Operation:
        """Return an operation whose records are already known."""
        return self._done(name, *items)

    def change(self, key: Key, target: Target, may_lead: Callable[[int], bool]) -> list[PartitionUpdate]:
        """Change a partition towards a target; nothing or one change. `may_lead` is asked before the directory is."""
        before = self.partition(key)
        change = self.change_of(before, target, may_lead)
        return [] if change is None else [self.put(key, before, change)]

    def change_of(self, before: Partition, target: Target, may_lead: Callable[[int], bool]) -> PartitionChange | None:
        """Return the change that would be written for a partition in this state, without applying it."""
        elections = self.facts.rules.elections
        return change_partition(before, target, self.acceptor(before, may_lead), elections, self.default_directory)

    def put(self, key: Key, before: Partition, change: PartitionChange) -> PartitionUpdate:
        """Take a change of a partition over."""
        change = self._changes.setdefault(change, change)
        self.changed[key] = made = merge(before, change)
        if change.replicas is not None:
            self._held = None
        if self._leaderless is not None and before.leader != made.leader:
            (self._leaderless.add if made.leader == NO_LEADER else self._leaderless.discard)(key)
        self.touched.setdefault(key, before)
        if change.leader >= 0 and _leads_uncleanly(before, change, made):
            self.unclean.add(key)
        if self._tally is not None:
            kinds = _kind(before), _kind(made)
            if kinds[0] != kinds[1]:
                least, weight = self.min_isr(self.image.topics[key[0]]), self.weight(key)
                self._count(least, kinds[0], -weight)
                self._count(least, kinds[1], weight)
        self._changed_of.setdefault(key[0], {})[key[1]] = made
        return PartitionUpdate(key[0], key[1], change)

    def acceptor(self, partition: Partition, may_lead: Callable[[int], bool]) -> Callable[[int], bool]:
        """Return the test for a leader of this partition: its broker may lead, and the replica's directory is
        online."""
        where = dict(zip(partition.replicas, partition.directories, strict=False))

        def acceptable(broker_id: int) -> bool:
            return may_lead(broker_id) and self.has_online(broker_id, where.get(broker_id, MIGRATING))

        return acceptable

    def has_online(self, broker_id: int, directory: Uuid) -> bool:
        """Return True if a directory is online on a broker (`DirectoryId.isOnline`)."""
        return is_online_in(self.brokers.get(broker_id), directory)

    def default_directory(self, broker_id: int) -> Uuid:
        """Return the directory of a new replica on a broker (`ClusterControlManager.defaultDir`)."""
        broker = self.brokers.get(broker_id)
        if broker is None:
            return UNASSIGNED
        if not broker.directories:
            return MIGRATING
        return broker.directories[0] if len(broker.directories) == 1 else UNASSIGNED

    @property
    def next_offset(self) -> int:
        """Return the offset of the next record."""
        return self.facts.next_offset + sum(len(operation.items) for operation in self.operations)

    def registration_change(self, broker_id: int, version: int = 0, **fields: Any) -> MetadataRecord:
        """Return a BrokerRegistrationChangeRecord of a broker as it is registered now."""
        data = {"BrokerId": broker_id, "BrokerEpoch": self.brokers[broker_id].epoch, **fields}
        return record("BrokerRegistrationChangeRecord", data, version)

    def _registration(self, broker_id: int) -> MetadataRecord:
        rules = self.facts.rules
        # What a broker that was migrating from ZooKeeper runs when it starts again is not known: KRaft is assumed.
        data = broker_data(replace(self.brokers[broker_id], is_migrating_zk_broker=False), rules.has)
        version = rules.version_of("RegisterBrokerRecord")
        return record("RegisterBrokerRecord", data, version)

    def _update(
        self, keys: Iterable[Key], *, remove: int = NO_LEADER, add: int = NO_LEADER, unclean: int = NO_LEADER
    ) -> list[PartitionUpdate]:
        """Return the changes of leader and ISR when a broker stops or returns (`generateLeaderAndIsrUpdates`)."""

        def may_lead(broker_id: int) -> bool:
            return broker_id not in (remove, unclean) and (broker_id == add or self.is_active(broker_id))

        shutdown = frozenset() if unclean == NO_LEADER else frozenset({unclean})
        wanted = ((key, None) for key in keys)
        return self._alike(wanted, may_lead, gone=(remove, unclean), unclean_shutdown=shutdown)

    def _alike(
        self,
        wanted: Iterable[tuple[Key, Ids | None]],
        may_lead: Callable[[int], bool],
        *,
        gone: Ids = (),
        **rest: Any,
    ) -> list[PartitionUpdate]:
        """Yield changes of partitions towards these ISRs (None: the present one without the brokers that are `gone`).

        Partitions that are alike change alike, and their change is worked out once.
        """
        items: list[PartitionUpdate] = []
        known: dict[Any, tuple[PartitionChange | None, Partition]] = {}
        topic, least, unclean = None, 0, False
        for key, given in wanted:
            before = self.partition(key)
            if key[0] is not topic:
                topic = key[0]
                least, unclean = self.settings(self.image.topics[topic])
            isr = without(before.isr, *gone) if given is None else given
            # Directories are compared by identity because hashing them is slow; `known` keeps the objects alive.
            shape = before[:LEADER_EPOCH_AT], id(before.directories), before[ELR_AT:], isr, least, unclean
            found = known.get(shape)
            if found is None:
                election = Election.UNCLEAN if unclean else Election.ONLINE
                target = Target(min_isr=least, isr=isr, election=election, **rest)
                found = known[shape] = self.change_of(before, target, may_lead), before
            if found[0] is not None:
                items.append(self.put(key, before, found[0]))
        return items

    def _done(self, name: str, *items: MetadataRecord | PartitionUpdate) -> Operation:
        operation = Operation(name, items)
        self.operations.append(operation)
        return operation


def _kind(fields: Any) -> tuple[int, bool, int]:
    """Return the size of the ISR, whether there is a leader, and the number of replicas."""
    return len(fields[ISR_AT]), fields[LEADER_AT] != NO_LEADER, len(fields[REPLICAS_AT])


def is_online_in(broker: Broker | None, directory: Uuid) -> bool:
    """Return True if a directory is online on a broker of this registration (`DirectoryId.isOnline`)."""
    if directory in (UNASSIGNED, MIGRATING):
        return True
    if directory == LOST or broker is None:
        return False
    return not broker.directories or directory in broker.directories


def _leads_uncleanly(before: Partition, change: PartitionChange, made: Partition) -> bool:
    """Return True if the new leader was not known to be in sync. The change itself shows that, unless the partition was
    RECOVERING before."""
    if change.leader_recovery_state == RECOVERING:
        return True
    was_safe = change.leader in before.isr or change.leader in before.eligible_leader_replicas
    return made.leader_recovery_state == RECOVERING and not was_safe
