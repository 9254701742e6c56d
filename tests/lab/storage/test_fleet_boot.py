"""A fleet that was planned and applied here starts with released Kafka, and its quorum is the planned one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.lab.harness import config, releases
from tests.lab.harness.node import KafkaNode, write_config
from tests.lab.harness.storage_tool import StorageToolServer

QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"


class Fleet:
    """Three nodes with both roles on this machine; `voters` says what each is in the inventory."""

    def __init__(self, root: Path, release: str, free_port: Callable[[], int], *, mode: str, voters: dict[int, str]):
        self.root = root
        self.release = release
        self.ids = (1, 2, 3)
        self.controller_ports = {node_id: free_port() for node_id in self.ids}
        self.broker_ports = {node_id: free_port() for node_id in self.ids}
        quorum = (
            config.static_quorum(self.controller_ports)
            if mode == "static"
            else config.dynamic_quorum(list(self.controller_ports.values()))
        )
        lines = ['cluster_id = "new"', f'kafka_version = "{release}"', f'mode = "{mode}"']
        for node in self.ids:
            wanted = config.combined(
                node_id=node,
                log_dirs=[root / "disks" / str(node) / name for name in "ab"],
                broker_port=self.broker_ports[node],
                controller_port=self.controller_ports[node],
                quorum=quorum,
            )
            write_config(self.config(node), wanted)
            lines += ["[[nodes]]", f"id = {node}", 'host = "localhost"', f'config = "{node}.properties"']
            lines += [f'voter = "{voters[node]}"'] if node in voters else []
        (root / "fleet.toml").write_text("\n".join(lines), encoding="utf-8")

    def config(self, node_id: int) -> Path:
        return self.root / f"{node_id}.properties"

    def format(self, kafkactl: Callable[..., Run]) -> dict[str, Any]:
        """Plan and apply; gives the plan."""
        plan = self.root / "plan.json"
        run = kafkactl("storage", "plan", self.root / "fleet.toml", "--out", plan, "-o", "json")
        assert run.code == 0, run.stdout + run.stderr
        run = kafkactl("storage", "apply", plan, "--host", "localhost", "--yes", "-o", "json")
        assert (run.code, run.json["outcome"]) == (0, "done"), run.stdout
        document: dict[str, Any] = json.loads(plan.read_text())
        return document

    def start(self, stack: ExitStack, node_ids: tuple[int, ...]) -> None:
        """Start these nodes and wait until each serves clients, which it does only as part of the cluster."""
        nodes = [
            stack.enter_context(
                KafkaNode(self.release, self.config(node_id), self.root / "logs", name=f"node-{node_id}")
            )
            for node_id in node_ids
        ]
        for node in nodes:
            node.start()
        for node in nodes:
            node.wait_ready()

    def ask(self, tool: StorageToolServer, class_name: str, *words: str) -> str:
        release = self.release if self.release in releases.RELEASES and releases.release(self.release).tools else None
        result = tool.run_tool(
            release or releases.NEWEST_WITH_TOOLS,
            class_name,
            ["--bootstrap-server", f"127.0.0.1:{self.broker_ports[1]}", *words],
        )
        assert result.exit_code == 0, result.stdout + result.stderr
        return result.stdout


def check_boots(
    fleet: Fleet, kafkactl: Callable[..., Run], tool: StorageToolServer, voters: set[int], observers: set[int]
) -> None:
    plan = fleet.format(kafkactl)
    (fleet.root / "logs").mkdir()
    with ExitStack() as stack:
        fleet.start(stack, fleet.ids)
        status = fleet.ask(tool, QUORUM, "describe", "--status")
        levels = fleet.ask(tool, FEATURES, "describe")
    assert plan["cluster_id"] in status
    assert ids_in(status, "CurrentVoters") == voters
    assert ids_in(status, "CurrentObservers") == observers
    metadata = {node["id"]: node["directories"][0]["directory_id"] for node in plan["nodes"]}
    if plan["mode"] == "dynamic":
        assert all(metadata[voter] in status for voter in voters)
    finalized = re.search(r"Feature: metadata.version\s.*FinalizedVersionLevel: (\S+)", levels)
    assert finalized is not None, levels
    # Tools that are older than the node do not know its level by name.
    assert finalized[1] in (plan["metadata_version"]["name"], "UNKNOWN")


def ids_in(status: str, field: str) -> set[int]:
    """Return the node ids in a line of `describe --status`, which lists numbers up to 3.8 and objects from 3.9 on."""
    (line,) = [line for line in status.splitlines() if line.startswith(field)]
    named = re.findall(r'"id":\s*(\d+)', line)
    return set(map(int, named or re.findall(r"\d+", line.partition(":")[2])))


def test_planned_fleet_of_initial_voters_boots(tmp_path, free_port, kafkactl, storage_tool):
    fleet = Fleet(tmp_path, "4.3.1", free_port, mode="dynamic", voters={})
    check_boots(fleet, kafkactl, storage_tool, {1, 2, 3}, set())


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"])
def test_planned_fleet_of_a_standalone_controller_and_two_that_join_boots(
    release, tmp_path, free_port, kafkactl, storage_tool
):
    fleet = Fleet(tmp_path, release, free_port, mode="dynamic", voters={1: "standalone"})
    check_boots(fleet, kafkactl, storage_tool, {1}, {2, 3})


@pytest.mark.campaign
@pytest.mark.parametrize("release", [version for version in releases.VERSIONS if version != "3.3.2"])
def test_planned_static_fleet_boots(release, tmp_path, free_port, kafkactl, storage_tool):
    fleet = Fleet(tmp_path, release, free_port, mode="static", voters={})
    check_boots(fleet, kafkactl, storage_tool, {1, 2, 3}, set())
