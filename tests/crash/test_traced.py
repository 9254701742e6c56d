"""Every command that writes, taken apart: nothing leaves a third state, and a run again comes to its end.

The campaign takes every state of every run; the sample takes one state in several.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.campaign import Campaign, Command
from tests.crash.proof import record
from tests.crash.states import torn
from tests.crash.writing_commands import COMMANDS

_THIRD_EVERY = 50
_QUICK = 20  # one state in so many: runs of more operations have a sample that is thinner


@pytest.fixture
def scratch() -> Iterator[Path]:
    """In memory where there is such a place: nothing here needs a disk that survives."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix="kafkactl-crash-", dir=memory if memory.is_dir() else None))
    yield made
    shutil.rmtree(made)


def _first_of_each() -> list[Any]:
    """The commands that have a sample; in `make check` one form of each, and none whose runs are long."""
    sampled = [found for found in COMMANDS if found.sample]
    quick = {found.name: found.title for found in reversed(sampled) if found.sample <= _QUICK}.values()
    return [found if found.title in quick else pytest.param(found, marks=pytest.mark.many) for found in sampled]


@pytest.mark.parametrize("command", _first_of_each(), ids=lambda command: command.title)
def test_a_sample_of_the_crashes(command: Command, scratch: Path) -> None:
    figures = Campaign(command, scratch, second_every=command.sample).run_all(errors_every=command.sample)
    assert figures.third_states == []
    assert figures.states >= 2 and figures.second_runs and figures.errors


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.title)
def test_every_crash(command: Command, scratch: Path) -> None:
    figures = Campaign(command, scratch, second_every=command.every, third_every=_THIRD_EVERY).run_all(
        errors_every=command.every
    )
    record(command.title, figures)
    assert figures.third_states == []


# --- the campaign itself: it finds what it is there to find -----------------------------------------------------------


def _write(root: Path, *, sync: bool, sync_folder: bool, staged: bool) -> str:
    try:
        _written(root, sync=sync, sync_folder=sync_folder, staged=staged)
    except OSError:
        return "failed"
    return "done"


def _written(root: Path, *, sync: bool, sync_folder: bool, staged: bool) -> None:
    target = root / "result"
    place = root / ".result.tmp" if staged else target
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    data = b"n" * 2000
    while data:
        data = data[os.write(descriptor, data) :]
    if sync:
        os.fsync(descriptor)
    os.close(descriptor)
    if staged:
        place.rename(target)
    if sync_folder:
        folder = os.open(root, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


@pytest.mark.parametrize(
    ("flaw", "found"),
    [
        ({"sync": False}, "neither as before nor as after"),
        ({"sync_folder": False}, "power loss after it was done"),
        ({"staged": False}, "neither as before nor as after"),
        ({}, None),
    ],
)
def test_a_flawed_writer_is_found(flaw: dict[str, bool], found: str | None, scratch: Path) -> None:
    how = {"sync": True, "sync_folder": True, "staged": True, **flaw}

    def prepare(root: Path) -> None:
        (root / "result").write_bytes(b"old")

    command = Command("writer", "", prepare, lambda root, _world, _mark: _write(root, **how))
    wrong = Campaign(command, scratch).run_all().third_states
    assert any(found in each for each in wrong) if found else wrong == []


def test_what_is_left_of_a_write() -> None:
    before, after = b"a" * 100, b"a" * 100 + b"b" * 1000
    none, beginning, block, zeros = torn(before, after)
    assert (none, beginning, block) == (before, after[:600], after[:1024])
    assert zeros == before + bytes(1000)
