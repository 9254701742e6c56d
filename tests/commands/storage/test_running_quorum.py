"""A blank metadata directory of a controller against the quorum that runs at its addresses, over sockets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkactl.commands.demo.quorum import FakeQuorum, directory_of
from tests.conftest import Run
from tests.storage.nodes import CLUSTER_ID, properties

Format = Callable[..., Run]
CONFIRMED = ("--replace-lost-metadata-disk", "--verified-quorum")


@pytest.fixture
def quorum() -> Iterator[FakeQuorum]:
    """Yield voters 1, 2 and 3, of which 3 ran once and does not run now."""
    with FakeQuorum(voters=(1, 2, 3)) as started:
        started.kill(3, ago_ms=60_000)
        yield started


@pytest.fixture
def blank(kafkactl: Callable[..., Run], tmp_path: Path, quorum: FakeQuorum) -> Format:
    """Return `blank("--standalone", verb="ensure")`: format node 3, whose only directory is empty."""

    def run(*words: str, verb: str = "format", cluster_id: str = "", static: bool = False, **settings: Any) -> Run:
        places = {number: quorum.address(number) for number in (1, 2, 3)}
        if static:
            settings["controller_quorum_voters"] = ",".join(f"{number}@{place}" for number, place in places.items())
        else:
            settings["controller_quorum_bootstrap_servers"] = ",".join(map(str, places.values()))
        file = tmp_path / "server.properties"
        text = properties(roles="controller", log_dirs=[f"{tmp_path}/d1"], node_id=3, static=static, **settings)
        file.write_text(text, encoding="utf-8")
        given = ("-t", cluster_id or quorum.cluster_id, "-c", file, "--kafka-version", "4.3.1", "-o", "json")
        return kafkactl("storage", verb, *given, *words)

    return run


def voters(quorum: FakeQuorum, own: str | None = None) -> tuple[str, str]:
    text = ",".join(
        f"{number}@{quorum.address(number)}:{own if own and number == 3 else directory_of(number)}"
        for number in (1, 2, 3)
    )
    return "--initial-controllers", text


def blockers(run: Run) -> list[str]:
    return [finding["id"] for finding in run.json["findings"] if finding["severity"] == "blocker"]


def found(run: Run) -> dict[str, Any]:
    (finding,) = [finding for finding in run.json["findings"] if finding["id"] == "quorum-already-runs"]
    return finding


@pytest.mark.parametrize("verb", ["format", "ensure"])
def test_former_voter_with_a_blank_disk_is_not_formatted(
    quorum: FakeQuorum, blank: Format, verb: str, tmp_path: Path
) -> None:
    began = time.monotonic()
    for words in (voters(quorum), ("--standalone",)):
        run = blank(*words, verb=verb)
        assert (run.code, run.json["outcome"], blockers(run)) == (3, "refused", ["quorum-already-runs"]), run.json
        assert "--no-initial-controllers" in found(run)["next_step"]
    assert not list(tmp_path.glob("d1/*"))
    assert time.monotonic() - began < 60


def test_static_voter_with_a_blank_disk_names_the_options_that_confirm_it(quorum: FakeQuorum, blank: Format) -> None:
    for words in ((), ("--no-initial-controllers",)):
        run = blank(*words, static=True)
        assert (run.code, blockers(run)) == (3, ["quorum-already-runs"]), run.json
        assert "--verified-quorum" in found(run)["next_step"]


def test_controller_that_joins_is_formatted(blank: Format) -> None:
    run = blank("--no-initial-controllers")
    assert (run.code, blockers(run)) == (0, []), run.json


@pytest.mark.slow
def test_confirmed_disk_is_formatted_if_the_quorum_does_without_it(quorum: FakeQuorum, blank: Format) -> None:
    run = blank(*voters(quorum), *CONFIRMED)
    assert (run.code, blockers(run)) == (0, []), run.json
    assert "quorum-already-runs" in {finding["id"] for finding in run.json["findings"]}


@pytest.mark.slow
def test_confirmed_disk_is_refused_if_no_majority_is_left_or_the_cluster_is_founded_again(
    quorum: FakeQuorum, blank: Format
) -> None:
    assert blockers(blank("--standalone", *CONFIRMED)) == ["quorum-already-runs"]
    quorum.kill(2)
    assert "majority-not-proven" in blockers(blank(*voters(quorum), *CONFIRMED))


def test_another_directory_id_than_the_quorum_knows_is_refused(quorum: FakeQuorum, blank: Format) -> None:
    run = blank(*voters(quorum, "qqqqqqqqqqqqqqqqqqqqqg"))
    assert blockers(run) == ["quorum-already-runs"]
    assert "another directory id" in found(run)["message"]


def test_controllers_of_another_cluster_are_named(blank: Format) -> None:
    run = blank("--standalone", cluster_id=CLUSTER_ID)
    assert (run.code, blockers(run)) == (0, [])
    assert "controllers-of-another-cluster" in {finding["id"] for finding in run.json["findings"]}


def test_quorum_that_does_not_answer_changes_nothing(quorum: FakeQuorum, blank: Format) -> None:
    quorum.kill(1)
    quorum.kill(2)
    run = blank(*voters(quorum))
    assert (run.code, blockers(run)) == (0, []), run.json


def test_formatted_node_asks_nothing(quorum: FakeQuorum, blank: Format) -> None:
    quorum.kill(1)
    quorum.kill(2)
    assert blank(*voters(quorum)).code == 0
    assert blank(*voters(quorum), verb="ensure").json["outcome"] == "nothing-to-do"
