"""Completion in real shells: bash, zsh and fish, with contexts and a live cluster, and without."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkactl.commands.demo.quorum import FakeQuorum
from tests.commands.features.test_features import at
from tests.commands.shells import completed, offered_by_fish
from tests.kafka.feature_cluster import FakeCluster
from tests.repository.docs.console_pages import user_environment

SHELLS = ("bash", "zsh", "fish")
Offers = Callable[[str, str, set[str]], None]


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a user with three contexts, whose `kafkactl` is this tree."""
    file = tmp_path / "contexts" / "config.toml"
    file.parent.mkdir(mode=0o700)
    file.write_text('[contexts.prod-east]\n[contexts.prod-west]\n[contexts.test]\n[contexts."a; rm"]\n')
    file.chmod(0o600)
    return {**user_environment(tmp_path), "KAFKACTL_CONFIG": str(file), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def offers(home: dict[str, str], tmp_path: Path) -> Offers:
    """Return `offers(shell, line, words)`: that shell offers these words behind that line."""

    def check(shell: str, line: str, words: set[str]) -> None:
        script = tmp_path / f"completion.{shell}"
        made = subprocess.run(["kafkactl", "completion", shell], capture_output=True, env=home, check=True)
        script.write_bytes(made.stdout)
        if shell == "fish":
            assert offered_by_fish(script, line, home) == words
            return
        shown = completed(shell, script, line, _all_of(words), home, tmp_path)
        assert "Traceback" not in shown

    return check


def _all_of(words: set[str]) -> str:
    """Return all of them, in any order, as words of their own."""
    return "(?s)" + "".join(f"(?=.*(?<![\\w.=-]){re.escape(word)}(?![\\w.=]))" for word in words)


@contextlib.contextmanager
def silent_port() -> Iterator[str]:
    """Yield an address that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
class TestShells:
    def test_contexts_are_completed(self, shell: str, offers: Offers) -> None:
        offers(shell, "kafkactl config use prod-", {"prod-east", "prod-west"})

    def test_levels_behind_an_equals_sign(self, shell: str, offers: Offers, home: dict[str, str]) -> None:
        with FakeQuorum(voters=(1, 2, 3)) as quorum:
            home["KAFKACTL_BOOTSTRAP_CONTROLLER"] = str(quorum.addresses[0])
            warm(home, "features upgrade --feature ", "transaction.version=2")
            words = {"transaction.version=1", "transaction.version=2"}
            # The shell bash shows what it would put after the sign.
            shown = {word.partition("=")[2] for word in words} if shell == "bash" else words
            offers(shell, "kafkactl features upgrade --feature transaction.version=", shown)

    def test_ids_of_controllers_are_completed(self, shell: str, offers: Offers, home: dict[str, str]) -> None:
        with FakeQuorum(controllers=4, voters=(1, 2, 3)) as quorum:
            home["KAFKACTL_BOOTSTRAP_CONTROLLER"] = str(quorum.addresses[0])
            warm(home, "quorum remove-controller -i ", "3")
            offers(shell, "kafkactl quorum reassign --target 1,", {"1,2", "1,3", "1,4"})

    def test_topics_and_brokers_are_completed(self, shell: str, offers: Offers, home: dict[str, str]) -> None:
        cluster = FakeCluster()
        cluster.topics = {"orders": {}, "orders.dlq": {}, "audit": {}}
        with at(cluster) as (option, servers):
            line = f"log history {option} {servers} --topic "
            warm(home, line, "audit")
            offers(shell, f"kafkactl {line}ord", {"orders", "orders.dlq"})


def answer(home: dict[str, str], line: str) -> tuple[list[str], str, float]:
    """Return the words that the program offers to bash, what it says on stderr, and how long it took in seconds."""
    asked = {
        "_KAFKACTL_COMPLETE": "bash_complete",
        "KAFKACTL_COMP_LINE": f"kafkactl {line}",
        "KAFKACTL_COMP_BREAKS": "",
    }
    began = time.monotonic()
    run = subprocess.run(["kafkactl"], capture_output=True, text=True, env={**home, **asked}, timeout=60, check=False)
    return [word.removeprefix("plain,") for word in run.stdout.split()], run.stderr, time.monotonic() - began


def warm(home: dict[str, str], line: str, word: str) -> None:
    """Ask until the answer of the cluster is in the cache: on a loaded machine the first wait may be too short."""
    deadline = time.monotonic() + 60
    while word not in (found := answer(home, line)[0]):
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


class TestWords:
    @pytest.mark.slow
    def test_cluster_is_asked_once_a_minute(self, home: dict[str, str]) -> None:
        with FakeQuorum(voters=(1, 2, 3)) as quorum:
            home["KAFKACTL_BOOTSTRAP_CONTROLLER"] = str(quorum.addresses[0])
            warm(home, "nodes unregister --id ", "3")
            asked = [len(node.asked) for node in quorum.nodes.values()]
            assert set(answer(home, "nodes unregister --id ")[0]) == {"1", "2", "3"}
            assert [len(node.asked) for node in quorum.nodes.values()] == asked
        files = list(Path(home["XDG_CACHE_HOME"]).rglob("*.json"))
        assert [file.stat().st_mode & 0o777 for file in files] == [0o600]
        assert answer(home, "nodes unregister --id 2")[0] == ["2"], "the cache answers for a cluster that is away"

    @pytest.mark.slow
    def test_cluster_that_hangs_or_is_away_is_not_waited_for(self, home: dict[str, str]) -> None:
        with silent_port() as address:
            for server in (address, "127.0.0.1:1"):
                words, errors, seconds = answer(home, f"nodes unregister --bootstrap-server {server} --id ")
                assert (words, errors) == ([], "")
                assert seconds < 30, "ten times what a start and a wait of 150 ms take"

    @pytest.mark.slow
    def test_without_a_cluster_the_newest_release_is_offered(self, home: dict[str, str]) -> None:
        words, errors, _ = answer(home, "features upgrade --feature share.")
        assert (words, errors) == (["share.version=1", "share.version=2"], "")
        assert "4.4" in answer(home, "storage format --release-version ")[0]

    def test_offline_no_cluster_is_asked(self, home: dict[str, str]) -> None:
        with FakeQuorum(voters=(1, 2, 3)) as quorum:
            home |= {"KAFKACTL_BOOTSTRAP_CONTROLLER": str(quorum.addresses[0]), "KAFKACTL_COMPLETION": "offline"}
            assert answer(home, "nodes unregister --id ")[0] == []
            assert [node.asked for node in quorum.nodes.values()] == [[], [], []]

    @pytest.mark.slow
    def test_words_that_a_shell_would_act_on_are_not_offered(self, home: dict[str, str]) -> None:
        cluster = FakeCluster()
        cluster.topics = {"fine": {}, "$(reboot)": {}, "a b": {}, "\x1b[2J": {}, "-rf": {}}
        with at(cluster) as (option, servers):
            line = f"log history {option} {servers} --topic "
            warm(home, line, "fine")
            assert answer(home, line)[0] == ["fine"]
        assert answer(home, "nodes list --context ")[0] == ["prod-east", "prod-west", "test"]
        assert answer(home, "config use ")[0] == ["prod-east", "prod-west", "test"]

    @pytest.mark.parametrize("line", ["quorum reassign --target --yes ", "nowhere to ", "storage format -c @", "--"])
    def test_line_that_is_wrong_gets_no_words_and_no_complaint(self, home: dict[str, str], line: str) -> None:
        assert answer(home, line)[1] == ""

    def test_completion_without_a_cache_folder_is_empty(self, home: dict[str, str], tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        home["XDG_CACHE_HOME"] = str(tmp_path / "file")
        assert answer(home, "nodes unregister --bootstrap-server 127.0.0.1:1 --id ")[:2] == ([], "")


def test_completion_imports_no_client_before_a_word_of_a_cluster_is_asked() -> None:
    script = (
        "import os, sys; os.environ['_KAFKACTL_COMPLETE'] = 'bash_complete';"
        "os.environ['KAFKACTL_COMP_LINE'] = 'kafkactl quorum re'\n"
        "from kafkactl.commands.main import main\nmain([])\n"
        "clients = ('kafkactl.kafka', 'kafkactl.net')\n"
        "print([name for name in sys.modules if name.startswith(clients) or '.io.' in name])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=os.environ, check=True)
    assert run.stdout.splitlines() == ["plain,remove-controller", "plain,reassign", "plain,recover", "[]"]
