"""`storage verify` of a node that runs, as monitoring does it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Run
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.pool import Pool
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.storage.verify_cases import STANDALONE, Case
from tests.lab.storage.verify_disks import Disks


def test_running_node_is_healthy_for_the_documented_checks(
    kafkactl: Callable[..., Run],
    tmp_path: Path,
    storage_tool: StorageToolServer,
    free_port: Callable[[], int],
    lab_pool: Pool,
) -> None:
    disks = Disks(tmp_path, storage_tool, free_port)
    folder = disks.prepare(Case(name="running", releases=("4.3.1",), node=STANDALONE, started_once=True), "4.3.1")
    file = folder / "server.properties"
    verify = ("storage", "verify", "-c", file, "--kafka-version", "4.3.1")
    with KafkaNode("4.3.1", file, folder) as node:
        node.start().wait_ready()
        run = kafkactl(*verify, "-o", "json")
        metrics = kafkactl(*verify, "-o", "prometheus").stdout
        assert node.stop() is not None
    found = {finding["id"]: finding for finding in run.json["findings"]}
    assert (run.code, run.json["will_start"], run.json["would_lose"]) == (0, True, [])
    assert found["node-is-running"]["evidence"]["process_id"]
    assert "directory-in-use" not in found and 'severity="blocker"' not in metrics
    assert any(line.startswith("kafkactl_storage_will_start{") and line.endswith(" 1") for line in metrics.splitlines())
