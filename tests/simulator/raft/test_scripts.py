"""The scripts in tests/scripts/raft/*.txt, word for word.

KAFKACTL_REWRITE=1 writes the outputs again: read the difference, and keep it only if you know why it is right.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulator.raft.scripts import Stage
from tests.text_scripts import check_script

SCRIPTS = sorted((Path(__file__).parents[2] / "scripts" / "raft").glob("*.txt"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_node_does_what_its_script_says(path):
    check_script(path, Stage().run)


def test_scripts_are_found():
    assert len(SCRIPTS) >= 8
