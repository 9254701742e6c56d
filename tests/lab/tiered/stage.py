"""Scenes on a running cluster: each is a topic of its own, and all of them run at the same time.

A scene is a generator that does something and yields what it waits for; the stage asks all of them in turn. So many
scenes take as long as the slowest.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafkactl.core.errors import KafkactlError
from kafkactl.core.values import Uuid
from kafkactl.kafka.client import Client
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.schema.definitions import message
from kafkactl.tiered.answers import RemoteSegment
from kafkactl.tiered.api.verbs import load, segments
from kafkactl.tiered.partitioner import metadata_partition_of
from kafkactl.tiered.records import PartitionKey
from tests.lab.harness.errors import LabError
from tests.lab.tiered.brokers import DEADLINE_S, METADATA_PARTITIONS, TieredCluster
from tests.lab.tiered.leaders import Leaders

SEGMENT = 18  # records of 1 kB
COPYING, COPIED, DELETING, DELETED = (
    "COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED",
)  # fmt: skip
Steps = Iterator[Callable[[], Any]]
NUMBERED = {COPYING: 0, COPIED: 1, DELETING: 2, DELETED: 3}


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Course of events of a topic, and which findings about it the audit has then.

    `before` and `after` are ids, blank-separated, `*` for whatever it has; `after` is when its leader was lost, and
    is as `before` if it is None. `old` and `new` replace `before` and `after` below and from 4.0. `moves`: its offsets
    do not stand still. `replicas` has the preferred leader first. `since`: the first release that can do it.
    """

    name: str
    steps: Callable[[Hand], Steps]
    before: str = ""
    after: str | None = None
    old: tuple[str, str] | None = None
    replicas: str = "11,12"
    moves: bool = False
    gone: bool = False
    uploads: bool = True
    answers_latest_tiered: bool = True
    since: tuple[int, ...] = (3, 6)

    def expected(self, phase: str, number: tuple[int, ...]) -> str:
        """Return the ids of a phase, "before" or "after"."""
        before, after = self.before, self.before if self.after is None else self.after
        if self.old is not None and number < (4, 0):
            before, after = self.old
        return before if phase == "before" else after


