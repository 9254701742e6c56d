"""Planted bugs of the protocol, each of which breaks an invariant within 100,000 runs."""

from __future__ import annotations

import pytest

from tests.campaigns.simulator.figures import Figures
from tests.campaigns.simulator.planted_bugs import BUGS, search


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_bug_is_found(bug):
    figures = Figures("bugs")
    found = search(bug, 100_000)
    assert found is not None
    figures.row(bug.name, f"{bug.profile}, {bug.voters} voters", bug.release)[0] = found.seed + 1
    figures.write()
