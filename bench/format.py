"""What it costs to format: one node against Kafka's own tool (goal: a tenth), and a fleet of 500 (goal: 5 seconds)."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.installed import installed_bin
from bench.side_by_side import Sample, circumstances, interleaved, measure, record

KAFKA = "4.3.1"
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
RUNS = 11
RATIO_GOAL = 0.10
NODES = 500
FLEET_GOAL_S = 5.0


def main() -> None:
    """Measure both, print and record."""
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder:
        _one_node(Path(folder))
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder:
        _fleet(Path(folder))


def _one_node(folder: Path) -> None:
    from tests.lab import java, maven

    program = str(installed_bin() / "kafkactl")
    config = folder / "server.properties"
    config.write_text(_properties(1, folder / "disk"), encoding="utf-8")
    words = ["format", "-t", CLUSTER_ID, "-c", str(config), "--standalone"]
    jvm = [str(java.java_binary()), "-cp", maven.class_path(KAFKA)]
    quick = [jvm[0], "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", *jvm[1:]]
    theirs, theirs_quick = "java … StorageTool format", "the same, JVM flags for a quick start"
    figures = interleaved(
        {
            theirs: _formatting(folder, [*jvm, "kafka.tools.StorageTool", *words], java.environment()),
            theirs_quick: _formatting(folder, [*quick, "kafka.tools.StorageTool", *words], java.environment()),
            "kafkactl storage format": _formatting(
                folder, [program, "storage", *words, "--kafka-version", KAFKA], dict(os.environ)
            ),
        },
        RUNS,
    )
    base = figures[theirs]
    rows = [
        f"| `{name}` | {one.wall_ms:.0f} | {one.cpu_ms:.0f} | {one.wall_ms / base.wall_ms:.3f} |"
        for name, one in figures.items()
    ]
    ratio = figures["kafkactl storage format"].wall_ms / base.wall_ms
    goal = f"Goal: at most {RATIO_GOAL:.2f}. Measured: {ratio:.3f} ({'met' if ratio <= RATIO_GOAL else 'missed'})."
    head = f"Kafka {KAFKA}; installed wheel; medians of {RUNS} interleaved runs; {circumstances()}.\n"
    table = ["| command | wall ms | CPU ms | ratio (wall) |", "|---|---|---|---|", *rows, "", goal]
    record("Formatting one node", "\n".join([head, *table]))


def _formatting(folder: Path, command: list[str], environment: dict[str, str]) -> Callable[[], Sample]:
    """A run on a blank disk; making it blank is not measured."""

    def run() -> Sample:
        shutil.rmtree(folder / "disk", ignore_errors=True)
        sample = measure(command, environment=environment)
        if not (folder / "disk" / "meta.properties").is_file():
            raise RuntimeError(f"{command} formatted nothing")
        return sample

    return run


def _properties(node_id: int, disk: Path) -> str:
    port = 10_000 + node_id
    return (
        f"process.roles=controller\nnode.id={node_id}\ncontroller.listener.names=CONTROLLER\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{port}\nlisteners=CONTROLLER://127.0.0.1:{port}\n"
        f"log.dirs={disk}\n"
    )
