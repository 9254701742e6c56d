"""A live cluster of four brokers on which predictions are made first and then made true.

Node 1 is the controller and a broker; 11, 12 and 13 are brokers that may be killed. Predictions stand on the files of
node 1's metadata log; what came true is read from the same files afterwards.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kafkactl.dryrun.api.clusters import open_clusters
from kafkactl.dryrun.api.logs import choose, read_chosen, read_static
from kafkactl.dryrun.by_name import run
from kafkactl.dryrun.chain import after
from kafkactl.dryrun.controller.appended_records import records_of
from kafkactl.dryrun.engine.local import records_in
from kafkactl.dryrun.prediction import Outcome, Prediction
from kafkactl.dryrun.scenario import ScenarioContext
from kafkactl.metadata.image.model import RECOVERING, Image, Partition
from kafkactl.metadata.io.source import open_source
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.record_batch import HEADER_BYTES, BatchHeader
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.errors import LabError
from tests.lab.harness.storage_tool import StorageToolServer

SETTINGS = {"broker.session.timeout.ms": "8000", "broker.heartbeat.interval.ms": "500"}
TOPICS = {
    "one": ("1,11,12,13", {}),
    "two": ("11:12,12:13,13:11,1:12", {}),
    "three": ("11:12:13,12:13:11,13:11:12,1:11:12,11:1:13,12:13:1", {"min.insync.replicas": "2"}),
    "dirty": ("11:12,12:13,13:11,13:1", {"unclean.leader.election.enable": "true"}),
    "dirty-one": ("13,11", {"unclean.leader.election.enable": "true"}),
}
QUIET_S = 2.5
NOOP_BYTES = 11
_NEW = {"IncarnationId", "BrokerEpoch", "Features", "EndPoints"}
Holds = Callable[[Image], bool]


class Stage:
    """A cluster, and what was predicted of it."""

    def __init__(self, cluster: KafkaCluster, tool: StorageToolServer) -> None:
        self.cluster = cluster
        self.tool = tool
        self.checked = 0

    @property
    def tools(self) -> str:
        """Return the release whose tools are used: of the newest no tools are published."""
        return "4.3.1" if self.cluster.shape.release == "4.4.0" else self.cluster.shape.release

    def make_topics(self) -> None:
        """Create the topics by Kafka's own tool, and wait until every ISR is whole."""
        for name, (assignment, configs) in TOPICS.items():
            self.make_topic(name, assignment, configs)
        self.settle(lambda image: len(image.topics) >= len(TOPICS) and _whole(image))

    def make_topic(self, name: str, assignment: str, configs: Mapping[str, str]) -> None:
        """Create a topic; `assignment` as the tool takes it: replicas with colons between, partitions with commas."""
        given = [word for key, value in configs.items() for word in ("--config", f"{key}={value}")]
        self.topics("--create", "--topic", name, "--replica-assignment", assignment, *given)

    def topics(self, *words: str) -> None:
        """Run Kafka's own tool for topics."""
        given = ["--bootstrap-server", self.cluster.bootstrap_server, *words]
        made = self.tool.run_tool(self.tools, "org.apache.kafka.tools.TopicCommand", given)
        assert made.exit_code == 0, made.stderr + made.stdout

    def world(self, node_id: int = 1, *, restarts: bool = False) -> ScenarioContext:
        """Return the log of a controller as it is on the disk now."""
        log = str(self.cluster.disks.metadata_log(node_id))
        (cluster,) = open_clusters({log: log})
        return read_chosen(
            choose(cluster),
            release=find_release(self.cluster.shape.release),
            static=read_static(str(self.cluster.config_file(node_id))),
            restarts=restarts,
        )

    def settle(self, holds: Holds, timeout_s: float = 120) -> ScenarioContext:
        """Wait until the log says so and then says nothing new for a while."""
        deadline = time.monotonic() + timeout_s
        last, since = -1, time.monotonic()
        while True:
            world = self.world()
            count = world.loaded.records - world.loaded.counts.get("NoOpRecord", 0)
            if count != last:
                last, since = count, time.monotonic()
            if time.monotonic() - since > QUIET_S and holds(world.loaded.image):
                return world
            if time.monotonic() > deadline:
                raise LabError(f"the log did not come to rest within {timeout_s} s")
            time.sleep(0.3)

    def ask(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request to the active controller."""
        with self.cluster.client() as client:
            return client.ask_active_controller(name, body, changes=True).body

    def experiment(
        self,
        scenario: str,
        asked: Mapping[str, Any],
        deed: Callable[[], object],
        holds: Holds | None,
        *,
        exact: bool = True,
    ) -> Prediction:
        """Predict, do it, compare. `exact`: the records, too, one by one (not where followers catch up in steps).

        `holds` says when it has come about; None: when it is as predicted, or after four minutes.
        """
        before = self.settle(lambda _: True)
        found = run(scenario, before, asked)
        expected, _ = after(before.loaded.image, found)
        deed()
        with contextlib.suppress(LabError):
            self.settle(holds or (lambda image: not list(_partitions(expected, image, found))), 240)
        self.compare(found, before, exact=exact)
        return found

    def compare(self, found: Prediction, before: ScenarioContext, *, exact: bool) -> None:
        """Compare what is there now, and what was written, with a prediction that was made before."""
        self.checked += 1
        expected, _ = after(before.loaded.image, found)
        trouble = list(_partitions(expected, self.world().loaded.image, found))
        written = list(self.written(before.loaded.last_offset))
        trouble += _records(found, written, exact=exact)
        trouble += _unclean(before.loaded.image, found, written)
        if exact and all(change.certain for change in found.changes):
            trouble += self._bytes(found, before.loaded.last_offset)
        assert not trouble, "\n".join([f"{found.scenario} {dict(found.input)}", *trouble])

    def written(self, behind: int) -> Iterator[MetadataRecord]:
        """Yield the records behind an offset, no-ops left out."""
        for record, _ in self._behind(behind):
            if record.type != "NoOpRecord":
                yield record

    def batches(self, behind: int) -> list[int]:
        """Return the bytes of the records in each batch behind an offset, no-ops and batches of nothing else left
        out."""
        sizes: dict[int, int] = {}
        for record, header in self._behind(behind):
            sizes.setdefault(header.base_offset, header.size_bytes - HEADER_BYTES)
            sizes[header.base_offset] -= NOOP_BYTES * (record.type == "NoOpRecord")
        return [size for size in sizes.values() if size]

    def _behind(self, offset: int) -> Iterator[tuple[MetadataRecord, BatchHeader]]:
        for segment in open_source(str(self.cluster.disks.metadata_log(1))).segments:
            for found in records_in(segment):
                if isinstance(found, Damage):
                    continue
                record, header = found
                if record.offset > offset and isinstance(record.record, MetadataRecord):
                    yield record.record, header

    def _bytes(self, found: Prediction, behind: int) -> list[str]:
        """Return the bytes that were written, batches put aside: two operations may share one, which cannot be
        predicted."""
        sizes, appended = self.batches(behind), found.appended
        if appended is None:
            return []
        real, count = sum(sizes), sum(1 for _ in self.written(behind))
        said = appended.bytes - HEADER_BYTES * sum(bool(operation.items) for operation in found.operations or ())
        # A record's offset and time in its batch take a byte more where another operation precedes it.
        near = said <= real <= said + 2 * count
        return [] if near else [f"{said} bytes of records predicted, {real} written"]


def _partitions(expected: Image, real: Image, found: Prediction) -> Iterator[str]:
    uncertain = {
        (change.topic, change.partition): set(map(_unordered, change.alternatives))
        for change in found.changes
        if not change.certain
    }
    alone = not uncertain
    ordered = found.scenario != "broker-return" or len(found.input["brokers"]) < 2
    for topic in real.topics.values():
        for number, now in topic.partitions.items():
            said = expected.topics[topic.id].partitions[number]
            name = f"{topic.name}-{number}"
            if (topic.name, number) in uncertain:
                outcome = Outcome(now.leader, now.isr, now.eligible_leader_replicas, now.last_known_elr)
                if _unordered(outcome) not in uncertain[topic.name, number]:
                    yield f"{name}: {outcome} is none of {uncertain[topic.name, number]}"
                continue
            expects, finds = (_shown(change, epochs=alone, ordered=ordered) for change in (said, now))
            if expects != finds:
                yield f"{name}: predicted {expects}, found {finds}"


def _unordered(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.leader, frozenset(outcome.isr), frozenset(outcome.elr), outcome.last_known_elr


def _shown(partition: Partition, *, epochs: bool, ordered: bool) -> tuple[Any, ...]:
    """Return what is predicted of a partition. Of a leader epoch, and of the order of an ISR, only where the order of
    events is known."""
    return (
        partition.replicas,
        partition.leader,
        partition.isr if ordered else frozenset(partition.isr),
        partition.eligible_leader_replicas,
        partition.last_known_elr,
        partition.leader_recovery_state,
        partition.adding_replicas,
        partition.removing_replicas,
        partition.leader_epoch if epochs else None,
    )


def _records(found: Prediction, written: list[MetadataRecord], *, exact: bool) -> list[str]:
    said = list(records_of(found.operations or (), found.facts.rules))
    if not exact:
        said, written = (
            [record for record in side if record.type != "PartitionChangeRecord"] for side in (said, written)
        )
        return _differences(Counter(record.type for record in said), Counter(record.type for record in written))
    if any(not change.certain for change in found.changes):
        return []
    return _differences(Counter(map(_text, said)), Counter(map(_text, written)))


def _unclean(before: Image, found: Prediction, written: list[MetadataRecord]) -> list[str]:
    """Return who led without being in sync, as the records tell it: RECOVERING, unless the partition was that
    already."""
    uncertain = {(change.topic, change.partition) for change in found.changes if not change.certain}
    real = {
        (before.topics[record.data["TopicId"]].name, record.data["PartitionId"])
        for record in written
        if record.type == "PartitionChangeRecord" and record.data["LeaderRecoveryState"] == RECOVERING
    }
    said = {(change.topic, change.partition) for change in found.changes if change.elected_uncleanly}
    already = {
        (topic.name, number)
        for topic in before.topics.values()
        for number, partition in topic.partitions.items()
        if partition.leader_recovery_state == RECOVERING
    }
    return [f"led uncleanly, not predicted: {partition}" for partition in sorted(real - said - uncertain)] + [
        f"predicted to be led uncleanly, not seen: {partition}"
        for partition in sorted(said - real - uncertain - already)
    ]


def _differences(said: Counter[str], written: Counter[str]) -> list[str]:
    return [f"predicted, not written: {change}" for change in said - written] + [
        f"written, not predicted: {change}" for change in written - said
    ]


def _text(record: MetadataRecord) -> str:
    """Return a record without what cannot be predicted: new ids, and the epoch that a broker gets with them."""
    unknown = _NEW if record.type == "RegisterBrokerRecord" else {"BrokerEpoch"}
    data = {name: value for name, value in record.data.items() if name not in unknown}
    return f"{record.type} v{record.version} {sorted(data.items(), key=str)}"


def _whole(image: Image) -> bool:
    partitions = (partition for topic in image.topics.values() for partition in topic.partitions.values())
    return all(set(partition.isr) == set(partition.replicas) for partition in partitions)
