"""Commands that only read, on the host of a node: no address is needed, and what is found is named."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkactl.commands.demo.cluster import FakeCluster
from kafkactl.storage.io import host_nodes
from tests.conftest import Run


@pytest.fixture
def found(kafkactl: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write the file of a node at a usual place of the host; its controller has this address."""
    monkeypatch.setenv("KAFKACTL_CONFIG", str(tmp_path / "contexts.toml"))
    tmp_path.chmod(0o755)
    monkeypatch.setattr(host_nodes, "FOLDERS", (str(tmp_path),))

    def write(address: str) -> Path:
        path = tmp_path / "server.properties"
        path.write_text(
            "process.roles=broker\nnode.id=11\nlisteners=PLAINTEXT://b11.example:9092\nlog.dirs=/data\n"
            f"controller.listener.names=CONTROLLER\ncontroller.quorum.bootstrap.servers={address}\n"
        )
        path.chmod(0o644)
        return path

    return write


@contextmanager
def _port() -> Iterator[tuple[str, Callable[[], bool]]]:
    """Yield the address of a port, and a function that returns whether a client has connected to it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)

        def is_contacted() -> bool:
            try:
                listening.accept()[0].close()
            except BlockingIOError:
                return False
            return True

        yield f"127.0.0.1:{listening.getsockname()[1]}", is_contacted


@pytest.mark.parametrize(
    "words", [("quorum", "describe"), ("nodes", "list"), ("features", "describe"), ("log", "lint", "--from-cluster")]
)
def test_cluster_of_the_node_is_asked(kafkactl, found, words):
    with FakeCluster() as cluster:
        path = found(cluster.address)
        run = kafkactl(*words, "-o", "json")
        named = kafkactl(*words, "-o", "json", "--bootstrap-controller", cluster.address)
    assert (run.code, run.json.keys()) == (named.code, named.json.keys())
    assert f"found: {path}" in run.stderr
    assert "found:" not in named.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("quorum", "describe"),
        ("nodes", "list"),
        ("nodes", "verify"),
        ("features", "describe"),
        ("features", "verify"),
        ("log", "lint", "--from-cluster"),
        ("dryrun", "controllers", "--from-cluster", "--lose", "1"),
    ],
)
def test_named_file_leads_to_its_cluster_also_if_the_host_and_the_context_have_another(
    kafkactl, found, tmp_path, words
):
    with FakeCluster() as cluster, _port() as (other, is_contacted):
        path = found(cluster.address)
        path.chmod(0o666)  # the operator names the file: it need not be one that only root can write
        named = path.rename(tmp_path / "named.properties")
        found(other)
        (tmp_path / "contexts.toml").write_text(f'current = "o"\n[contexts.o]\nbootstrap_controller = "{other}"\n')
        (tmp_path / "contexts.toml").chmod(0o600)
        run = kafkactl(*words, "-c", named, "-o", "json")
        expected = kafkactl(*words, "--bootstrap-controller", cluster.address, "-o", "json")
        assert not is_contacted()
    assert (run.code, run.json.keys()) == (expected.code, expected.json.keys())


def test_file_that_is_typed_counts_before_an_address_in_the_environment(kafkactl, found, monkeypatch):
    with FakeCluster() as cluster, _port() as (other, is_contacted):
        monkeypatch.setenv("KAFKACTL_BOOTSTRAP_CONTROLLER", other)
        run = kafkactl("nodes", "list", "-c", found(cluster.address), "-o", "json")
        assert not is_contacted()
    assert run.code == 0


def test_saved_answer_with_a_named_file_is_refused(kafkactl, found, tmp_path):
    run = kafkactl("quorum", "describe", "--bundle", tmp_path / "b.zip", "-c", found("127.0.0.1:1"), "-o", "json")
    assert (run.code, run.error["id"]) == (2, "wrong-usage")


def test_command_that_connects_twice_reports_the_node_once(kafkactl, found):
    with FakeCluster() as cluster:
        path = found(cluster.address)
        run = kafkactl("dryrun", "controllers", "--from-cluster", "--lose", "1", "-o", "json")
    assert run.json["verdict"] == "degraded", run.stderr
    assert run.stderr.count(f"found: {path}") == 1


def test_file_that_another_user_could_have_planted_is_not_contacted(kafkactl, found):
    with _port() as (port, is_contacted):
        path = found(port)
        path.chmod(0o666)
        run = kafkactl("quorum", "describe")
        assert not is_contacted()
    assert run.code == 2
    assert f"{path} was passed over: it can be written by every user" in run.stderr
    assert f"kafkactl quorum describe -c {path}" in run.stderr


def test_named_cluster_is_used_whatever_the_host_has(kafkactl, found):
    with FakeCluster() as cluster:
        found("127.0.0.1:1")
        run = kafkactl("nodes", "list", "--bootstrap-controller", cluster.address, "-o", "json")
    assert run.code == 0


def test_commands_that_change_a_cluster_do_not_look_at_the_host(kafkactl, found):
    with _port() as (port, is_contacted):
        found(port)
        run = kafkactl("features", "upgrade", "--metadata", "4.3", "-o", "json")
        assert not is_contacted()
    assert (run.code, run.error["id"]) == (2, "bootstrap-missing")
