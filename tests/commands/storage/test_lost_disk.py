"""`storage format … --verified-quorum`: the operator's word against what the controllers show, over sockets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkactl.commands.demo.listening import Listening
from kafkactl.commands.demo.quorum import FakeQuorum
from tests.conftest import Run
from tests.storage.nodes import CLUSTER_ID, properties

WORDS = ("--no-initial-controllers", "-g", "--replace-lost-metadata-disk", "--verified-quorum")
Format = Callable[..., Run]


@pytest.fixture
def quorum() -> Iterator[FakeQuorum]:
    """Yield voters 1, 2 and 3, of which 3 has lost its disk and does not run."""
    with FakeQuorum(voters=(1, 2, 3)) as started:
        started.kill(3, ago_ms=60_000)
        yield started


@pytest.fixture
def lost(kafkactl: Callable[..., Run], tmp_path: Path) -> Format:
    """Return `lost(servers="HOST:PORT,…")` or `lost(voters="ID@HOST:PORT,…")`: format node 3, whose metadata disk is
    blank."""

    def run(
        *words: str,
        verb: str = "format",
        cluster_id: str = CLUSTER_ID,
        voters: str = "",
        servers: str = "",
        **settings: Any,
    ) -> Run:
        file = tmp_path / "server.properties"
        folders = [str(tmp_path / name) for name in ("d1", "d2")]
        quorum = {"controller_quorum_voters": voters} if voters else {"controller_quorum_bootstrap_servers": servers}
        text = properties(log_dirs=folders, node_id=3, static=bool(voters), **quorum, **settings)
        file.write_text(text, encoding="utf-8")
        (tmp_path / "d2").mkdir(exist_ok=True)
        meta = f"version=1\ncluster.id={cluster_id}\nnode.id=3\n"
        (tmp_path / "d2" / "meta.properties").write_text(meta, encoding="utf-8")
        usual = WORDS[1:] if voters else WORDS
        return kafkactl("storage", verb, "-t", cluster_id, "-c", file, "-o", "json", *(words or usual))

    return run


def servers(quorum: FakeQuorum) -> str:
    return ",".join(str(quorum.address(number)) for number in (1, 2, 3))


def voters(*places: object) -> str:
    return ",".join(f"{number}@{place}" for number, place in enumerate(places, 1))


def ids_of(run: Run) -> set[str]:
    return {finding["id"] for finding in run.json["findings"]}


def test_quorum_that_does_without_it_lets_the_disk_be_replaced(quorum: FakeQuorum, lost: Format) -> None:
    run = lost(servers=servers(quorum), cluster_id=quorum.cluster_id)
    assert (run.code, run.json["outcome"]) == (0, "done"), run.json
    assert not ids_of(run) & {"quorum-not-observed", "majority-not-proven"}


@pytest.mark.parametrize("ago_ms", [0, pytest.param(1_500, marks=pytest.mark.slow), 30_000])
def test_second_voter_that_is_gone_contradicts_the_word(
    quorum: FakeQuorum, lost: Format, tmp_path: Path, ago_ms: int
) -> None:
    quorum.kill(2, ago_ms=ago_ms)
    run = lost(servers=servers(quorum), cluster_id=quorum.cluster_id)
    assert (run.code, run.json["outcome"]) == (3, "refused"), run.json
    (finding,) = [finding for finding in run.json["findings"] if finding["id"] == "majority-not-proven"]
    assert "controller 2 did not advance" in finding["message"]
    assert not list(tmp_path.glob("d1/*")), "nothing is written"


@pytest.mark.slow
def test_dry_run_and_ensure_ask_as_well(quorum: FakeQuorum, lost: Format) -> None:
    quorum.kill(2)
    where = {"servers": servers(quorum), "cluster_id": quorum.cluster_id}
    for run in (lost(*WORDS, "--dry-run", **where), lost(*(set(WORDS) - {"-g"}), verb="ensure", **where)):
        assert (run.code, "majority-not-proven" in ids_of(run)) == (3, True), run.json


def test_controller_of_this_id_that_fetches_is_not_replaced(lost: Format) -> None:
    with FakeQuorum(voters=(1, 2, 3)) as quorum:
        run = lost(servers=servers(quorum), cluster_id=quorum.cluster_id)
    assert (run.code, "controller-runs-elsewhere" in ids_of(run)) == (3, True), run.json


def test_controllers_of_another_cluster_are_refused(quorum: FakeQuorum, lost: Format) -> None:
    run = lost(servers=servers(quorum), cluster_id=CLUSTER_ID)
    assert (run.code, "cluster-id-mismatch" in ids_of(run)) == (3, True), run.json


def test_statement_of_the_operator_decides_for_a_dynamic_quorum_without_answers(
    quorum: FakeQuorum, lost: Format
) -> None:
    quorum.kill(1)
    quorum.kill(2)
    run = lost(servers=servers(quorum), cluster_id=quorum.cluster_id)
    assert (run.code, run.json["outcome"]) == (0, "done"), run.json
    (finding,) = [finding for finding in run.json["findings"] if finding["id"] == "quorum-not-observed"]
    assert finding["severity"] == "warning"
    assert str(quorum.address(1)) in finding["message"]


def test_static_voters_that_do_not_run_contradict_the_word(quorum: FakeQuorum, lost: Format) -> None:
    quorum.kill(1)
    quorum.kill(2)
    places = [quorum.address(number) for number in (1, 2, 3)]
    run = lost(voters=voters(*places), cluster_id=quorum.cluster_id)
    assert (run.code, "majority-not-proven" in ids_of(run)) == (3, True), run.json


class Mute(Listening):
    """Server that accepts connections and does not answer."""

    def _welcome(self, *_: Any) -> None:
        self.ended.wait()


def test_silent_quorum_leaves_the_decision_to_the_operator(lost: Format) -> None:
    with Mute() as mute, Mute() as other:
        places = voters(mute.address, other.address, "127.0.0.1:9093")
        run = lost(*WORDS[1:], "--timeout", "15s", voters=places)
    assert (run.code, "quorum-not-observed" in ids_of(run)) == (0, True), run.json


def test_listener_that_kafkactl_cannot_enter_leaves_the_word(quorum: FakeQuorum, lost: Format) -> None:
    run = lost(
        servers=servers(quorum),
        cluster_id=quorum.cluster_id,
        listener_security_protocol_map="CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT",
        sasl_mechanism_controller_protocol="PLAIN",
    )
    assert (run.code, "quorum-not-observed" in ids_of(run)) == (0, True), run.json
