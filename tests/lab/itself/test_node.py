"""Nodes of released Kafka and ZooKeeper start, answer, pause, die and come back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.lab.harness import config, probe, releases
from tests.lab.harness.config import Config
from tests.lab.harness.errors import ProcessFailed
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.pool import Pool
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.harness.zookeeper import ZooKeeperNode

ROOT = Path(__file__).parents[3]
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
FreePort = Callable[[], int]


def combined(tmp_path: Path, free_port: FreePort, *, dynamic: bool = False) -> Config:
    port = free_port()
    quorum = config.dynamic_quorum([port]) if dynamic else config.static_quorum({1: port})
    return config.combined(
        node_id=1, log_dirs=[tmp_path / "data"], broker_port=free_port(), controller_port=port, quorum=quorum
    )


def formatted(tool: StorageToolServer, node: KafkaNode, options: Sequence[str] = ()) -> KafkaNode:
    result = tool.run(node.release, ["format", "-t", CLUSTER_ID, "-c", node.config_file, *options])
    assert result.exit_code == 0, result
    return node


@pytest.mark.parametrize("release", [pytest.param("3.9.2", marks=pytest.mark.campaign), "4.4.0"])
def test_node_starts_answers_pauses_and_stops(
    storage_tool: StorageToolServer, tmp_path: Path, free_port: FreePort, release: str
) -> None:
    node = KafkaNode(release, combined(tmp_path, free_port, dynamic=True), tmp_path)
    with formatted(storage_tool, node, ["--standalone"]):
        assert node.outcome(120).kind == "started"
        node.pause()
        assert node.alive
        assert not probe.answers_api_versions(*node.address, timeout_s=0.3)
        node.resume()
        node.wait_ready()
        assert node.stop() == 128 + signal.SIGTERM, "the JVM's exit code of an orderly end by SIGTERM"
        assert "shut down completed" in node.log_text()
        assert (node.alive, node.ready()) == (False, False)


@pytest.mark.campaign
def test_killed_node_comes_back_on_its_ports_with_a_log_of_its_own(
    storage_tool: StorageToolServer, tmp_path: Path, free_port: FreePort
) -> None:
    short_session = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"}
    node = KafkaNode("3.9.2", combined(tmp_path, free_port) | short_session, tmp_path)
    with formatted(storage_tool, node):
        node.start().wait_ready()
        first_log = node.log_text()
        assert node.kill() == -signal.SIGKILL
        node.start().wait_ready()
        assert first_log.splitlines()[0] not in node.log_text()


@pytest.mark.campaign
def test_controller_and_separate_broker_are_started(
    storage_tool: StorageToolServer, tmp_path: Path, free_port: FreePort
) -> None:
    port = free_port()
    quorum = config.static_quorum({1: port})
    settings = config.controller(node_id=1, log_dirs=[tmp_path / "c"], port=port, quorum=quorum)
    controller = formatted(storage_tool, KafkaNode("4.4.0", settings, tmp_path))
    settings = config.broker(node_id=2, log_dirs=[tmp_path / "b"], port=free_port(), quorum=quorum)
    broker = formatted(storage_tool, KafkaNode("4.4.0", settings, tmp_path))
    with controller, broker:
        assert broker.start().outcome(3).kind == "hangs", "no controller to register with"
        assert controller.outcome(120).kind == "started"
        assert broker.outcome(120).kind == "started"


def test_unformatted_node_exits_with_its_reason(lab_pool: Pool, tmp_path: Path, free_port: FreePort) -> None:
    with KafkaNode("4.4.0", combined(tmp_path, free_port), tmp_path) as node:
        outcome = node.outcome(120)
        assert (outcome.kind, outcome.exit_code) == ("exited", 1)
        assert "No readable meta.properties files found" in outcome.log
        with pytest.raises(ProcessFailed, match=r"ended with exit code 1(.|\n)*meta\.properties"):
            node.wait_ready(1)


START_AND_WAIT = """
import sys, time
from pathlib import Path
from tests.lab.harness.zookeeper import ZooKeeperNode

node = ZooKeeperNode(Path(sys.argv[1])).start().wait_ready()
print(node.pid, flush=True)
time.sleep(60)
"""


def test_no_jvm_outlives_a_killed_test_run(lab_pool: Pool, tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", START_AND_WAIT, str(tmp_path)],
        cwd=ROOT, stdout=subprocess.PIPE, env=os.environ.copy(),
    )  # fmt: skip
    assert parent.stdout is not None
    with parent.stdout:
        jvm = Path("/proc") / str(int(parent.stdout.readline()))
    assert b"QuorumPeerMain" in (jvm / "cmdline").read_bytes()
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 120
    while jvm.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not jvm.exists()


def test_zookeeper_answers_and_keeps_its_port(lab_pool: Pool, tmp_path: Path) -> None:
    with ZooKeeperNode(tmp_path) as node:
        node.start().wait_ready()
        assert "Zookeeper version: 3.8.4" in probe.zookeeper_srvr("127.0.0.1", node.port)
        node.stop()
        assert not node.ready()
        node.start().wait_ready()


@pytest.mark.campaign
@pytest.mark.parametrize("release", releases.VERSIONS)
@pytest.mark.parametrize("kind", ["combined", "apart"])
def test_every_release_starts_from_what_its_own_tool_formats(
    storage_tool: StorageToolServer, tmp_path: Path, free_port: FreePort, release: str, kind: str
) -> None:
    port = free_port()
    quorum = config.static_quorum({1: port})
    if kind == "combined":
        settings = [combined(tmp_path, free_port)]
    else:
        settings = [
            config.controller(node_id=1, log_dirs=[tmp_path / "c"], port=port, quorum=quorum),
            config.broker(node_id=2, log_dirs=[tmp_path / "b"], port=free_port(), quorum=quorum),
        ]
    nodes = [formatted(storage_tool, KafkaNode(release, setting, tmp_path)) for setting in settings]
    try:
        assert [node.start().outcome(120).kind for node in nodes] == ["started"] * len(nodes)
    finally:
        for node in nodes:
            node.kill()
