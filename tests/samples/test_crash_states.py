"""Crashes of commands that write: no third state, and a second run completes.

The campaign takes every state of every run; the sample takes one state in several.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.campaigns.crash.campaign import Campaign, Command
from tests.campaigns.crash.writing_commands import COMMANDS

_THIRD_EVERY = 50
_QUICK = 20  # one state in so many: runs of more operations have a sample that is thinner


@pytest.fixture
def scratch() -> Iterator[Path]:
    """Yield a folder in memory if there is such a place: nothing here needs a disk that survives."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix="kafkactl-crash-", dir=memory if memory.is_dir() else None))
    yield made
    shutil.rmtree(made)


def _first_of_each() -> list[Any]:
    """Return the commands that have a sample; in `make check` one form of each, and none whose runs are long."""
    sampled = [found for found in COMMANDS if found.sample]
    quick = {found.name: found.title for found in reversed(sampled) if found.sample <= _QUICK}.values()
    return [found if found.title in quick else pytest.param(found, marks=pytest.mark.many) for found in sampled]


@pytest.mark.parametrize("command", _first_of_each(), ids=lambda command: command.title)
def test_crash_of_a_command_leaves_no_third_state(command: Command, scratch: Path) -> None:
    figures = Campaign(command, scratch, second_every=command.sample).run_all(errors_every=command.sample)
    assert figures.third_states == []
    assert figures.states >= 2 and figures.second_runs and figures.errors
