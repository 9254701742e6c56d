"""`--metadata` of `kafkactl tiered`: the log of another cluster, or one that ends too early, deletes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.core.kafka_names import REMOTE_LOG_METADATA
from kafkactl.core.values import Uuid
from tests.conftest import Run
from tests.tiered.logs import BEGIN_MS, HOUR_MS, LogOf, Topic, metadata_log, segment_uuid

ORDERS, PAYMENTS = Topic("orders", 1), Topic("payments", 2)
METADATA_TOPIC, OTHER = Uuid(b"\x55" * 16), Uuid(b"\x56" * 16)
Kafkactl = Callable[..., Run]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a copied metadata partition, without the meta.properties of its log directory."""
    folder = LogOf(0).add(ORDERS.copied(0, "a", 0, 9), PAYMENTS.copied(0, "b", 0, 9)).save(tmp_path / "broker")
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {METADATA_TOPIC}\n")
    return folder


def test_deleted_topics_are_read_from_the_clusters_log(kafkactl: Kafkactl, source: Path, tmp_path: Path):
    topics = [(REMOTE_LOG_METADATA, METADATA_TOPIC), ("orders", ORDERS.id)]
    run = kafkactl("tiered", "audit", source, "--metadata", metadata_log(tmp_path / "log", topics), "-o", "json")
    gone = [finding for finding in run.json["findings"] if finding["id"] == "leftover-of-deleted-topic"]
    assert ["payments" in json.dumps(finding) for finding in gone] == [True]


@pytest.mark.parametrize(
    ("topics", "id"),
    [
        ([("orders", Uuid(b"\x77" * 16))], "metadata-log-without-topic"),
        ([(REMOTE_LOG_METADATA, OTHER), ("orders", ORDERS.id)], "sources-of-different-clusters"),
    ],
)
@pytest.mark.parametrize("verb", ["audit", "segments", "leftovers"])
def test_log_of_another_cluster_judges_nothing(
    kafkactl: Kafkactl, source: Path, tmp_path: Path, verb: str, topics: list[tuple[str, Uuid]], id: str
):
    words = ["tiered", verb, source, "--metadata", metadata_log(tmp_path / "log", topics), "-o", "json"]
    if verb == "leftovers":
        (tmp_path / "list").write_text(
            f"kafka-tiered-storage/orders-0-{ORDERS.id}/{0:020}-{segment_uuid('a')}.log 5 1600000000000\n"
        )
        words += ["--bucket", tmp_path / "list", "--out", tmp_path / "keys"]
    run = kafkactl(*words)
    assert (run.code, run.error["id"]) == (2, id)
    assert run.error["next_step"]
    assert not (tmp_path / "keys").exists()


def test_replicas_of_two_metadata_topics_are_not_one_cluster(kafkactl: Kafkactl, source: Path, tmp_path: Path):
    other = LogOf(1).add(ORDERS.copied(0, "c", 10, 19)).save(tmp_path / "other")
    (other / "partition.metadata").write_text(f"version: 0\ntopic_id: {OTHER}\n")
    run = kafkactl("tiered", "audit", source, other, "-o", "json")
    assert (run.code, run.error["id"]) == (2, "sources-of-different-clusters")


@pytest.mark.parametrize("end_ms", [BEGIN_MS - HOUR_MS, BEGIN_MS])
def test_topic_that_is_younger_than_the_log_was_not_deleted(
    kafkactl: Kafkactl, source: Path, tmp_path: Path, end_ms: int
):
    topics = [(REMOTE_LOG_METADATA, METADATA_TOPIC), ("orders", ORDERS.id)]
    log = metadata_log(tmp_path / "log", topics, end_ms=end_ms)
    run = kafkactl("tiered", "audit", source, "--metadata", log, "-o", "json")
    assert "leftover-of-deleted-topic" not in [finding["id"] for finding in run.json["findings"]]
    assert any("1 partition of topics younger" in words for words in run.json["assumptions"])


def test_topic_that_the_log_removed_is_deleted_however_young_it_is(kafkactl: Kafkactl, source: Path, tmp_path: Path):
    topics, removed = [(REMOTE_LOG_METADATA, METADATA_TOPIC), ("orders", ORDERS.id)], [("payments", PAYMENTS.id)]
    log = metadata_log(tmp_path / "log", topics, end_ms=BEGIN_MS, removed=removed)
    run = kafkactl("tiered", "audit", source, "--metadata", log, "-o", "json")
    gone = [finding for finding in run.json["findings"] if finding["id"] == "leftover-of-deleted-topic"]
    assert [finding["evidence"]["topic"] for finding in gone] == ["payments"]
