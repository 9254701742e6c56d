"""`quorum describe` for a user without rights, and through brokers whose controllers speak another protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness import config
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.ports import HOST, free_ports, release_port
from tests.lab.harness.services.secured import plain
from tests.lab.harness.storage_tool import StorageToolServer

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
PASSWORD = "al1ce-s3cret"
LISTENERS = {"CLEAR": "PLAINTEXT", "LOGIN": "SASL_PLAINTEXT", "CONTROLLER": "PLAINTEXT", "GUARDED": "SASL_PLAINTEXT"}
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture(scope="module", params=["3.9.2", pytest.param("4.4.0", marks=pytest.mark.campaign)])
def places(
    request: pytest.FixtureRequest, storage_tool: StorageToolServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Yield where the listeners of a running node are; anonymous users may do everything, alice nothing but log in."""
    folder = tmp_path_factory.mktemp("rights")
    ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
    base = config.combined(
        node_id=1, log_dirs=[folder / "data"], broker_port=1, controller_port=ports["CONTROLLER"],
        quorum=config.static_quorum({1: ports["CONTROLLER"]}),
    )  # fmt: skip
    jaas = f'{_MODULE} required username="alice" password="{PASSWORD}" user_alice="{PASSWORD}";'
    logins = {
        f"listener.name.{name}.{key}": value
        for name in ("login", "guarded")
        for key, value in (("sasl.enabled.mechanisms", "PLAIN"), ("plain.sasl.jaas.config", jaas))
    }
    settings = {
        "listeners": ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in LISTENERS.items()),
        "controller.listener.names": "CONTROLLER,GUARDED",
        "inter.broker.listener.name": "CLEAR",
        "advertised.listeners": ",".join(f"{name}://{HOST}:{ports[name]}" for name in ("CLEAR", "LOGIN")),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    node = KafkaNode(request.param, base | settings | logins, folder)
    result = storage_tool.run(request.param, ["format", "-t", CLUSTER_ID, "-c", node.config_file])
    assert result.exit_code == 0, result
    with node:
        node.start().wait_ready()
        yield {name: f"{HOST}:{port}" for name, port in ports.items()}
    for port in ports.values():
        release_port(port)


@pytest.fixture
def alice(tmp_path: Path) -> Path:
    file = tmp_path / "alice.properties"
    settings = {"security.protocol": "SASL_PLAINTEXT"} | plain("alice", PASSWORD)
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return file


def test_missing_right_is_reported_and_not_a_missing_leader(
    places: dict[str, str], alice: Path, kafkactl: Callable[..., Run]
) -> None:
    for option, place in (("--bootstrap-controller", "GUARDED"), ("--bootstrap-server", "LOGIN")):
        words = [option, places[place], "--command-config", alice, "-o", "json"]
        run = kafkactl("quorum", "describe", *words)
        assert (run.code, run.stdout) == (4, ""), run
        assert run.error["id"] == "not-authorised"
        assert PASSWORD not in run.stderr


def test_each_user_with_the_right_is_answered(places: dict[str, str], kafkactl: Callable[..., Run]) -> None:
    for option, place in (("--bootstrap-controller", "CONTROLLER"), ("--bootstrap-server", "CLEAR")):
        run = kafkactl("quorum", "describe", option, places[place], "-o", "json")
        assert (run.code, run.json["leader_id"], run.json["cluster_id"]) == (0, 1, CLUSTER_ID)
        assert run.json["findings"] == []


def test_listener_that_requires_a_login_is_named(places: dict[str, str], kafkactl: Callable[..., Run]) -> None:
    run = kafkactl("quorum", "describe", "--bootstrap-controller", places["GUARDED"], "-o", "json")
    assert (run.code, run.stdout) == (4, ""), run
