"""The journal of a migration: cut anywhere, edited, of another migration, opened twice; what it keeps stays whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafkactl.core.errors import InputError, RefusedError
from kafkactl.migration.driver.journal import BACK, FORWARD, JournalState
from kafkactl.migration.io.journal import MigrationJournal, open_migration_journal

CLUSTER = "qcW5mzVjTpOjVnxJ0WmYIg"
IDENTITY = {"zookeeper": "zk:2181/kafka", "nodes": ["broker 1", "controller 3001"]}


def opened(path: Path, **changes) -> MigrationJournal:
    given = {"cluster_id": CLUSTER, "identity": IDENTITY, "now_ms": lambda: 7} | changes
    return open_migration_journal(str(path), **given)


def story(journal: MigrationJournal) -> None:
    journal.append("begin", {"goal": FORWARD, "migration": IDENTITY})
    journal.append("state", {"state": "M0"})
    journal.keep("original", {"node": "broker 1"}, b"broker.id=1\n")
    first = journal.append("intent", {"action": "restart", "target": "broker 1", "phase": "migration"}).seq
    journal.append("done", {"of": first})
    journal.append("state", {"state": "M4"})
    journal.append("intent", {"action": "restart", "target": "broker 2", "phase": "migration"})


def test_reopened_journal_has_the_recorded_state(tmp_path: Path) -> None:
    with opened(tmp_path / "j") as journal:
        story(journal)
    with opened(tmp_path / "j") as journal:
        recorded = journal.recorded
        assert (recorded.goal, recorded.state, recorded.done) == (FORWARD, "M4", (("restart", "broker 1"),))
        assert recorded.pending is not None and recorded.pending.target == "broker 2"
        assert recorded.is_under_way
        assert journal.kept(recorded.originals["broker 1"]) == b"broker.id=1\n"
        assert (tmp_path / "j.kept").stat().st_mode & 0o777 == 0o700


def test_kept_file_is_synced_before_its_journal_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A name is on the disk after its folder was synced, and so is that of the folder of what is kept.
    found: list[str] = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (found.append(_name(descriptor)), fsync(descriptor))[1])
    with opened(tmp_path / "j") as journal:
        found.clear()
        journal.keep("original", {"node": "broker 1"}, b"broker.id=1\n")
    assert found[:2] == [str(tmp_path.parent), str(tmp_path)]
    assert found[-2:] == [f"{tmp_path}/j.kept", f"{tmp_path}/j"]


def _name(descriptor: int) -> str:
    return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115


def test_cut_after_every_byte_it_remembers_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with opened(path) as journal:
        story(journal)
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with opened(path) as journal:
            journal.append("begin", {"goal": FORWARD, "migration": IDENTITY})
            assert isinstance(journal.recorded, JournalState)


def test_edited_line_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with opened(path) as journal:
        story(journal)
    path.write_bytes(path.read_bytes().replace(b'"broker 2"', b'"broker 1"'))
    with pytest.raises(InputError) as caught:
        opened(path)
    assert caught.value.id == "journal-edited"


def test_another_migration_of_the_same_cluster_is_reported_with_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with opened(path) as journal:
        story(journal)
    other = {**IDENTITY, "nodes": ["broker 1"]}
    with pytest.raises(InputError, match=r"nodes: journal .*3001.*, inventory \['broker 1'\]") as caught:
        opened(path, identity=other)
    assert caught.value.id == "journal-of-another-migration"
    with pytest.raises(InputError) as caught:
        opened(path, cluster_id="AAAAAAAAAAAAAAAAAAAAAA")
    assert caught.value.id == "journal-of-another-cluster"


def test_after_a_rollback_another_one_may_begin_with_files_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with opened(path) as journal:
        story(journal)
        journal.append("begin", {"goal": BACK, "migration": IDENTITY})
        assert journal.recorded.originals and journal.recorded.done == ()
        journal.append("end", {"outcome": "done"})
        assert not journal.recorded.is_under_way
    with opened(path, identity={"zookeeper": "other"}) as journal:
        journal.append("begin", {"goal": FORWARD, "migration": {"zookeeper": "other"}})
        assert journal.recorded.originals == {}
        assert journal.recorded.state is None


def test_first_original_of_a_node_counts(tmp_path: Path) -> None:
    with opened(tmp_path / "j") as journal:
        journal.append("begin", {"goal": FORWARD, "migration": IDENTITY})
        first = journal.keep("original", {"node": "broker 1"}, b"first")
        journal.keep("original", {"node": "broker 1"}, b"second")
        assert journal.recorded.originals == {"broker 1": first}


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"other")])
def test_kept_file_that_is_gone_or_differs_is_reported(tmp_path: Path, damage) -> None:
    with opened(tmp_path / "j") as journal:
        name = journal.keep("original", {"node": "broker 1"}, b"content")
        damage(journal.folder / name)
        with pytest.raises(InputError) as caught:
            journal.kept(name)
        assert caught.value.id == "kept-file-damaged"
        journal.keep("original", {"node": "broker 1"}, b"content")
        assert journal.kept(name) == b"content"


def test_journal_of_another_driver_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "j"), pytest.raises(RefusedError) as caught:
        opened(tmp_path / "j")
    assert caught.value.id == "another-kafkactl-is-changing"


def test_no_secret_gets_into_the_lines(tmp_path: Path) -> None:
    with opened(tmp_path / "j") as journal:
        journal.append("failed", {"of": 0, "told": "ssl.key.password=hunter22 refused", "password": "hunter23"})
    assert b"hunter2" not in (tmp_path / "j").read_bytes()
