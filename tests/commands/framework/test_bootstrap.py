"""`--bootstrap`: the nodes are asked if they are brokers or controllers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkactl.commands.demo.broker import FakeBroker
from kafkactl.commands.demo.cluster import FakeCluster
from kafkactl.commands.framework.lazy_group import Entry
from kafkactl.commands.main import COMMANDS
from tests.conftest import Run


@pytest.fixture
def look(kafkactl: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    monkeypatch.setitem(COMMANDS, "live", Entry("tests.commands.live_sample", "command", "A sample."))
    monkeypatch.setattr("tests.conftest.check_answer", lambda text: None)
    return lambda *words: kafkactl("live", "look", "--open", "yes", "-o", "json", "--timeout", "5s", *words)


def test_broker_is_used_as_a_broker(look):
    with FakeBroker() as broker:
        run = look("--bootstrap", broker.address)
        assert (run.json["role"], run.json["bootstrap"]) == ("broker", [str(broker.address)])


def test_controller_is_used_as_a_controller(look):
    with FakeCluster() as cluster:
        run = look("--bootstrap", cluster.address)
        assert (run.json["role"], run.json["bootstrap"]) == ("controller", cluster.address.split(","))


def test_node_that_refuses_does_not_hide_the_kind_of_another(look):
    with FakeCluster() as cluster:
        assert look("--bootstrap", f"127.0.0.1:1,{cluster.address}").json["role"] == "controller"


def test_nodes_of_both_kinds_are_refused(look):
    with FakeBroker() as broker, FakeCluster() as cluster:
        run = look("--bootstrap", f"{broker.address},{cluster.address}")
        assert (run.code, run.error["id"]) == (2, "bootstrap-twice")
        assert f"{broker.address} is a broker's listener" in run.error["message"]


def test_node_that_does_not_answer_is_an_error_of_that_node(look):
    run = look("--bootstrap", "127.0.0.1:1")
    assert (run.code, run.error["id"]) == (4, "connection-refused")


def test_second_option_that_names_nodes_is_refused(look):
    run = look("--bootstrap", "127.0.0.1:1", "--bootstrap-server", "127.0.0.1:2")
    assert (run.code, run.error["id"]) == (2, "bootstrap-twice")


def test_context_is_left_aside_for_nodes_that_are_named(look, tmp_path, monkeypatch):
    contexts = tmp_path / "contexts.toml"
    contexts.write_text('current = "p"\n[contexts.p]\nbootstrap_server = "b:1"\ncommand_config = "missing"\n')
    contexts.chmod(0o600)
    monkeypatch.setenv("KAFKACTL_CONFIG", str(contexts))
    with FakeCluster() as cluster:
        assert look("--bootstrap", cluster.address).json["role"] == "controller"


def test_environment_names_nodes_likewise(look, monkeypatch):
    with FakeCluster() as cluster:
        monkeypatch.setenv("KAFKACTL_BOOTSTRAP", cluster.address)
        assert look().json["role"] == "controller"
