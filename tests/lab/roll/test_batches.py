"""Brokers of a rack stopped together on real Kafka, by a driver that is killed between two stops of a batch."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from tests.lab.harness.cluster import KafkaCluster
from tests.lab.roll.rolled import Rolled
from tests.lab.roll.rolling import (
    ACCEPTED,
    RACKED,
    RACKS,
    batches,
    canary,
    create_topics,
    differences,
    stops,
    wait_until_quiet,
)


def test_driver_killed_between_two_stops_of_a_batch_is_resumed(new_cluster: Callable[..., KafkaCluster]) -> None:
    # The first broker that is asked to stop does; the hook of the other one waits until the driver is gone.
    cluster = new_cluster("4.3.1", controllers=1, brokers=4, racks=RACKS).start()
    create_topics(cluster, RACKED)
    is_killed, lock = threading.Event(), threading.Lock()
    asked: list[int] = []

    def hold(held: Rolled, node_id: int) -> dict[str, Any] | None:
        with lock:
            asked.append(node_id)
        if is_killed.is_set() or node_id == asked[0]:
            return None
        is_killed.wait(240)
        return {"exit": 1}

    with Rolled(cluster) as rolled, canary(cluster) as producer:
        for broker in RACKS:
            rolled.faults["stop", broker] = hold
        words = ("--batch", "rack", "--order", "11,12,13,14", "--only", "11,12,13,14", *ACCEPTED)
        wait_until_quiet(rolled)
        process = rolled.begin("run", *words)
        until = time.monotonic() + 240
        while not (len(asked) > 1 and not cluster.node(asked[0]).alive):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        is_killed.set()
        first, other = asked[:2]
        answer = rolled.kafkactl("run", *words)
    assert sorted((first, other)) == [11, 12]
    assert (answer["outcome"], answer["stopped_at"], differences(answer)) == ("done", None, [])
    assert batches(answer) == [[other], [13, 14]]
    assert stops(rolled).count(first) == 1
    assert all(node["isr_whole"] for node in answer["proof"])
    assert producer.result["acked"] > 0
    assert (producer.result["lost"], producer.result["errors"]) == (0, 0)
