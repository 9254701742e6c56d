"""Short answer of `kafkactl tiered report`: a name in every field that a cluster fills."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafkactl.core.findings import Finding, Severity
from kafkactl.tiered.api.pages import TieredReport
from kafkactl.tiered.api.verbs import Audit, AuditSource, MetadataPartition
from kafkactl.tiered.audit.coverage import Hole
from kafkactl.tiered.audit.run import AuditTotals, HighestOffset, Orphans, PartitionStatus
from kafkactl.tiered.bucket import BucketRead
from kafkactl.tiered.forecast import Candidate, PartitionForecast, Unreachable
from kafkactl.tiered.pictures import Lane, LocalLog, OrphanAges, OrphansOfAge, OtherSegments, Picture
from kafkactl.tiered.records import PartitionKey

HOUR_MS = 3_600_000


def lane(*ranges: tuple[int, int]) -> Lane:
    offsets = sum(last - first + 1 for first, last in ranges)
    return Lane(offsets=offsets, ranges_total=len(ranges), ranges=ranges)


def picture(topic: str, partition: int = 0, **more: Any) -> Picture:
    fields = {
        "topic": topic,
        "topic_id": f"id of {topic}",
        "partition": partition,
        "exists": True,
        "whole": True,
        "from_offset": 0,
        "to_offset": 99,
        "remote": lane((0, 19), (30, 59)),
        "local": LocalLog(from_offset=50, to_offset=99, offsets=50),
        "both": lane((50, 59)),
        "holes": lane((20, 29)),
        "others": (OtherSegments(what="orphan-copy", segments=2, bytes=2000, lane=lane((60, 79))),),
        "log_start_offset": 0,
        "local_log_start_offset": 50,
        "log_end_offset": 100,
        "highest_offset": 59,
        "next_upload_offset": 60,
    }
    return Picture(**fields | more)


def status(topic: str, partition: int = 0, **more: Any) -> PartitionStatus:
    fields = {
        "topic": topic,
        "topic_id": f"id of {topic}",
        "partition": partition,
        "exists": True,
        "metadata_partition": 0,
        "leader": 1,
        "segments": 4,
        "by_state": {"COPY_SEGMENT_STARTED": 2, "COPY_SEGMENT_FINISHED": 2},
        "bytes": 5_000_000,
        "remote_start_offset": 0,
        "remote_end_offset": 59,
        "highest_offsets": (HighestOffset(leader_epoch=3, highest_offset=59),),
        "highest_offset": 59,
        "next_upload_offset": 60,
        "log_start_offset": 0,
        "local_log_start_offset": 50,
        "log_end_offset": 100,
        "holes": (Hole(20, 29, False),),
        "orphans": Orphans(segments=2, bytes=2000),
    }
    return PartitionStatus(**fields | more)


def tiered_finding(topic: str, id: str = "gap", severity: str = "blocker", **evidence: Any) -> Finding:
    return Finding(
        id=id,
        severity=Severity(severity),
        subject=f"partition {topic}-0",
        message=f"what {topic} lacks",
        evidence={"topic": topic, "topic_id": f"id of {topic}", "partition": 0, **evidence},
        next_step=f"see to {topic}",
    )


def ages(topic: str) -> OrphanAges:
    limits = [HOUR_MS, 24 * HOUR_MS, None]
    return OrphanAges(
        topic=topic,
        topic_id=f"id of {topic}",
        segments=2,
        bytes=2000,
        oldest_ms=5 * HOUR_MS,
        by_age=tuple(
            OrphansOfAge(from_ms=least, below_ms=limit, segments=2 * (at == 1), bytes=2000 * (at == 1))
            for at, (least, limit) in enumerate(zip((0, HOUR_MS, 24 * HOUR_MS), limits, strict=True))
        ),
    )


def forecast_of(topic: str) -> PartitionForecast:
    candidate = Candidate(
        broker_id=2, leads_now=False, alive=True, in_sync=True, reads=(0,), knows_segments=True, consumer="healthy",
        stopped_by=None, uploads="continues", highest=None, log_start=30, next_upload=None, next_segment_base=None,
        unreachable=Unreachable(first=0, last=29, segments=2, size=3000),
    )  # fmt: skip
    case: Any = SimpleNamespace(topic=topic, key=PartitionKey(bytes(16), 0))
    return PartitionForecast(case=case, candidates=(candidate,))


def metadata_partition(at: int) -> MetadataPartition:
    return MetadataPartition(
        partition=at,
        paths=("/m",),
        log_start_offset=10 * at,
        end_offset=100,
        expected_end_offset=120,
        records=100 - 10 * at,
        complete=False,
    )


def tiered_audit(*topics: str, **more: Any) -> Audit:
    """Return an audit; `more` replaces fields of it, or of its source."""
    bucket = BucketRead(path=topics[0], format="lines", layout=topics[-1], objects=12, bytes=3000)
    source = AuditSource(
        paths=tuple(f"/{topic}" for topic in topics),
        cluster=False,
        observed_at_ms=1_700_000_000_000,
        bucket=bucket,
        metadata_partitions=more.pop("metadata_partitions", tuple(metadata_partition(at) for at in range(2))),
        configured_partitions=2,
    )
    poison = Finding(
        id="poison-record",
        severity=Severity.BLOCKER,
        subject="metadata partition 1",
        message=f"a record of {topics[0]}",
        evidence={"metadata_partition": 1, "offset": 50},
        next_step="start again",
    )
    fields = {
        "engine": "local",
        "source": source,
        "totals": AuditTotals(topics=1, partitions=1, segments=4, bytes=5_000_000, records=190, by_state={}),
        "partitions": tuple(status(topic) for topic in topics),
        "findings": (*(tiered_finding(topic, bytes=10, segments_total=1) for topic in topics), poison),
        "assumptions": tuple(f"assumed of {topic}" for topic in topics),
    }
    return Audit(**fields | more)


def tiered_report(*topics: str, **more: Any) -> TieredReport:
    """Return a report; `more` replaces fields of it, and those that it has not, of its audit."""
    drawn = {
        "forecast": tuple(forecast_of(topic) for topic in topics),
        "pictures": tuple(picture(topic) for topic in topics),
        "orphan_ages": tuple(ages(topic) for topic in topics),
    }
    own = {name: more.pop(name) for name in drawn if name in more}
    audit = tiered_audit(*topics, **more)
    return TieredReport(audit=audit, findings=audit.findings, assumptions=audit.assumptions, **drawn | own)
