"""Answers of `kafkactl tiered report` in a few words: a name in every place that a cluster fills."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafkactl.tiered.forecast import Candidate, PartitionForecast, Unreachable
from kafkactl.tiered.records import PartitionKey

HOUR_MS = 3_600_000


def lane(*ranges: tuple[int, int]) -> dict[str, Any]:
    return {
        "offsets": sum(last - first + 1 for first, last in ranges),
        "ranges_total": len(ranges),
        "ranges": [list(part) for part in ranges],
    }


def picture(topic: str, partition: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "topic": topic,
        "topic_id": f"id of {topic}",
        "partition": partition,
        "exists": True,
        "whole": True,
        "from_offset": 0,
        "to_offset": 99,
        "remote": lane((0, 19), (30, 59)),
        "local": {"from_offset": 50, "to_offset": 99, "offsets": 50},
        "both": lane((50, 59)),
        "holes": lane((20, 29)),
        "others": [{"what": "orphan-copy", "segments": 2, "bytes": 2000, **lane((60, 79))}],
        "log_start_offset": 0,
        "local_log_start_offset": 50,
        "log_end_offset": 100,
        "highest_offset": 59,
        "next_upload_offset": 60,
        **more,
    }


def status(topic: str, partition: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "topic": topic,
        "topic_id": f"id of {topic}",
        "partition": partition,
        "exists": True,
        "segments": 4,
        "by_state": {"COPY_SEGMENT_STARTED": 2, "COPY_SEGMENT_FINISHED": 2},
        "bytes": 5_000_000,
        "holes": [{"from_offset": 20, "to_offset": 29, "local": False}],
        "orphans": {"segments": 2, "bytes": 2000},
        **more,
    }


def tiered_finding(topic: str, id: str = "gap", severity: str = "blocker", **evidence: Any) -> dict[str, Any]:
    return {
        "id": id,
        "severity": severity,
        "subject": f"partition {topic}-0",
        "message": f"what {topic} lacks",
        "evidence": {"topic": topic, "topic_id": f"id of {topic}", "partition": 0, **evidence},
        "next_step": f"see to {topic}",
    }


def ages(topic: str) -> dict[str, Any]:
    limits = [0, HOUR_MS, 24 * HOUR_MS, None]
    return {
        "topic": topic,
        "topic_id": f"id of {topic}",
        "segments": 2,
        "bytes": 2000,
        "oldest_ms": 5 * HOUR_MS,
        "by_age": [
            {"from_ms": limits[at], "below_ms": limits[at + 1], "segments": 2 * (at == 1), "bytes": 2000 * (at == 1)}
            for at in range(3)
        ],
    }


def forecast_of(topic: str) -> PartitionForecast:
    candidate = Candidate(
        broker_id=2, leads_now=False, alive=True, in_sync=True, reads=(0,), knows_segments=True, consumer="healthy",
        stopped_by=None, uploads="continues", highest=None, log_start=30, next_upload=None, next_segment_base=None,
        unreachable=Unreachable(first=0, last=29, segments=2, size=3000),
    )  # fmt: skip
    case: Any = SimpleNamespace(topic=topic, key=PartitionKey(bytes(16), 0))
    return PartitionForecast(case=case, candidates=(candidate,))


def tiered_answer(*topics: str, **more: Any) -> dict[str, Any]:
    return {
        "engine": "local",
        "source": {
            "paths": [f"/{topic}" for topic in topics],
            "cluster": False,
            "observed_at_ms": 1_700_000_000_000,
            "bucket": {"path": topics[0], "format": "lines", "layout": topics[-1], "objects": 12, "bytes": 3000},
            "metadata_partitions": [
                {
                    "partition": at,
                    "paths": ["/m"],
                    "log_start_offset": 10 * at,
                    "end_offset": 100,
                    "expected_end_offset": 120,
                    "records": 100 - 10 * at,
                    "complete": False,
                }
                for at in range(2)
            ],
            "configured_partitions": 2,
        },
        "totals": {"topics": 1, "partitions": 1, "segments": 4, "bytes": 5_000_000, "records": 190, "by_state": {}},
        "partitions": [status(topic) for topic in topics],
        "findings": [tiered_finding(topic, bytes=10, segments_total=1) for topic in topics]
        + [
            {
                "id": "poison-record",
                "severity": "blocker",
                "subject": "metadata partition 1",
                "message": f"a record of {topics[0]}",
                "evidence": {"metadata_partition": 1, "offset": 50},
                "next_step": "",
            }
        ],
        "findings_total": len(topics) + 1,
        "assumptions": [f"assumed of {topic}" for topic in topics],
        "forecast": [forecast_of(topic) for topic in topics],
        "pictures": [picture(topic) for topic in topics],
        "orphan_ages": [ages(topic) for topic in topics],
        **more,
    }
