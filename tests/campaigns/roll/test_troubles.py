"""Rolls on real Kafka in which something fails: a broker of a batch that does not start, and a quorum that is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.campaigns.roll.page import HEAD, PAGE
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.ports import free_port
from tests.lab.roll.rolled import Rolled
from tests.lab.roll.rolling import (
    ACCEPTED,
    RACKED,
    RACKS,
    batches,
    canary,
    create_topics,
    differences,
    ids,
    next_words,
    stops,
)
from tests.proof_page import record_part

pytestmark = pytest.mark.timeout(1800)
NewCluster = Callable[..., KafkaCluster]
BAD = "log.segment.bytes=100000\n"
"""A line that 3.9.2 accepts and 4.3.1 refuses."""


def releases(answer: dict[str, Any]) -> dict[int, str]:
    return {node["node_id"]: node["release"] for node in answer["proof"]}


def test_broker_of_a_batch_that_does_not_start_goes_back_alone(new_cluster: NewCluster) -> None:
    # Upgrade racks as batches. The file of 12 gets a bad line at its start, so that 11 is back and 12 is not.
    cluster = new_cluster("3.9.2", controllers=1, brokers=4, racks=RACKS).start()
    create_topics(cluster, RACKED)
    place = cluster.config_file(12)
    good = place.read_text()
    words = ("--to", "4.3.1", "--batch", "rack", "--order", "11,12,13,14", *ACCEPTED)

    def spoil(held: Rolled, node_id: int) -> dict[str, Any] | None:
        if held.installed.get(node_id) == "4.3.1":
            place.write_text(good + BAD)
        return None

    with Rolled(cluster) as rolled, canary(cluster) as producer:
        rolled.faults["start", 12] = spoil
        answer = rolled.kafkactl("run", *words, code=5)
        undo = next_words(rolled, answer, "start-failed")
        assert undo == ["--to", "3.9.2", "--only", "12"]
        assert batches(answer) == [[1], [11, 12]]
        missed = differences(answer)
        back = rolled.kafkactl("rollback", *undo, *ACCEPTED, "--accept", "partial-roll")
        assert back["outcome"] == "done"
        assert releases(back) == {1: "4.3.1", 11: "4.3.1", 12: "3.9.2", 13: "3.9.2", 14: "3.9.2"}
        assert stops(rolled) == [1, 11, 12] or stops(rolled) == [1, 12, 11]
        del rolled.faults["start", 12]
        place.write_text(good)
        last = rolled.kafkactl("run", *words)
        assert (last["outcome"], batches(last)) == ("done", [[12], [13, 14]])
        missed += differences(last)
    assert set(releases(last).values()) == {"4.3.1"}
    counts = producer.result
    assert (missed, counts["lost"], counts["errors"]) == ([], 0, 0)
    record_part(
        PAGE, HEAD, "batches of two racks, 4 brokers; one of a batch does not start",
        "only that broker goes back by the next step, then the upgrade is resumed; 3 batches, each as predicted; "
        f"canary: {counts['acked']} acked, 0 errors, longest gap {counts['longest_gap_ms']} ms, 0 lost",
    )  # fmt: skip


@pytest.mark.parametrize("heals", [True, False], ids=["in the run", "after the run"])
def test_broker_that_exits_without_a_quorum_is_started_again(*, heals: bool, new_cluster: NewCluster) -> None:
    # Kill two of three controllers as a broker starts; they start again after the broker gave up, which takes 60 s.
    #
    # Either their start hook lasts as long, and the run goes on, or it fails, and the next run finishes the roll.
    cluster = new_cluster("4.3.1", controllers=3, brokers=2).start()
    create_topics(cluster, {"canary": (4, 2, {"min.insync.replicas": "1"})})
    words = ("--only", "11,12", "--order", "11,12", *ACCEPTED)
    is_lost, is_healed = threading.Event(), threading.Event()
    starts: list[int] = []

    def lose(held: Rolled, node_id: int) -> dict[str, Any] | None:
        starts.append(node_id)
        if not is_lost.is_set():
            cluster.kill(*[id for id in cluster.controller_ids if id != min(set(cluster.controller_ids))])
            is_lost.set()
        return None

    def refuse(held: Rolled, node_id: int) -> dict[str, Any] | None:
        if heals and not is_healed.is_set():
            cluster.wait_for(lambda: not cluster.node(11).alive, "the exit of broker 11", 110)
            is_healed.set()
        return None if is_healed.is_set() else {"exit": 1, "err": "no disk"}

    with Rolled(cluster) as rolled, canary(cluster) as producer:
        rolled.faults["start", 11] = lose
        for controller in cluster.controller_ids:
            rolled.faults["start", controller] = refuse
        began = time.monotonic()
        if not heals:
            answer = rolled.kafkactl("run", *words, code=5)
            assert "roll-without-leader" in ids(answer)
            assert stops(rolled) == [11]
            cluster.wait_for(lambda: not cluster.node(11).alive, "the exit of broker 11", 120)
            is_healed.set()
        answer = rolled.kafkactl("run", *words)
        took = time.monotonic() - began
    assert cluster.node(11).alive
    assert (answer["outcome"], stops(rolled)) == ("done", [11, 12])
    assert starts == [11, 11]
    when = "in" if heals else "after"
    counts = producer.result
    assert (counts["lost"], counts["errors"]) == (0, 0)
    record_part(
        PAGE, HEAD, f"majority of controllers killed as a broker starts, repaired {when} the run",
        f"the broker exited after 60 s and was started again, nothing was stopped meanwhile; {took:.0f} s; "
        f"canary: {counts['acked']} acked, 0 errors, longest gap {counts['longest_gap_ms']} ms, 0 lost",
    )  # fmt: skip


def test_broker_that_waits_for_controllers_forever_gets_its_file_back(new_cluster: NewCluster, tmp_path: Path) -> None:
    # The new file names a port on which no controller listens: the process runs on without opening its own listener, so
    # a start alone would change nothing.
    cluster = new_cluster("4.3.1", controllers=1, brokers=2, dynamic=False).start()
    create_topics(cluster, {"canary": (4, 2, {"min.insync.replicas": "1"})})
    place = cluster.config_file(11)
    before = place.read_text()
    wrong = before.replace(str(cluster.controller_address(1).port), str(free_port()))
    assert wrong != before
    rendered = tmp_path / "rendered"
    rendered.mkdir()
    (rendered / "11.properties").write_text(wrong + "initial.broker.registration.timeout.ms=900000\n")
    words = ("--rendered", str(rendered), "--only", "11", "--gate-timeout", "45s", *ACCEPTED)
    with Rolled(cluster) as rolled, canary(cluster) as producer:
        answer = rolled.kafkactl("run", *words, code=5)
        assert cluster.node(11).alive
        undo = next_words(rolled, answer, "node-not-back")
        began = time.monotonic()
        back = rolled.kafkactl("run", *undo, *ACCEPTED)
        took = time.monotonic() - began
        assert (back["outcome"], stops(rolled)) == ("done", [11, 11])
        assert place.read_text() == before
    counts = producer.result
    assert (counts["lost"], counts["errors"]) == (0, 0)
    record_part(
        PAGE, HEAD, "a broker whose new file names no controller: it runs, and does not answer",
        f"the next step stops the process and gives the file before back: {took:.0f} s; canary: {counts['acked']} "
        f"acked, 0 errors, longest gap {counts['longest_gap_ms']} ms, 0 lost",
    )  # fmt: skip
