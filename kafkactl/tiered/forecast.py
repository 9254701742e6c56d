"""Forecast of each replica as leader, after it has read the metadata topic from its start.

A broker reads the metadata partitions that its own tiered partitions hash to, and keeps from them the records of every
partition that it has, wherever they lie (`ConsumerTask.java`). So what it knows depends on what else it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.wording import counted, first_few, size_text
from kafkactl.tiered.audit.case import AuditCase, PartitionCase
from kafkactl.tiered.audit.coverage import next_segment_base
from kafkactl.tiered.audit.findings import place_of, subject_of
from kafkactl.tiered.audit.metadata_findings import stopped_brokers
from kafkactl.tiered.cluster_view import COPY_DISABLE, ReplicaLog
from kafkactl.tiered.ledger import Ledger, MetadataLog, PartitionDelete, Poison, merged
from kafkactl.tiered.lineage import NO_OFFSET, Lineage, first_listed, highest_offset
from kafkactl.tiered.partition_log import PartitionLog
from kafkactl.tiered.reading import PlacedRecord
from kafkactl.tiered.records import PartitionKey
from kafkactl.tiered.states import COPIED

Consumer = Literal["healthy", "stops-at-restart", "stopped", "unknown"]
Uploads = Literal["continues", "stopped", "disabled", "unknown"]
HEALTHY: Final = "healthy"
STOPS: Final = "stops-at-restart"
STOPPED: Final = "stopped"
UNKNOWN: Final = "unknown"
CONTINUES: Final = "continues"
DISABLED: Final = "disabled"
LOG_START_JUMPS: Final = "log-start-would-jump"
UPLOADS_STOP: Final = "uploads-would-stop"


@frozen
class Unreachable:
    """Offsets that consumers would lose."""

    first: int
    last: int
    segments: int
    size: int

    to_dict = json_of("from_offset=first", "to_offset=last", "segments", "bytes=size")


@frozen
class StoppedBy:
    """The record that ends a metadata consumer."""

    metadata_partition: int
    offset: int

    to_dict = by_fields


@frozen
class Candidate:
    """A replica as leader, having read the metadata topic from its start."""

    broker_id: int
    leads_now: bool
    alive: bool | None
    in_sync: bool | None
    reads: tuple[int, ...]
    knows_segments: bool
    consumer: Consumer
    stopped_by: StoppedBy | None
    uploads: Uploads
    highest: int | None
    log_start: int | None
    next_upload: int | None
    next_segment_base: int | None
    unreachable: Unreachable | None

    @property
    def harms(self) -> bool:
        """Return True if consumers or uploads would lose something."""
        return self.unreachable is not None or self.consumer in (STOPPED, STOPS)

    to_dict = json_of(
        "broker_id", "leads_now", "alive", "reads_metadata_partitions=reads", "knows_segments", "consumer",
        "stopped_by", "uploads", "highest_offset=highest", "log_start_offset=log_start",
        "next_upload_offset=next_upload", "next_segment_base_offset=next_segment_base", "unreachable",
    )  # fmt: skip


@frozen
class PartitionForecast:
    """A partition and its replicas."""

    case: PartitionCase
    candidates: tuple[Candidate, ...]

    to_dict = json_of(
        "topic=case.topic", "topic_id=case.topic_id", "partition=case.key.partition", "leader=case.leader",
        "log_start_offset=case.log_start", "candidates",
    )  # fmt: skip


def forecast(case: AuditCase, partitions: Iterable[PartitionCase]) -> list[PartitionForecast]:
    """Return the behaviour of each replica of each partition. Logs are read again if brokers read only a part."""
    shown = [partition for partition in partitions if partition.exists is not False]
    brokers = _Brokers(case)
    partial = {partition.key for partition in shown if brokers.sees_less(partition)}
    records = _by_partition([facts.log for facts in case.ledger.logs.values()], partial)
    return [
        PartitionForecast(
            case=partition,
            candidates=tuple(
                _candidate(partition, broker_id, brokers, records.get(partition.key))
                for broker_id in _replicas(partition)
            ),
        )
        for partition in shown
    ]


def _replicas(partition: PartitionCase) -> Sequence[int]:
    if partition.view is not None and partition.view.replicas is not None:
        return partition.view.replicas
    logs = partition.case.view.replica_logs(*partition.key)
    return sorted({log.broker_id for log in logs if log.broker_id is not None})


def _by_partition(
    logs: Sequence[MetadataLog], keys: set[PartitionKey]
) -> Mapping[PartitionKey, list[tuple[MetadataLog, PlacedRecord]]]:
    found: dict[PartitionKey, list[tuple[MetadataLog, PlacedRecord]]] = {}
    for log, placed in merged(logs, keys) if keys else ():
        assert placed.record is not None
        found.setdefault(placed.record.key, []).append((log, placed))
    return found


class _Brokers:
    """Metadata partitions that each broker reads, and the record that ends its consumer."""

    def __init__(self, case: AuditCase) -> None:
        self.case = case
        self._reads: dict[int, set[int]] = {}
        for at, brokers in (case.readers or {}).items():
            for broker in brokers:
                self._reads.setdefault(broker, set()).add(at)
        self._stopped: dict[int, StoppedBy] = {}
        self._stops: dict[int, StoppedBy] = {}
        if case.readers is None:
            return
        for poison in case.ledger.poison:
            for broker in stopped_brokers(case, poison) or ():
                self._stopped.setdefault(broker, _stopped_by(poison))
        for record in case.ledger.partition_deletes:
            known = case.view.partition(*record.key)
            if known is not None and case.expected(record.key) == record.metadata_partition:
                for broker in known.replicas or ():
                    self._stops.setdefault(broker, _stopped_by(record))

    def reads(self, broker: int) -> set[int]:
        """Return the metadata partitions that it reads."""
        return self._reads.get(broker, set())

    def consumer(self, broker: int) -> tuple[Consumer, StoppedBy | None]:
        """Return the state of the broker's metadata consumer, and the record that stops it, if any."""
        if self.case.is_outgrown:
            return STOPS, None
        if self.case.readers is None:
            return UNKNOWN, None
        if broker in self._stopped:
            return STOPPED, self._stopped[broker]
        return (STOPS, self._stops[broker]) if broker in self._stops else (HEALTHY, None)

    def sees_less(self, partition: PartitionCase) -> bool:
        """Return True if a replica may not read every record of a partition that was folded."""
        places = set(partition.log.records_in)
        logs = self.case.ledger.logs
        if any(logs[at].log.log_start > 0 for at in places):
            return True
        return self.case.readers is not None and any(places - self.reads(broker) for broker in _replicas(partition))


