"""The scripts in tests/scripts/raft/*.txt, word for word.

KAFKACTL_REWRITE=1 writes the outputs again: read the difference, and keep it only if you know why it is right.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.simulator.raft.scripts import replayed

SCRIPTS = sorted((Path(__file__).parents[2] / "scripts" / "raft").glob("*.txt"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_node_does_what_its_script_says(path):
    written = path.read_text(encoding="utf-8")
    found = replayed(written)
    if os.environ.get("KAFKACTL_REWRITE") == "1":
        path.write_text(found, encoding="utf-8")
    else:
        assert found == written


def test_there_are_scripts():
    assert len(SCRIPTS) >= 8
