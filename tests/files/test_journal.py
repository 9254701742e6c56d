"""The journal: killed at every byte, failing at every operation, edited, cut, of another cluster, opened twice."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

import pytest

from kafkactl.change.journal_lines import HEADER, TORN, read_journal
from kafkactl.core.errors import FailedError, InputError, RefusedError
from kafkactl.files import journal as journal_module
from kafkactl.files.journal import journal_path, open_journal
from tests.fakes.faulty_filesystem import Fault, FaultyFilesystem, Killed

CLUSTER = "qcW5mzVjTpOjVnxJ0WmYIg"
STORY = [("begin", {"verb": "reassign", "target": [1, 2, 3]}), ("intent", {"step": 1}), ("done", {"of": 2})]


def _open(path, **changes):
    return open_journal(str(path), **({"subject": "quorum", "cluster_id": CLUSTER, "now_ms": lambda: 5} | changes))


def _entries_of(journal):
    return [(entry.entry, dict(entry.data)) for entry in journal.entries if entry.entry not in (HEADER, TORN)]


def _written(path):
    with _open(path) as journal:
        for entry, data in STORY:
            journal.append(entry, data)
    return path.read_bytes()


def test_appended_entries_are_read_again(tmp_path):
    _written(tmp_path / "deep" / "er" / "j.jsonl")
    with _open(tmp_path / "deep" / "er" / "j.jsonl") as journal:
        assert _entries_of(journal) == STORY
        assert [entry.seq for entry in journal.entries] == [0, 1, 2, 3]
        assert journal.entries[0].data["cluster_id"] == CLUSTER
    assert (tmp_path / "deep").stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_killed_at_every_byte_it_goes_on(tmp_path):
    whole = _written(tmp_path / "whole.jsonl")
    for size in range(len(whole) + 1):
        path = tmp_path / "cut.jsonl"
        path.write_bytes(whole[:size])
        with _open(path) as journal:
            before = _entries_of(journal)
            assert before == STORY[: len(before)]
            assert len(before) >= whole[:size].count(b"\n") - 1
            journal.append("after", {"size": size})
        with _open(path) as journal:
            assert _entries_of(journal) == [*before, ("after", {"size": size})]
        path.unlink()


@pytest.mark.slow
def test_killed_at_every_byte_while_it_mends_a_torn_line(tmp_path):
    whole = _written(tmp_path / "whole.jsonl")
    path = tmp_path / "cut.jsonl"
    path.write_bytes(whole[:-9])
    with _open(path):
        mended = path.read_bytes()
    for size in range(len(whole) - 9, len(mended) + 1):
        path.write_bytes(mended[:size])
        with _open(path) as journal:
            assert _entries_of(journal) == STORY[:2]
            journal.append("after", {})
        with _open(path) as journal:
            assert _entries_of(journal) == [*STORY[:2], ("after", {})]


FAULTS = (Fault.ERROR_BEFORE, Fault.SHORT_WRITE, Fault.NO_SPACE, Fault.KILL_BEFORE, Fault.KILL_AFTER, Fault.POWER_LOSS)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_operation_fails_once(tmp_path, fault):
    counted = FaultyFilesystem(tmp_path)
    with _open(tmp_path / "none" / "j.jsonl", files=counted) as journal:
        journal.append(*STORY[0])
    for number in range(len(counted.operations)):
        path = tmp_path / f"{number}" / "j.jsonl"
        files = FaultyFilesystem(tmp_path, fail_at=number, fault=fault)
        acted = []
        try:
            with _open(path, files=files) as journal:
                for entry, data in STORY:
                    journal.append(entry, data)
                    acted.append((entry, data))
        except (Killed, FailedError):
            pass
        if fault is Fault.POWER_LOSS:
            files.lose_power()
        with _open(path) as journal:
            assert _entries_of(journal)[: len(acted)] == acted, "what was acted on is remembered"
            journal.append("after", {})


def test_journal_that_could_not_be_written_takes_no_more(tmp_path):
    files = FaultyFilesystem(tmp_path)
    with _open(tmp_path / "j.jsonl", files=files) as journal:
        files.fail_at, files.fault = len(files.operations), Fault.NO_SPACE
        for _ in range(2):
            with pytest.raises(FailedError) as caught:
                journal.append("intent", {})
            assert caught.value.id == "journal-not-written"


def _refused(path, id, **changes):
    before = path.read_bytes()
    with pytest.raises(InputError) as caught:
        _open(path, **changes)
    assert caught.value.id == id
    assert path.read_bytes() == before, "a file that is refused is not touched"


@pytest.mark.slow
def test_every_edited_byte_is_seen(tmp_path):
    whole = _written(tmp_path / "whole.jsonl")
    path = tmp_path / "edited.jsonl"
    last_line = whole.rstrip(b"\n").rfind(b"\n")  # without its break the rest is like a torn line
    for at in range(last_line):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(InputError) as caught:
            _open(path)
        assert caught.value.id in ("journal-edited", "journal-not-understood", "journal-incomplete")


def test_line_left_out_is_seen(tmp_path):
    lines = _written(tmp_path / "whole.jsonl").splitlines(keepends=True)
    path = tmp_path / "less.jsonl"
    for left_out in range(1, len(lines) - 1):
        path.write_bytes(b"".join(lines[:left_out] + lines[left_out + 1 :]))
        _refused(path, "journal-incomplete")


def test_journal_of_another_cluster_subject_or_version_is_refused(tmp_path):
    path = tmp_path / "j.jsonl"
    _written(path)
    _refused(path, "journal-of-another-cluster", cluster_id="another")
    _refused(path, "journal-not-understood", subject="migration")


@pytest.mark.parametrize("content", [b"root:x:0:0:root\n", b"root", b'{"a": 1}\n', b"\n\n", b"\0" * 5000])
def test_file_of_another_user_is_left_alone(tmp_path, content):
    path = tmp_path / "passwd"
    path.write_bytes(content)
    _refused(path, "journal-not-understood")


def test_second_writer_at_once_is_refused(tmp_path):
    path = tmp_path / "j.jsonl"
    with _open(path), pytest.raises(RefusedError) as caught:
        _open(path)
    assert caught.value.id == "another-kafkactl-is-changing"
    _open(path).close()


def test_journal_in_an_impossible_folder_fails(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FailedError) as caught:
        _open(tmp_path / "file" / "j.jsonl")
    assert caught.value.id == "journal-not-written"


def test_secrets_are_left_out(tmp_path):
    path = tmp_path / "j.jsonl"
    with _open(path) as journal:
        journal.append(
            "intent", {"ssl.key.password": "hunter2", "text": "sasl password=hunter3 x", "n": [{"token": 7}]}
        )
    assert "hunter" not in path.read_text()
    assert json.loads(path.read_text().splitlines()[1])["data"]["text"] == "sasl password=<redacted> x"


def test_path_of_a_journal_follows_the_environment():
    assert journal_path("quorum", CLUSTER, {"HOME": "/a"}) == f"/a/.local/state/kafkactl/quorum-{CLUSTER}.jsonl"
    assert journal_path("quorum", "a/../b", {"XDG_STATE_HOME": "/s"}) == "/s/kafkactl/quorum-a%2f%2e%2e%2fb.jsonl"


def test_empty_file_is_a_new_journal(tmp_path):
    path = Path(tmp_path / "j.jsonl")
    path.touch()
    with _open(path) as journal:
        assert _entries_of(journal) == []
    assert read_journal(path.read_bytes(), file="j", subject="quorum", cluster_id=None).entries


def test_journal_of_another_user_is_not_ignored(tmp_path, monkeypatch):
    # With another file it would not be seen that the other user's change is still being made.
    _written(tmp_path / "j.jsonl")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(journal_module, "_locked", refuse)
    monkeypatch.setattr(journal_module.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(FailedError) as caught:
        _open(tmp_path / "j.jsonl")
    assert caught.value.id == "journal-not-written"
    owner = pwd.getpwuid(os.getuid()).pw_name
    assert caught.value.advice.startswith(f"Run the command as {owner}, whose changes the journal records.")
    with pytest.raises(FailedError) as caught:
        _open(tmp_path / "new.jsonl")
    assert "Another place for the journal is named by `--journal`" in caught.value.advice