def _stopped_by(record: Poison | PartitionDelete) -> StoppedBy:
    return StoppedBy(metadata_partition=record.metadata_partition, offset=record.offset)


def _candidate(
    partition: PartitionCase,
    broker_id: int,
    brokers: _Brokers,
    records: list[tuple[MetadataLog, PlacedRecord]] | None,
) -> Candidate:
    reads = brokers.reads(broker_id)
    consumer, stopped_by = brokers.consumer(broker_id)
    log = partition.log if records is None else _seen(partition, records, None if consumer == UNKNOWN else reads)
    own = _own_log(partition, broker_id)
    lineage = None if own is None else own.lineage(own.log_end_offset or partition.log_end)
    stands = consumer in (STOPPED, STOPS)
    # What is missing from the view may be all that a broker would know: nothing is forecast from the rest.
    highest = _highest(log, lineage, consumer) if partition.is_whole else None
    start = _log_start(partition, log, lineage, own, stands=stands) if partition.is_whole else None
    uploads = _uploads(partition, stands=stands)
    next_upload = None if highest is None or start is None or stands else max(highest + 1, start)
    view = partition.view
    base = None
    if uploads == CONTINUES and next_upload is not None and own is not None:
        base = next_segment_base(own.segments, next_upload)
    return Candidate(
        broker_id=broker_id,
        leads_now=broker_id == partition.leader,
        alive=partition.case.view.alive(broker_id),
        in_sync=None if view is None or view.isr is None else broker_id in view.isr,
        reads=tuple(sorted(reads)),
        knows_segments=bool(log.table) or not partition.log.table,
        consumer=consumer,
        stopped_by=stopped_by,
        uploads=uploads,
        highest=highest,
        log_start=start,
        next_upload=next_upload,
        next_segment_base=base,
        unreachable=_unreachable(partition, start),
    )


def _seen(
    partition: PartitionCase, records: list[tuple[MetadataLog, PlacedRecord]], reads: set[int] | None
) -> PartitionLog:
    """Return the partition as a broker knows it that reads these metadata partitions from their start."""
    ledger = Ledger()
    for log, placed in records:
        if placed.offset >= log.log_start and (reads is None or log.partition in reads):
            ledger.take(log, placed)
    empty = PartitionLog(partition.topic, partition.key, keep_deleted=False)
    return ledger.partitions.get(partition.key, empty)