@dataclass
class Hand:
    """Actions of a scene on its topic."""

    stage: Stage
    scene: Scene
    topic: str
    ids: list[str] = field(default_factory=list)

    @property
    def cluster(self) -> TieredCluster:
        """Return where it runs."""
        return self.stage.cluster

    def create(self, **settings: str) -> None:
        """Make the topic."""
        self.cluster.chore("place", self.topic, self.scene.replicas, self.cluster.topic_settings(**settings))

    def produce(self, records: int) -> None:
        """Produce records of 1 kB."""
        self.cluster.chore("produce", self.topic, records)

    def configure(self, **settings: str) -> None:
        """Set settings of the topic; `a__b` is `a.b`."""
        pairs = ",".join(f"{name.replace('__', '.')}={value}" for name, value in settings.items())
        self.cluster.chore("configure", self.topic, pairs)

    def fault(self, *names: str, on: bool = True) -> None:
        """Set faults of the store for this topic."""
        for name in names:
            self.cluster.fault(name, self.topic, on=on)

    def refused(self, name: str) -> bool:
        """Return True if the store has refused this topic something."""
        file = self.cluster.disks.control / "refusals"
        return file.exists() and f"{name} {self.topic}\n" in file.read_text(encoding="utf-8")

    def cut(self, offset: int) -> None:
        """Cut the log by DeleteRecords."""
        self.cluster.chore("cut", self.topic, offset)

    def drop(self) -> None:
        """Delete the topic."""
        self.cluster.chore("drop", self.topic)

    def move_leader(self, replicas: str) -> None:
        """Move the preferred leader, and elect it."""
        self.cluster.chore("move", self.topic, replicas)
        self.cluster.chore("elect", "preferred", self.topic)

    def segments(self, *states: str) -> list[RemoteSegment]:
        """Return its segments in some states, of all ids of the topic, in order."""
        found = self.stage.segments.get(self.topic, [])
        return [segment for segment in found if not states or segment.state in states]

    def has(self, count: int, *states: str) -> Callable[[], bool]:
        """Return True if that many segments are in these states."""
        return lambda: len(self.segments(*states)) == count

    def copied(self, count: int) -> Callable[[], bool]:
        """Return True if that many segments are complete and nothing else is known, and the local log holds the
        rest."""

        def holds() -> bool:
            done = self.segments(COPIED)
            if len(done) != count or len(self.segments(COPYING, DELETING)) > 0:
                return False
            return self.offsets().get("earliest_local") == max(segment.end_offset for segment in done) + 1

        return holds

    def offsets(self) -> dict[str, int]:
        """Return what the leader answers."""
        return self.stage.leaders().offsets([(self.topic, 0)])[self.topic, 0]

    def leads(self, broker: int) -> Callable[[], bool]:
        """Return True if a broker leads the topic."""
        return lambda: self.stage.leaders().partitions[self.topic, 0].leader == broker

    @property
    def topic_id(self) -> Uuid:
        """Return its id now."""
        return self.stage.leaders().partitions[self.topic, 0].topic_id

    def record(self, name: str, **fields: Any) -> None:
        """Write a record about partition 0 to the metadata topic, as some program might."""
        place = {"Name": self.topic, "Id": self.topic_id, "Partition": 0}
        body: dict[str, Any] = {"BrokerId": 1, "EventTimestampMs": int(time.time() * 1000), **fields}
        if name == "RemotePartitionDeleteMetadataRecord":
            body["TopicIdPartition"] = place
        else:
            body["RemoteLogSegmentId"] = {"TopicIdPartition": place, "Id": body.pop("segment")}
        value = encode_record(message(name), 0, body)
        self.cluster.chore("record", self.home, value.hex())

    @property
    def home(self) -> int:
        """Return the metadata partition of partition 0."""
        return metadata_partition_of(PartitionKey(self.topic_id.raw, 0), METADATA_PARTITIONS)

    @property
    def other(self) -> Uuid:
        """Return the id of a segment that is not Kafka's, another for each topic."""
        return Uuid(hashlib.md5(self.topic.encode(), usedforsecurity=False).digest())

    def update(self, segment: Uuid, state: str) -> None:
        """Write an update record."""
        self.record(
            "RemoteLogSegmentMetadataUpdateRecord", segment=segment, CustomMetadata=None,
            RemoteLogSegmentState=NUMBERED[state],
        )  # fmt: skip

    def base(self, segment: Uuid, start: int, end: int, state: str = COPYING, size: int = 19260) -> None:
        """Write a base record of epoch 0."""
        self.record(
            "RemoteLogSegmentMetadataRecord", segment=segment, StartOffset=start, EndOffset=end, MaxTimestampMs=1,
            SegmentLeaderEpochs=[{"LeaderEpoch": 0, "Offset": start}], SegmentSizeInBytes=size,
            CustomMetadata=None, RemoteLogSegmentState=NUMBERED[state],
        )  # fmt: skip

    def remove(self, start: int) -> None:
        """Delete a segment out of order: both records, and its objects."""
        (found,) = [segment for segment in self.segments(COPIED) if segment.start_offset == start]
        self.update(Uuid.parse(found.segment_id), DELETING)
        self.update(Uuid.parse(found.segment_id), DELETED)
        for file in self.objects(start):
            file.unlink()

    def objects(self, start: int | None = None, suffix: str = "*") -> list[Path]:
        """Return files of the store, of one segment or of all."""
        name = "*" if start is None else f"{start:020}-*"
        return sorted(self.cluster.disks.store.glob(f"*/{self.topic}-0-*/{name}.{suffix}"))


class _Reached:
    """Condition that an act has come to a phase."""

    def __init__(self, reached: set[str], phase: str) -> None:
        self._reached, self._phase = reached, phase

    def __call__(self) -> bool:
        return self._phase in self._reached


