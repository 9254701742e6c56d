"""A roll of a real cluster with thousands of partitions: the time of every gate, and leader changes as predicted."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.campaigns.roll.page import HEAD, PAGE
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_disks import Disks
from tests.lab.harness.node import KafkaNode
from tests.lab.roll.rolled import Rolled
from tests.lab.roll.rolling import ACCEPTED, canary, create_topics, differences, leader_changes
from tests.proof_page import record_part

pytestmark = pytest.mark.timeout(7200)
OLD, NEW = "4.0.2", "4.3.1"
PARTITIONS = int(os.environ.get("KAFKACTL_ROLL_PARTITIONS", "5000"))
PER_TOPIC, AT_ONCE = 100, 5
IN_SYNC = {"min.insync.replicas": "2"}


class LargeDisks(Disks):
    """Disks of nodes whose heap has room for thousands of partitions."""

    def node(self, node_id: int, release: str) -> KafkaNode:
        made = super().node(node_id, release)
        return KafkaNode(release, made.config_file, self.workdir / "logs", name=made.name, heap_mb=768)


class LargeCluster(KafkaCluster):
    DISKS = LargeDisks


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[KafkaCluster]:
    with LargeCluster(OLD, tmp_path / "cluster", controllers=1, brokers=3) as made:
        made.start()
        yield made


class StepTimes(NamedTuple):
    """Times of a step in seconds: from the end of the step before to its intent, its hook, and its gate."""

    name: str
    before: float
    hook: float
    gate: float


def step_times(journal: Path) -> list[StepTimes]:
    """Return the times of the steps in a journal."""
    found: list[StepTimes] = []
    began = ended = answered = 0
    name = ""
    for line in journal.read_text(encoding="utf-8").splitlines()[1:]:
        entry = json.loads(line)
        at_ms, data = entry["at_ms"], entry["data"]
        match entry["entry"]:
            case "begin":
                ended = at_ms
            case "intent":
                began = answered = at_ms
                name = f"{data['action']} {','.join(map(str, data['nodes']))}".strip()
            case "answer":
                answered = at_ms
            case "done":
                times = (began - ended, answered - began, at_ms - answered)
                found.append(StepTimes(name, *(ms / 1000 for ms in times)))
                ended = at_ms
    return found


def timed(rolled: Rolled, verb: str) -> float:
    """Return the seconds of a reading verb."""
    began = time.monotonic()
    with rolled.begin(verb, "--to", NEW) as process:
        out, _ = process.communicate(timeout=600)
    assert json.loads(out)["kind"] == f"roll.{verb}"
    return time.monotonic() - began


def create_many(cluster: KafkaCluster) -> None:
    """Create the topics in batches: one request for all of them would exceed its time."""
    names = [f"many-{at:03}" for at in range(PARTITIONS // PER_TOPIC)]
    for at in range(0, len(names), AT_ONCE):
        create_topics(cluster, dict.fromkeys(names[at : at + AT_ONCE], (PER_TOPIC, 3, IN_SYNC)))


def shown(times: Mapping[str, StepTimes], action: str) -> str:
    """Return the waits and gates of the steps with an action."""
    rows = [row for name, row in times.items() if name.startswith(action)]
    return ", ".join(f"{row.name.split()[-1]} {row.before:.0f}+{row.hook:.0f}+{row.gate:.0f}" for row in rows)


def test_roll_of_many_partitions_moves_leaders_as_predicted(cluster: KafkaCluster) -> None:
    create_topics(cluster, {"canary": (6, 3, IN_SYNC)})
    create_many(cluster)
    with Rolled(cluster) as rolled, canary(cluster) as producer:
        reading = {f"{verb} before": timed(rolled, verb) for verb in ("check", "plan", "status")}
        began = time.monotonic()
        first = rolled.kafkactl("run", "--to", NEW, "--until", "controllers", *ACCEPTED)
        middle = time.monotonic() - began
        reading |= {f"{verb} in the middle": timed(rolled, verb) for verb in ("plan", "status")}
        began = time.monotonic()
        answer = rolled.kafkactl("run", "--to", NEW, *ACCEPTED)
        took = middle + time.monotonic() - began
        (journal,) = (cluster.disks.workdir / "journal").glob("roll-*.jsonl")
        times = {row.name: row for row in step_times(journal)}
        print(json.dumps({"reading": reading, "steps": times}))
    assert (first["outcome"], answer["outcome"]) == ("done", "done")
    assert differences(answer) == []
    counts = producer.result
    assert (counts["lost"], counts["errors"]) == (0, 0)
    longest = max(times.values(), key=lambda row: row.before + row.hook + row.gate)
    record_part(
        PAGE,
        HEAD,
        f"{PARTITIONS} partitions of 3 replicas, {OLD} to {NEW}, 3 brokers and a controller",
        f"{took:.0f} s; seconds before, in and after the hook: stops {shown(times, 'stop')}, starts "
        f"{shown(times, 'start')}; longest step {longest.name}; "
        + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in reading.items())
        + f"; {leader_changes(answer)} leader changes, each stop as predicted; canary: {counts['acked']} acked, "
        f"{counts['errors']} errors, longest gap {counts['longest_gap_ms']} ms, {counts['lost']} lost",
    )
