"""Failures of all file operations of format, apply, unformat and recovery, in all ways."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.campaigns.crash.scenarios import SCENARIOS
from tests.samples import test_crash_points, test_fleet_crash, test_recover_crash

root = test_crash_points.root
world = test_fleet_crash.world
recovery_root = test_recover_crash.root


@pytest.mark.timeout(3600)
def test_every_operation_fails_in_every_way(root: Path) -> None:
    ran: Counter[str] = Counter()
    for scenario in SCENARIOS:
        ran += test_crash_points.run_format_points(root, scenario)
    for scenario in test_crash_points.FORMATTED:
        ran += test_crash_points.run_unformat_points(root, scenario)
    assert ran.total() >= 2000


@pytest.mark.timeout(1800)
def test_every_operation_of_a_fleets_apply_fails_in_every_way(world):
    assert test_fleet_crash.run_points(world, 1) > 500


def test_every_operation_of_a_recovery_fails_in_every_way(recovery_root: Path):
    assert test_recover_crash.run_points(recovery_root, 1) > 100
