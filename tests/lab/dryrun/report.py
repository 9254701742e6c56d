"""`kafkactl dryrun report` as an operator runs it, against what Kafka's own tool says of the running cluster."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.lab.dryrun.experiments import Experiment
from tests.lab.dryrun.stage import TOPICS, Stage

LINE = re.compile(r"Topic: (\S+)\s+Partition: (\d+)\s+Leader: (\S+)\s+Replicas: (\S*)\s+Isr:[ \t]*([\d,]*)")
BAR = re.compile(r"<title>broker (\d+)[^:<]*: (\d+) (leads|holds)</title>")


class Described(NamedTuple):
    """A line of kafka-topics --describe."""

    topic: str
    number: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


def describe(stage: Stage) -> list[Described]:
    """Return the partitions as brokers tell them."""
    words = ["--bootstrap-server", stage.cluster.bootstrap_server, "--describe"]
    printed = stage.tool.run_tool(stage.tools, "org.apache.kafka.tools.TopicCommand", words)
    assert printed.exit_code == 0, printed.stderr
    return [
        Described(topic, int(number), -1 if leader == "none" else int(leader), _ids(replicas), _ids(isr))
        for topic, number, leader, replicas, isr in LINE.findall(printed.stdout)
    ]


def _ids(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def read_report(stage: Stage) -> object:
    """Return leaders and replicas of each broker, who leads nowhere, and the worst loss of one broker."""
    stage.settle(lambda _: True)
    page = Path(stage.cluster.disks.workdir) / "report.html"
    log = stage.cluster.disks.metadata_log(1)
    words = ["dryrun", "report", log, "--config", stage.cluster.config_file(1), "--html", page, "-o", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "kafkactl", *map(str, words)], capture_output=True, text=True, check=False, timeout=120
    )
    answer = json.loads(done.stdout)
    real = describe(stage)
    assert len(real) == sum(assignment.count(",") + 1 for assignment, _ in TOPICS.values())
    drawn = {(int(broker), kind): int(count) for broker, count, kind in BAR.findall(page.read_text(encoding="utf-8"))}
    for kind, seen in (
        ("leads", Counter(partition.leader for partition in real if partition.leader >= 0)),
        ("holds", Counter(broker for partition in real for broker in partition.replicas)),
    ):
        shown = {broker: count for (broker, of), count in drawn.items() if of == kind and count}
        assert shown == dict(seen), f"{kind}: {shown} shown, {dict(seen)} told by Kafka"
    predicted = {
        json.dumps([prediction["scenario"], prediction["input"].get("worst")]): prediction
        for prediction in answer["predictions"]
    }
    printed = [
        finding["evidence"]["count"]
        for finding in predicted['["elect-leaders", null]']["findings"]
        if finding["id"] == "partitions-without-leader-before"
    ]
    leaderless = sum(partition.leader < 0 for partition in real)
    assert printed == ([leaderless] if leaderless else []), f"{printed} without a leader told, {leaderless} are"
    worst = predicted['["broker-loss", 1]']
    harm = _lost_with(stage, real)
    most = max(harm.values(), default=0)
    assert worst["effects"]["worst"][0]["offline"] == most, f"{worst['effects']['worst']}; by the rules {harm}"
    assert (worst["verdict"] == "unavailable") == bool(most)
    assert done.returncode == (7 if answer["verdict"] == "unavailable" else 0)
    stage.checked += 1
    return answer


def _lost_with(stage: Stage, real: list[Described]) -> Counter[int]:
    """Return by broker the partitions that it alone can lead: alone in sync, without a live one that may lead
    uncleanly."""
    live = {broker_id for broker_id in stage.cluster.broker_ids if stage.cluster.node(broker_id).alive}
    found: Counter[int] = Counter()
    for partition in real:
        unclean = TOPICS[partition.topic][1].get("unclean.leader.election.enable") == "true"
        others = live & set(partition.replicas if unclean else partition.isr) - {partition.leader}
        if partition.leader >= 0 and not others:
            found[partition.leader] += 1
    return found


def report(when: str) -> Experiment:
    """Read the report; `when` says what the cluster is like."""
    return f"the report {when}", read_report