class Stage:
    """A cluster and the scenes on it."""

    def __init__(self, cluster: TieredCluster, client: Client) -> None:
        self.cluster = cluster
        self.client = client
        self.segments: dict[str, list[RemoteSegment]] = {}
        self.failed: dict[str, str] = {}
        self.hands: list[Hand] = []
        self.looks: dict[str, dict[str, Any]] = {}  # of `looks.Look`, by phase and topic
        self.wrong: list[tuple[str, dict[str, str]]] = []  # what was compared, and by topic what differs
        self._leaders: Leaders | None = None
        self._reached: set[str] = set()
        self._running: dict[str, tuple[Hand, Steps, Callable[[], Any]]] = {}

    def reach(self, phase: str) -> None:
        """Resume scenes that wait for a phase, until each waits for another or has ended."""
        self._reached.add(phase)
        self._run_steps()

    def reached(self, phase: str) -> Callable[[], bool]:
        """Return what a scene waits for that goes on in a later phase."""
        return _Reached(self._reached, phase)

    def leaders(self) -> Leaders:
        """Return who leads now; asked once a round."""
        if self._leaders is None:
            self._leaders = Leaders(self.client)
        return self._leaders

    def refresh(self) -> None:
        """Look at the disks again."""
        self._leaders = None
        found: dict[str, list[RemoteSegment]] = {}
        for segment in segments(load(self.cluster.request(bucket=False), keep_deleted=True)):
            found.setdefault(segment.topic, []).append(segment)
        self.segments = found

    def run_scenes(self, scenes: Iterable[Scene]) -> None:
        """Run those that the release can do, all at once, until each has ended or waits for a phase.

        What failed, or waited in vain, is noted of its scene.
        """
        for scene in scenes:
            if scene.since <= self.cluster.number:
                hand = Hand(self, scene, scene.name.replace(" ", "-").replace(",", ""))
                self.hands.append(hand)
                self._running[hand.topic] = hand, scene.steps(hand), lambda: True
        self._run_steps()

    def _run_steps(self) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while any(not isinstance(holds, _Reached) or holds() for _, _, holds in self._running.values()):
            if time.monotonic() > deadline:
                self._give_up()
                return
            try:
                self.refresh()
            except KafkactlError:  # files that vanish while they are read
                time.sleep(0.2)
                continue
            for topic in list(self._running):
                self._go_on(topic)
            time.sleep(0.1)

    def _go_on(self, topic: str) -> None:
        hand, steps, waits = self._running[topic]
        holds: Callable[[], Any] | None = waits
        try:
            while holds is not None and holds():
                holds = next(steps, None)
        except (KafkactlError, LabError, LookupError, ValueError, OSError) as error:
            self.failed[topic] = f"{type(error).__name__}: {error}"
            holds = None
        if holds is None:
            del self._running[topic]
        else:
            self._running[topic] = hand, steps, holds

    def _give_up(self) -> None:
        for topic, (hand, _, holds) in list(self._running.items()):
            if not isinstance(holds, _Reached):
                seen = [(segment.start_offset, segment.state) for segment in hand.segments()][-12:]
                self.failed[topic] = f"what it waits for did not come: {seen}, {hand.offsets()}"
                del self._running[topic]

    def living(self) -> list[Hand]:
        """Return the scenes whose topic is there and that have not failed."""
        known = self.leaders().partitions
        return [hand for hand in self.hands if (hand.topic, 0) in known and hand.topic not in self.failed]

    def wait_led(self, topics: Iterable[str], broker: int | None = None) -> None:
        """Wait until each topic has a leader, or this one."""
        wanted = list(topics)

        def others() -> dict[str, Any]:
            self._leaders = None
            partitions = self.leaders().partitions
            found = {topic: partitions[topic, 0] for topic in wanted if (topic, 0) in partitions}
            return {
                topic: led
                for topic, led in found.items()
                if (led.leader != broker if broker is not None else led.leader < 0)
            }

        try:
            self.cluster.until(lambda: not others(), f"leader {broker}")
        except LabError as error:
            seen = [(topic, led.leader, led.isr) for topic, led in others().items()]
            raise LabError(f"{error}: {seen}") from None

    def wait_in_sync(self, broker: int) -> None:
        """Wait until a broker is in the ISR of every partition that it has a replica of."""

        def in_sync() -> bool:
            self._leaders = None
            return all(broker in led.isr for led in self.leaders().partitions.values() if broker in led.replicas)

        self.cluster.until(in_sync, f"broker {broker} in sync")

    def save_folder(self, name: str) -> str:
        """Return a new folder for an observation."""
        place = self.cluster.disks.workdir / "observations" / name
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(exist_ok=True)
        return str(place)
