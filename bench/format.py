"""Benchmark of `storage format`: one node against Kafka's own tool (goal: a tenth), a fleet of 500 (goal: 5 s)."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.installed import installed_bin
from bench.side_by_side import SPREAD, Sample, circumstances, interleaved, measure, record

KAFKA = "4.3.1"
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
RUNS = 11
RATIO_GOAL = 0.08
NODES = 500
CONTROLLERS = 5
HOST = "bench"
FLEET_RUNS = 3
FLEET_GOAL_S = 5.0


def main() -> None:
    """Measure both, print and record."""
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder:
        _one_node(Path(folder))
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder:
        _fleet(Path(folder))


def _one_node(folder: Path) -> None:
    from tests.lab.harness import java, maven

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
        f"| `{name}` | {figure.wall_ms:.0f} | {figure.cpu_ms:.0f} | {figure.wall_ms / base.wall_ms:.3f}"
        f" | {figure.spread()} |"
        for name, figure in figures.items()
    ]
    ratio = figures["kafkactl storage format"].wall_ms / base.wall_ms
    goal = f"Goal: at most {RATIO_GOAL:.2f}. Measured: {ratio:.3f} ({'met' if ratio <= RATIO_GOAL else 'missed'})."
    head = f"Kafka {KAFKA}; installed wheel; medians of {RUNS} interleaved runs; {circumstances()}.\n"
    table = [f"| command | wall ms | CPU ms | ratio (wall) | {SPREAD} |", "|---|---|---|---|---|", *rows, "", goal]
    record("Formatting one node", "\n".join([head, *table]))


def _formatting(folder: Path, command: list[str], environment: dict[str, str]) -> Callable[[], Sample]:
    """Return a run on a blank disk; making it blank is not measured."""

    def run() -> Sample:
        shutil.rmtree(folder / "disk", ignore_errors=True)
        sample = measure(command, environment=environment)
        if not (folder / "disk" / "meta.properties").is_file():
            raise RuntimeError(f"{command} formatted nothing")
        return sample

    return run


def _fleet(folder: Path) -> None:
    program = str(installed_bin() / "kafkactl")
    (folder / "fleet.toml").write_text(_inventory(folder), encoding="utf-8")
    plan = folder / "plan.json"
    planned, applied = [], []
    for _ in range(FLEET_RUNS):
        for leftover in (plan, Path(f"{plan}.receipts"), folder / "disks"):
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink(missing_ok=True)
        planned.append(measure([program, "storage", "plan", str(folder / "fleet.toml"), "--out", str(plan)]))
        applied.append(measure([program, "storage", "apply", str(plan), "--host", HOST, "--yes"]))
    formatted = len(list((folder / "disks").glob("*/meta.properties")))
    if formatted != NODES:
        raise RuntimeError(f"{formatted} of {NODES} nodes were formatted")
    plan_s, apply_s = (statistics.median(run.wall_ms for run in runs) / 1000 for runs in (planned, applied))
    total = plan_s + apply_s
    record(
        "Planning and formatting a fleet",
        "\n".join(
            [
                f"{NODES} nodes, {CONTROLLERS} of them controllers, all on one disk; installed wheel; medians of "
                f"{FLEET_RUNS} runs; {circumstances()}.\n",
                "| command | wall s |",
                "|---|---|",
                f"| `storage plan` | {plan_s:.2f} |",
                f"| `storage apply` (all nodes, every file synced to disk) | {apply_s:.2f} |",
                f"| both | {total:.2f} |",
                "",
                f"Goal: at most {FLEET_GOAL_S:.0f} s. Measured: {total:.2f} s "
                f"({'met' if total <= FLEET_GOAL_S else 'missed'}).",
            ]
        ),
    )


def _inventory(folder: Path) -> str:
    parts = [f'cluster_id = "new"\nkafka_version = "{KAFKA}"\n']
    for node_id in range(1, NODES + 1):
        config = folder / f"{node_id}.properties"
        config.write_text(_properties(node_id, folder / "disks" / str(node_id)), encoding="utf-8")
        parts.append(f'[[nodes]]\nid = {node_id}\nhost = "{HOST}"\nconfig = "{config}"\n')
    return "\n".join(parts)


def _properties(node_id: int, disk: Path) -> str:
    """Return a controller, or a broker if the id is beyond those of the controllers."""
    bootstrap = ",".join(f"127.0.0.1:{10_000 + number}" for number in range(1, CONTROLLERS + 1))
    role, listener = ("controller", "CONTROLLER") if node_id <= CONTROLLERS else ("broker", "PLAINTEXT")
    return (
        f"process.roles={role}\nnode.id={node_id}\ncontroller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
        f"controller.quorum.bootstrap.servers={bootstrap}\n"
        f"listeners={listener}://127.0.0.1:{10_000 + node_id}\nlog.dirs={disk}\n"
    )


if __name__ == "__main__":
    main()
