"""Input of an audit: folded records, known facts about the cluster, and each user partition with both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any, Final

from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.tiered.bucket import Bucket
from kafkactl.tiered.cluster_view import ClusterView, PartitionView, ReplicaLog, TopicView
from kafkactl.tiered.epoch_index import Segment
from kafkactl.tiered.ledger import Ledger
from kafkactl.tiered.lineage import Lineage, LineageCheck, highest_offset
from kafkactl.tiered.partition_log import PartitionLog
from kafkactl.tiered.partitioner import metadata_partition_of
from kafkactl.tiered.records import PartitionKey
from kafkactl.tiered.states import SegmentState

HOUR_MS: Final = 3_600_000


@frozen
class Choices:
    """Choices of the operator. `metadata_partitions` is the number configured on the brokers, None if unknown; times in
    milliseconds; `now_ms` None for the time of the view."""

    metadata_partitions: int | None = None
    copy_timeout_ms: int = HOUR_MS
    now_ms: int | None = None


@frozen
class Replicas:
    """Result of reading several replicas of a metadata partition: early ends, and offsets of disagreement."""

    stale: tuple[tuple[int, str, int, int], ...] = ()  # metadata partition, path, its end, the end of the longest
    diverged: tuple[tuple[int, str, str, int], ...] = ()  # metadata partition, two paths, offset


DEFAULTS: Final = Choices()
NO_REPLICAS: Final = Replicas()


class AuditCase:
    """Input of an audit; derived values are computed once."""

    def __init__(
        self,
        ledger: Ledger,
        view: ClusterView,
        *,
        choices: Choices = DEFAULTS,
        bucket: Bucket | None = None,
        replicas: Replicas = NO_REPLICAS,
        view_time_ms: int | None = None,
    ) -> None:
        self.ledger = ledger
        self.view = view
        self.choices = choices
        self.bucket = bucket
        self.replicas = replicas
        self.view_time_ms = view_time_ms  # up to when the metadata logs are known to be whole
        topic = view.metadata_topic
        self.configured = choices.metadata_partitions or (topic.configured_partitions if topic else None)
        self.topic_partitions = topic.partitions if topic else None
        now = choices.now_ms if choices.now_ms is not None else view.time_ms
        self.now_ms = now if now is not None else ledger.newest_ms

    @property
    def lacks_metadata_topic(self) -> bool:
        """Return True if the cluster is known and has tiered topics, and neither it nor the sources have the topic
        `__remote_log_metadata`."""
        is_unknown = self.view.metadata_topic is None and not self.ledger.logs
        return is_unknown and any(topic.is_tiered for topic in (self.view.topics or {}).values())

    @property
    def is_outgrown(self) -> bool:
        """Return True if the metadata topic has more partitions than brokers are configured with. One that starts then
        ends with "Existing topic partition count" in its log and neither copies, deletes nor reads what is remote
        (`TopicBasedRemoteLogMetadataManager.java`, `isPartitionsCountSameAsConfigured`); those that run go on."""
        return bool(self.configured and self.topic_partitions and self.configured < self.topic_partitions)

    @property
    def hash_partitions(self) -> int | None:
        """Return the number that records are spread by, as far as it is known."""
        return self.configured or self.topic_partitions

    def expected(self, key: PartitionKey) -> int | None:
        """Return the metadata partition that a user partition's records belong in."""
        count = self.hash_partitions
        return None if count is None else metadata_partition_of(key, count)

    def reaches(self, key: PartitionKey | None, time_ms: int | None) -> bool:
        """Return True if a record of a user partition that was written up to a time was read, if there is one.

        So it is if the metadata partition was read to the end that it had at the time of the view, or if a later
        record of that one was read. With no partition, or if its metadata partition is not known or was another one
        before, all of them must reach that far.
        """
        at = None if key is None or self._has_other_homes else self.expected(key)
        logs = self.ledger.logs
        return all(
            (facts.log.expected_end is not None and self.view_time_ms is not None)
            or (time_ms is not None and time_ms <= facts.newest_ms)
            for facts in ([logs[at]] if at in logs else logs.values())
        )

    @property
    def is_listed_before_view(self) -> bool:
        """Return True if the listing was made before the metadata topic was read: each of its objects has a record in
        what was read, if it has one at all."""
        if self.bucket is None or self.view_time_ms is None:
            return False
        made_ms = self.bucket.listing.written_ms if self.bucket.time_ms is None else self.bucket.time_ms
        return made_ms is not None and made_ms <= self.view_time_ms

    @cached_property
    def _has_other_homes(self) -> bool:
        """Return True if records are outside the metadata partitions that the present number gives."""
        return any(log.records_in.keys() - {self.expected(key)} for key, log in self.ledger.partitions.items())

    @cached_property
    def incomplete(self) -> dict[int, tuple[int, int | None]]:
        """Return the metadata partitions that were not read to their known end: (end that was read, known end)."""
        found = {
            at: (facts.end_offset, facts.log.expected_end)
            for at, facts in self.ledger.logs.items()
            if not facts.is_complete
        }
        known = self.view.metadata_topic.logs if self.view.metadata_topic else {}
        for at in range(max(self.topic_partitions or self.configured or 0, *self.ledger.logs, 0)):
            end = known[at].end_offset if at in known else None
            if at not in self.ledger.logs and end != 0:
                found[at] = (0, end)
        for at, facts in self.ledger.logs.items():
            if at in self.lacking or self.is_of_another_cluster:
                found.setdefault(at, (facts.end_offset, facts.log.expected_end))
        return found

    @cached_property
    def lacking(self) -> dict[int, PartitionCase]:
        """Return metadata partitions of unknown end without a record of a partition that has remote data.

        An empty file, or one of another cluster, looks like this.
        """
        found: dict[int, PartitionCase] = {}
        for partition in self.partitions:
            facts = None if partition.expected is None else self.ledger.logs.get(partition.expected)
            if facts is not None and facts.log.expected_end is None and partition.lacks_records:
                found.setdefault(facts.log.partition, partition)
        return found

    @cached_property
    def is_of_another_cluster(self) -> bool:
        """Return True if no topic with records exists, while topics that exist have remote data and no record."""
        known = self.view.topics or {}
        if not known or not self.ledger.partitions or self._topics_with_records & set(known):
            return False
        return any(partition.lacks_records for partition in self.partitions)

    @cached_property
    def readers(self) -> dict[int, set[int]] | None:
        """Return the brokers that read each metadata partition; None if topics or the number are not known."""
        if self.view.topics is None or self.hash_partitions is None:
            return None
        found: dict[int, set[int]] = {}
        for topic in self.view.topics.values():
            if not self.is_tiered(topic):
                continue
            for number, partition in topic.partitions.items():
                at = metadata_partition_of(PartitionKey(topic.topic_id, number), self.hash_partitions)
                found.setdefault(at, set()).update(partition.replicas or ())
        return found

    def is_tiered(self, topic: TopicView) -> bool:
        """Return True if the topic's settings enable tiering or, if they are unknown, the topic has records."""
        return topic.topic_id in self._topics_with_records if topic.is_tiered is None else topic.is_tiered

    def has_records(self, topic_id: bytes) -> bool:
        """Return True if the metadata topic has a record of a topic."""
        return topic_id in self._topics_with_records

    @cached_property
    def _topics_with_records(self) -> set[bytes]:
        return {key.topic_id for key in self.ledger.partitions}

    @cached_property
    def partitions(self) -> list[PartitionCase]:
        """Return each user partition with records, and each tiered partition of the cluster, in order."""
        keys = set(self.ledger.partitions)
        for topic in (self.view.topics or {}).values():
            if topic.is_tiered:
                keys.update(PartitionKey(topic.topic_id, number) for number in topic.partitions)
        cases = [PartitionCase(self, key) for key in keys]
        return sorted(cases, key=lambda case: (case.topic, case.topic_id, case.key.partition))

    def exists(self, key: PartitionKey) -> bool | None:
        """Return whether the topic of a partition exists; None if that is unknown."""
        log = self.ledger.partitions.get(key)
        return self.view.exists(key.topic_id, None if log is None else log.first_ms)

    def living(self) -> Iterator[PartitionCase]:
        """Yield the partitions whose topic exists, as far as it is known."""
        return (case for case in self.partitions if case.exists is not False)


