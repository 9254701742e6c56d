from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkactl.commands.demo.broker import Asked, FakeBroker, Reply
from kafkactl.commands.framework.connection import ConnectionArguments
from kafkactl.commands.framework.lazy_group import Entry
from kafkactl.commands.main import COMMANDS, CONNECTION_OPTIONS, after_the_command
from kafkactl.files.contexts import contexts_file
from tests.conftest import Run

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
Live = Callable[..., Run]


@pytest.fixture
def live(kafkactl: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Live:
    """Run `kafkactl live ARGS -o json`; contexts stand in `tmp_path / "config.toml"`."""
    monkeypatch.setitem(COMMANDS, "live", Entry("tests.commands.live_sample", "command", "A sample."))
    monkeypatch.setattr("tests.conftest.check_answer", lambda text: None)
    monkeypatch.setenv("KAFKACTL_CONFIG", str(tmp_path / "config.toml"))
    return lambda *arguments: kafkactl("live", *arguments, "-o", "json")


def contexts(folder: Path, text: str) -> None:
    (folder / "config.toml").write_text(text)
    (folder / "config.toml").chmod(0o600)


def said(run: Run) -> dict[str, Any]:
    assert run.code == 0, run.stderr
    return {name: run.json[name] for name in ConnectionArguments._fields if run.json[name] is not None}


def test_options_are_read_before_and_after_the_verb(live: Live) -> None:
    expected = {"bootstrap_server": "a:1", "command_config": "f"}
    assert said(live("look", "--bootstrap-server", "a:1", "--command-config", "f")) == expected
    assert said(live("--bootstrap-server", "a:1", "--command-config=f", "look")) == expected
    assert said(live("--bootstrap-server", "a:1", "look", "--command-config", "f")) == expected
    assert said(live("look")) == {}


def test_option_behind_the_verb_is_nearer(live: Live) -> None:
    assert said(live("--context", "one", "look", "--context", "two")) == {"context": "two"}


@pytest.mark.parametrize(
    ("typed", "environment", "expected"),
    [
        ([], {"BOOTSTRAP_SERVER": "e:1"}, {"bootstrap_server": "e:1"}),
        (["--bootstrap-server", "a:1"], {"BOOTSTRAP_SERVER": "e:1"}, {"bootstrap_server": "a:1"}),
        (["--bootstrap-controller", "a:1"], {"BOOTSTRAP_SERVER": "e:1"}, {"bootstrap_controller": "a:1"}),
        (["--bootstrap-server", "a:1"], {"CONTEXT": "prod"}, {"bootstrap_server": "a:1"}),
        (
            ["--bootstrap-server", "a:1"],
            {"COMMAND_CONFIG": "e.properties"},
            {"bootstrap_server": "a:1", "command_config": "e.properties"},
        ),
        (["--context", "x"], {"COMMAND_CONFIG": "e", "BOOTSTRAP_SERVER": "e:1", "CONTEXT": "y"}, {"context": "x"}),
        ([], {"CONTEXT": "y", "COMMAND_CONFIG": "e"}, {"context": "y", "command_config": "e"}),
    ],
)
@pytest.mark.parametrize("before", [True, False])
def test_typed_option_overrides_the_environment(
    live: Live,
    monkeypatch: pytest.MonkeyPatch,
    typed: list[str],
    environment: dict[str, str],
    expected: dict[str, str],
    before: bool,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(f"KAFKACTL_{name}", value)
    assert said(live(*typed, "look") if before else live("look", *typed)) == expected


class TestWhichClusterIsMeant:
    def test_command_without_an_address_is_refused(self, live: Live) -> None:
        run = live("look", "--open", "yes")
        assert (run.code, run.error["id"]) == (2, "bootstrap-missing")
        assert "--bootstrap-server" in run.error["next_step"] and "kafkactl config set" in run.error["next_step"]

    def test_two_kinds_of_addresses_are_refused(self, live: Live) -> None:
        run = live("--bootstrap-server", "a:1", "look", "--bootstrap-controller", "b:1", "--open", "yes")
        assert (run.code, run.error["id"]) == (2, "bootstrap-twice")

    def test_current_context_is_used(self, live: Live, tmp_path: Path) -> None:
        contexts(tmp_path, 'current = "p"\n[contexts.p]\nbootstrap_controller = "c:3"\n')
        run = live("look", "--open", "yes")
        assert (run.json["bootstrap"], run.json["role"]) == (["c:3"], "controller")

    def test_nodes_that_are_named_leave_the_current_context_aside(self, live: Live, tmp_path: Path) -> None:
        contexts(tmp_path, 'current = "p"\n[contexts.p]\nbootstrap_controller = "c:3"\ncommand_config = "missing"\n')
        run = live("look", "--open", "yes", "--bootstrap-server", "a:1")
        assert (run.json["bootstrap"], run.json["role"]) == (["a:1"], "broker")

    def test_context_that_is_named_goes_with_other_nodes_of_its_cluster(self, live: Live, tmp_path: Path) -> None:
        contexts(tmp_path, '[contexts.p]\nbootstrap_controller = "c:3"\ncommand_config = "p.properties"\n')
        (tmp_path / "p.properties").write_text("security.protocol=NONE\n")
        run = live("look", "--open", "yes", "--context", "p", "--bootstrap-server", "a:1")
        assert run.error["id"] == "invalid-client-property"  # so the context's file was read

    def test_file_for_controllers_is_read(self, live: Live, tmp_path: Path) -> None:
        (tmp_path / "c.properties").write_text("security.protocol=NONE\n")
        words = ("--bootstrap-server", "a:1", "--controller-command-config", tmp_path / "c.properties")
        run = live("look", "--open", "yes", *words)
        assert (run.error["id"], "c.properties" in run.error["message"]) == ("invalid-client-property", True)

    def test_file_for_controllers_in_a_context_is_read(self, live: Live, tmp_path: Path) -> None:
        contexts(tmp_path, '[contexts.p]\nbootstrap_server = "b:3"\ncontroller_command_config = "c.properties"\n')
        (tmp_path / "c.properties").write_text("security.protocol=NONE\n")
        run = live("look", "--open", "yes", "--context", "p")
        assert (run.error["id"], "c.properties" in run.error["message"]) == ("invalid-client-property", True)

    def test_file_that_is_typed_takes_the_place_of_both_in_a_context(self, live: Live, tmp_path: Path) -> None:
        contexts(tmp_path, '[contexts.p]\nbootstrap_server = "b:3"\ncontroller_command_config = "missing"\n')
        (tmp_path / "p.properties").write_text("security.protocol=PLAINTEXT\n")
        run = live("look", "--open", "yes", "--context", "p", "--command-config", tmp_path / "p.properties")
        assert run.code == 0, run

    def test_unknown_context_is_refused(self, live: Live, tmp_path: Path) -> None:
        contexts(tmp_path, '[contexts.p]\nbootstrap_server = "c:3"\n')
        run = live("look", "--open", "yes", "--context", "q")
        assert (run.code, run.error["id"]) == (2, "unknown-context")
        assert "it has p" in run.error["message"]

    def test_unsupported_settings_of_the_file_are_reported(self, live: Live, tmp_path: Path) -> None:
        (tmp_path / "p.properties").write_text("security.protocol=PLAINTEXT\nunheard.of=1\n")
        run = live("look", "--open", "yes", "--bootstrap-server", "a:1", "--command-config", tmp_path / "p.properties")
        assert run.code == 0
        assert "unheard.of" in run.stderr


class TestGuard:
    @pytest.fixture
    def node(self) -> Any:
        def script(asked: Asked) -> Reply | None:
            body = {"ClusterId": CLUSTER_ID, "ControllerId": 1, "Brokers": []}
            return Reply(body=body) if asked.name == "DescribeCluster" else None

        with FakeBroker(script) as node:
            yield node

    def test_cluster_of_the_context_is_accepted(self, live: Live, tmp_path: Path, node: FakeBroker) -> None:
        contexts(tmp_path, f'[contexts.p]\nbootstrap_server = "{node.address}"\ncluster_id = "{CLUSTER_ID}"\n')
        assert live("look", "--open", "guard", "--context", "p").code == 0

    def test_another_cluster_than_that_of_the_context_is_refused(
        self, live: Live, tmp_path: Path, node: FakeBroker
    ) -> None:
        contexts(tmp_path, f'current="p"\n[contexts.p]\nbootstrap_server = "{node.address}"\ncluster_id = "other"\n')
        run = live("look", "--open", "guard")
        assert (run.code, run.error["id"]) == (3, "cluster-id-mismatch")
        assert CLUSTER_ID in run.error["message"] and "other" in run.error["message"]

    def test_context_that_is_named_guards_other_addresses_too(
        self, live: Live, tmp_path: Path, node: FakeBroker
    ) -> None:
        contexts(tmp_path, '[contexts.p]\nbootstrap_server = "nobody:1"\ncluster_id = "other"\n')
        run = live("look", "--open", "guard", "--context", "p", "--bootstrap-server", node.address)
        assert run.error["id"] == "cluster-id-mismatch"

    def test_context_without_cluster_id_is_accepted(self, live: Live, tmp_path: Path, node: FakeBroker) -> None:
        contexts(tmp_path, f'current="p"\n[contexts.p]\nbootstrap_server = "{node.address}"\n')
        assert live("look", "--open", "guard").code == 0
        assert node.names() == []


def test_contexts_file_is_found_by_the_environment() -> None:
    assert contexts_file({"KAFKACTL_CONFIG": "/a/b.toml", "XDG_CONFIG_HOME": "/x"}) == Path("/a/b.toml")
    assert contexts_file({"XDG_CONFIG_HOME": "/x"}) == Path("/x/kafkactl/config.toml")
    assert contexts_file({}) == Path.home() / ".config" / "kafkactl" / "config.toml"


@pytest.mark.parametrize(
    ("words", "moved"),
    [
        ("--bootstrap-server b:1 status --deep", "status --bootstrap-server b:1 --deep"),
        ("--context=prod --command-config f quorum describe", "quorum --context=prod --command-config f describe"),
        ("quorum --bootstrap b:1 describe", "quorum --bootstrap b:1 describe"),
        ("--bootstrap-server", "--bootstrap-server"),
        ("--help", "--help"),
        ("", ""),
    ],
)
def test_connection_options_before_the_command_are_moved_after_it(words, moved):
    assert after_the_command(words.split()) == moved.split()


def test_options_that_may_precede_the_command_are_those_of_a_connection():
    names = {name.removeprefix("--").replace("-", "_") for name in CONNECTION_OPTIONS}
    assert names == {*ConnectionArguments().target()}


def test_cluster_that_is_named_before_the_command_is_asked(kafkactl):
    for words in (("status",), ("quorum", "describe")):
        run = kafkactl("--bootstrap-controller", "127.0.0.1:1", *words, "-o", "json")
        assert run.code == 4, run
    run = kafkactl("--bootstrap-controller", "127.0.0.1:1", "storage", "random-uuid")
    assert (run.code, "No such option" in run.stderr) == (2, True)


@pytest.mark.parametrize(("words", "shown"), [((), 11), (("-v",), 25)])
def test_file_of_another_kind_has_few_warnings(kafkactl, tmp_path: Path, words: tuple[str, ...], shown: int):
    file = tmp_path / "binary.properties"
    file.write_text("".join(f"key{number}=a\x01b\n" for number in range(25)))
    run = kafkactl("quorum", "describe", "--bootstrap-server", "127.0.0.1:1", "--command-config", file, *words)
    warnings = [line for line in run.stderr.splitlines() if line.startswith("warning: ")]
    assert run.code == 4 and len([line for line in warnings if "control character" in line or "more" in line]) == shown
    assert any("more warnings about this file" in line for line in warnings) is not bool(words)
