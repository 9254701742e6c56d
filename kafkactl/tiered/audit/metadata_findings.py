"""Findings about the metadata topic itself: what was read of it, where it begins, which records harm its readers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.values import Uuid
from kafkactl.core.wording import counted, first_few
from kafkactl.tiered.audit.case import AuditCase, PartitionCase
from kafkactl.tiered.audit.findings import MOST_LISTED, metadata_subject, place_of, segment_evidence, subject_of
from kafkactl.tiered.ledger import COPY_STARTED_AGAIN, UNDECODABLE, PartitionDelete, Poison
from kafkactl.tiered.partition_log import (
    AFTER_DELETE,
    FORGOTTEN_BY_DELETE,
    FORGOTTEN_BY_LOG_START,
    ILLEGAL,
    WITHOUT_BASE,
)
from kafkactl.tiered.records import PartitionKey

_WORDS: Final = {
    UNDECODABLE: "cannot be decoded",
    "base-record-not-started": "is a base record in another state than COPY_SEGMENT_STARTED",
    COPY_STARTED_AGAIN: "is an update to COPY_SEGMENT_STARTED of a segment in that state",
    AFTER_DELETE: "follows DELETE_PARTITION_FINISHED of its partition",
}
_MAY_BE_NEWER: Final = frozenset({"unsupported-frame-version", "unsupported-message-version", "unknown-record-type"})
_OF_3_6: Final = "Brokers of Kafka 3.6 end their metadata consumer at such a record: replace them by a later release."
_DO_NOT_RESTART: Final = (
    "Restart no broker that reads this metadata partition before it is repaired: a broker reads the record again. "
    "See docs/tiered.md."
)
_EARLIER_NUMBER: Final = (
    "Configure the brokers with the number of metadata partitions with which the records were written."
)
_KEEP_THE_NUMBER: Final = (
    "Keep the present number of metadata partitions: with the earlier one brokers read DELETE_PARTITION_FINISHED of "
    "this partition and lose their metadata consumer. Keep the objects of these segments, which no broker reads."
)


def metadata_findings(case: AuditCase) -> Iterator[Finding]:
    """Yield all findings about the metadata logs."""
    for poison in case.ledger.poison:
        yield _poison(case, poison)
    for record in case.ledger.partition_deletes:
        if case.exists(record.key) is not False:
            yield _partition_delete(case, record)
    yield from _log_starts(case)
    if case.is_of_another_cluster:
        yield _of_another_cluster(case)
    yield from _view(case)
    yield from _replicas(case)
    for partition in case.living():
        yield from _wrong_partition(partition)
        yield from _lost(partition)
        yield from _dropped(partition)


def _key_evidence(topic: str | None, key: PartitionKey | None) -> dict[str, Any]:
    if key is None:
        return {}
    return {"topic": topic, "topic_id": str(Uuid(key.topic_id)), "partition": key.partition}


def _poison(case: AuditCase, poison: Poison) -> Finding:
    brokers = stopped_brokers(case, poison)
    at = f"the record at offset {poison.offset} {_WORDS[poison.why]}"
    detail = f" ({poison.error.reason})" if poison.error is not None else ""
    message = f"{at}{detail}; it ends the metadata consumer of {_named(brokers)}, and with it all tiering there"
    if poison.error is not None and poison.error.id in _MAY_BE_NEWER:
        message += "; only a release that kafkactl does not know yet may read it, and the audit then lacks its content"
    make = blocker
    if brokers == []:
        make, message = note, f"{at}{detail}; no broker reads it"
    return make(
        "poison-record",
        metadata_subject(poison.metadata_partition),
        message,
        _DO_NOT_RESTART if brokers != [] else "",
        **_key_evidence(poison.topic, poison.key),
        metadata_partition=poison.metadata_partition,
        offset=poison.offset,
        why=poison.why,
        brokers=brokers,
    )


def stopped_brokers(case: AuditCase, poison: Poison) -> list[int] | None:
    """Return the brokers whose metadata consumer ends at a record, None if it is not known."""
    if case.readers is None:
        return None
    readers = case.readers.get(poison.metadata_partition, set())
    if poison.key is None:
        return sorted(readers)
    known = case.view.partition(*poison.key)
    return sorted(readers & set((known and known.replicas) or ()))


def _named(brokers: list[int] | None) -> str:
    if brokers is None:
        return "every broker that reads it"
    return f"{'broker' if len(brokers) == 1 else 'brokers'} {first_few([str(broker) for broker in brokers], 12)}"


def _partition_delete(case: AuditCase, record: PartitionDelete) -> Finding:
    known = case.view.partition(*record.key)
    brokers = None if known is None or known.replicas is None else sorted(known.replicas)
    expected = case.expected(record.key)
    name = f"{record.topic}-{record.key.partition}"
    begin = f"DELETE_PARTITION_FINISHED at offset {record.offset} makes brokers forget the remote log of {name}"
    log = case.ledger.partitions[record.key]
    forgotten = [segment for segment in log.forgotten if segment.forgotten_by == FORGOTTEN_BY_DELETE]
    evidence = {
        **_key_evidence(record.topic, record.key),
        **segment_evidence(case, forgotten),
        "metadata_partition": record.metadata_partition,
        "offset": record.offset,
        "brokers": brokers,
    }
    subject = f"partition {name}"
    if expected is not None and expected != record.metadata_partition:
        text = f"{begin}; its records now go to metadata partition {expected}, so that new records do no harm"
        return note("partition-delete-record", subject, text, **evidence)
    text = f"{begin}, which exists; at their next restart its replicas lose the metadata consumer of all topics"
    return blocker("partition-delete-record", subject, text, _DO_NOT_RESTART, **evidence)


def _log_starts(case: AuditCase) -> Iterator[Finding]:
    for at, facts in sorted(case.ledger.logs.items()):
        start = max(facts.log.log_start, facts.removed_to)
        if start > 0:
            yield blocker(
                "metadata-log-start-moved",
                metadata_subject(at),
                f"the log begins at offset {start}; a broker that restarts does not read what lay before"
                if start == facts.log.log_start
                else f"the log cleaner removed records below offset {start}: cleanup.policy has or had `compact`; a"
                " broker that restarts does not know their segments",
                "Set cleanup.policy=delete, retention.ms=-1 and retention.bytes=-1 on the topic, delete no records of"
                " it, and do not restart leaders before `kafkactl tiered forecast` shows what they would lose.",
                metadata_partition=at,
                offset=start,
            )


def _of_another_cluster(case: AuditCase) -> Finding:
    lacking = [
        subject_of(partition).removeprefix("partition ") for partition in case.partitions if partition.lacks_records
    ]
    topics = sorted({partition.topic for partition in case.ledger.partitions.values()})
    return blocker(
        "metadata-of-another-cluster",
        "the metadata topic",
        f"none of the topics that it has records of exists ({first_few(topics)}), and it has no record of "
        f"{first_few(lacking)}, which by their offsets have remote data: nothing was judged by it",
        topics=topics[:MOST_LISTED],
        partitions=lacking[:MOST_LISTED],
    )


def _view(case: AuditCase) -> Iterator[Finding]:
    for at, facts in sorted(case.ledger.logs.items()):
        for part in facts.unread:
            evidence: dict[str, Any] = {"metadata_partition": at, "offset": part.first_offset, "file": part.file}
            if part.is_damage and not part.is_tail:
                yield blocker(
                    "damaged-metadata-log",
                    metadata_subject(at),
                    f"bytes of {part.file} from {part.position} on are damaged ({part.error.reason})",
                    "Read the metadata partition from another replica.",
                    **evidence,
                )
            elif not part.is_damage:
                yield warning(
                    "unread-metadata-batch",
                    metadata_subject(at),
                    f"the batch at offset {part.first_offset} was not read: {part.error.reason}",
                    part.error.next_step or "Read the metadata partition from another replica.",
                    **evidence,
                )
            elif part.is_tail and part.is_cut:
                yield note(
                    "metadata-log-cut-at-end",
                    metadata_subject(at),
                    f"{part.file} ends within a batch, at offset {part.first_offset}: a running broker was writing it, "
                    "or the copy of the file is cut",
                    **evidence,
                )
        for first, end in facts.missing:
            yield _missing(at, f"offsets {first} to {end - 1} are not in what was read", offset=first, until=end)
    for at, (end, expected) in sorted(case.incomplete.items()):
        facts_of = case.ledger.logs.get(at)
        if facts_of is None:
            yield _missing(at, "its log was not given", offset=0, until=expected)
        elif expected is not None and end < expected:
            text = f"its log was read to offset {end}, and it reaches {expected}"
            yield _missing(at, text, offset=end, until=expected)
        elif at in case.lacking and not case.is_of_another_cluster:
            subject = subject_of(case.lacking[at])
            text = f"it has no record of {subject}, which by its offsets has remote data: its log was not given whole"
            yield _missing(at, text, offset=end, until=None)
    if case.configured and case.topic_partitions and case.configured != case.topic_partitions:
        yield warning(
            "metadata-partition-count-differs",
            f"topic {case.view.metadata_topic.name if case.view.metadata_topic else ''}",
            f"the topic has {case.topic_partitions} partitions, the brokers are configured with {case.configured}",
            "Run `kafkactl tiered forecast --metadata-partitions N` before any broker restarts. A broker that starts "
            "with another number than the topic has does not tier; with the topic's number it reads the wrong metadata "
            "partitions.",
            partitions=case.topic_partitions,
            configured_partitions=case.configured,
        )


def _missing(at: int, text: str, *, offset: int, until: int | None) -> Finding:
    return warning(
        "metadata-view-incomplete",
        metadata_subject(at),
        f"{text}: newer or missing records may clear what would be reported of its partitions",
        "Give the log of another replica, or read the cluster with --from-cluster.",
        metadata_partition=at,
        offset=offset,
        expected_end_offset=until,
    )


def _replicas(case: AuditCase) -> Iterator[Finding]:
    for at, one_path, other_path, offset in case.replicas.diverged:
        yield blocker(
            "diverged-metadata-replicas",
            metadata_subject(at),
            f"{one_path} and {other_path} have different batches at offset {offset}",
            "Find out which replica is the leader's, and give that one alone.",
            metadata_partition=at,
            offset=offset,
            paths=[one_path, other_path],
        )
    for at, path, end, longest in case.replicas.stale:
        yield note(
            "stale-metadata-replica",
            metadata_subject(at),
            f"{path} ends at offset {end}, another replica at {longest}: the longer one was used",
            metadata_partition=at,
            offset=end,
            path=path,
            end_offset=longest,
        )


def _wrong_partition(partition: PartitionCase) -> Iterator[Finding]:
    expected, case = partition.expected, partition.case
    if expected is None or partition.exists is not True:
        return
    outside = [
        segment
        for segment in partition.log.segments()
        if segment.metadata_partition != expected and segment.forgotten_by != FORGOTTEN_BY_LOG_START
    ]
    if not outside:
        return
    places = sorted(partition.log.records_in)
    is_ended = any(segment.forgotten_by == FORGOTTEN_BY_DELETE for segment in outside)
    yield blocker(
        "wrong-metadata-partition",
        subject_of(partition),
        f"records of {counted(len(outside), 'segment')} are in metadata partition "
        f"{first_few([str(at) for at in places if at != expected], 12)}; with {case.hash_partitions} partitions "
        f"brokers look for them in {expected}",
        _KEEP_THE_NUMBER if is_ended else _EARLIER_NUMBER,
        **place_of(partition),
        **segment_evidence(case, outside),
        metadata_partition=expected,
        expected=expected,
        records_in=places,
    )


def _lost(partition: PartitionCase) -> Iterator[Finding]:
    lost = [segment for segment in partition.forgotten if segment.forgotten_by == FORGOTTEN_BY_LOG_START]
    if lost:
        yield blocker(
            "lost-with-metadata",
            subject_of(partition),
            f"{counted(len(lost), 'segment')} have their base record below the start of metadata partition "
            f"{lost[0].metadata_partition}: no broker knows them after a restart, and their data cannot be read",
            "Keep the objects. Do not restart the partition's leader before the data was consumed or copied.",
            **place_of(partition),
            **segment_evidence(partition.case, lost),
            metadata_partition=lost[0].metadata_partition,
        )


def _dropped(partition: PartitionCase) -> Iterator[Finding]:
    for why, words, step in (
        (ILLEGAL, "an illegal state transition", _OF_3_6),
        (WITHOUT_BASE, "no base record before it", ""),
    ):
        total = partition.log.drop_counts.get(why, 0)
        if not total:
            continue
        drops = [drop for drop in partition.log.drops if drop.why == why]
        records = []
        for drop in drops:
            record = {"offset": drop.offset, "segment_id": str(Uuid(drop.segment_id))}
            if why == ILLEGAL:
                record["from_state"] = "" if drop.before is None else drop.before.name
                record["to_state"] = drop.after.name
            else:
                record["state"] = drop.after.name
            records.append(record)
        yield note(
            why,
            subject_of(partition),
            f"{counted(total, 'record')} that brokers drop: {words}",
            step,
            **place_of(partition),
            metadata_partition=drops[0].metadata_partition if drops else partition.metadata_partition,
            records=records,
            records_total=total,
        )
