"""The metadata topic as a topic: settings that delete its records, and its absence, are findings before the harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.tiered.api.verbs import Request, audit, foresee, load
from tests.tiered.logs import (
    TIERED,
    LogOf,
    Topic,
    observed,
    partition_seen,
    save_observation,
    segment_uuid,
)

DAY_MS = 86_400_000
ORDERS = Topic("orders", 1)
METADATA = {"name": "__remote_log_metadata", "topic_id": None, "partitions": 1, "configured_partitions": 1, "logs": []}


def _loaded(folder: Path, configs: dict[str, str] | None, orders: dict[str, str] | None = None, **more):
    document = observed(
        [(ORDERS, TIERED | (orders or {}), [partition_seen(latest=100)])],
        metadata_topic=METADATA | {"configs": configs},
        **more,
    )
    saved = save_observation(folder, document, LogOf(0).add(ORDERS.copied(0, "a", 0, 99)))
    return load(Request(observation=str(saved)))


def _expiry(findings) -> list[tuple[str, str, object]]:
    return [
        (found.id, str(found.severity), found.evidence.get("setting"))
        for found in findings
        if found.id.startswith("metadata-topic")
    ]


@pytest.mark.parametrize(
    ("configs", "orders", "expected"),
    [
        ({"retention.ms": "-1"}, {}, []),
        ({"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}, {}, []),
        ({}, {}, [("metadata-topic-expires", "warning", "retention.ms")]),
        ({"retention.ms": str(2 * DAY_MS)}, {}, [("metadata-topic-expires", "blocker", "retention.ms")]),
        (
            {"retention.ms": str(90 * DAY_MS)},
            {"retention.ms": str(180 * DAY_MS)},
            [("metadata-topic-expires", "blocker", "retention.ms")],
        ),
        (
            {"retention.ms": str(90 * DAY_MS)},
            {"retention.ms": "-1"},
            [("metadata-topic-expires", "blocker", "retention.ms")],
        ),
        (
            {"retention.ms": str(90 * DAY_MS)},
            {"retention.ms": str(30 * DAY_MS)},
            [("metadata-topic-expires", "info", "retention.ms")],
        ),
        (
            {"retention.ms": "-1", "retention.bytes": "1000000"},
            {},
            [("metadata-topic-expires", "blocker", "retention.bytes")],
        ),
        (
            {"retention.ms": "-1", "cleanup.policy": "compact"},
            {},
            [("metadata-topic-compacted", "blocker", "cleanup.policy")],
        ),
        (
            {"retention.ms": "5", "cleanup.policy": "compact"},
            {},
            [("metadata-topic-compacted", "blocker", "cleanup.policy")],
        ),
        (None, {}, []),
    ],
)
def test_settings_that_delete_records_are_reported(tmp_path: Path, configs, orders, expected):
    loaded = _loaded(tmp_path / "o", configs, orders)
    assert _expiry(audit(loaded).findings) == expected
    assert _expiry(foresee(loaded).findings) == expected


def test_missing_topic_is_reported_where_topics_are_tiered(tmp_path: Path):
    document = observed([(ORDERS, TIERED, [partition_seen(latest=100)])], metadata_topic=None)
    loaded = load(Request(observation=str(save_observation(tmp_path / "o", document))))
    found = audit(loaded).findings
    assert [(each.id, each.evidence["topics"]) for each in found] == [("metadata-topic-missing", ["orders"])]


@pytest.mark.parametrize(("storage_class", "is_reported"), [("GLACIER", True), ("STANDARD_IA", False)])
def test_segment_with_archived_objects_is_reported(tmp_path: Path, storage_class: str, is_reported: bool):
    document = observed([(ORDERS, TIERED, [partition_seen(latest=100)])])
    saved = save_observation(tmp_path / "o", document, LogOf(0).add(ORDERS.copied(0, "a", 0, 99)))
    name = f"kafka/orders-0-{ORDERS.id}/{0:020}-{segment_uuid('a')}"
    rows = "".join(
        f"{name}.{suffix},{1000 if suffix == 'log' else 1},{storage_class}\n"
        for suffix in ("log", "index", "timeindex", "snapshot", "leader_epoch_checkpoint")
    )
    (tmp_path / "l.csv").write_text(f"Key,Size,Storage Class\n{rows}")
    found = audit(load(Request(observation=str(saved), bucket=str(tmp_path / "l.csv")))).findings
    assert ("archived-object" in [each.id for each in found]) is is_reported
    assert not {"missing-object", "missing-index-object", "object-size-mismatch"} & {each.id for each in found}
