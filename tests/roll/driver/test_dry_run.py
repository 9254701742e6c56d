"""A dry run refuses what the run refuses before its first act, and plans what it begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.roll.api import RollRequest, plan_run
from tests.fakes.rolling_cluster import FakeRoll
from tests.roll.driver.test_run import cluster, roll

ACCEPTED = frozenset({"quorum-without-spare", "default-changed", "setting-ignored"})
Change = Callable[[FakeRoll], Any]
BOTH, NONE, BACK = ("4.4.0", "4.2.1"), (), ("4.2.1",)
STATES: tuple[tuple[str, Change, tuple[str, ...]], ...] = (
    ("whole", lambda world: None, NONE),
    ("broker down", lambda world: world.crash(12), NONE),
    # On the way up the voter is started first; in a rollback a broker would be stopped first.
    ("voter down", lambda world: world.crash(1), BACK),
    ("broker fenced", lambda world: world.roll.fence(12), BOTH),
    ("reassignment", lambda world: world.roll.adding.update({("orders", 0): [14]}), BOTH),
    ("stored setting", lambda world: world.roll.topic("small", [11, 12, 13], segment_bytes="1"), BOTH),
)


@pytest.mark.parametrize(("change", "refusing"), [row[1:] for row in STATES], ids=[row[0] for row in STATES])
@pytest.mark.parametrize("to", BOTH)
def test_dry_run_has_the_outcome_of_the_run(tmp_path: Path, change: Change, refusing: tuple[str, ...], to: str) -> None:
    refused = to in refusing
    world = FakeRoll(cluster(level=29))
    change(world)
    planned = plan_run(world.roll.observation(), RollRequest(to=to, accepted=ACCEPTED))
    assert planned.outcome is (Outcome.REFUSED if refused else Outcome.PLANNED), planned.findings
    found = roll(world, tmp_path, to, accepted=ACCEPTED)
    assert (found.outcome is Outcome.REFUSED) is refused, found.findings
