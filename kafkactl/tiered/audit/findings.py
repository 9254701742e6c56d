"""The findings of an audit: their order, and the one shape of their evidence.

The order is that of what hurt when each was provoked on real clusters: data lost or unreadable, then data that will be
lost, then leftovers, then what Kafka clears up itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypedDict

from kafkactl.core.findings import Finding, Severity
from kafkactl.core.values import Uuid
from kafkactl.tiered.audit.case import AuditCase, PartitionCase, by_offset
from kafkactl.tiered.bucket import StoredObject
from kafkactl.tiered.epoch_index import Segment

MOST_LISTED: Final = 1000

ORDER: Final = (
    "log-start-runs-away",
    "poison-record",
    "partition-delete-record",
    "missing-object",
    "object-size-mismatch",
    "missing-index-object",
    "archived-object",
    "gap",
    "hole-below-highest",
    "metadata-topic-missing",
    "metadata-topic-compacted",
    "metadata-topic-expires",
    "metadata-log-start-moved",
    "lost-with-metadata",
    "wrong-metadata-partition",
    "unreachable-object",
    "diverged-metadata-replicas",
    "damaged-metadata-log",
    "metadata-of-another-cluster",
    "listing-of-another-store",
    "listing-may-be-truncated",
    "segments-listed-twice",
    "metadata-view-incomplete",
    "unread-metadata-batch",
    "metadata-partition-count-differs",
    "deletes-refused",
    "partitions-not-answered",
    "topics-not-described",
    "leftover-of-deleted-topic",
    "dropped-from-epoch-index",
    "object-after-delete-finished",
    "unknown-object",
    "orphan-copy",
    "dangling-delete",
    "copy-in-progress",
    "out-of-lineage",
    "superseded",
    "below-log-start",
    "illegal-transition",
    "update-without-base",
    "stale-metadata-replica",
    "objects-newer-than-view",
    "metadata-log-cut-at-end",
)
_RANK: Final = {id: at for at, id in enumerate(ORDER)}
_WEIGHT: Final = {Severity.BLOCKER: 0, Severity.WARNING: 1, Severity.INFO: 2}


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings by severity, then by cost; findings of one id are in the order of partitions and offsets."""
    return sorted(findings, key=_place)


def _place(finding: Finding) -> tuple[Any, ...]:
    evidence = finding.evidence
    return (
        _WEIGHT[finding.severity],
        _RANK.get(finding.id, len(_RANK)),
        str(evidence.get("topic") or ""),
        str(evidence.get("topic_id") or ""),
        _number(evidence.get("partition")),
        _number(evidence.get("metadata_partition")),
        _number(evidence.get("offset")),
        finding.message,
    )


def _number(value: Any) -> int:
    return value if isinstance(value, int) else -1


def subject_of(case: PartitionCase) -> str:
    """Return the subject by which findings name a partition."""
    return f"partition {case.topic}-{case.key.partition}"


def metadata_subject(partition: int) -> str:
    """Return the subject by which findings name a metadata partition."""
    return f"metadata partition {partition}"


class PlaceDict(TypedDict):
    """Topic and number of a partition, in answers and evidence."""

    topic: str
    topic_id: str
    partition: int


def place_of(case: PartitionCase) -> PlaceDict:
    """Return the topic and the number of the partition."""
    return {"topic": case.topic, "topic_id": case.topic_id, "partition": case.key.partition}


def segment_evidence(case: AuditCase, segments: Sequence[Segment]) -> dict[str, Any]:
    """Return the evidence of segments: the first of them, their number and bytes."""
    ordered = sorted(segments, key=by_offset)
    return {
        "segments": [segment_of(case, segment) for segment in ordered[:MOST_LISTED]],
        "segments_total": len(ordered),
        "bytes": sum(segment.size for segment in ordered),
    }


def segment_of(case: AuditCase, segment: Segment) -> dict[str, Any]:
    """Return the evidence for a segment; `objects` is its number of objects in the store, None without a listing."""
    return {
        "segment_id": str(Uuid(segment.segment_id)),
        "start_offset": segment.start_offset,
        "end_offset": segment.end_offset,
        "bytes": segment.size,
        "state": segment.state.name,
        "objects": None if case.bucket is None else case.bucket.count(segment.segment_id),
    }


def object_evidence(objects: Sequence[tuple[bytes | None, StoredObject]]) -> dict[str, Any]:
    """Return the evidence of objects, with what they cost."""
    ordered = sorted(objects, key=lambda entry: entry[1].key)
    return {
        "objects": [
            {"key": found.key, "bytes": found.size, "segment_id": None if of is None else str(Uuid(of))}
            for of, found in ordered[:MOST_LISTED]
        ],
        "objects_total": len(ordered),
        "bytes": sum(found.size for _, found in ordered),
    }
