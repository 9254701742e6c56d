"""Benchmark of commands that observe a live cluster, against Kafka's own tools, in turn on one node."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.installed import installed_bin
from bench.side_by_side import SPREAD, Figures, Sample, circumstances, interleaved, measure, record

KAFKA = "4.3.1"
RUNS = 9
RATIO_GOAL = 0.12
_TOOLS = "org.apache.kafka.tools"
# Kafka's tool and ours, with the same words behind the address.
_PAIRS = {
    "features describe": (f"{_TOOLS}.FeatureCommand", ("describe",)),
    "quorum describe --status": (f"{_TOOLS}.MetadataQuorumCommand", ("describe", "--status")),
    "quorum describe --replication": (f"{_TOOLS}.MetadataQuorumCommand", ("describe", "--replication")),
}


def main() -> None:
    """Start a node, measure, print and record."""
    from tests.lab.harness.cluster import KafkaCluster

    with (
        tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder,
        KafkaCluster(KAFKA, Path(folder), controllers=1, combined=True) as cluster,
    ):
        cluster.start()
        places = {
            "a broker": ("--bootstrap-server", cluster.bootstrap_server),
            "a controller": ("--bootstrap-controller", cluster.bootstrap_controller),
        }
        _record({place: _measured(words) for place, words in places.items()})


def _measured(address: tuple[str, str]) -> dict[str, tuple[Figures, Figures]]:
    """Return by command what Kafka's took, and what ours took."""
    from tests.lab.harness import java, maven
    from tests.lab.harness.storage_tool import logging_options

    quick = ["-XX:TieredStopAtLevel=1", "-Xshare:auto", *logging_options("tools"), "-cp", maven.class_path(KAFKA)]
    runs: dict[str, Callable[[], Sample]] = {}
    program = str(installed_bin() / "kafkactl")
    for name, (tool, words) in _PAIRS.items():
        runs[f"java {name}"] = _run([str(java.java_binary()), *quick, tool, *address, *words], java.environment())
        runs[name] = _run([program, *name.split(), *address], dict(os.environ))
    figures = interleaved(runs, RUNS)
    return {name: (figures[f"java {name}"], figures[name]) for name in _PAIRS}


def _run(command: list[str], environment: Mapping[str, str]) -> Callable[[], Sample]:
    return lambda: measure(command, environment=environment)


def _record(measured: Mapping[str, Mapping[str, tuple[Figures, Figures]]]) -> None:
    rows, worst = [], 0.0
    for place, pairs in measured.items():
        for name, (theirs, ours) in pairs.items():
            ratio = ours.wall_ms / theirs.wall_ms
            worst = max(worst, ratio)
            rows.append(
                f"| `{name}` | {place} | {theirs.wall_ms:.0f} | {ours.wall_ms:.0f} | {theirs.cpu_ms:.0f} "
                f"| {ours.cpu_ms:.0f} | {ratio:.3f} | {ours.cpu_ms / theirs.cpu_ms:.3f} "
                f"| {theirs.spread()} | {ours.spread()} |"
            )
    head = (
        f"Kafka {KAFKA}, one node that is broker and controller; installed wheel; Kafka's tool as a JVM with C1 only; "
        f"medians of {RUNS} interleaved runs; {circumstances()}.\n"
    )
    table = [
        "| command | asked | Kafka, wall ms | kafkactl, wall ms | Kafka, CPU ms | kafkactl, CPU ms | ratio (wall) "
        f"| ratio (CPU) | Kafka, {SPREAD} | kafkactl, {SPREAD} |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    goal = f"Goal: at most {RATIO_GOAL:.2f}. Highest: {worst:.3f} ({'met' if worst <= RATIO_GOAL else 'missed'})."
    record("Looking at a live cluster", "\n".join([head, *table, *rows, "", goal]))


if __name__ == "__main__":
    main()
