"""Rolls of a simulated cluster that are killed before each single act, and run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaigns.roll.page import HEAD, PAGE
from tests.proof_page import record_part
from tests.roll.driver.interrupted_rolls import ROLLS, kill_everywhere


@pytest.mark.timeout(1800)
def test_roll_that_is_killed_at_any_act_reaches_its_goal(tmp_path: Path) -> None:
    acts = {name: kill_everywhere(name, tmp_path / str(at)) for at, name in enumerate(_made(tmp_path))}
    assert min(acts.values()) > 30
    record_part(
        PAGE, HEAD, "simulated rolls killed before each act, and resumed",
        f"{len(acts)} kinds of roll, {sum(acts.values())} kills: each node stopped once, nothing stopped while another "
        "one was down, every roll at its goal",
    )  # fmt: skip


def _made(folder: Path) -> list[str]:
    """Return the names of the rolls, with a folder for each."""
    for at in range(len(ROLLS)):
        (folder / str(at)).mkdir()
    return list(ROLLS)
