"""A secured migration in which kafkactl lacks a right, and later its login: the report, and the remedies.

The controllers' listener is SASL/PLAIN with an authorizer. `ops` may log in there and has no rights; `kafka` is the
brokers' own user.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from tests.lab.harness import java, maven
from tests.lab.harness.node import write_config
from tests.lab.harness.storage_tool import JVM_OPTIONS, logging_options
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.driving.driven import Driven

_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_OWN = f'{_LOGIN} username="kafka" password="s3cret-kafka"'
_USERS = 'user_kafka="s3cret-kafka" user_ops="s3cret-ops"'
_SECURED = {
    "listener.security.protocol.map": ("PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"),
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": f"{_OWN} {_USERS};",
    "super.users": "User:ANONYMOUS;User:admin;User:kafka",
}


def client(folder: Path, name: str, user: str, *, more: str = "") -> Path:
    """Return a client's file; `more` makes the password another one."""
    file = folder / f"{name}.properties"
    line = f'{_LOGIN} username="{user}" password="s3cret-{user}{more}";'
    write_config(file, {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": line})
    return file


def with_logins(driven: Driven, **files: Path) -> None:
    lines = driven.inventory.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(("command_config", "controller_command_config"))]
    named = [f'{key} = "{file}"\n' for key, file in files.items()]
    driven.inventory.write_text("".join([*named, *kept]), encoding="utf-8")


def ids(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {finding["id"]: finding for finding in (*answer.get("gates", ()), *answer["findings"])}


def acls(cluster: MigrationCluster, server: str, address: str, *words: str, config: Path | None = None) -> str:
    """Run Kafka's own kafka-acls.sh; its output."""
    more = () if config is None else ("--command-config", str(config))
    command = [
        java.java_binary(), *JVM_OPTIONS, *logging_options("tools"), "-cp", maven.class_path(cluster.release),
        "kafka.admin.AclCommand", server, address, *more, *words,
    ]  # fmt: skip
    ended = subprocess.run(
        list(map(str, command)), check=False, env=java.environment(), capture_output=True, text=True, timeout=90
    )
    return ended.stdout + ended.stderr


def test_missing_right_and_wrong_password_are_unknown_and_their_remedies_work(tmp_path: Path) -> None:
    cluster = MigrationCluster("3.9.2", tmp_path, brokers=2, broker_settings=_SECURED, controller_settings=_SECURED)
    with cluster, Driven(cluster) as driven:
        cluster.reach("M3")
        ops = client(tmp_path, "ops", "ops")
        kafka = client(tmp_path, "kafka", "kafka")

        # Without any login a SASL listener is called that.
        found = ids(driven.kafkactl("status", code=4))
        assert "SASL" in found["node-refuses-client"]["message"]

        with_logins(driven, controller_command_config=ops)
        found = ids(driven.kafkactl("status", code=4))
        assert "quorum-without-leader" not in found
        denied = found["quorum-question-denied"]
        assert "User:ops" in denied["message"]
        assert "super.users" in denied["next_step"]
        with_logins(driven, controller_command_config=kafka)  # the remedy: a login of super.users
        assert "quorum-question-denied" not in ids(driven.kafkactl("status"))

        cluster.reach("M6")
        with_logins(driven, controller_command_config=ops)
        found = ids(driven.kafkactl("status", code=4))
        assert "quorum-without-leader" not in found
        words = found["quorum-question-denied"]["next_step"].split()
        assert words[0] == "kafka-acls.sh"
        added = acls(cluster, "--bootstrap-server", cluster.bootstrap_server, *words[words.index("--add") :], "--force")
        assert "ALLOW" in added, added
        answer = driven.kafkactl("status")
        assert answer["state"] == "M6"
        assert "quorum-question-denied" not in ids(answer)

        # A password that is not right any more: nothing is said of replicas or brokers.
        wrong = client(tmp_path, "wrong", "ops", more="-old")
        with_logins(driven, controller_command_config=wrong)
        answer = driven.run("--until", "M7", code=4)
        wrongly = {"under-replicated-partitions", "offline-partitions", "broker-down", "quorum-without-leader"}
        assert not wrongly & set(ids(answer))
        assert answer["outcome"] == "refused"
        assert "User:ops" in ids(answer)["node-refuses-client"]["message"]
