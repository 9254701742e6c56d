"""Benchmark of a snapshot of a large ZooKeeper tree, against one read a znode, and of the plan of its copy.

A tree of 100,000 partitions in a ZooKeeper of the lab (3.8.4) on the same machine. One by one is what a script with
kazoo does: one request, one answer, the next. Both read the same znodes, their data and their children. Goals: at
least 7 times as fast; the plan (what Kafka's copy of it would write) within 12 s.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.side_by_side import circumstances, record

PARTITIONS = 100_000
A_TOPIC = 20
RUNS = 3
GOAL = 7.0
PLAN_GOAL_S = 12.0


def main(arguments: list[str]) -> None:
    """Measure, print and record; the number of partitions and of runs can be given."""
    from tests.lab.harness.zookeeper import ZooKeeperNode
    from tests.lab.migration.zookeeper_seed import seeded

    logging.getLogger("kazoo").setLevel(logging.CRITICAL)
    partitions = int(arguments[0]) if arguments else PARTITIONS
    runs = int(arguments[1]) if len(arguments) > 1 else RUNS
    with (
        tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder,
        ZooKeeperNode(Path(folder), heap_mb=768) as node,
    ):
        node.start().wait_ready()
        znodes = seeded(node.connect, topics=partitions // A_TOPIC, partitions=A_TOPIC)
        ours, theirs = [], []
        for _ in range(runs):  # in turn, so that a slow minute hits both
            theirs.append(_seconds(lambda: _one_by_one(node.connect)))
            ours.append(_seconds(lambda: _snapshot(node.connect)))
        tree_seconds, plan_seconds = _plan(node.connect)
    ratio = sorted(theirs)[runs // 2] / sorted(ours)[runs // 2]
    text = [
        f"{partitions:,} partitions in {partitions // A_TOPIC:,} topics, {znodes:,} znodes; ZooKeeper 3.8.4 on the same"
        f" machine; medians of {runs} runs in turn; {circumstances()}.\n",
        "| | wall s | partitions/s |",
        "|---|---|---|",
        f"| kazoo, one by one | {sorted(theirs)[runs // 2]:.1f} | {partitions / sorted(theirs)[runs // 2]:,.0f} |",
        f"| `ZooKeeper.read_tree` | {sorted(ours)[runs // 2]:.1f} | {partitions / sorted(ours)[runs // 2]:,.0f} |",
        f"| its plan: every record and its bytes | {plan_seconds:.1f} | {partitions / plan_seconds:,.0f} |",
        "",
        f"Goal: at least {GOAL:g} × one by one. Measured: {ratio:.1f} × ({'met' if ratio >= GOAL else 'missed'})."
        f" Plan: {plan_seconds:.1f} s of {PLAN_GOAL_S:g} ({'met' if plan_seconds <= PLAN_GOAL_S else 'missed'});"
        f" with the snapshot {tree_seconds + plan_seconds:.1f} s.",
    ]
    if partitions >= PARTITIONS:
        record("Snapshot of ZooKeeper", "\n".join(text))
    else:
        print("\n".join(text))


def _seconds(work: Callable[[], int]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _one_by_one(connect: str) -> int:
    """Return every znode of Kafka's that the snapshot has, as plainly as kazoo allows."""
    from kazoo.client import KazooClient

    client = KazooClient(connect)
    client.start()
    count, waiting = 0, ["/brokers", "/config", "/cluster", "/controller_epoch", "/admin"]
    while waiting:
        path = waiting.pop()
        if path.count("/") == 5 and path.startswith("/brokers/topics/"):
            path += "/state"  # a partition has nothing of its own
        _, stat = client.get(path)
        count += 1
        if stat.numChildren:
            waiting += [f"{path}/{name}" for name in client.get_children(path)]
    client.stop()
    client.close()
    return count


def _snapshot(connect: str) -> int:
    from kafkactl.migration.io.zookeeper.client import open_zookeeper

    with open_zookeeper(connect, timeout_ms=600_000) as zookeeper:
        return len(zookeeper.read_tree(acls=False).znodes)


def _plan(connect: str) -> tuple[float, float]:
    """Return seconds for the tree, and for what its copy would write."""
    from kafkactl.migration.copy.forecast import forecast_copy
    from kafkactl.migration.copy.rules import copy_rules
    from kafkactl.migration.io.zookeeper.client import open_zookeeper
    from kafkactl.migration.zktree.parse import parse_tree
    from kafkactl.protocol.catalog.releases import KafkaVersion

    started = time.perf_counter()
    with open_zookeeper(connect, timeout_ms=600_000) as zookeeper:
        tree = zookeeper.read_tree(acls=False)
    read = time.perf_counter()
    forecast_copy(parse_tree(tree), copy_rules(KafkaVersion(3, 9)))
    return read - started, time.perf_counter() - read


if __name__ == "__main__":
    main(sys.argv[1:])
