"""Remedies of `scram-user-missing` on real Kafka: a format before the first start, and never of a disk in use."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import Run
from tests.lab.harness import config as configs
from tests.lab.harness import releases
from tests.lab.harness.node import KafkaNode, write_config
from tests.lab.harness.pool import Pool
from tests.lab.harness.ports import HOST
from tests.lab.harness.storage_tool import StorageToolServer

RELEASE, CLUSTER_ID = "4.3.1", "XgM8cvG1S-mQ3k4wGhkVpQ"
PASSWORD = "hunter2"
_JAAS = "org.apache.kafka.common.security"
_LOGIN = f'username="ops" password="{PASSWORD}"'
Kafkactl = Callable[..., Run]


class Node:
    """A sole combined node whose broker logs in at its controller."""

    def __init__(self, folder: Path, ports: tuple[int, int], kafkactl: Kafkactl, tool: StorageToolServer) -> None:
        folder.mkdir()
        self.file, self.server = folder / "server.properties", f"{HOST}:{ports[0]}"
        self._folder, self._ports, self._kafkactl, self._tool = folder, ports, kafkactl, tool

    def use(self, mechanism: str) -> None:
        """Write the file with this mechanism; the listener has both from the first use of PLAIN on."""
        own = configs.combined(
            node_id=1, log_dirs=[self._folder / "disk"], broker_port=self._ports[0], controller_port=self._ports[1],
            quorum=configs.static_quorum({1: self._ports[1]}),
        )  # fmt: skip
        listener = "listener.name.controller"
        own |= {
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
            "sasl.mechanism.controller.protocol": mechanism,
            f"{listener}.sasl.enabled.mechanisms": ",".join(dict.fromkeys(("SCRAM-SHA-512", mechanism))),
            f"{listener}.scram-sha-512.sasl.jaas.config": f"{_JAAS}.scram.ScramLoginModule required {_LOGIN};",
        }
        if mechanism == "PLAIN":
            module = f'{_JAAS}.plain.PlainLoginModule required {_LOGIN} user_ops="{PASSWORD}";'
            own[f"{listener}.plain.sasl.jaas.config"] = module
        write_config(self.file, own)

    def storage(self, *words: object) -> Run:
        run = self._kafkactl("storage", *words, "-c", self.file, "--kafka-version", RELEASE)
        assert run.code == 0, run.stdout + run.stderr
        return run

    def missing_user(self) -> dict[str, Any]:
        run = self._kafkactl("storage", "verify", "-c", self.file, "--kafka-version", RELEASE, "-o", "json")
        (found,) = [found for found in run.json["findings"] if found["id"] == "scram-user-missing"]
        return found  # type: ignore[no-any-return]

    def run(self, tool: str, *words: str) -> str:
        """Start the node, run one of Kafka's tools, stop the node."""
        with KafkaNode(RELEASE, self.file, self._folder) as node:
            node.start().wait_ready()
            ended = self._tool.run_tool(releases.NEWEST_WITH_TOOLS, tool, ["--bootstrap-server", self.server, *words])
            assert ended.exit_code == 0, ended.stdout + ended.stderr
            node.stop()
            return ended.stdout


def test_user_comes_by_a_format_only_before_the_first_start(
    tmp_path: Path, kafkactl: Kafkactl, storage_tool: StorageToolServer, free_port: Callable[[], int], lab_pool: Pool
) -> None:
    topics = "org.apache.kafka.tools.TopicCommand"
    fresh = Node(tmp_path / "fresh", (free_port(), free_port()), kafkactl, storage_tool)
    fresh.use("SCRAM-SHA-512")
    fresh.storage("format", "-t", CLUSTER_ID)
    step = fresh.missing_user()["next_step"]
    assert "kafkactl storage unformat" in step
    fresh.storage("unformat", "--confirm", CLUSTER_ID)
    option = re.search(r"--add-scram '[^']*'", step)
    assert option is not None, step
    fresh.storage("format", "-t", CLUSTER_ID, *shlex.split(option[0].replace("PASSWORD", PASSWORD)))
    fresh.run(topics, "--list")

    used = Node(tmp_path / "used", (free_port(), free_port()), kafkactl, storage_tool)
    used.use("PLAIN")
    used.storage("format", "-t", CLUSTER_ID)
    used.run(topics, "--create", "--topic", "orders", "--partitions", "3")
    used.use("SCRAM-SHA-512")
    step = used.missing_user()["next_step"]
    assert "Keep the disks" in step
    assert "format" not in step
    used.use("PLAIN")
    user = ["--entity-type", "users", "--entity-name", "ops", "--add-config", f"SCRAM-SHA-512=[password={PASSWORD}]"]
    used.run("kafka.admin.ConfigCommand", "--alter", *user)
    used.use("SCRAM-SHA-512")
    assert "orders" in used.run(topics, "--list").split()
