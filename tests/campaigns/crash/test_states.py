"""States that a crash of a writing command can leave, and the campaign's own judgement of flawed writers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.campaigns.crash.campaign import Campaign, Command
from tests.campaigns.crash.proof import record
from tests.campaigns.crash.states import torn
from tests.campaigns.crash.writing_commands import COMMANDS
from tests.samples.test_crash_states import scratch

__all__ = ["scratch"]
_THIRD_EVERY = 50


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.title)
def test_state_after_every_crash_is_old_or_new(command: Command, scratch: Path) -> None:
    figures = Campaign(command, scratch, second_every=command.every, third_every=_THIRD_EVERY).run_all(
        errors_every=command.every
    )
    record(command.title, figures)
    assert figures.third_states == []


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
def test_flawed_writer_is_found(flaw: dict[str, bool], found: str | None, scratch: Path) -> None:
    how = {"sync": True, "sync_folder": True, "staged": True, **flaw}

    def prepare(root: Path) -> None:
        (root / "result").write_bytes(b"old")

    command = Command("writer", "", prepare, lambda root, _world, _mark: _write(root, **how))
    wrong = Campaign(command, scratch).run_all().third_states
    assert any(found in each for each in wrong) if found else wrong == []


def test_torn_write_leaves_a_prefix_or_zeros() -> None:
    before, after = b"a" * 100, b"a" * 100 + b"b" * 1000
    none, beginning, block, zeros = torn(before, after)
    assert (none, beginning, block) == (before, after[:600], after[:1024])
    assert zeros == before + bytes(1000)