def _own_log(partition: PartitionCase, broker_id: int) -> ReplicaLog | None:
    """Return the replica's own log if its leader epochs are known, else the one that the partition is judged by."""
    logs = partition.case.view.replica_logs(*partition.key)
    own = [log for log in logs if log.broker_id == broker_id and log.leader_epochs]
    return own[0] if own else partition.replica_log


def _highest(log: PartitionLog, lineage: Lineage | None, consumer: str) -> int | None:
    if consumer == STOPS:
        return NO_OFFSET
    return None if lineage is None or consumer == STOPPED else highest_offset(log, lineage)


def _log_start(
    partition: PartitionCase, log: PartitionLog, lineage: Lineage | None, own: ReplicaLog | None, *, stands: bool
) -> int | None:
    """Return the later one of the present log start and the start of the remote log for this replica."""
    present = partition.log_start
    if stands or present is None:
        return present
    if lineage is None:
        return None
    listed = first_listed(log.epochs.get(epoch) for epoch, _ in lineage.epochs)
    if listed is None:
        listed = own.local_start if own is not None and own.local_start is not None else partition.local_start
    return None if listed is None else max(present, listed)


def _uploads(partition: PartitionCase, *, stands: bool) -> Uploads:
    configs = partition.configs
    if partition.is_tiered is False or (configs or {}).get(COPY_DISABLE, "false").lower() == "true":
        return DISABLED
    if stands:
        return STOPPED
    return CONTINUES if configs is not None else UNKNOWN


def _unreachable(partition: PartitionCase, start: int | None) -> Unreachable | None:
    present = partition.log_start
    if start is None or present is None or start <= present:
        return None
    lost = [
        segment
        for segment in partition.log.segments()
        if segment.state is COPIED and segment.start_offset < start and segment.end_offset >= present
    ]
    return Unreachable(first=present, last=start - 1, segments=len(lost), size=sum(segment.size for segment in lost))


def forecast_findings(forecasts: Iterable[PartitionForecast]) -> list[Finding]:
    """Report partitions that some candidate would harm: as blockers if the candidate is alive and in sync."""
    found = [finding for each in forecasts for finding in _harm(each)]
    return sorted(found, key=lambda finding: (finding.severity != "blocker", finding.id != LOG_START_JUMPS))


def _harm(each: PartitionForecast) -> Iterable[Finding]:
    jumps = [candidate for candidate in each.candidates if candidate.unreachable is not None]
    if jumps:
        worst = max((candidate.unreachable for candidate in jumps if candidate.unreachable), key=lambda part: part.last)
        yield _finding(
            LOG_START_JUMPS,
            each,
            jumps,
            f"as leader {_names(jumps)} would move the log start from {worst.first} to {worst.last + 1}: "
            f"{_lost(worst)}",
            "Do not restart or move the leader before the cause is repaired: see `kafkactl tiered audit`.",
            **worst.to_dict(),
        )
    stops = [candidate for candidate in each.candidates if candidate.consumer in (STOPPED, STOPS)]
    if stops and each.case.is_tiered is not False:
        case = each.case.case
        why = "a record ends its metadata consumer"
        if case.is_outgrown:
            why = (
                f"a broker that starts with {case.configured} metadata partitions where the topic has"
                f" {case.topic_partitions} does not tier, or shuts down (4.3.1)"
            )
        yield _finding(
            UPLOADS_STOP,
            each,
            stops,
            f"as leader {_names(stops)} would copy nothing to remote storage: {why}",
            "Remove the cause first: see `kafkactl tiered audit`.",
        )


def _lost(unreachable: Unreachable) -> str:
    if unreachable.segments:
        return f"{counted(unreachable.segments, 'segment')} ({size_text(unreachable.size)}) could no longer be read"
    return f"offsets {unreachable.first} to {unreachable.last}, of which no known segment has any, would be given up"


def _names(candidates: Sequence[Candidate]) -> str:
    names = [str(candidate.broker_id) for candidate in candidates]
    return f"{'broker' if len(names) == 1 else 'brokers'} {first_few(names)}"


def _finding(
    id: str, each: PartitionForecast, candidates: Sequence[Candidate], message: str, next_step: str, **more: Any
) -> Finding:
    first = any(candidate.alive is not False and candidate.in_sync is not False for candidate in candidates)
    make = blocker if first else warning
    evidence = {**place_of(each.case), "brokers": [candidate.broker_id for candidate in candidates], **more}
    return make(id, subject_of(each.case), message, next_step, **evidence)
