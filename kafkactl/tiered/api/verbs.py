"""`kafkactl tiered`: the verbs as functions. Nothing here writes to a cluster or a store.

`load` reads everything that a request names and folds it; each verb is a function from what was loaded to an answer.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafkactl.core.answers import json_of
from kafkactl.core.errors import FailedError, InputError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Uuid
from kafkactl.files.whole_file import check_place, write_whole
from kafkactl.kafka.client import Client
from kafkactl.metadata.replay.collector import no_collection
from kafkactl.tiered.answers import RemoteRecord, RemoteSegment, record_answer, segment_answer
from kafkactl.tiered.api.load import Loaded, Request, load
from kafkactl.tiered.audit.case import PartitionCase, by_offset
from kafkactl.tiered.audit.findings import in_order
from kafkactl.tiered.audit.metadata_findings import metadata_findings
from kafkactl.tiered.audit.run import audit_findings, partition_status, totals
from kafkactl.tiered.audit.topic_findings import topic_findings
from kafkactl.tiered.forecast import forecast, forecast_findings
from kafkactl.tiered.io.live import LiveObservation, observe_cluster
from kafkactl.tiered.io.observation import check_observation_target, write_observation
from kafkactl.tiered.judgements import Audit, AuditSource, Forecast, MetadataPartition
from kafkactl.tiered.ledger import Ledger, LogFacts, is_record, merged
from kafkactl.tiered.leftovers import Leftovers, leftovers
from kafkactl.tiered.observation import observation_document
from kafkactl.tiered.partition_log import PartitionLog
from kafkactl.tiered.reading import PlacedRecord
from kafkactl.tiered.records import PartitionDeleteRecord

__all__ = [
    "ALL",
    "Audit",
    "AuditSource",
    "Filters",
    "Forecast",
    "LiveObservation",
    "Loaded",
    "MetadataPartition",
    "Request",
    "audit",
    "check_keys_target",
    "check_saved",
    "foresee",
    "history",
    "left_over",
    "load",
    "observe",
    "save",
    "segments",
]

BELOW_LOG_START: Final = "below-log-start"
EMPTY: Final = "no-remote-log-metadata-records"
_READING: Final = frozenset(
    {
        "damaged-metadata-log", "metadata-log-cut-at-end", "metadata-of-another-cluster", "metadata-view-incomplete",
        "unread-metadata-batch",
    }
)  # fmt: skip


@frozen
class Filters:
    """Selection of partitions, segments and states; () for all. A topic is a name or an id."""

    topics: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    segments: tuple[str, ...] = ()
    states: tuple[str, ...] = ()

    def has(self, partition: PartitionCase) -> bool:
        """Return True if a partition is requested."""
        return self.has_key(partition.topic, partition.topic_id, partition.key.partition)

    def has_key(self, topic: str, topic_id: str, partition: int) -> bool:
        """Return True if the filters select the partition by its names."""
        named = not self.topics or topic in self.topics or topic_id in self.topics
        return named and (not self.partitions or partition in self.partitions)

    def has_finding(self, finding: Finding) -> bool:
        """Return True if a finding is about what is requested, or about no partition."""
        evidence = finding.evidence
        if "topic_id" not in evidence:
            return True
        return self.has_key(str(evidence["topic"]), str(evidence["topic_id"]), int(evidence["partition"]))


ALL = Filters()


def check_filters(loaded: Loaded, filters: Filters) -> None:
    """Raise InputError `not-in-metadata-topic` for a topic or partition that nothing of what was read knows: an answer
    about nothing would look like that of a healthy one."""
    if loaded.is_empty:
        return
    partitions = loaded.case.partitions
    names = {name for partition in partitions for name in (partition.topic, partition.topic_id)}
    missing = [f"topic {topic}" for topic in filters.topics if topic not in names]
    if not missing and not any(map(filters.has, partitions)):
        missing = [f"partition {partition}" for partition in filters.partitions]
    if missing:
        raise InputError(
            f"{', '.join(missing)}: no record of the metadata topic, and no tiered topic of the cluster, is like that",
            id="not-in-metadata-topic",
            next_step="Check the name, or the id after a topic was created again. `kafkactl tiered audit -o json`"
            " without filters lists all partitions.",
        )


def audit(loaded: Loaded, filters: Filters = ALL) -> Audit:
    """Return the answer of `tiered audit`. Raises InputError `not-in-metadata-topic`, as all that take filters do."""
    check_filters(loaded, filters)
    case = loaded.case
    with no_collection():
        partitions = tuple(partition_status(partition) for partition in case.partitions if filters.has(partition))
        found = [*loaded.findings, *(each for each in audit_findings(case) if filters.has_finding(each))]
    return Audit(
        engine=loaded.engine.name,
        source=source(loaded),
        totals=totals(case, partitions),
        partitions=partitions,
        findings=tuple(in_order([*found, *empty_findings(loaded)])),
        assumptions=loaded.assumptions,
    )


def source(loaded: Loaded) -> AuditSource:
    """Return the sources of an answer."""
    case = loaded.case
    return AuditSource(
        paths=tuple(loaded.paths),
        cluster=loaded.cluster,
        observed_at_ms=case.view.time_ms if loaded.request.observation or loaded.cluster else None,
        bucket=None if case.bucket is None else case.bucket.summary(),
        metadata_partitions=tuple(
            MetadataPartition(
                partition=at,
                paths=tuple(facts.log.paths),
                log_start_offset=facts.log.log_start,
                end_offset=facts.end_offset,
                expected_end_offset=facts.log.expected_end,
                records=facts.records,
                complete=facts.is_complete,
            )
            for at, facts in sorted(case.ledger.logs.items())
        ),
        configured_partitions=case.configured,
    )


def empty_findings(loaded: Loaded) -> list[Finding]:
    """Report that the sources contain nothing to audit."""
    if not loaded.is_empty:
        return []
    return [
        warning(
            EMPTY,
            ", ".join(loaded.paths),
            "the metadata logs hold no record: there is nothing to judge",
            "Check that these are the folders of the metadata topic, and that brokers tier.",
        )
    ]


def segments(loaded: Loaded, filters: Filters = ALL) -> list[RemoteSegment]:
    """Return the segments of `tiered segments`; those that are DELETE_SEGMENT_FINISHED where `load` kept them."""
    return list(each_segment(loaded, filters))


def each_segment(loaded: Loaded, filters: Filters = ALL) -> Iterator[RemoteSegment]:
    """Yield the segments of `tiered segments` one by one, in their order."""
    check_filters(loaded, filters)
    for partition in loaded.case.partitions:
        if not filters.has(partition):
            continue
        log: PartitionLog = partition.log
        for segment in sorted((*log.segments(), *(log.deleted or {}).values()), key=by_offset):
            answer = segment_answer(partition, segment)
            if filters.states and answer.state not in filters.states:
                continue
            if not filters.segments or answer.segment_id in filters.segments:
                yield answer


def history(loaded: Loaded, filters: Filters = ALL) -> Iterator[RemoteRecord]:
    """Yield the records of `tiered history`, by metadata partition and offset. The logs are read again."""
    check_filters(loaded, filters)
    scattered = loaded.case.ledger.scattered
    late: dict[tuple[int, int], str | None] = {}
    ledger = Ledger()
    for log, placed in merged(loaded.logs, scattered) if scattered else ():
        late[log.partition, placed.offset] = ledger.take(log, placed)
    ledger = Ledger()
    for log in loaded.logs:
        facts = LogFacts(log)
        for found in log.read():
            if not is_record(found, facts):
                continue
            place = log.partition, found.offset
            why = late[place] if place in late else ledger.take(log, found)
            if why is None and found.offset < log.log_start:
                why = BELOW_LOG_START
            if _wanted(found, filters):
                yield record_answer(log.partition, found, why)


def _wanted(placed: PlacedRecord, filters: Filters) -> bool:
    record = placed.record
    if record is None:
        return filters == ALL
    if not filters.has_key(record.topic, str(Uuid(record.key.topic_id)), record.key.partition):
        return False
    if filters.states and record.state.name not in filters.states:
        return False
    if not filters.segments:
        return True
    return not isinstance(record, PartitionDeleteRecord) and str(Uuid(record.segment_id)) in filters.segments


def foresee(loaded: Loaded, filters: Filters = ALL) -> Forecast:
    """Return the answer of `tiered forecast`. Raises InputError `replicas-unknown` if no replica is known."""
    case = loaded.case
    if case.view.topics is None and not case.view.disks:
        raise InputError("the replicas of the partitions are unknown", id="replicas-unknown")
    check_filters(loaded, filters)
    forecasts = forecast(case, [partition for partition in case.partitions if filters.has(partition)])
    return Forecast(
        partitions=tuple(forecasts),
        findings=(*topic_findings(case), *forecast_findings(forecasts), *source_findings(loaded)),
        assumptions=loaded.assumptions,
    )


def left_over(loaded: Loaded, *, older_than_ms: int, include_orphans: bool) -> Leftovers:
    """Return the answer of `tiered leftovers`. Raises InputError `listing-missing` without a listing of the store."""
    if loaded.case.bucket is None:
        raise InputError(
            "what is left over is found among the objects of the store, and no listing of it was given",
            id="listing-missing",
            next_step="Give --bucket LISTING.",
        )
    return leftovers(loaded.case, loaded.case.bucket, older_than_ms=older_than_ms, include_orphans=include_orphans)


def observe(client: Client) -> LiveObservation:
    """Observe a live cluster. Raise UnreachableError as `observe_cluster` does."""
    return observe_cluster(client, now_ms=int(time.time() * 1000))


@frozen
class Saved:
    """Saved observation in `folder`; `topics` None if the topics are unknown."""

    folder: str
    time_ms: int | None
    cluster_id: str | None
    topics: int | None
    source: AuditSource
    findings: tuple[Finding, ...]
    assumptions: tuple[str, ...]

    to_dict = json_of(
        "folder", "time_ms", "cluster_id", "topics", "source", "findings", "assumptions", kind="tiered.observe"
    )


def save(loaded: Loaded, path: str) -> Saved:
    """Save what was loaded as an observation; the answer of `tiered observe`.

    Raises InputError `observation-folder-not-empty`, FailedError `observation-not-written`.
    """
    case = loaded.case
    time_ms = case.view.time_ms if case.view.time_ms is not None else case.ledger.newest_ms
    topic = case.view.metadata_topic
    if topic is not None:
        topic = changed(topic, configured_partitions=case.configured)
    made_ms = None if case.bucket is None else case.bucket.time_ms
    view = changed(case.view, metadata_topic=topic)
    document = observation_document(view, time_ms=time_ms, bucket_time_ms=made_ms)
    objects = None if case.bucket is None else case.bucket.listing.objects
    write_observation(path, document, loaded.replicas, objects)
    return Saved(
        folder=path,
        time_ms=time_ms,
        cluster_id=case.view.cluster_id,
        topics=None if case.view.topics is None else len(case.view.topics),
        source=source(loaded),
        findings=source_findings(loaded),
        assumptions=loaded.assumptions,
    )


def source_findings(loaded: Loaded) -> tuple[Finding, ...]:
    """Return the findings about the sources, without an audit."""
    return (*loaded.findings, *reading_findings(loaded), *empty_findings(loaded))


def reading_findings(loaded: Loaded) -> list[Finding]:
    """Return the findings about unreadable parts of the metadata logs."""
    return [finding for finding in metadata_findings(loaded.case) if finding.id in _READING]


def write_keys(path: str, found: Leftovers) -> None:
    """Write the keys of leftovers, one a line, to a new file that only its owner can read.

    Raises InputError `output-file-exists`, FailedError `output-file-not-written`.
    """
    data = "".join(f"{leftover.found.key}\n" for leftover in found.objects).encode()
    with _to_new_file(path):
        write_whole(Path(path), data, mode=0o600, exclusive=True)


def check_keys_target(path: str) -> None:
    """Raise the errors of `write_keys` about its target, before anything is read."""
    with _to_new_file(path):
        check_place(Path(path))
        if os.path.lexists(path):
            raise FileExistsError


def check_saved(path: str) -> None:
    """Raise the errors of `save` about its folder, before anything is read."""
    check_observation_target(path)


@contextlib.contextmanager
def _to_new_file(path: str) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise InputError(
            f"{path} exists", id="output-file-exists", next_step="Name a new file: nothing is overwritten."
        ) from error
    except OSError as error:
        raise FailedError(f"{path} cannot be written: {error.strerror}", id="output-file-not-written") from error