class PartitionCase:
    """A user partition. What is None is not known."""

    topic: str
    topic_id: str
    key: PartitionKey

    def __init__(self, case: AuditCase, key: PartitionKey) -> None:
        self.case = case
        self.key = key
        log = case.ledger.partitions.get(key)
        self.log = log or PartitionLog("", key, keep_deleted=False)
        self.exists = case.exists(key)
        self.view: PartitionView | None = case.view.partition(*key)
        known = (case.view.topics or {}).get(key.topic_id)
        self.topic = known.name if known else self.log.topic
        self.configs = None if known is None else known.configs
        self.is_tiered = None if known is None else known.is_tiered
        self.topic_id = str(Uuid(key.topic_id))
        self.remembered: dict[str, Any] = {}  # what is derived of it elsewhere, once

    @property
    def leader(self) -> int | None:
        """Return the leader; -1 for none."""
        return None if self.view is None else self.view.leader

    @cached_property
    def replica_log(self) -> ReplicaLog | None:
        """Return the log by which the partition is judged: the leader's.

        If none is known, that of the newest epoch.
        """
        logs = [log for log in self.case.view.replica_logs(*self.key) if log.leader_epochs]
        own = [log for log in logs if log.broker_id is not None and log.broker_id == self.leader]
        if own:
            return max(own, key=_newest)
        # Without a leader the ISR may be empty: eligible leader replicas are not in it (KIP-966).
        isr = None if self.view is None else self.view.isr
        if isr:
            logs = [log for log in logs if log.broker_id in isr]
        return max(logs, key=_newest, default=None)

    @cached_property
    def lineage(self) -> Lineage | None:
        """Return the leader epochs of that log."""
        return None if self.replica_log is None else self.replica_log.lineage(self.log_end)

    @cached_property
    def check(self) -> LineageCheck | None:
        """Return the check of segments against the partition's lineage; None without a lineage."""
        return None if self.lineage is None else LineageCheck(self.lineage)

    @property
    def log_start(self) -> int | None:
        """Return the log start offset, including the remote part."""
        answered = self._answered("earliest")
        if answered is not None:
            return answered
        return None if self.lineage is None else self.lineage.log_start

    @property
    def local_start(self) -> int | None:
        """Return the start offset of the local log."""
        answered = self._answered("earliest_local")
        if answered is not None:
            return answered
        base = None if self.replica_log is None else self.replica_log.local_start
        # DeleteRecords may move the log start into the first local segment.
        return base if base is None or self.lineage is None else max(base, self.lineage.log_start)

    @property
    def log_end(self) -> int | None:
        """Return the offset after the last one."""
        answered = self._answered("latest")
        if answered is not None:
            return answered
        return None if self.replica_log is None else self.replica_log.log_end_offset

    def _answered(self, name: str) -> int | None:
        offsets = None if self.view is None else self.view.offsets
        value = None if offsets is None else getattr(offsets, name)
        return None if value is None or value < 0 else value

    @cached_property
    def highest(self) -> int | None:
        """Return the highest offset in remote storage by the lineage, -1 for none."""
        return None if self.lineage is None else highest_offset(self.log, self.lineage)

    @property
    def next_upload(self) -> int | None:
        """Return the first offset that the leader has yet to copy."""
        if self.highest is None or self.log_start is None:
            return None
        return max(self.highest + 1, self.log_start)

    @property
    def expected(self) -> int | None:
        """Return the metadata partition that its records belong in."""
        return self.case.expected(self.key)

    @property
    def metadata_partition(self) -> int | None:
        """Return the expected one; if that is not known, the one with its records."""
        if self.expected is not None or not self.log.records_in:
            return self.expected
        return max(self.log.records_in, key=lambda at: (self.log.records_in[at], -at))

    @property
    def lacks_records(self) -> bool:
        """Return True if its offsets show remote data, and there is no record of it anywhere."""
        start, local = self.log_start, self.local_start
        if self.log.records_in or self.view is None or self.is_tiered is False:
            return False
        return start is not None and local is not None and start < local

    @property
    def lost_head(self) -> bool:
        """Return True if a metadata partition that its records belong in, or are in, begins above offset 0."""
        logs = self.case.ledger.logs
        places = {*self.log.records_in, *([] if self.expected is None else [self.expected])}
        return any(at in logs and logs[at].log.log_start > 0 for at in places)

    @property
    def is_cut(self) -> bool:
        """Return True if the last batch of its metadata, or of a part of it, was being written when it was read."""
        logs = self.case.ledger.logs
        return any(part.is_tail and part.is_cut for at in self.log.records_in for part in logs[at].unread)

    @cached_property
    def is_whole(self) -> bool:
        """Return True if no record of it can be missing from what was read."""
        places = set(self.log.records_in)
        if self.expected is not None:
            places.add(self.expected)
        return not places & set(self.case.incomplete)

    @cached_property
    def segments(self) -> list[Segment]:
        """Return the segments that brokers know and have not deleted, in order."""
        return sorted([segment for segment in self.log.segments() if segment.forgotten_by is None], key=by_offset)

    @cached_property
    def in_state(self) -> Mapping[SegmentState, list[Segment]]:
        """Return the segments by their state, in order."""
        found: dict[SegmentState, list[Segment]] = {state: [] for state in SegmentState}
        for segment in self.segments:
            found[segment.state].append(segment)
        return found

    @cached_property
    def forgotten(self) -> list[Segment]:
        """Return the segments that brokers have forgotten, or will after a restart, in order."""
        return sorted((segment for segment in self.log.segments() if segment.forgotten_by), key=by_offset)

    def in_lineage(self, segment: Segment) -> bool:
        """Return True if the leader counts the segment as its own; True if its lineage is not known."""
        return self.check is None or self.check.has(segment)


by_offset: Final = attrgetter("order")  # sorts segments


def _newest(log: ReplicaLog) -> tuple[int, int, int]:
    return log.leader_epochs[-1][0], log.leader_epochs[0][1], len(log.segments or ())
