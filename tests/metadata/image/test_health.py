"""Counts of partitions: by the definitions of kafka-topics.sh, and equal for columns and for plain topics."""

from __future__ import annotations

from typing import Any

import pytest

from bench.log_generator import LogGenerator, Shape
from kafkactl.core.frozen import changed
from kafkactl.metadata.image.health import (
    KINDS,
    PartitionHealth,
    PartitionRow,
    cluster_minimum,
    count_partitions,
    image_health,
)
from kafkactl.metadata.image.model import BROKER_CONFIG, Image, PackedTopics, Topic
from kafkactl.metadata.replay.log_replay import LogReplay
from kafkactl.protocol.log.batch_runs import BatchRun, walk_runs
from tests.dryrun.clusters import cluster

# What each filter of kafka-topics.sh --describe shows of such a partition, with min.insync.replicas 2.
ROWS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "whole": ({}, set()),
    "one out of sync": ({"isr": (1, 2)}, {"at_min_isr", "out_of_sync"}),
    "one in sync": ({"isr": (1,)}, {"under_min_isr", "out_of_sync"}),
    "no leader": ({"leader": -1, "isr": (1,)}, {"without_leader", "under_min_isr", "out_of_sync"}),
    "no leader and a whole ISR": ({"leader": -1}, {"without_leader", "under_min_isr"}),
    "no leader at min ISR": (
        {"leader": -1, "isr": (1, 2)}, {"without_leader", "under_min_isr", "at_min_isr", "out_of_sync"},
    ),
    "another leader": ({"leader": 2}, {"not_preferred"}),
    "a replica is added": ({"replicas": (1, 2, 3, 4), "adding": (4,)}, {"reassigning"}),
    "a replica is removed": ({"removing": (3,)}, {"reassigning"}),
    "added and not in sync": (
        {"replicas": (1, 2, 3, 4), "adding": (4,), "isr": (1, 2)}, {"reassigning", "at_min_isr", "out_of_sync"},
    ),
}  # fmt: skip


def counted(health: PartitionHealth) -> dict[str, int | None]:
    return {kind: getattr(health, kind) for kind in KINDS}


@pytest.mark.parametrize("case", ROWS)
def test_partition_is_counted_by_the_filters_of_kafka(case: str):
    fields, kinds = ROWS[case]
    whole: dict[str, Any] = {"replicas": (1, 2, 3), "isr": (1, 2, 3), "leader": 1}
    health = count_partitions([PartitionRow("orders", 7, **{**whole, **fields})], lambda _: 2)
    assert counted(health) == {kind: int(kind in kinds) for kind in KINDS}
    assert health.named == {kind: ("orders-7",) for kind in KINDS if kind in kinds}
    assert health.partitions == 1


def test_unknown_minimum_and_unknown_reassignments_are_not_counted():
    row = PartitionRow("orders", 0, (1, 2), (1,), leader=1)
    health = count_partitions([row], lambda _: -1, knows_reassignments=False)
    assert (health.under_min_isr, health.at_min_isr, health.reassigning, health.out_of_sync) == (None, None, None, 1)


def test_own_value_of_a_topic_takes_precedence_over_the_default():
    image, _ = cluster(
        "brokers 1 2 3\ntopic own min.insync.replicas=3\n  1 | 1 2 3 | 1 2\ntopic other\n  1 | 1 2 3 | 1 2\n"
    )
    assert counted(image_health(image, 1)) | {"out_of_sync": 0} == dict.fromkeys(KINDS, 0) | {"under_min_isr": 1}
    assert image_health(image, None).under_min_isr is None
    assert image_health(image, 2).named["at_min_isr"] == ("other-0",)
    assert image_health(image, 2).replicas_on == {1, 2, 3}


def _columns(shape: Shape) -> Image:
    replay = LogReplay()
    for run in walk_runs([b"".join(LogGenerator(shape).batches())]):
        assert isinstance(run, BatchRun)
        replay.take_run(run.data, run.positions, run.base)
    return replay.image()


@pytest.mark.slow
@pytest.mark.parametrize("default", [None, 1, 2, 3])
def test_columns_are_counted_as_plain_topics_are(default: int | None):
    image = _columns(Shape(records=6_000, partitions=1_500, brokers=9, seed=5))
    assert isinstance(image.topics, PackedTopics)
    plain: dict[Any, Topic] = dict(image.topics.items())
    found, expected = image_health(image, default), image_health(changed(image, topics=plain), default)
    assert counted(found) == counted(expected)
    assert (found.partitions, found.replicas_on) == (expected.partitions, expected.replicas_on)
    assert {kind: len(names) for kind, names in found.named.items()} == {
        kind: len(names) for kind, names in expected.named.items()
    }
    assert found.without_leader and found.out_of_sync and found.not_preferred


def test_cluster_without_topics_has_no_partition():
    image, _ = cluster("brokers 1")
    assert counted(image_health(image, 1)) == dict.fromkeys(KINDS, 0)


def test_value_of_the_cluster_counts_if_no_broker_has_its_own():
    image, _ = cluster("brokers 1 2\ncluster min.insync.replicas=2\n")
    assert cluster_minimum(image) == 2
    own = {**image.configs, (BROKER_CONFIG, "2"): {"min.insync.replicas": "1"}}
    assert cluster_minimum(changed(image, configs=own)) is None
    assert cluster_minimum(cluster("brokers 1")[0]) is None
