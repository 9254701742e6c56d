"""Sync of files that a killed run left, before the next run reports them as done."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookEnd
from kafkactl.change.hooks.words import Verb
from kafkactl.core.errors import FailedError
from kafkactl.core.findings import Outcome
from kafkactl.dryrun.io.detail_files import make_folder
from kafkactl.files.contexts_edit import change_contexts, with_context
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.files.journal import open_journal
from kafkactl.files.leftover_sync import make_found, sync_found_file, sync_found_name
from kafkactl.files.plan_files import settle_plan
from kafkactl.files.whole_file import make_folders
from kafkactl.migration.io.journal import open_migration_journal
from kafkactl.migration.io.local_node import run_locally
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.quorum.api.recover.plan import apply_recovery, kept_bytes
from kafkactl.storage.api.fleet_apply import apply_fleet, check_fleet
from kafkactl.storage.fleet.plan_file import render_plan
from kafkactl.storage.fleet.receipts import Receipt
from kafkactl.storage.format.unformat import plan_unformat
from kafkactl.storage.io.apply_format import apply_plan
from kafkactl.storage.io.apply_unformat import apply_unformat
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.io.receipts import settle_receipt, write_receipt
from tests.campaigns.crash.scenarios import Scenario
from tests.quorum.recover import worlds
from tests.samples.test_fleet_crash import planned_world
from tests.samples.test_recover_crash import planned as planned_recovery

NODE = Scenario("node", "4.3", ("d1", "a/b/d2"), static=True)
CHECKPOINT = "__cluster_metadata-0"


def test_existing_folders_are_synced(tmp_path: Path, synced: list[str]) -> None:
    (tmp_path / "a").mkdir()
    make_folders(tmp_path / "a" / "b")
    assert synced == [str(tmp_path), f"{tmp_path}/a"]
    make_folders(tmp_path / "a" / "b")
    assert synced[2:] == [f"{tmp_path}/a"]
    make_folder(tmp_path / "a")
    assert synced[3:] == [str(tmp_path)]


def test_journal_with_its_folder_and_what_is_in_it(tmp_path: Path, synced: list[str]) -> None:
    path = tmp_path / "state" / "j.jsonl"
    open_journal(str(path), subject="s", cluster_id="c").close()
    synced.clear()
    open_journal(str(path), subject="s", cluster_id="c").close()
    assert {str(path), str(path.parent), str(tmp_path)} <= set(synced)


def test_file_of_a_migration_is_synced_with_its_folder(tmp_path: Path, synced: list[str]) -> None:
    with open_migration_journal(str(tmp_path / "j"), cluster_id="c", identity={}) as journal:
        name = journal.keep("kept", {}, b"content")
        synced.clear()
        assert journal.keep("kept", {}, b"content") == name
        assert synced[:3] == [str(tmp_path), str(journal.folder / name), str(journal.folder)]


def test_unchanged_contexts_are_synced(tmp_path: Path, synced: list[str]) -> None:
    path = tmp_path / "config.toml"

    def change(contexts):
        return with_context(contexts, "a", {"bootstrap_server": "b:9092"})

    change_contexts(path, change)
    synced.clear()
    change_contexts(path, change, dry_run=True)
    assert synced == []
    change_contexts(path, change)
    assert synced == [str(path), str(tmp_path)]


def test_receipt_is_synced_with_its_folders(tmp_path: Path, synced: list[str]) -> None:
    receipt = Receipt(node_id=1, cluster_id="c", plan_sha256="0" * 64, applied_ms=1, directories={}, reformats=())
    folder = tmp_path / "receipts"
    folder.mkdir()
    write_receipt(folder, receipt, OsFilesystem())
    assert synced[0] == str(tmp_path)  # the folder was there: another run may have made it
    synced.clear()
    settle_receipt(folder, receipt, OsFilesystem())
    assert synced == [f"{folder}/node-1.json", str(folder), str(tmp_path)]


def test_applied_plan_is_synced_first(tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(b"{}")
    settle_plan(path)
    assert synced == [str(path), str(tmp_path)]
    fleet = planned_world(tmp_path, "4.4.0")
    path.write_bytes(render_plan(fleet.plan))
    synced.clear()
    assert apply_fleet(check_fleet(path, node_ids=(1, 2, 4))).outcome is Outcome.DONE
    assert synced[:2] == [str(path), str(tmp_path)]

    def bad(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", bad)
    with pytest.raises(FailedError) as error:
        apply_fleet(check_fleet(path, node_ids=(1, 2, 4)))
    assert error.value.id == "plan-file-not-written"


@pytest.mark.parametrize("apply_same_plan", [False, True])
def test_existing_format_is_synced_again(tmp_path: Path, synced: list[str], apply_same_plan: bool) -> None:
    first = NODE.plan(tmp_path)
    assert apply_plan(first, OsFilesystem()).outcome is Outcome.DONE
    synced.clear()
    again = first if apply_same_plan else NODE.plan(tmp_path)
    assert apply_plan(again, OsFilesystem()).outcome is Outcome.NOTHING_TO_DO
    folders = {str(tmp_path), f"{tmp_path}/a/b", f"{tmp_path}/d1", f"{tmp_path}/a/b/d2"}
    assert folders | {f"{tmp_path}/{name}/{META_PROPERTIES}" for name in NODE.log_dirs} <= set(synced)


def test_empty_log_directory_is_synced(tmp_path: Path, synced: list[str]) -> None:
    (tmp_path / "d1").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert apply_plan(NODE.plan(tmp_path), OsFilesystem()).outcome is Outcome.DONE
    assert {str(tmp_path), f"{tmp_path}/a"} <= set(synced)


def test_formatted_directory_is_synced_with_another(tmp_path: Path, synced: list[str]) -> None:
    assert apply_plan(NODE.plan(tmp_path), OsFilesystem()).outcome is Outcome.DONE
    (tmp_path / "a/b/d2" / META_PROPERTIES).unlink()
    (tmp_path / "a/b/d2" / "bootstrap.checkpoint").unlink(missing_ok=True)
    synced.clear()
    assert apply_plan(NODE.plan(tmp_path), OsFilesystem()).outcome is Outcome.DONE
    assert f"{tmp_path}/d1/{META_PROPERTIES}" in synced


class _BadDisk(OsFilesystem):
    def fsync_directory(self, path: str, *, at: int | None = None) -> None:
        raise OSError(5, "Input/output error")


def test_disk_that_cannot_sync_what_is_there_is_a_failure(tmp_path: Path) -> None:
    assert apply_plan(NODE.plan(tmp_path), OsFilesystem()).outcome is Outcome.DONE
    applied = apply_plan(NODE.plan(tmp_path), _BadDisk())
    assert applied.outcome is Outcome.FAILED
    assert {finding.id for finding in applied.findings} >= {"disk-io-error", "format-not-confirmed"}


def test_unformat_syncs_the_removal_that_it_finds_before_it_removes_more(tmp_path: Path, synced: list[str]) -> None:
    config = NODE.config(tmp_path)
    assert apply_plan(NODE.plan(tmp_path), OsFilesystem()).outcome is Outcome.DONE
    (tmp_path / "d1" / META_PROPERTIES).unlink()
    synced.clear()
    assert apply_unformat(plan_unformat(config, observe_node(config)), OsFilesystem()).outcome is Outcome.DONE
    synced.clear()
    nothing = plan_unformat(config, observe_node(config))
    assert apply_unformat(nothing, OsFilesystem()).outcome is Outcome.NOTHING_TO_DO
    assert {f"{tmp_path}/d1", f"{tmp_path}/a/b/d2"} <= set(synced)
    assert apply_unformat(nothing, _BadDisk()).outcome is Outcome.FAILED


def test_unformat_syncs_a_directory_from_which_nothing_is_left_to_remove(tmp_path: Path, synced: list[str]) -> None:
    config = NODE.config(tmp_path)
    assert apply_plan(NODE.plan(tmp_path), OsFilesystem()).outcome is Outcome.DONE
    for path in (tmp_path / "d1").rglob("*"):
        path.unlink()
    plan = plan_unformat(config, observe_node(config))
    assert {directory.path: directory.action for directory in plan.directories}[f"{tmp_path}/d1"] == "keep"
    synced.clear()
    assert apply_unformat(plan, OsFilesystem()).outcome is Outcome.DONE
    assert synced[0] == f"{tmp_path}/d1"


class _Ordered(OsFilesystem):
    def __init__(self) -> None:
        self.done: list[str] = []

    def unlink(self, path: str, *, at: int | None = None) -> None:
        self.done.append(f"unlink {Path(path).name}")
        super().unlink(path, at=at)

    def fsync_directory(self, path: str, *, at: int | None = None) -> None:
        self.done.append(f"sync {Path(path).name}")
        super().fsync_directory(path, at=at)


def test_unformat_begins_with_a_sync_of_the_directory(tmp_path: Path) -> None:
    config = NODE.config(tmp_path)
    assert apply_plan(NODE.plan(tmp_path), OsFilesystem()).outcome is Outcome.DONE
    (tmp_path / "d1" / META_PROPERTIES).unlink()
    files = _Ordered()
    apply_unformat(plan_unformat(config, observe_node(config)), files)
    assert files.done[0] == "sync d1"


def test_existing_recovery_is_synced(tmp_path: Path, synced: list[str]) -> None:
    log = worlds.whole_log()
    worlds.disk(tmp_path / "sources" / "c2", 2, log)
    worlds.broker_disks(tmp_path / "sources", log=log)
    out = tmp_path / "made" / "new"
    out.parent.mkdir()
    kept = planned_recovery(tmp_path)
    (out / CHECKPOINT).mkdir(parents=True)  # a killed run made both and synced neither
    Path(f"{out}.recovery.json").write_bytes(kept_bytes(kept))
    assert apply_recovery(planned_recovery(tmp_path)).outcome is Outcome.DONE
    assert synced.index(str(out)) < synced.index(f"{out}/{CHECKPOINT}") and str(out.parent) in synced
    synced.clear()
    again = planned_recovery(tmp_path)
    assert again.outcome is Outcome.NOTHING_TO_DO
    assert apply_recovery(again).outcome is Outcome.NOTHING_TO_DO
    folders = {str(out), f"{out}/{CHECKPOINT}", str(out.parent)}
    assert folders | {f"{out}/{META_PROPERTIES}", f"{out}.recovery.json"} <= set(synced)


def test_files_that_a_local_hook_finds_are_synced(tmp_path: Path, synced: list[str]) -> None:
    file = tmp_path / "node" / "server.properties"
    file.parent.mkdir()
    file.write_bytes(b"node.id=1\n")
    (tmp_path / "disks").mkdir()
    node: Any = SimpleNamespace(id=1, config=str(file))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    asked = {"sha_before": "0" * 64, "sha_after": digest, "metadata_dir": f"{tmp_path}/disks/m", "cluster_id": "c"}
    for verb in (Verb.PUT_CONFIG, Verb.WIPE):
        request = Request(verb=verb, node=1, phase="kraft", seq=7, instruction="", text=b"node.id=1\n", extra=asked)
        assert run_locally(node, request).end is HookEnd.DONE
    assert synced == [str(file), str(file.parent), f"{tmp_path}/disks"]


def test_special_or_foreign_files_are_not_synced(
    tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to("elsewhere")
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo", "missing"):
        sync_found_file(tmp_path / name)
    monkeypatch.setattr(os, "access", lambda *_: False)
    sync_found_name(tmp_path)
    assert synced == []


def test_link_in_place_of_a_new_folder_gets_no_mode(tmp_path: Path) -> None:
    victim, new = tmp_path / "victim", tmp_path / "new"
    victim.mkdir(mode=0o755)

    class Swapped(OsFilesystem):
        def mkdir(self, path: str, *, at: int | None = None) -> None:
            super().mkdir(path, at=at)
            new.rename(tmp_path / "aside")
            new.symlink_to(victim)

    with pytest.raises(OSError, match=r"Not a directory|symbolic"):
        make_found(new, Swapped(), mode=0o700)
    assert stat.S_IMODE(victim.stat().st_mode) == 0o755
