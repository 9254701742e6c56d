"""Journals as the version before the engine wrote them: folded in present words, they say what they said then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkactl.change.journal import JournalFold
from kafkactl.change.journal_lines import Entry, JournalText, read_journal
from kafkactl.core.errors import InputError
from kafkactl.migration.driver.journal import PendingAction
from kafkactl.migration.driver.journal import remembered as remembered_migration
from kafkactl.quorum.change.journal import quorum_in_flight, remembered

JOURNALS = Path(__file__).parent / "journals"
# What the code that wrote them remembered of each, written down with it.
REMEMBERED: dict[str, Any] = json.loads((JOURNALS / "remembered.json").read_text())


def entries_of(name: str) -> tuple[Entry, ...]:
    content = (JOURNALS / f"{name}.jsonl").read_bytes()
    return read_journal(content, file=name, subject=name.split("-", maxsplit=1)[0], cluster_id=None).entries


@pytest.mark.parametrize("name", [name for name in REMEMBERED if name.startswith("quorum-")])
def test_change_of_the_quorum_is_remembered(name: str) -> None:
    state, flight = remembered(entries_of(name)), None
    if state.in_flight is not None:
        there = quorum_in_flight(state.in_flight)
        flight = {
            "seq": there.seq,
            "action": there.step.action.value,
            "id": there.step.id,
            "answer": there.answer.code,
            "sent_at_ms": there.sent_at_ms,
            "unread_ms": there.unread_ms,
        }
    assert {
        "goal": state.goal,
        "ended": state.ended,
        "voter_sets": [sorted(key.node_id for key in voters) for voters in state.planned_voter_sets],
        "high_watermark": state.high_watermark,
        "in_flight": flight,
    } == REMEMBERED[name]


@pytest.mark.parametrize("name", [name for name in REMEMBERED if name.startswith("migration-")])
def test_migration_is_remembered(name: str) -> None:
    state = remembered_migration(entries_of(name))

    def words(pending: PendingAction | None) -> dict[str, Any] | None:
        names = ("seq", "action", "target", "at_ms")
        return None if pending is None else {name: getattr(pending, name) for name in names}

    assert {
        "goal": state.goal,
        "state": state.state,
        "in_flight": words(state.pending),
        "failed": words(state.failed),
        "done": [list(step) for step in state.done],
        "unfinished": [list(step) for step in state.unfinished],
        "files": {node: list(files) for node, files in state.files.items()},
        "starting": [[*key, at] for key, at in state.starting.items()],
        "trees": len(state.trees),
        "outcome": state.outcome,
        "is_under_way": state.is_under_way,
        "identity": state.identity,
    } == REMEMBERED[name]


def test_every_sample_has_words_of_its_time() -> None:
    old = {"undecided", "withdrawn"}
    words = {entry.entry for name in REMEMBERED for entry in entries_of(name)}
    assert old <= words
    assert any(entry.data.get("known") == "not-sent" for entry in entries_of("quorum-not-sent-and-retried"))


@pytest.mark.parametrize("data", [{}, {"of": 1}, {"of": [], "known": {}}])
def test_entry_that_lacks_something_is_refused_by_name(data: dict[str, Any]) -> None:
    begin = Entry(seq=0, at_ms=0, entry="intent", data={"action": "add"}, chain="")
    with pytest.raises(InputError) as caught:
        JournalFold().read([begin, Entry(seq=1, at_ms=0, entry="end", data=data, chain="")])
    assert caught.value.id == "journal-not-understood"


def entry(seq: int, word: str, **data: Any) -> Entry:
    return Entry(seq=seq, at_ms=0, entry=word, data=data, chain="")


def test_end_that_does_not_know_leaves_what_was_known() -> None:
    ends = [entry(0, "begin", goal="a"), entry(1, "end", outcome="partial")]
    assert JournalFold().read([*ends, entry(2, "end", outcome="unknown")]).outcome == "partial"
    assert JournalFold().read([*ends, entry(2, "end", outcome="done")]).outcome == "done"
    assert JournalFold().read([*ends, entry(2, "begin", goal="b")]).outcome is None


def lines_of(name: str) -> list[bytes]:
    return (JOURNALS / f"{name}.jsonl").read_bytes().splitlines(keepends=True)


def read(content: bytes) -> JournalText:
    return read_journal(content, file="journal", subject="quorum", cluster_id=None)


def test_edited_line_is_named() -> None:
    lines = lines_of(next(name for name in REMEMBERED if name.startswith("quorum-")))
    with pytest.raises(InputError) as refused:
        read(b"".join([*lines[:2], b"not an entry\n", *lines[2:]]))
    assert refused.value.id == "journal-edited"
    assert "line 3" in refused.value.message


def test_last_line_without_its_end_is_reported() -> None:
    whole = b"".join(lines_of(next(name for name in REMEMBERED if name.startswith("quorum-"))))
    assert read(whole).open_end is False
    assert read(whole.rstrip(b"\n")).open_end is True
    assert read(whole.rstrip(b"\n")).entries == read(whole).entries
