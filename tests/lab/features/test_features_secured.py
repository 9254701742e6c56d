"""`kafkactl features` as a user who may do some of it: each missing right is reported, the rest is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.lab.harness import config, ports
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.services.secured import plain
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.harness.waiting import answer_once

Kafkactl = Callable[..., Run]
RELEASE, CLUSTER_ID = "4.3.1", "MkU3OEVBNTcwNTJENDM2Qk"
ADMIN, ALICE = "adm1n-s3cret", "al1ce-s3cret"
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_USERS = f'{_MODULE} username="admin" password="{ADMIN}" user_admin="{ADMIN}" user_alice="{ALICE}";'


class Guarded:
    """A combined node that lets in admin, who may do everything, and alice, who may do what she is given."""

    def __init__(self, tool: StorageToolServer, folder: Path) -> None:
        self.tool, self.folder = tool, folder
        self.broker, self.controller = ports.free_ports(2)
        quorum = config.static_quorum({1: self.controller})
        base = config.combined(
            node_id=1,
            log_dirs=[folder / "data"],
            broker_port=self.broker,
            controller_port=self.controller,
            quorum=quorum,
        )
        self.node = KafkaNode(RELEASE, base | self._security(), folder)
        for name, password in (("admin", ADMIN), ("alice", ALICE)):
            lines = {"security.protocol": "SASL_PLAINTEXT"} | plain(name, password)
            text = "".join(f"{key}={value}\n" for key, value in lines.items())
            (folder / f"{name}.properties").write_text(text, encoding="utf-8")

    def _security(self) -> dict[str, str]:
        return {
            "listeners": f"CLIENT://127.0.0.1:{self.broker},CONTROLLER://127.0.0.1:{self.controller}",
            "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
            "inter.broker.listener.name": "CLIENT",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.client.plain.sasl.jaas.config": _USERS,
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": _USERS,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:admin",
        }

    def words(self, name: str, *, controllers: bool = False) -> list[str]:
        """Return the connection options of a user."""
        option = "--bootstrap-controller" if controllers else "--bootstrap-server"
        port = self.controller if controllers else self.broker
        return [option, f"127.0.0.1:{port}", "--command-config", str(self.folder / f"{name}.properties")]

    def allow(self, operation: str) -> None:
        """Give alice a right on the cluster."""
        words = ["--add", "--allow-principal", "User:alice", "--operation", operation, "--cluster"]
        tool = "org.apache.kafka.tools.AclCommand"
        result = self.tool.run_tool(RELEASE, tool, [*self.words("admin"), *words])
        assert result.exit_code == 0, result


@pytest.fixture(scope="module")
def guarded(storage_tool: StorageToolServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    cluster = Guarded(storage_tool, tmp_path_factory.mktemp("guarded"))
    formatted = storage_tool.run(RELEASE, ["format", "-t", CLUSTER_ID, "-c", cluster.node.config_file, "-r", "4.0-IV1"])
    assert formatted.exit_code == 0, formatted
    with cluster.node as node:
        node.start().wait_ready()
        yield cluster


def test_each_missing_right_is_reported(guarded: Guarded, kafkactl: Kafkactl) -> None:
    printed = ""

    def asked(*words: str, controllers: bool = False) -> tuple[int, Any, set[str]]:
        nonlocal printed
        run = kafkactl("features", *guarded.words("alice", controllers=controllers), *words, "-o", "json", "-v")
        printed += run.stdout + run.stderr
        answer = run.json if run.stdout else run.error
        return run.code, answer, {finding["id"] for finding in answer["findings"]}

    upgrade = ("upgrade", "--feature", "metadata.version=25")
    code, answer, ids = asked("describe")
    levels = {feature["name"]: feature["finalized"] for feature in answer["features"]}
    assert (code, levels["metadata.version"], "quorum-not-seen" in ids) == (0, 23, True)
    code, answer, ids = asked(*upgrade)
    assert (code, answer["id"]) == (4, "not-authorised"), "a denial is not a missing leader"
    assert "--allow-principal User:alice --operation Describe --cluster" in answer["next_step"]

    guarded.allow("Describe")
    code, answer, ids = answer_once(lambda last: last[2] == set(), lambda: asked("describe"))
    assert (code, answer["active_controller"], ids) == (0, 1, set())
    code, answer, ids = asked("verify", controllers=True)
    assert (code, ids) == (7, {"brokers-not-known", "metadata-log-not-read", "cluster-not-seen"})
    code, answer, ids = asked(*upgrade, "--dry-run")
    assert (code, answer["outcome"]) == (4, "refused")
    assert {"registrations-not-read", "server-not-asked"} <= ids
    denied = kafkactl("features", *guarded.words("alice"), *upgrade, "-o", "json")
    assert (denied.code, denied.error["id"], denied.stdout) == (4, "not-authorised", "")

    guarded.allow("ClusterAction")
    code, answer, ids = answer_once(
        lambda last: "metadata-log-not-read" not in last[2], lambda: asked("verify", controllers=True)
    )
    assert (code, answer["proved"], answer["cluster_id"]) == (0, True, CLUSTER_ID)

    guarded.allow("Alter")
    code, answer, ids = answer_once(lambda last: last[0] == 0, lambda: asked(*upgrade, "--dry-run"))
    code, answer, ids = asked(*upgrade)
    assert (code, answer["outcome"], ids) == (0, "done", set())
    assert ALICE not in printed


def test_wrong_password_is_reported(guarded: Guarded, kafkactl: Kafkactl) -> None:
    file = guarded.folder / "wrong.properties"
    file.write_text((guarded.folder / "alice.properties").read_text().replace(ALICE, "wr0ng"), encoding="utf-8")
    where = ("--bootstrap-server", f"127.0.0.1:{guarded.broker}", "--command-config", str(file))
    run = kafkactl("features", *where, "upgrade", "--metadata", "4.0-IV3", "-o", "json")
    assert (run.code, run.stdout) == (4, "")
    assert "wr0ng" not in run.stderr
