"""`kafkactl status` on a real controller with a generated log of 200,000 partitions."""

from __future__ import annotations

import time

from kafkactl.status.api import AreaStatus, ClusterStatus, StatusVerdict, StatusWatch
from tests.dryrun.clusters import cluster, image_of, partition
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.generated import GENERATED, write_image
from tests.lab.harness.waiting import answer_once

TOPICS, PARTITIONS = 2_000, 100
MOST_OF_THE_FIRST = 1 / 4
"""Part of the processor time of the first status that the second may take; it takes a twentieth on a quiet machine."""


def counted(watch: StatusWatch) -> tuple[ClusterStatus, float]:
    """Return a status in which the partitions are counted, and the processor time of the questions until then.

    On a busy machine the log may be read after the time for its area, and the next status has the answer.
    """
    begin_s = time.process_time()
    found = answer_once(lambda found: area_of(found).counts["partitions"] is not None, watch.status)
    return found, time.process_time() - begin_s


def area_of(found: ClusterStatus) -> AreaStatus:
    return next(area for area in found.areas if area.area == "partitions")


def test_second_status_of_a_large_cluster_takes_no_second(new_cluster: ClusterOf) -> None:
    orders = [tuple(1 + (at + step) % 3 for step in range(3)) for at in range(PARTITIONS)]
    whole = [partition(ids, leader=ids[0], isr=ids) for ids in orders]
    topics = {f"t{number}": whole for number in range(TOPICS)} | {"last": [partition((1, 2, 3), leader=1, isr=(1,))]}
    small, _ = cluster("kafka 4.3\nbrokers 1 2 3\ncluster min.insync.replicas=2\n")
    image = image_of(dict(small.brokers), topics, dict(small.configs), dict(small.features))
    made = new_cluster("4.3.1", **GENERATED)
    write_image(made, image)
    made.start(timeout_s=240)
    with made.client() as client, StatusWatch(client) as watch:
        (first, first_s), (second, took_s) = (counted(watch) for _ in range(2))
    for found in (first, second):
        partitions = area_of(found)
        assert partitions.counts["partitions"] == TOPICS * PARTITIONS + 1
        assert (partitions.counts["under_min_isr"], partitions.counts["out_of_sync"]) == (1, 1)
        assert found.verdict is StatusVerdict.PROBLEM
    print(f"second status: {took_s:.2f} s")
    assert took_s < first_s * MOST_OF_THE_FIRST
