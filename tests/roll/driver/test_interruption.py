"""Rolls that are killed at a sample of their acts; tests/campaigns/roll kills them at each."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.roll.journal import Action
from tests.roll.driver.interrupted_rolls import ROLLS, kill_everywhere


def test_every_action_of_a_roll_is_interrupted() -> None:
    assert set().union(*(row.actions for row in ROLLS.values())) == set(Action) - {Action.WAIT}  # part of a start


@pytest.mark.slow
@pytest.mark.parametrize(("at", "name"), tuple(enumerate(ROLLS, start=1)))
def test_roll_that_is_killed_reaches_its_goal(tmp_path: Path, at: int, name: str) -> None:
    assert kill_everywhere(name, tmp_path, first=at, every=10) > 30
