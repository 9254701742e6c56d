from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.commands.demo.cluster import FakeCluster
from kafkactl.files.contexts import CONTEXT_KEYS
from tests.conftest import Run

HOSTILE_LINES = {
    "config view": ("", "{text}"),
    "config set": ("{text} --bootstrap-server h:1", "prod --bootstrap-server {text}"),
    "config use": ("{text}",),
    "config unset": ("{text} cluster_id",),
    "config delete": ("{text}",),
}

HOSTILE_PATHS = {
    "config set": [
        ("--command-config", "prod --bootstrap-server h:1 --command-config {}", (0, 2)),
    ],
}

Config = Callable[..., Run]


@pytest.fixture
def config(kafkactl: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Config:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return lambda *arguments: kafkactl("config", *arguments, "-o", "json")


def file(tmp_path: Path) -> Path:
    return tmp_path / "kafkactl" / "config.toml"


def test_first_context_is_current(config: Config, tmp_path: Path) -> None:
    empty = config("view")
    assert (empty.code, empty.json["contexts"], empty.json["current"]) == (0, [], None)
    made = config("set", "prod", "--bootstrap-server", "b:9092", "--cluster-id", "abc")
    assert (made.code, made.json["outcome"], made.json["before"]) == (0, "done", None)
    assert made.json["after"]["bootstrap_server"] == "b:9092"
    assert config("use", "prod").json["after"]["current"] is True
    shown = config("view").json
    assert shown["file"] == str(file(tmp_path))
    assert shown["current"] == "prod"
    assert shown["contexts"] == [
        {
            "name": "prod",
            "current": True,
            "bootstrap_server": "b:9092",
            "bootstrap_controller": None,
            "bootstrap": None,
            "command_config": None,
            "controller_command_config": None,
            "cluster_id": "abc",
            "spark_master": None,
        }
    ]
    assert config("use", "prod").json["outcome"] == "nothing-to-do"
    assert config("unset", "prod", "cluster-id").json["after"]["cluster_id"] is None
    assert config("delete", "prod").json["after"] is None
    assert config("view").json["current"] is None


@pytest.mark.parametrize("key", sorted(set(CONTEXT_KEYS) - {"bootstrap_server"}))
def test_every_key_that_is_set_can_be_removed(config: Config, key: str) -> None:
    option = key.replace("_", "-")
    assert config("set", "prod", f"--{option}", "/c:9093").json["after"][key] == "/c:9093"
    run = config("unset", "prod", option)
    assert (run.code, run.json["after"][key]) == (0, None)


def test_addresses_of_another_kind_are_replaced(config: Config) -> None:
    for kind, other in (("bootstrap", "bootstrap-server"), ("bootstrap-controller", "bootstrap")):
        config("set", "prod", f"--{other}", "a:1")
        after = config("set", "prod", f"--{kind}", "n:9092,m:9093").json["after"]
        assert (after[kind.replace("-", "_")], after[other.replace("-", "_")]) == ("n:9092,m:9093", None)
    assert config("unset", "prod", "bootstrap-controller").json["after"]["bootstrap_controller"] is None


def test_node_of_a_context_is_asked_for_its_kind(config: Config, kafkactl: Callable[..., Run]) -> None:
    with FakeCluster() as cluster:
        config("set", "prod", "--bootstrap", cluster.address)
        assert "nodes " + cluster.address in kafkactl("config", "view").stdout
        run = kafkactl("nodes", "list", "--context", "prod", "-o", "json")
        assert (run.code, run.json["cluster_id"] is None) == (0, False), run
        config("use", "prod")
        status = kafkactl("status", "-o", "json")
    assert (status.json["cluster"], status.json["found"]["by"]) == ("prod", "context")


def test_dry_run_writes_nothing(config: Config, tmp_path: Path) -> None:
    run = config("set", "prod", "--cluster-id", "abc", "--dry-run")
    assert (run.code, run.json["outcome"]) == (0, "planned")
    assert not file(tmp_path).exists()


def test_path_of_the_client_properties_is_kept_whole(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("client.properties").write_text("security.protocol=SSL\nstrange.key=1\n")
    run = config("set", "prod", "--command-config", "client.properties")
    assert run.json["after"]["command_config"] == str(tmp_path / "client.properties")
    run = config("set", "prod", "--controller-command-config", "controllers.properties")
    assert run.json["after"]["controller_command_config"] == str(tmp_path / "controllers.properties")
    assert run.json["findings"]  # the strange key


def test_missing_client_properties_are_a_warning(config: Config) -> None:
    run = config("set", "prod", "--command-config", "/none/client.properties")
    assert (run.code, run.json["outcome"]) == (0, "done")
    assert [(finding["id"], finding["severity"]) for finding in run.json["findings"]] == [
        ("unreadable-client-config", "warning")
    ]


@pytest.mark.parametrize(
    ("words", "code", "id"),
    [
        (("set", "prod"), 2, "wrong-usage"),
        (("set", "a b", "--cluster-id", "x"), 2, "invalid-context-name"),
        (("set", "a", "--bootstrap-server", "b:1", "--bootstrap-controller", "c:1"), 2, "wrong-usage"),
        (("set", "a", "--bootstrap-server", "b:1", "--bootstrap", "c:1"), 2, "wrong-usage"),
        (("set", "a", "--bootstrap-server", "b"), 2, "invalid-bootstrap-address"),
        (("set", "a", "--bootstrap", "b"), 2, "invalid-bootstrap-address"),
        (("use", "nobody"), 2, "unknown-context"),
        (("delete", "nobody"), 2, "unknown-context"),
        (("unset", "nobody", "cluster-id"), 2, "unknown-context"),
        (("unset", "nobody", "password"), 2, "invalid-option-value"),
        (("view", "nobody"), 2, "unknown-context"),
    ],
)
def test_context_is_unchanged_after_invalid_arguments(
    config: Config, tmp_path: Path, words: tuple[str, ...], code: int, id: str
) -> None:
    run = config(*words)
    assert (run.code, run.error["id"]) == (code, id)
    assert run.error["next_step"]
    assert not file(tmp_path).exists()


def test_password_in_the_file_is_never_shown(config: Config, tmp_path: Path) -> None:
    file(tmp_path).parent.mkdir()
    file(tmp_path).write_text('[contexts.prod]\npassword = "hunter2"\n')
    file(tmp_path).chmod(0o600)
    for words in (("view",), ("use", "prod"), ("set", "prod", "--cluster-id", "x")):
        run = config(*words)
        assert (run.code, run.error["id"]) == (2, "malformed-contexts-file")
        assert "hunter2" not in run.stdout + run.stderr


def test_contexts_are_shown_as_a_table(
    kafkactl: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAFKACTL_CONFIG", str(tmp_path / "my.toml"))
    assert "No contexts" in kafkactl("config", "view").stdout
    run = kafkactl("config", "set", "prod", "--bootstrap-controller", "c:9093")
    assert "Changed context prod" in run.stdout
    assert "bootstrap_controller" in run.stdout
    kafkactl("config", "use", "prod")
    shown = kafkactl("config", "view").stdout
    assert "controllers c:9093" in shown and "*" in shown


def test_context_that_is_not_the_current_one_comes_with_the_command_that_makes_it_so(kafkactl, tmp_path, monkeypatch):
    monkeypatch.setenv("KAFKACTL_CONFIG", str(tmp_path / "config.toml"))
    assert "kafkactl config use lab" in kafkactl("config", "set", "lab", "--bootstrap-server", "b:9092").stdout
    run = kafkactl("features", "plan", "--metadata", "4.3", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "bootstrap-missing")
    assert run.error["next_step"] == "No context is the current one. To use lab: kafkactl config use lab"
    assert "config use" not in kafkactl("config", "use", "lab").stdout
    assert "config use" not in kafkactl("config", "set", "lab", "--cluster-id", "abc").stdout
