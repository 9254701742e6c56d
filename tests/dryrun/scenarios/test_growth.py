"""Growth of log and snapshots, by the settings of the controller."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.engine.local import Loaded
from kafkactl.dryrun.prediction import Verdict
from kafkactl.dryrun.scenarios.growth import DAY_MS, Limits, growth, limits_of
from tests.dryrun.clusters import cluster

HOSTILE_LINES = {"dryrun growth": ("{log} --days 30",)}

INPUTS = {"growth": [{"days": 30}]}

MIB = 1024 * 1024


def loaded(**more: Any) -> tuple[Loaded, Facts]:
    image, facts = cluster("brokers 1 2\ntopic a\n  1 | 1 2 | 1 2")
    whole = Loaded(
        image=image, leader=None, voters=(), first_offset=0, last_offset=99, last_epoch=1, first_timestamp_ms=0,
        last_timestamp_ms=DAY_MS, committed_offset=None, snapshot_offset=None, records=100, log_bytes=10 * MIB,
        counts={}, findings=(),
    )  # fmt: skip
    return replace(whole, **more), facts


def effects(days: int = 30, static: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    log, facts = loaded(**more)
    if static is not None:
        facts = replace(facts, static=static, static_known=True)
    return dict(growth(log, facts, days).effects)


def test_rate_is_that_of_the_log() -> None:
    found = effects()
    assert found["log"]["bytes_per_day"] == 10 * MIB
    assert found["log"]["bytes_written_after"] == 300 * MIB
    assert found["snapshot"]["per_day"] == 24


def test_short_log_grows_as_an_idle_one() -> None:
    log, facts = loaded(last_timestamp_ms=1_000)
    found = growth(log, facts, 1)
    assert found.effects["log"]["bytes_per_day"] == 2 * 86_400 * 72
    assert [finding.id for finding in found.findings] == ["log-too-short-for-a-rate"]


def test_controllers_own_settings_decide_growth() -> None:
    settings = {
        "metadata.max.idle.interval.ms": "1000",
        "metadata.log.max.snapshot.interval.ms": "60000",
        "metadata.log.max.record.bytes.between.snapshots": " 1048576 ",
        "metadata.max.retention.bytes": "many",
    }
    limits = limits_of(settings)
    assert limits == Limits(idle_ms=1_000, snapshot_after_ms=60_000, snapshot_after_bytes=MIB)
    found = effects(static=settings, last_timestamp_ms=1_000)
    assert found["log"]["records_per_day"] == 86_400
    assert found["snapshot"]["per_day"] == 1_440


def test_without_no_ops_and_without_snapshots_nothing_grows() -> None:
    off = {"metadata.max.idle.interval.ms": "0", "metadata.log.max.snapshot.interval.ms": "0"}
    found = effects(static=off, last_timestamp_ms=1_000)
    assert (found["log"]["bytes_per_day"], found["snapshot"]["per_day"]) == (0, 0)
    assert found["log"]["bytes_kept_after"] == 10 * MIB + found["snapshot"]["bytes"]


def test_segment_that_is_written_to_is_kept_whole() -> None:
    # 1 GiB a day: retention at 100 MiB cannot remove what is in the last segment.
    found = effects(log_bytes=1024 * MIB)
    assert found["log"]["bytes_kept_after"] == (100 + 1024) * MIB + found["snapshot"]["bytes"]
    small = effects(log_bytes=1024 * MIB, static={"metadata.log.segment.bytes": str(8 * MIB)})
    assert small["log"]["bytes_kept_after"] == (100 + 8) * MIB + found["snapshot"]["bytes"]


def test_without_retention_all_is_kept() -> None:
    kept = {"metadata.max.retention.bytes": "-1", "metadata.max.retention.ms": "-1"}
    found = effects(days=1_000, static=kept)
    assert found["log"]["bytes_kept_after"] > 10_000 * MIB


def test_growth_is_limited_by_retention() -> None:
    # An idle log reaches a week of kept and a week of written segments before it reaches 100 MiB and a segment.
    found = effects(days=1_000, last_timestamp_ms=1_000, log_bytes=MIB)
    day = found["log"]["bytes_per_day"] + 24 * found["snapshot"]["bytes"]
    assert found["log"]["bytes_kept_after"] <= 14 * day + found["snapshot"]["bytes"]


def test_snapshots_are_at_most_one_for_each_batch() -> None:
    # Measured on 4.3.1: 190 snapshots in 100 s of an idle cluster, one for each commit.
    often = {
        "metadata.log.max.record.bytes.between.snapshots": "1",
        "metadata.log.max.snapshot.interval.ms": "0",
        "metadata.max.retention.bytes": "-1",
        "metadata.max.retention.ms": "-1",
    }
    log, facts = loaded(last_timestamp_ms=1_000)
    found = growth(log, replace(facts, static=often, static_known=True), 365)
    snapshot, kept = found.effects["snapshot"], found.effects["log"]["bytes_kept_after"]  # type: ignore[index]
    assert snapshot is not None
    assert snapshot["per_day"] == 172_800
    assert kept < 366 * 172_800 * (snapshot["bytes"] + 72)
    ids = {finding.id for finding in found.findings}
    assert ids == {"log-too-short-for-a-rate", "snapshots-too-frequent", "metadata-log-fills-disk"}
    assert found.verdict is Verdict.DEGRADED


def test_growth_within_the_retention_is_harmless() -> None:
    log, facts = loaded()
    found = growth(log, facts, 3_650)
    assert (found.verdict, found.findings) == (Verdict.OK, ())


def test_log_that_takes_minutes_to_load_is_a_warning() -> None:
    log, facts = loaded(records=40_000_000, log_bytes=4_000 * MIB)
    kept = replace(facts, static={"metadata.max.retention.bytes": "-1", "metadata.max.retention.ms": "-1"})
    assert "metadata-log-loads-slowly" in {finding.id for finding in growth(log, kept, 30).findings}
