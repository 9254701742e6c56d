"""Findings from a listing of the store: objects that are missing, cut, or that no broker will ever delete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.values import Uuid
from kafkactl.core.wording import counted, size_text
from kafkactl.tiered.audit.case import AuditCase, PartitionCase
from kafkactl.tiered.audit.findings import object_evidence, place_of, segment_evidence, subject_of
from kafkactl.tiered.bucket import UNKNOWN_SIZE, Bucket, StoredObject
from kafkactl.tiered.epoch_index import Segment
from kafkactl.tiered.layouts import AIVEN, LOG, SegmentPlace, aiven_remote_size
from kafkactl.tiered.states import COPIED

UNKNOWN_OBJECT: Final = "unknown-object"
AFTER_DELETE_FINISHED: Final = "object-after-delete-finished"
_MANY: Final = 10  # complete segments without their log: from then on it is worth asking whether the listing is whole
_LIST_AGAIN: Final = "Make the listing again, whole, and audit again before you restore anything."
_KEEP: Final = "Delete none of them: their data is what is left of these segments."


def object_findings(case: AuditCase) -> Iterator[Finding]:
    """Yield all findings about objects; none without a listing."""
    if case.bucket is None:
        return
    if is_of_another_cluster(case, case.bucket):
        yield blocker(
            "listing-of-another-store",
            case.bucket.listing.path,
            f"{_other_cluster_words(case.bucket)}: the objects were not judged",
            "Give the listing of the bucket and prefix that this cluster's brokers are configured with.",
        )
        return
    lacking = [_lacking(partition, case.bucket) for partition in case.living() if partition.is_whole]
    doubt = _doubt(lacking, case.bucket) if any(found.segments() for found in lacking) else ""
    for found in lacking:
        yield from _missing(found, case.bucket, is_doubted=bool(doubt))
        yield from _archived(found)
    if doubt:
        yield warning("listing-may-be-truncated", case.bucket.listing.path, doubt, _LIST_AGAIN)
    yield from _listed_twice(case.bucket)
    yield from _strangers(case, case.bucket)


def _listed_twice(bucket: Bucket) -> Iterator[Finding]:
    found = bucket.listed_twice()
    if found:
        keys = sorted(stored.key for segment_id, stored in found if segment_id == found[0][0])
        several = f"{keys[0]} and {keys[-1]}" if keys[0] != keys[-1] else keys[0]
        yield warning(
            "segments-listed-twice",
            bucket.listing.path,
            f"{counted(len({segment_id for segment_id, _ in found}), 'segment')} with objects that are listed more"
            f" than once ({several}): brokers read one of them, and a missing or cut object next to a copy of it is not"
            " reported",
            **object_evidence(found),
        )


def is_of_another_cluster(case: AuditCase, bucket: Bucket) -> bool:
    """Return True if the listing shares no segment and no topic with the cluster, which does tier.

    One that names no segment at all is not judged either: a failed command or a missing mount gives such a listing.
    """
    if not bucket.segments:
        return any(segment.state is COPIED for partition in case.living() for segment in partition.segments)
    if case.ledger.named or not any(partition.segments for partition in case.partitions):
        return False
    topics = {name.topic_id for entries in bucket.segments.values() for name, _ in entries}
    return not topics & {partition.key.topic_id for partition in case.partitions}


def _other_cluster_words(bucket: Bucket) -> str:
    if bucket.segments:
        count = counted(len(bucket.segments), "segment")
        return f"none of its {count} is one that the metadata topic names, and none of its topics is known"
    if not bucket.listing.objects:
        return "it is empty, and the metadata topic has complete segments"
    layout = "" if bucket.layout is None else f" in layout {bucket.layout.name}"
    return f"none of its {counted(len(bucket.listing.objects), 'object')} is named like a segment{layout}"


class _Lacking(NamedTuple):
    """The segments of a partition by what is wrong with their objects."""

    partition: PartitionCase
    judged: list[Segment]
    log: list[Segment]
    cut: list[Segment]
    indexless: list[Segment]
    archived: list[Segment]

    def segments(self) -> list[Segment]:
        """Return all segments that lack objects."""
        return [*self.log, *self.cut, *self.indexless]


def _lacking(partition: PartitionCase, bucket: Bucket) -> _Lacking:
    found = _Lacking(partition, [], [], [], [], [])
    start = partition.log_start
    for segment in partition.segments:
        if segment.state is not COPIED or _finished_after(bucket, segment):
            continue
        if start is not None and segment.end_offset < start:
            continue  # no consumer can read it, and its object may already be deleted
        found.judged.append(segment)
        sizes = bucket.sizes(segment.segment_id)
        if LOG not in sizes:
            found.log.append(segment)
            continue
        if _is_cut(bucket, segment, sizes):
            found.cut.append(segment)
        if bucket.layout is not None and bucket.layout.missing(sizes):
            found.indexless.append(segment)
        if bucket.has_archived(segment.segment_id):
            found.archived.append(segment)
    return found


def _missing(found: _Lacking, bucket: Bucket, *, is_doubted: bool) -> Iterator[Finding]:
    partition = found.partition
    place, subject, case = place_of(partition), subject_of(partition), partition.case
    unread = "the offsets cannot be read"
    restore = "Restore the objects from a version or copy of the store. Kafka does not notice that they are missing."
    if is_doubted:
        unread, restore = f"{unread} if the listing is whole", _LIST_AGAIN
    elif _may_be_deleted_since(found, bucket):
        unread = f"{unread}, unless retention deleted what is missing after the metadata was read"
        restore = f"Read the metadata and list the store again. {restore}"
    if found.log:
        text = f"{counted(len(found.log), 'segment')} whose log is not in the store: {unread}"
        yield blocker("missing-object", subject, text, restore, **place, **segment_evidence(case, found.log))
    if found.cut:
        text = f"{counted(len(found.cut), 'segment')} whose log in the store has another size than was copied"
        yield blocker("object-size-mismatch", subject, text, restore, **place, **segment_evidence(case, found.cut))
    if found.indexless:
        text = f"{counted(len(found.indexless), 'segment')} of which an index object is not in the store: {unread}"
        yield blocker(
            "missing-index-object", subject, text, restore, **place, **segment_evidence(case, found.indexless)
        )


def _archived(found: _Lacking) -> Iterator[Finding]:
    if found.archived:
        yield blocker(
            "archived-object",
            subject_of(found.partition),
            f"{counted(len(found.archived), 'segment')} have objects in an archive class of the store, which is not "
            "read before the objects are restored: consumers get an error for these offsets",
            "Restore the objects to a class that is read at once, and remove the lifecycle rule that archives them: "
            "brokers restore nothing.",
            **place_of(found.partition),
            **segment_evidence(found.partition.case, found.archived),
        )


def _may_be_deleted_since(found: _Lacking, bucket: Bucket) -> bool:
    """Return True if a retention pass can explain the missing objects: the first segments lack all their objects."""
    is_first = found.judged[: len(found.log)] == found.log
    return is_first and not any(bucket.count(segment.segment_id) for segment in found.log)


def _doubt(lacking: Sequence[_Lacking], bucket: Bucket) -> str:
    """Return the reason why the listing may be incomplete; "" if nothing indicates that.

    A listing that is cut between two lines shows no other difference from a complete one.
    """
    if not bucket.listing.ends_whole:
        return "its last line has no line end: it may have been cut"
    if _ends_before(lacking, bucket):
        return "everything that is missing sorts after its last key: it may have been cut"
    judged, missing = sum(len(found.judged) for found in lacking), sum(len(found.log) for found in lacking)
    if missing >= _MANY and missing * 2 > judged:
        return f"it has no log of {missing} of {judged} complete segments: it may have been cut, or cover only a part"
    return ""


def _ends_before(lacking: Iterable[_Lacking], bucket: Bucket) -> bool:
    """Return True if the listing is in the order of its keys, with all that is missing after the last."""
    last = bucket.last_key
    if last is None or bucket.layout is None:
        return False
    for found in lacking:
        for segment in found.segments():
            begin = bucket.layout.key_before(last, found.partition.topic, _place(found.partition, segment))
            if begin is None or not (begin > last or last.startswith(begin)):
                return False
    return True


def _place(partition: PartitionCase, segment: Segment) -> SegmentPlace:
    return SegmentPlace(
        partition.topic_id, partition.key.partition, segment.start_offset, str(Uuid(segment.segment_id))
    )


def _finished_after(bucket: Bucket, segment: Segment) -> bool:
    return bucket.time_ms is not None and segment.event_timestamp_ms > bucket.time_ms


def _is_cut(bucket: Bucket, segment: Segment, sizes: dict[str, int]) -> bool:
    if bucket.layout is None:
        return False
    if any(size == UNKNOWN_SIZE for size in sizes.values()):
        return False
    if bucket.layout.has_size:
        return sizes[LOG] != segment.size
    if bucket.layout.name != AIVEN.name or bucket.layout.missing(sizes):
        return False
    expected = aiven_remote_size(segment.custom_metadata)
    return expected is not None and expected != sum(sizes.values())


def _strangers(case: AuditCase, bucket: Bucket) -> Iterator[Finding]:
    unreachable = [
        (segment.segment_id, found)
        for partition in case.living()
        for segment in partition.forgotten
        for _, found in bucket.segments.get(segment.segment_id, ())
    ]
    known = known_ids(case)
    # Where records were not read, the base record of an id may be one of them.
    forgotten = set() if case.incomplete else case.ledger.named - known
    refused = [entry for entry in bucket.of(forgotten) if entry[0] not in case.ledger.deleted_at]
    unreachable += refused
    if unreachable:
        yield blocker(
            "unreachable-object",
            bucket.listing.path,
            f"{_cost(unreachable)} of segments that records name and that brokers have forgotten",
            _KEEP,
            **object_evidence(unreachable),
        )
    deleted = list(deleted_objects(case, bucket, known))
    if deleted:
        yield warning(
            AFTER_DELETE_FINISHED,
            bucket.listing.path,
            f"{_cost(deleted)} of segments that are DELETE_SEGMENT_FINISHED: no broker deletes them again",
            "List them with `kafkactl tiered leftovers`, and delete them with the store's own tool.",
            **object_evidence(deleted),
        )
    unknown, newer = unknown_objects(case, bucket)
    if unknown and not case.incomplete:
        text = f"{_cost(unknown)} that no record names"
        step = "List those that are named like segments with `kafkactl tiered leftovers`."
        if any(facts.log.log_start > 0 for facts in case.ledger.logs.values()):
            text += "; the metadata topic has lost records, so that present leaders may still read them"
            step = "Keep them: see metadata-log-start-moved."
        yield warning(UNKNOWN_OBJECT, bucket.listing.path, text, step, **object_evidence(unknown))
    if newer:
        yield note(
            "objects-newer-than-view",
            bucket.listing.path,
            f"{_cost(newer)} written after the metadata was read: whether a record names them is unknown",
            **object_evidence(newer),
        )


def _cost(objects: list[tuple[bytes, StoredObject]] | list[tuple[bytes | None, StoredObject]]) -> str:
    return f"{counted(len(objects), 'object')} ({size_text(sum(found.size for _, found in objects))})"


def known_ids(case: AuditCase) -> set[bytes]:
    """Return the ids of all segments that are not DELETE_SEGMENT_FINISHED, the forgotten ones included."""
    return {segment.segment_id for partition in case.partitions for segment in partition.log.segments()}


def deleted_objects(case: AuditCase, bucket: Bucket, known: set[bytes]) -> Iterator[tuple[bytes, StoredObject]]:
    """Yield the objects of ids that were deleted before the listing was made."""
    for segment_id, (_, _, time_ms) in sorted(case.ledger.deleted_at.items()):
        if segment_id not in known and (bucket.time_ms is None or time_ms <= bucket.time_ms):
            yield from bucket.of([segment_id])


def unknown_objects(
    case: AuditCase, bucket: Bucket
) -> tuple[list[tuple[bytes | None, StoredObject]], list[tuple[bytes | None, StoredObject]]]:
    """Return objects of an id that no record names, or without an id, and of these the ones newer than the view."""
    strange: list[tuple[bytes | None, StoredObject]] = [(None, found) for found in bucket.unnamed]
    strange += bucket.of(segment_id for segment_id in bucket.segments if segment_id not in case.ledger.named)
    limit = case.view_time_ms
    newer = [
        entry for entry in strange if limit is not None and entry[1].mtime_ms is not None and entry[1].mtime_ms > limit
    ]
    skipped = {found.key for _, found in newer}
    return [entry for entry in strange if entry[1].key not in skipped], newer
