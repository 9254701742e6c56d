"""Files that are edited between two phases, and the folder of `migrate render`: what the commands do with them."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from shutil import copytree

import pytest

from kafkactl.commands.migrate import check as migrate_check
from kafkactl.commands.migrate import status as migrate_status
from kafkactl.migration.api import rendering
from kafkactl.migration.api.rendering import NodeFiles
from kafkactl.migration.render.facts import node_file
from tests.commands.migrate.test_drive import ACCEPTED, migrate  # noqa: F401  # a fixture
from tests.fakes.migrating_cluster import FakeCluster

EDIT = "num.io.threads=5\n"


@pytest.fixture(scope="module")
def at_m6() -> list[tuple[FakeCluster, Path]]:
    """Return the cluster and the files at M6 from the first test on that asks for them."""
    return []


@pytest.fixture
def edited(migrate, at_m6, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> FakeCluster:  # noqa: F811
    """Return a cluster at M6 whose broker 2 got more threads by hand, and a journal of the test's own."""
    if not at_m6:
        made = FakeCluster()
        assert migrate(made, "run", "--yes", "--until", "M6", *ACCEPTED).code == 0
        at_m6.append((deepcopy(made), copytree(tmp_path, tmp_path_factory.mktemp("m6") / "files")))
    cluster, files = deepcopy(at_m6[0][0]), at_m6[0][1]
    copytree(files, tmp_path, dirs_exist_ok=True)
    cluster.nodes[2].file = (cluster.nodes[2].file or "") + EDIT
    return cluster


@pytest.mark.parametrize(
    "words", [("run", "--yes"), ("run", "--dry-run"), ("rollback", "--yes"), ("rollback", "--dry-run")]
)
def test_edited_file_is_not_overwritten_unasked(migrate, edited: FakeCluster, words) -> None:  # noqa: F811
    before = {id: node.file for id, node in edited.nodes.items()}
    run = migrate(edited, *words, *(ACCEPTED if words[0] == "run" else ()))
    found = [finding for finding in run.json["findings"] if finding["id"] == "config-edited-by-hand"]
    assert (run.code, [file["subject"] for file in found]) == (3, ["broker 2"])
    assert "num.io.threads (absent) -> 5" in found[0]["message"] and "--hand-edits carry" in found[0]["next_step"]
    assert "+num.io.threads=5" in found[0]["evidence"]["diff"]
    assert {id: node.file for id, node in edited.nodes.items()} == before


def test_edit_is_carried_forward(migrate, edited: FakeCluster) -> None:  # noqa: F811
    run = migrate(edited, "run", "--yes", "--hand-edits", "carry", *ACCEPTED)
    assert (run.code, run.json["state"]) == (0, "M8"), run.json["findings"]
    assert {id for id, node in edited.nodes.items() if EDIT in (node.file or "")} == {2}
    assert migrate(edited, "rollback", "--yes").code == 0
    assert {id for id, node in edited.nodes.items() if EDIT in (node.file or "")} == {2}


def test_edit_of_one_node_is_carried_and_that_of_another_is_not(migrate, edited: FakeCluster) -> None:  # noqa: F811
    edited.nodes[3].file = (edited.nodes[3].file or "") + EDIT
    run = migrate(edited, "run", "--yes", "--hand-edits", "carry@broker-2", *ACCEPTED)
    found = [finding for finding in run.json["findings"] if finding["id"] == "config-edited-by-hand"]
    assert (run.code, [finding["subject"] for finding in found]) == (3, ["broker 3"])
    assert "carry@broker-3" in found[0]["next_step"]
    both = ("--hand-edits", "carry@broker-2", "--hand-edits", "overwrite@broker-3")
    assert migrate(edited, "run", "--yes", *both, *ACCEPTED).code == 0
    assert {id for id, node in edited.nodes.items() if EDIT in (node.file or "")} == {2}


@pytest.mark.parametrize("word", ["keep", "carry@broker-9", "carry@2", "carry@"])
def test_word_about_edits_that_means_nothing_is_a_usage_error(migrate, word: str) -> None:  # noqa: F811
    run = migrate(FakeCluster(), "run", "--yes", "--hand-edits", word, *ACCEPTED)
    assert run.code == 2
    assert word.partition("@")[2] in run.stderr


@pytest.mark.slow
def test_edit_is_overwritten_where_that_is_asked_for(migrate, edited: FakeCluster, tmp_path: Path) -> None:  # noqa: F811
    run = migrate(edited, "run", "--yes", "--hand-edits", "overwrite", *ACCEPTED)
    assert (run.code, run.json["state"]) == (0, "M8"), run.json["findings"]
    assert not any(EDIT in (node.file or "") for node in edited.nodes.values())
    kept = next(path for path in (tmp_path / "journal").iterdir() if path.is_dir())
    texts = [path.read_bytes() for path in kept.iterdir()]
    assert any(EDIT.encode() in text and b"migration.enable" in text for text in texts)


