"""`kafkactl storage format` where another run was at work on the disks: it was killed, or has not ended yet."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.storage.api.format import apply_format, plan_format
from kafkactl.storage.model import FormatRequest, VoterMode
from tests.commands.storage.test_format import Node, blockers
from tests.conftest import Run
from tests.storage.nodes import CLUSTER_ID, properties


@pytest.fixture
def killed(kafkactl: Callable[..., Run], tmp_path: Path) -> Callable[..., Run]:
    """Return two directories, of which d2 was finished when the run was killed; then the same command again."""
    file = tmp_path / "server.properties"
    folders = [f"{tmp_path}/{name}" for name in ("d1", "d2")]
    file.write_text(properties(log_dirs=folders, static=True), encoding="utf-8")
    words = ("storage", "format", "-t", CLUSTER_ID, "-c", file, "--kafka-version", "4.3.1", "-o", "json")
    assert kafkactl(*words).code == 0
    (tmp_path / "d1" / "meta.properties").rename(tmp_path / "d1" / "meta.properties.kafkactl.tmp")
    for name in ("d1", "d2"):
        (tmp_path / name / ".kafkactl.lock").touch()
    return lambda *more: kafkactl(*words, *more)


def test_killed_format_is_resumed_by_the_same_command(killed: Callable[..., Run], tmp_path: Path) -> None:
    run = killed()
    assert (run.code, run.json["outcome"]) == (0, "done"), run.json["findings"]
    assert "format-resumed" in {finding["id"] for finding in run.json["findings"]}
    assert not list(tmp_path.glob("d?/*kafkactl*")) and not list(tmp_path.glob("d?/.kafkactl.lock"))
    assert blockers(killed()) == ["already-formatted", "already-formatted"]


@pytest.fixture
def unfinished(kafkactl: Callable[..., Run], tmp_path: Path) -> tuple[Path, list[object]]:
    """Return a lock file in directories that are complete: another run is about to end; and the words of its
    command."""
    node = Node(tmp_path)
    words = ["storage", "format", "-t", CLUSTER_ID, "-c", node.file, "-s", "--kafka-version", "4.3.1", "-o", "json"]
    assert kafkactl(*words).code == 0
    lock = tmp_path / "d1" / ".kafkactl.lock"
    lock.touch()
    return lock, words


@pytest.mark.parametrize("more", [(), ("--ignore-formatted",)])
def test_run_that_is_still_at_work_is_not_resumed(
    kafkactl: Callable[..., Run], unfinished: tuple[Path, list[object]], more: tuple[str, ...]
) -> None:
    lock, words = unfinished
    held = OsFilesystem().lock(str(lock))
    try:
        run = kafkactl(*words, *more)
    finally:
        os.close(held)
    assert (run.code, run.json["outcome"], blockers(run)) == (3, "refused", ["another-kafkactl-is-writing"])
    assert kafkactl(*words, *more).json["outcome"] == "nothing-to-do"
    assert not lock.exists()


@pytest.mark.parametrize("moment", ["before the apply", "before the lock is opened"])
def test_run_that_ended_since_the_look_at_the_disks_is_not_resumed(
    unfinished: tuple[Path, list[object]], moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, _ = unfinished
    request = FormatRequest(cluster_id=CLUSTER_ID, voter_mode=VoterMode.STANDALONE)
    planned = plan_format(lock.parents[1] / "server.properties", request, kafka_version="4.3.1")
    assert planned.outcome is Outcome.NOTHING_TO_DO
    if moment == "before the apply":
        lock.unlink()
    else:
        opened = OsFilesystem.lock
        monkeypatch.setattr(OsFilesystem, "lock", lambda *words, **more: (lock.unlink(), opened(*words, **more))[1])
    applied = apply_format(planned)
    assert applied.outcome is Outcome.REFUSED
    assert "formatted-meanwhile" in {finding.id for finding in applied.findings}


def test_disk_of_a_node_that_has_run_is_not_resumed(killed: Callable[..., Run], tmp_path: Path) -> None:
    (tmp_path / "d2" / "orders-0").mkdir()
    assert "already-formatted" in blockers(killed())


def test_resumed_format_of_another_cluster_is_refused(killed: Callable[..., Run]) -> None:
    assert "cluster-id-mismatch" in blockers(killed("-t", "AAAAAAAAAAAAAAAAAAAAAA"))
