"""Removing a format: what goes, what stays, and what stops it at the last moment."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from kafkactl.core.findings import Outcome
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.format.unformat import UnformatPlan, plan_unformat
from kafkactl.storage.io.apply_format import apply_plan
from kafkactl.storage.io.apply_unformat import apply_unformat
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.model import KAFKACTL_LOCK, Progress, VoterMode
from tests.storage.format.planning import plan
from tests.storage.nodes import a_config


def a_node(root: Path) -> NodeConfig:
    """Return a formatted node with two directories, one of them a disk's root."""
    (root / "d2" / "lost+found").mkdir(parents=True)
    config = a_config("4.3", log_dirs=(str(root / "d1"), str(root / "d2")))
    made = plan("4.3", config=config, observed=observe_node(config), node={}, voter_mode=VoterMode.STANDALONE)
    assert apply_plan(made, OsFilesystem()).outcome is Outcome.DONE
    return config


def plan_for(config: NodeConfig) -> UnformatPlan:
    return plan_unformat(config, observe_node(config))


def names(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def test_removes_everything_that_the_format_wrote_and_nothing_else(tmp_path: Path) -> None:
    config = a_node(tmp_path)
    applied = apply_unformat(plan_for(config), OsFilesystem())
    assert applied.outcome is Outcome.DONE
    assert set(applied.progress.values()) == {Progress.DONE}
    assert names(tmp_path) == {"d1", "d2", "d2/lost+found"}
    assert plan_for(config).outcome is Outcome.NOTHING_TO_DO


def test_node_that_started_meanwhile_keeps_everything(tmp_path: Path) -> None:
    config = a_node(tmp_path)
    made = plan_for(config)
    (tmp_path / "d2" / ".lock").touch()
    before = names(tmp_path)
    applied = apply_unformat(made, OsFilesystem())
    assert applied.outcome is Outcome.REFUSED
    assert [finding.id for finding in applied.findings] == ["changed-meanwhile"]
    assert ".lock" in applied.findings[0].message
    assert names(tmp_path) == before


def test_node_that_was_formatted_again_meanwhile_keeps_everything(tmp_path: Path) -> None:
    config = a_node(tmp_path)
    made = plan_for(config)
    (tmp_path / "d1" / "meta.properties").write_text("another")
    assert apply_unformat(made, OsFilesystem()).outcome is Outcome.REFUSED
    assert (tmp_path / "d1" / "meta.properties").read_text() == "another"


def test_refuses_while_another_kafkactl_is_writing(tmp_path: Path) -> None:
    config = a_node(tmp_path)
    made = plan_for(config)
    held = OsFilesystem().lock(str(tmp_path / "d2" / KAFKACTL_LOCK))
    applied = apply_unformat(made, OsFilesystem())
    os.close(held)
    assert applied.outcome is Outcome.REFUSED
    assert [finding.id for finding in applied.findings] == ["another-kafkactl-is-writing"]
    assert (tmp_path / "d1" / "meta.properties").exists()


def test_failed_unformat_names_the_removed_files_and_the_next_run_removes_the_rest(tmp_path: Path) -> None:
    class Failing(OsFilesystem):
        def rmdir(self, path: str, *, at: int | None = None) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    config = a_node(tmp_path)
    applied = apply_unformat(plan_for(config), Failing())
    assert applied.outcome is Outcome.PARTIAL
    assert [finding.id for finding in applied.findings] == ["disk-io-error", "unformat-half-done"]
    assert applied.progress == {
        str(tmp_path / "d1"): Progress.HALF_DONE,
        str(tmp_path / "d2"): Progress.NOT_STARTED,
    }
    assert not (tmp_path / "d1" / "meta.properties").exists()
    assert apply_unformat(plan_for(config), OsFilesystem()).outcome is Outcome.DONE
    assert names(tmp_path) == {"d1", "d2", "d2/lost+found"}


def test_refused_plan_is_not_carried_out(tmp_path: Path) -> None:
    config = a_node(tmp_path)
    (tmp_path / "d1" / "topic-0").mkdir()
    before = names(tmp_path)
    applied = apply_unformat(plan_for(config), OsFilesystem())
    assert applied.outcome is Outcome.REFUSED
    assert names(tmp_path) == before


def test_node_can_be_formatted_again_afterwards(tmp_path: Path) -> None:
    config = a_node(tmp_path)
    apply_unformat(plan_for(config), OsFilesystem())
    made = plan("4.3", config=config, observed=observe_node(config), voter_mode=VoterMode.STANDALONE)
    assert made.outcome is Outcome.PLANNED
