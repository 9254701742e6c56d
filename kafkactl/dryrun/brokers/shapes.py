"""A cluster with one partition of each shape: what happens to it happens to all partitions of that shape.

Two partitions have the same shape if they are equal in all but their epochs and the same settings apply to their
topics. A controller that only fences and unfences brokers treats them alike. So a long series of events is simulated on
one partition of each shape, and the result is copied to the others. 200,000 partitions have about 17,000 shapes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import Any, Final, NamedTuple

from kafkactl.core.frozen import changed
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import Uuid
from kafkactl.dryrun.compare import changes_of
from kafkactl.dryrun.controller.active_controller import ActiveController, Key
from kafkactl.dryrun.controller.appended_records import Appended, LaterOperations, Operation, PartitionUpdate
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.controller.rules import Rules
from kafkactl.dryrun.prediction import Change, Counts, Placed
from kafkactl.metadata.image.model import (
    DIRECTORIES_AT,
    ISR_AT,
    LEADER_AT,
    LEADER_EPOCH_AT,
    REPLICAS_AT,
    UNASSIGNED,
    Image,
    Partitions,
    PartitionState,
    Topic,
)
from kafkactl.protocol.log.frame import MetadataRecord

_DIRECTORY_BYTES: Final = len(UNASSIGNED.raw)


def with_one_directory(image: Image) -> Image:
    """Return the image with the online directories of each broker as one.

    Which of them holds a replica does not matter to a restart, and partitions that differ in nothing else have one
    shape: with four directories a broker, the plan of a roll of 200,000 partitions takes 6 s instead of 25 s.
    """
    if all(len(broker.directories) <= 1 for broker in image.brokers.values()):
        return image
    online = {id: {uuid.raw for uuid in broker.directories} for id, broker in image.brokers.items()}

    def merged(state: PartitionState) -> PartitionState:
        raw, replicas = state[DIRECTORIES_AT], state[REPLICAS_AT]
        if len(raw) != _DIRECTORY_BYTES * len(replicas):
            return state
        places = (raw[at : at + _DIRECTORY_BYTES] for at in range(0, len(raw), _DIRECTORY_BYTES))
        found = (
            UNASSIGNED.raw if uuid in online.get(id, ()) else uuid for id, uuid in zip(replicas, places, strict=True)
        )
        return (*state[:DIRECTORIES_AT], b"".join(found), *state[DIRECTORIES_AT + 1 :])  # type: ignore[return-value]

    topics = {
        id: changed(topic, partitions=Partitions({at: merged(state) for at, state in topic.partitions.states.items()}))
        for id, topic in image.topics.items()
    }
    return changed(image, topics=topics)


class Member(NamedTuple):
    """A partition of the cluster: its topic, its number, its leader epoch before."""

    topic: Topic
    number: int
    leader_epoch: int


class ShapedController(ActiveController):
    """The controller of such a cluster. `members` has, by topic name and number of a partition, the partitions with its
    shape, as indexes into `all_members`.

    If an operation takes partitions one by one (`change`, `put`, `apply`), it is about all of the same shape.
    """

    def __init__(self, image: Image, facts: Facts) -> None:
        self.all_members: list[Member] = []
        self.members: dict[Key, list[int]] = {}
        self.owners: list[Key] = []  # by index of a member, the partition that represents it
        whole = ActiveController(image, facts)
        topics, settings = self._shaped(whole)
        ids = {topic.name: topic.id for topic in topics}
        super().__init__(changed(image, topics={topic.id: topic for topic in topics}, topic_ids=ids), facts)
        self._settings = settings
        self._runs: list[int] = []
        self._runs_of: list[list[int]] = []  # by operation, how many of its changes were worked out in one go
        self._written = 0

    def _shaped(self, whole: ActiveController) -> tuple[list[Topic], dict[str, tuple[int, bool]]]:
        """Return a topic for all partitions of the same settings, and these settings."""
        states: dict[tuple[int, bool], dict[int, PartitionState]] = {}
        known: dict[tuple[Any, ...], Key] = {}
        ids: dict[tuple[int, bool], Uuid] = {}
        for topic, number, state in whole.all_fields():
            settings = whole.settings(topic)
            shape = settings, state[:LEADER_EPOCH_AT], state[DIRECTORIES_AT:]
            key = known.get(shape)
            if key is None:
                held = states.setdefault(settings, {})
                id = ids.setdefault(settings, Uuid((len(ids) + 1).to_bytes(16, "big")))
                key = known[shape] = id, len(held)
                held[len(held)] = state
            self.members.setdefault(key, []).append(len(self.all_members))
            self.all_members.append(Member(topic, number, _leader_epoch(state)))
            self.owners.append(key)
        topics = [
            Topic(name=str(ids[shape]), id=ids[shape], partitions=Partitions(held)) for shape, held in states.items()
        ]
        return topics, {str(ids[shape]): shape for shape in states}

    def weight(self, key: Key) -> int:
        """Return the number of partitions that this one represents."""
        return len(self.members[key])

    @property
    def next_offset(self) -> int:
        """Return the offset of the next record."""
        return self.facts.next_offset + self._written

    @property
    def leaderless_before(self) -> int:
        """Return the number of partitions of the image without a leader."""
        return sum(len(held) for key, held in self.members.items() if self.state(key)[LEADER_AT] == NO_LEADER)

    def state(self, key: Key) -> PartitionState:
        """Return the state of a representing partition in the image."""
        return self.image.topics[key[0]].partitions.states[key[1]]

    def _alike(self, *arguments: Any, **rest: Any) -> list[PartitionUpdate]:
        items = super()._alike(*arguments, **rest)
        self._runs.append(len(items))
        return items

    def _done(self, name: str, *items: MetadataRecord | PartitionUpdate) -> Operation:
        runs = [size for size in self._runs if size]
        assert sum(runs) == sum(isinstance(item, PartitionUpdate) for item in items), name
        self._runs_of.append(runs)
        self._runs = []
        self._written += sum(
            1 if isinstance(item, MetadataRecord) else self.weight((item[0], item[1])) for item in items
        )
        return super()._done(name, *items)

    @property
    def written(self) -> int:
        """Return the number of records written so far."""
        return self._written

    def spread_operations(self) -> Iterator[Operation]:
        """Yield the operations as the whole cluster's controller has them."""
        for operation, runs in zip(self.operations, self._runs_of, strict=True):
            items: list[MetadataRecord | PartitionUpdate] = []
            run: list[PartitionUpdate] = []
            sizes, size = iter(runs), 0
            for item in operation.items:
                if isinstance(item, MetadataRecord):
                    items.append(item)
                    continue
                size = size or next(sizes)
                run.append(item)
                if len(run) == size:
                    items += self._spread(run)
                    run, size = [], 0
            yield Operation(operation.name, tuple(items))

    def later_operations(self) -> LaterOperations:
        """Return operations that are made on request."""
        return LaterOperations(len(self.operations), self.spread_operations, self._measured)

    def _measured(self, rules: Rules) -> Appended:
        """Measure the operations of the whole cluster, as `appended.measured` does."""
        from kafkactl.dryrun.brokers.spread_size import spread_size

        return spread_size(list(zip(self.operations, self._runs_of, strict=True)), self.members, rules)

    def placed(self) -> Placed:
        """Return the present leaders and replicas of the whole cluster."""
        leaders: Counter[int] = Counter()
        lists: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
        for topic, number, fields in self.all_fields():
            weight = self.weight((topic.id, number))
            leaders[fields[LEADER_AT]] += weight
            lists[fields[REPLICAS_AT], fields[ISR_AT]] += weight
        return Placed(self.brokers, leaders, lists)

    def _spread(self, run: Sequence[PartitionUpdate]) -> Iterator[PartitionUpdate]:
        changes = {(item.topic_id, item.partition): item.change for item in run}
        members, owners = self.all_members, self.owners
        for at in sorted(at for key in changes for at in self.members[key]):
            yield PartitionUpdate(members[at].topic.id, members[at].number, changes[owners[at]])


