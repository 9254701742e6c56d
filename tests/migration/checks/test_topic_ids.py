"""Topic ids on disks against ZooKeeper and the metadata log, and the causes of stray partitions."""

from __future__ import annotations

import json
import re

import pytest

from kafkactl.core.findings import Finding
from kafkactl.migration.checks.registry import check
from kafkactl.storage.partition_folders import PartitionIds
from tests.migration.observations import World, world
from tests.migration.zk_trees import LOGS_ID, ORDERS_ID, text

ORDERS = "/brokers/topics/orders"
STRAY = "/data/orders-0.0123456789abcdef0123456789abcdef-stray"
_NO_ID = text({"version": 1, "partitions": {"0": [1, 2], "1": [2, 1]}})


def _found(seen: World, id: str) -> Finding:
    return next(finding for finding in check(seen.observation()) if finding.id == id)


def test_id_on_disk_is_given_as_the_whole_znode_to_write() -> None:
    found = _found(world("M0").znode(ORDERS, _NO_ID), "topic-without-id")
    written = re.search(r"set /kafka/brokers/topics/orders '(.*)'", found.next_step)
    assert written is not None
    assert json.loads(written[1]) == {
        "version": 3, "topic_id": ORDERS_ID, "partitions": {"0": [1, 2], "1": [2, 1]},
        "adding_replicas": {}, "removing_replicas": {},
    }  # fmt: skip


@pytest.mark.parametrize("ids", [{1: None, 2: None}, {2: PartitionIds(is_complete=False)}])
def test_election_is_not_advised_while_a_disk_may_have_an_id(ids) -> None:
    no_ids = dict.fromkeys((1, 2), PartitionIds())
    found = _found(world("M0").znode(ORDERS, _NO_ID).but(ids={**no_ids, **ids}), "topic-without-id")
    assert found.severity.value == "blocker"
    assert "elected" not in found.next_step


def test_election_is_advised_where_no_disk_has_an_id() -> None:
    seen = world("M0").znode(ORDERS, _NO_ID).but(ids=dict.fromkeys((1, 2), PartitionIds()))
    assert "Let a new controller be elected" in _found(seen, "topic-without-id").next_step


def test_id_of_the_disks_is_written_back_before_the_copy_only() -> None:
    ids = {1: PartitionIds(topic_ids={"orders": LOGS_ID})}
    before, after = (_found(world(name).but(ids=ids), "topic-id-differs-on-disk") for name in ("M0", "M7"))
    assert f'"topic_id":"{LOGS_ID}"' in before.next_step
    assert "znode of the topic" not in after.next_step
    assert after.evidence["topic_id"] == ORDERS_ID


@pytest.mark.parametrize(
    ("ids", "cause"),
    [
        (None, "no-id"),
        (PartitionIds(), "no-id"),
        (PartitionIds(stray_ids={STRAY: LOGS_ID}), "other-id"),
        (PartitionIds(stray_ids={STRAY: ORDERS_ID}), "earlier"),
    ],
)
def test_cause_of_a_stray_follows_from_log_and_folder(ids, cause: str) -> None:
    found = _found(world("M8").but(strays={1: (STRAY,)}, ids={1: ids}), "partitions-became-strays")
    assert found.evidence["cause"] == cause
    writes_id = f"topic_id: {ORDERS_ID}" in found.next_step
    assert writes_id is (cause != "earlier")


def test_stray_of_a_topic_that_the_metadata_lacks_is_not_renamed_back() -> None:
    stray = STRAY.replace("orders", "other")
    found = _found(world("M8").but(strays={1: (stray,)}), "partitions-became-strays")
    assert found.evidence["cause"] == "no-topic"
    assert found.next_step.startswith("Do not rename it back")


def test_stray_before_the_copy_is_renamed_back_for_a_start_on_zookeeper() -> None:
    found = _found(world("M3").but(strays={1: (STRAY.replace("orders", "other"),)}), "partitions-became-strays")
    assert "not with the KRaft file before the copy" in found.next_step
