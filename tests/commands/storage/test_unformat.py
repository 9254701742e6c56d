"""`kafkactl storage unformat`: it asks for the cluster's id, and takes no other word for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.storage.nodes import CLUSTER_ID, properties

HOSTILE_LINES = {"storage unformat": ("-c {config} --dry-run",)}

HOSTILE_PATHS = {
    "storage unformat": [
        ("--only", "-c {config} --only {} --dry-run", (2, 3)),
    ],
}


@pytest.fixture
def config(tmp_path: Path, kafkactl: Callable[..., Run]) -> Path:
    """Return a formatted node's configuration."""
    file = tmp_path / "server.properties"
    file.write_text(properties(log_dirs=[str(tmp_path / "d1"), str(tmp_path / "d2")]), encoding="utf-8")
    assert kafkactl("storage", "format", "-t", CLUSTER_ID, "-c", file, "-s").code == 0
    return file


@pytest.fixture
def unformat(kafkactl: Callable[..., Run], config: Path) -> Callable[..., Run]:
    return lambda *words: kafkactl("storage", "unformat", "-c", config, "-o", "json", *words)


def files(config: Path) -> list[str]:
    return sorted(path.name for path in config.parent.rglob("*") if path.is_file() and path != config)


def test_removes_the_format_of_a_node_that_never_started(unformat: Callable[..., Run], config: Path) -> None:
    run = unformat("--confirm", CLUSTER_ID)
    assert (run.code, run.json["kind"], run.json["outcome"]) == (0, "storage.unformat", "done")
    assert (run.json["cluster_id"], run.json["node_id"]) == (CLUSTER_ID, 1)
    assert [directory["action"] for directory in run.json["directories"]] == ["unformat", "unformat"]
    assert files(config) == []
    again = unformat()
    assert (again.code, again.json["outcome"]) == (0, "nothing-to-do")


def test_dry_run_removes_nothing(unformat: Callable[..., Run], config: Path) -> None:
    before = files(config)
    run = unformat("--dry-run")
    assert (run.code, run.json["outcome"]) == (0, "planned")
    assert str(config.parent / "d1" / "meta.properties") in run.json["directories"][0]["files"]
    assert files(config) == before


@pytest.mark.parametrize(
    ("words", "id_"),
    [
        ([], "confirmation-missing"),
        (["--yes"], "confirmation-missing"),
        (["--confirm", "another"], "confirmation-mismatch"),
    ],
)
def test_unformat_is_confirmed_by_the_cluster_id_only(
    unformat: Callable[..., Run], config: Path, words: list[str], id_: str
) -> None:
    before = files(config)
    run = unformat(*words)
    assert (run.code, run.json["outcome"]) == (3, "refused")
    assert [finding["id"] for finding in run.json["findings"]] == [id_]
    assert files(config) == before


def test_node_that_may_have_started_is_refused(unformat: Callable[..., Run], config: Path) -> None:
    (config.parent / "d1" / ".lock").touch()
    before = files(config)
    run = unformat("--confirm", CLUSTER_ID)
    assert (run.code, run.json["outcome"]) == (3, "refused")
    assert [finding["id"] for finding in run.json["findings"]] == ["directory-was-used"]
    assert files(config) == before


def test_only_one_directory_is_unformatted(unformat: Callable[..., Run], config: Path) -> None:
    (config.parent / "d1" / ".lock").touch()
    run = unformat("--only", config.parent / "d2", "--confirm", CLUSTER_ID)
    assert (run.code, [directory["path"] for directory in run.json["directories"]]) == (0, [str(config.parent / "d2")])


def test_leftovers_need_only_a_yes(unformat: Callable[..., Run], config: Path) -> None:
    for name in ("d1", "d2"):
        (config.parent / name / "meta.properties").unlink()
    assert unformat().code == 3
    assert unformat("--yes").json["outcome"] == "done"
    assert files(config) == []


def test_people_see_what_goes(kafkactl: Callable[..., Run], config: Path) -> None:
    run = kafkactl("storage", "unformat", "-c", config, "--dry-run")
    assert "Would unformat node 1" in run.stdout
    assert "meta.properties" in run.stdout
