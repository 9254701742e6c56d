"""Observations of real brokers (tests/golden/tiered): what the audit says is what the broker answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkactl.tiered.api.verbs import Loaded, Request, audit, foresee, history, left_over, load

GOLDEN = Path(__file__).parents[2] / "golden" / "tiered"
RELEASES = sorted(folder.name for folder in GOLDEN.iterdir())
HOUR_MS = 3_600_000


def loaded(release: str, **request: Any) -> Loaded:
    # Judged some time after the captures, when nothing is young any more.
    observed = json.loads((GOLDEN / release / "observation.json").read_text())
    return load(Request(observation=str(GOLDEN / release), now_ms=observed["time_ms"] + HOUR_MS // 2, **request))


def answered(release: str) -> dict[str, dict[str, int]]:
    return json.loads((GOLDEN / release / "answered.json").read_text())


def test_there_are_captures():
    assert RELEASES == ["3.9.2", "4.3.1"]


@pytest.mark.parametrize("release", RELEASES)
def test_offsets_are_those_that_the_broker_answered(release: str):
    partitions = {found.topic: found for found in audit(loaded(release)).partitions}
    for topic, said in answered(release).items():
        found = partitions[topic]
        assert found.log_start_offset == said["earliest"]
        assert found.local_log_start_offset == said["earliest_local"]
        assert found.highest_offset == said["latest_tiered"]
        assert found.next_upload_offset == said["latest_tiered"] + 1
        assert found.exists is True
    assert partitions["gone"].exists is False


@pytest.mark.parametrize("release", RELEASES)
def test_findings_are_what_was_done_to_the_broker(release: str):
    findings = [(found.id, found.evidence.get("topic")) for found in audit(loaded(release)).findings]
    assert findings == [
        ("deletes-refused", "waiting"),
        ("leftover-of-deleted-topic", "gone"),
        ("orphan-copy", "orders"),
        ("dangling-delete", "waiting"),
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_forecast_and_leftovers_of_real_clusters_are_as_expected(release: str):
    everything = loaded(release)
    forecast = foresee(everything).to_dict()
    assert not forecast["findings"]
    for partition in forecast["partitions"]:
        (candidate,) = partition["candidates"]
        said = answered(release)[partition["topic"]]
        assert candidate["log_start_offset"] == said["earliest"]
        assert candidate["next_segment_base_offset"] == candidate["next_upload_offset"] == said["earliest_local"]
    found = left_over(everything, older_than_ms=0, include_orphans=True)
    # Made of folders, which do not show where the metadata topic ends: the copy may have ended since.
    assert ({leftover.reason for leftover in found.objects}, found.unproven) == ({"leftover-of-deleted-topic"}, 5)
    later = left_over(loaded(release, copy_timeout_ms=1), older_than_ms=0, include_orphans=True)
    assert {leftover.reason for leftover in later.objects} == {"leftover-of-deleted-topic", "orphan-copy"}


@pytest.mark.parametrize("release", RELEASES)
def test_history_has_every_record(release: str):
    records: list[dict[str, Any]] = list(history(loaded(release)))
    assert all(record["applied"] for record in records)
    assert {record["type"] for record in records} == {
        "RemoteLogSegmentMetadataRecord",
        "RemoteLogSegmentMetadataUpdateRecord",
    }
