"""The stories in tests/scripts/plans/quorum_*.txt, word for word.

KAFKACTL_REWRITE=1 rewrites the outputs: read the difference, and keep it only if you know why it is right.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.quorum.scripts import replayed

SCRIPTS = sorted((Path(__file__).parents[1] / "scripts" / "plans").glob("quorum_*.txt"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_output_of_the_script_is_unchanged(path):
    script = path.read_text(encoding="utf-8")
    found = replayed(script)
    if os.environ.get("KAFKACTL_REWRITE") == "1":
        path.write_text(found, encoding="utf-8")
    else:
        assert found == script


def test_there_are_stories():
    assert len(SCRIPTS) >= 8