def test_check_and_render_see_the_edit_as_run_does(migrate, edited: FakeCluster, monkeypatch) -> None:  # noqa: F811
    monkeypatch.setattr(migrate_check, "open_observation", lambda _: edited.observe())
    run = migrate(edited, "check", *ACCEPTED)
    found = {finding["id"]: finding for finding in run.json["findings"]}
    assert (run.code, found["config-edited-by-hand"]["subject"]) == (7, "broker 2")
    files = tuple(
        node_file(node.id, node.role, (node.file or "").encode(), file=f"{node.id}") for node in edited.nodes.values()
    )
    monkeypatch.setattr(rendering, "read_node_files", lambda *_, **__: NodeFiles(files=files))
    run = migrate(edited, "render", "--dry-run")
    assert (run.code, next(finding["id"] for finding in run.json["findings"] if finding["subject"] == "broker 2")) == (
        0,
        "config-edited-by-hand",
    )
    changes = {(file["id"], file["phase"]): file for file in run.json["files"]}
    assert "process.roles" in changes[2, "kraft"]["set"] and changes[2, "original"]["sha256"] is not None


def test_saved_observation_has_no_edits(migrate, edited: FakeCluster, monkeypatch, tmp_path: Path) -> None:  # noqa: F811
    monkeypatch.setattr(migrate_check, "open_observation", lambda _: edited.observe())
    run = migrate(edited, "check", "--observation", str(tmp_path), *ACCEPTED)
    assert "config-edited-by-hand" not in {finding["id"] for finding in run.json["findings"]}


def test_status_sees_the_edit_as_run_does(migrate, edited: FakeCluster, monkeypatch) -> None:  # noqa: F811
    monkeypatch.setattr(migrate_status, "open_observation", lambda _: edited.observe())
    run = migrate(edited, "status")
    found = [gate["subject"] for gate in run.json["gates"] if gate["id"] == "config-edited-by-hand"]
    assert (run.code, run.json["state"], found) == (7, "M6", ["broker 2"])
    assert "num.io.threads (absent) -> 5" in migrate(edited, "status", output="table").stdout
    edited.nodes[2].file = (edited.nodes[2].file or "").removesuffix(EDIT)
    assert "config-edited-by-hand" not in migrate(edited, "status").stdout


def folder_of(cluster: FakeCluster, migrate, monkeypatch, place: Path) -> Path:  # noqa: F811
    files = tuple(
        node_file(node.id, node.role, (node.file or "").encode(), file=f"{node.id}") for node in cluster.nodes.values()
    )
    monkeypatch.setattr(rendering, "read_node_files", lambda *_, **__: NodeFiles(files=files))
    assert migrate(cluster, "render", "--out", place).code == 0
    return place


@pytest.mark.slow
def test_folder_of_render_is_used_when_it_is_named(migrate, monkeypatch, tmp_path: Path) -> None:  # noqa: F811
    cluster = FakeCluster()
    folder = folder_of(cluster, migrate, monkeypatch, tmp_path / "rendered")
    for phase in ("migration", "kraft"):
        path = folder / f"broker-2/{phase}.properties"
        path.write_text(path.read_text() + EDIT)
    run = migrate(cluster, "run", "--yes", "--until", "M6", "--rendered", folder, *ACCEPTED)
    assert run.code == 0, run.json["findings"]
    assert EDIT in (cluster.nodes[2].file or "")
    assert str(folder) in run.stderr and "num.io.threads" in run.stderr
    run = migrate(cluster, "run", "--yes", *ACCEPTED)  # the journal remembers the folder
    assert (run.code, run.json["state"]) == (0, "M8"), run.json["findings"]
    assert EDIT in (cluster.nodes[2].file or "") and "process.roles" in (cluster.nodes[2].file or "")


@pytest.mark.parametrize(
    ("change", "id"),
    [
        (lambda text: text.replace("zookeeper.metadata.migration.enable=true\n", ""), "rendered-file-contradicts"),
        (None, "rendered-file-missing"),
    ],
)
def test_folder_that_contradicts_the_phase_is_refused(migrate, monkeypatch, tmp_path: Path, change, id: str) -> None:  # noqa: F811
    cluster = FakeCluster()
    folder = folder_of(cluster, migrate, monkeypatch, tmp_path / "rendered")
    path = folder / "broker-2/migration.properties"
    if change is None:
        path.unlink()
    else:
        path.write_text(change(path.read_text()))
    for words in (("--yes",), ("--dry-run",)):
        run = migrate(cluster, "run", *words, "--rendered", folder, *ACCEPTED)
        assert (run.code, id in {finding["id"] for finding in run.json["findings"]}) == (3, True), run.json["findings"]
    assert not any(controller.formatted for controller in cluster.controllers)


def test_run_reports_the_source_of_its_files(migrate) -> None:  # noqa: F811
    run = migrate(FakeCluster(), "run", "--yes", "--until", "M3", *ACCEPTED)
    assert "rendered from the nodes' own files" in run.stderr and "--rendered DIR" in run.stderr