class Spread:
    """Changes by an event: one change for all partitions of a shape."""

    def __init__(self, controller: ShapedController, *, since_mark: bool = False) -> None:
        self._controller = controller
        self.changes = changes_of(controller, since_mark=since_mark)
        names = {topic.name: topic.id for topic in controller.image.topics.values()}
        self._keys: list[Key] = [(names[change.topic], change.partition) for change in self.changes]

    def counts(self) -> Counts:
        """Return the counts, as `compare.counts_of` does."""
        total, offline, under, at = self._controller.tally()
        moved = sum(
            self._controller.weight(key)
            for key, change in zip(self._keys, self.changes, strict=True)
            if change.leader_before != change.leader_after
        )
        return Counts(total=total, leader_changes=moved, offline=offline, under_min_isr=under, at_min_isr=at)

    def named(self, chosen: Callable[[Change], bool], most: int) -> tuple[int, list[str]]:
        """Return the number of partitions with a chosen change, and the first names, the most severe first."""
        groups = self._by_rank(chosen)
        found = self._first(groups, most)
        members = self._controller.all_members
        return (
            sum(len(self._controller.members[key]) for keys in groups for key, _ in keys),
            [f"{members[at].topic.name}-{members[at].number}" for at, _ in found],
        )

    def first(self, most: int) -> list[Change]:
        """Return the first changes, the worst first."""
        return [self._of(at, change) for at, change in self._first(self._by_rank(lambda _: True), most)]

    @property
    def total(self) -> int:
        """Return the number of changed partitions."""
        return sum(map(self._controller.weight, self._keys))

    def all(self) -> Iterator[Change]:
        """Yield all changes, the most severe first."""
        for keys in self._by_rank(lambda _: True):
            pairs = [(at, number) for number, (key, _) in enumerate(keys) for at in self._controller.members[key]]
            for at, number in sorted(pairs):
                yield self._of(at, keys[number][1])

    def _by_rank(self, chosen: Callable[[Change], bool]) -> list[list[tuple[Key, Change]]]:
        """Return the chosen changes, grouped by the rank before the names."""
        groups: dict[tuple[Any, ...], list[tuple[Key, Change]]] = {}
        for key, change in zip(self._keys, self.changes, strict=True):
            if chosen(change):
                groups.setdefault(change.rank[:-2], []).append((key, change))
        return [groups[rank] for rank in sorted(groups)]

    def _first(self, groups: Iterable[list[tuple[Key, Change]]], most: int) -> list[tuple[int, Change]]:
        found: list[tuple[int, Change]] = []
        for keys in groups:
            left = most - len(found)
            if not left:
                break
            members = self._controller.members
            pairs = ((at, change) for key, change in keys for at in members[key][:left])
            found += nsmallest(left, pairs, key=lambda pair: pair[0])
        return found

    def _of(self, at: int, change: Change) -> Change:
        """Return the change of one of the partitions that are alike."""
        controller, member = self._controller, self._controller.all_members[at]
        raised = change.leader_epoch_after - _leader_epoch(controller.state(controller.owners[at]))
        return changed(
            change, topic=member.topic.name, partition=member.number, leader_epoch_after=member.leader_epoch + raised
        )


def _leader_epoch(state: Any) -> int:
    found: int = state[LEADER_EPOCH_AT]
    return found
