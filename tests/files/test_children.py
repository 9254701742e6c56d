"""Pieces done by children come back in order, whatever becomes of a child; none stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafkactl.files import children as processes
from kafkactl.files.children import LeftToParentError, done_ahead, useful_processes

LONG = b"x" * 300_000  # more than a pipe holds


def never(_piece):
    return False


def read(going):
    """Return pieces with all that was made of them, each read in its turn."""
    return [(piece, None if made is None else b"".join(made)) for piece, made in going]


def doubled(piece):
    return [str(piece).encode(), LONG, b"!" * piece]


def test_pieces_come_in_their_order_with_all_that_was_made(others):
    found = read(done_ahead(range(7), doubled, 3, alone=never))
    assert found == [(piece, b"".join(doubled(piece))) for piece in range(7)]
    assert children() <= others


@pytest.mark.parametrize(("held", "found"), [(None, None), (4, b"waited")])
def test_pieces_behind_a_long_one_are_done_meanwhile(held, found, tmp_path, others):
    def waiting(piece):
        """Run two that wait: the first one ends after the last one has, and gives up if that does not begin."""
        if piece == 0:
            began = time.monotonic()
            while not (tmp_path / "3").exists():
                if time.monotonic() - began > (20 if held else 1):
                    raise LeftToParentError
                time.sleep(0.01)
        (tmp_path / str(piece)).touch()
        return [b"waited"]

    going = read(done_ahead(range(4), waiting, 2, alone=never, held=held))
    assert [made for _, made in going] == [found, *[b"waited"] * 3]
    assert children() <= others


def test_piece_that_is_left_to_the_parent_has_no_child():
    parents = []

    def work(piece):
        parents.append(piece)  # in the child: the parent's list stays empty
        return [str(os.getpid()).encode()] if piece != 1 else None

    found = dict(read(done_ahead(range(4), work, 2, alone=lambda piece: piece == 2)))
    assert found[1] is None and found[2] is None and not parents
    pids = {int(found[piece]) for piece in (0, 3)}
    assert len(pids) == 2 and os.getpid() not in pids


def raise_error(_piece):
    raise ValueError("a bug, which the parent meets, too")


def leave(_piece):
    yield LONG
    raise LeftToParentError


def die(_piece):
    os.kill(os.getpid(), signal.SIGKILL)


class Cut(bytes):
    """Says that it is longer than what is sent of it."""

    def __len__(self):
        return super().__len__() + 1


@pytest.mark.parametrize("fail", [raise_error, die, leave])
def test_child_that_fails_leaves_its_piece_to_the_parent(fail, others):
    found = dict(read(done_ahead(range(3), lambda piece: fail(piece) if piece == 1 else [b"made"], 2, alone=never)))
    assert found == {0: b"made", 1: None, 2: b"made"}
    assert children() <= others


def test_half_an_answer_is_none():
    found = dict(read(done_ahead(range(2), lambda piece: [Cut(LONG) if piece else b"made"], 2, alone=never)))
    assert found == {0: b"made", 1: None}


def test_error_of_the_pieces_follows_the_results_already_begun():
    def pieces():
        yield 1
        yield 2
        raise OSError("no more")

    found = []
    with pytest.raises(OSError, match="no more"):
        for piece, made in done_ahead(pieces(), lambda piece: [bytes([piece])], 4, alone=never):
            found.append((piece, b"".join(made)))
    assert found == [(1, b"\1"), (2, b"\2")]


def test_closing_early_leaves_no_child_behind(others):
    def work(piece):
        time.sleep(600 if piece else 0)
        return [b"made"]

    going = done_ahead(range(4), work, 3, alone=never)
    piece, made = next(going)
    assert (piece, b"".join(made)) == (0, b"made")
    going.close()
    assert children() <= others


KILLED = """
import os, signal
from pathlib import Path
from kafkactl.files.children import done_ahead
going = done_ahead(range(9), lambda _: [bytes(9_000_000)], 3, alone=lambda _: False)
next(going)
print(Path(f"/proc/self/task/{os.getpid()}/children").read_text(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_children_end_when_the_parent_is_killed():
    run = subprocess.run([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, check=False, timeout=120)
    pids = run.stdout.split()
    assert run.returncode == -signal.SIGKILL and pids
    end = time.monotonic() + 60
    while (left := [pid for pid in pids if lives(pid)]) and time.monotonic() < end:
        time.sleep(0.05)
    for pid in left:
        os.kill(int(pid), signal.SIGKILL)
    assert left == []


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_work_is_done_without_room_for_a_process(monkeypatch):
    def refuse():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(processes.os, "fork", refuse)
    assert list(done_ahead(range(2), doubled, 2, alone=never)) == [(0, None), (1, None)]


def test_process_with_threads_is_not_forked(monkeypatch):
    monkeypatch.setattr(processes.os, "sched_getaffinity", lambda _: set(range(64)))
    monkeypatch.setattr(processes.threading, "active_count", lambda: 1)
    assert useful_processes() == (4 if processes.sys.platform == "linux" else 1)
    monkeypatch.setattr(processes.threading, "active_count", lambda: 2)
    assert useful_processes() == 1


def children():
    """Return the children of this process; other tests of the session may have left some at work."""
    found = [path.read_text() for path in Path("/proc/self/task").glob("*/children")]
    return {int(pid) for text in found for pid in text.split()}


@pytest.fixture
def others():
    return children()
