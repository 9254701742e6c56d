"""Single rules at their edges, on values: what is cut, what is a trace, what has no file, what a directory is for."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace as Some

import pytest

from kafkactl.metadata.log.scan import Contents, Stop
from kafkactl.metadata.verify.checkpoint_text import checkpoint_problem
from kafkactl.metadata.verify.folder import SnapshotFacts
from kafkactl.storage.model import DirectoryEntry, DirectoryState
from kafkactl.storage.verify.losses import _founds_again, _traces
from kafkactl.storage.verify.meta import _version_0, _without_file
from kafkactl.storage.verify.meta_before_37 import _required
from kafkactl.storage.verify.meta_troubles import not_formatted
from kafkactl.storage.verify.model import DirectoryClass
from kafkactl.storage.verify.node import _directory
from kafkactl.storage.verify.offline import _cannot_make
from tests.storage.nodes import blank

FOOTER = Counter({"SNAPSHOT_HEADER": 1, "SNAPSHOT_FOOTER": 1})
STOP = Stop(reason="cut", position=9, lost_bytes=3, message="cut")


def facts(**changes):
    return Some(**({"observed": blank("/data/d1"), "path": "/data/d1"} | changes))


def _node(*, roles: tuple[str, ...] = ("broker",), topics: tuple[str, ...] = ()) -> Some:
    return Some(config=Some(metadata_log_dir="/other", roles=roles), topics=topics)


@pytest.mark.parametrize(
    ("contents", "stop", "is_cut"),
    [
        (None, None, False),
        (None, STOP, False),
        (Contents(), None, False),
        (Contents(batches=2, control=FOOTER), None, False),
        (Contents(batches=2, control=FOOTER), STOP, True),
        (Contents(batches=2), None, True),
    ],
)
def test_snapshot_is_cut_without_its_footer_or_in_a_batch(contents, stop, is_cut):
    assert SnapshotFacts(name="x", offset=5, epoch=1, size_bytes=9, contents=contents, stop=stop).is_cut is is_cut


@pytest.mark.parametrize(("locked", "held"), [(True, []), (False, ["/data/d1/.lock"])])
def test_lock_that_a_process_holds_now_does_not_show_an_earlier_run(locked, held):
    lock = DirectoryEntry(name=".lock", kind="file", size_bytes=0, mtime_ms=0)
    directory = facts(observed=blank("/data/d1", entries=(lock,), locked_by_process=locked))
    assert list(_traces(Some(config=Some(metadata_log_dir="/other")), directory)) == held


@pytest.mark.parametrize(
    ("name", "is_trace"),
    [
        (".kafka_cleanshutdown", True),
        ("cleaner-offset-checkpoint", True),
        ("log-start-offset-checkpoint", True),
        ("recovery-point-offset-checkpoint", True),
        ("replication-offset-checkpoint", True),
        ("bootstrap.checkpoint", False),
        ("meta.properties", False),
        ("lost+found", False),
    ],
)
def test_files_of_a_first_start_show_it_and_those_of_a_format_do_not(name, is_trace):
    entry = DirectoryEntry(name=name, kind="file", size_bytes=4, mtime_ms=0)
    found = list(
        _traces(Some(config=Some(metadata_log_dir="/other")), facts(observed=blank("/data/d1", entries=(entry,))))
    )
    assert found == ([f"/data/d1/{name}"] if is_trace else [])


def test_ten_names_are_enough():
    names = [f"n{number}" for number in range(12)]
    assert _founds_again("log", names).finding.evidence["traces"] == names[:10]
    entries = tuple(DirectoryEntry(name=name, kind="file", size_bytes=0, mtime_ms=0) for name in names)
    assert (
        not_formatted(_node(), facts(observed=blank("/data/d1", entries=entries))).finding.evidence["entries"]
        == names[:10]
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (DirectoryState.MISSING, "The directory does not exist."),
        (DirectoryState.DIRECTORY, "The directory has no meta.properties."),
    ],
)
def test_missing_directory_is_distinguished_from_one_without_the_file(state, words):
    assert not_formatted(_node(), facts(observed=blank("/data/d1", state=state))).finding.message == words


@pytest.mark.parametrize(
    ("state", "error", "kind"),
    [
        (DirectoryState.MISSING, None, DirectoryClass.EMPTY),
        (DirectoryState.NOT_A_DIRECTORY, "a symbolic link to nothing", DirectoryClass.EMPTY),
        (DirectoryState.NOT_A_DIRECTORY, "a file", DirectoryClass.ERROR),
        (DirectoryState.UNREADABLE, "a symbolic link, and no permission", DirectoryClass.ERROR),
    ],
)
def test_link_to_nothing_is_an_empty_directory_to_java(state, error, kind):
    found = _without_file(blank("/data/d1", state=state, error=error))
    assert (found.kind, found.problem) == (kind, None if kind is DirectoryClass.EMPTY else error)


@pytest.mark.parametrize(("version", "stored", "expected"), [(0, 1, True), (0, None, False), (1, 1, False)])
def test_only_version_0_is_of_zookeeper_mode(version, stored, expected):
    assert bool(list(_version_0(facts(meta=Some(version=version, stored_id=stored))))) is expected


@pytest.mark.parametrize(
    ("version", "complaint"),
    [("0", None), ("1", None), ("2", "Expected version 0 or 1, but got version 2"), ("-1", "Expected version 0 or 1")],
)
def test_version_of_meta_properties_is_checked_before_37(version, complaint):
    found = _required({"cluster.id": "x", "version": version, "node.id": "1", "broker.id": "1"})
    assert (found is None) is (complaint is None)
    assert complaint is None or str(found).startswith(complaint)


@pytest.mark.parametrize(("path", "role"), [("/data/d1", "metadata"), ("/data/d2", "data")])
def test_role_of_a_directory_is_shown(path, role):
    shown = _directory(Some(config=Some(metadata_log_dir="/data/d1")), facts(path=path, meta=None, kind=Some(word="x")))
    assert (shown["path"], shown["role"]) == (path, role)


def test_path_of_a_file_that_cannot_be_made_has_one_slash():
    seen = blank("/data/d1/", write_error="Permission denied")
    damage = _cannot_make(facts(path="/data/d1/", observed=seen), "recovery-point-offset-checkpoint")
    assert "/data/d1/recovery-point-offset-checkpoint" in str(damage)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"0\n1\norders 0 5\n", None), (b"0\n", None), (b"", None), (b"x\n1\n", "Malformed"), (b"1\n0\n", "Unrecognised")],
)
def test_checkpoint_begins_with_two_numbers(content, words):
    found = checkpoint_problem(content, parts=3)
    assert (found is None) is (words is None)
    assert words is None or found.words.startswith(words)


@pytest.mark.parametrize(
    ("roles", "topics", "warned"),
    [(("broker",), ("orders",), True), (("broker",), (), False), (("controller",), ("orders",), False)],
)
def test_empty_data_directory_of_a_broker_with_topics_is_formatted_after_a_look(roles, topics, warned):
    found = not_formatted(_node(roles=roles, topics=topics), facts())
    assert ("log lint" in found.finding.next_step) is warned
    assert "Is the disk mounted?" in found.finding.next_step
