"""The stories in tests/scripts/plans/quorum_*.txt, word for word.

KAFKACTL_REWRITE=1 rewrites the outputs: read the difference, and keep it only if you know why it is right.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quorum.scripts import Story
from tests.text_scripts import check_script

SCRIPTS = sorted((Path(__file__).parents[1] / "scripts" / "plans").glob("quorum_*.txt"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_output_of_the_script_is_unchanged(path):
    check_script(path, Story().run)


def test_scripts_are_found():
    assert len(SCRIPTS) >= 8
