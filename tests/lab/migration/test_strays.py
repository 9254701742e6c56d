"""Strays of a broker that had its KRaft file too early: renamed back before the copy, and found again after it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from kafkactl.core.findings import Finding
from kafkactl.migration.checks.registry import check
from kafkactl.migration.observed.observation import Observation
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.plan_operator import Operator

pytestmark = [pytest.mark.timeout(900), pytest.mark.campaign]

TOPICS, COUNT, BROKER = ("back", "later"), 100, 1
_MOVE = re.compile(r"move (?P<empty>\S+) out of the log directory if it is there, mv (?P<stray>\S+) (?P<back>\S+), and")


def _stray(seen: Observation) -> Finding | None:
    found = [finding for finding in check(seen) if finding.id == "partitions-became-strays"]
    return found[0] if found else None


def _counts(cluster: MigrationCluster) -> list[int]:
    said = cluster.chores(*(f"count:{topic}" for topic in TOPICS))
    return [int(count) for count in re.findall(r"count:\S+: (\d+)", said)]


def _rename_back(step: str, aside: Path) -> None:
    """Carry the step out for the first folder, which it names."""
    typed = _MOVE.search(step)
    assert typed is not None, step
    assert typed["empty"] == typed["back"]
    if Path(typed["empty"]).exists():
        shutil.move(typed["empty"], aside)
    Path(typed["stray"]).rename(typed["back"])


def test_strays_are_renamed_back_before_the_copy_and_after_it(tmp_path: Path) -> None:
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster:
        cluster.reach("M0")
        for topic in TOPICS:
            cluster.chores(f"topic:{topic}:2:1", f"produce:{topic}:{COUNT}:5000")
        cluster.reach("M3")
        folder, operator = cluster.plan.log_dir(BROKER), Operator(cluster)
        cluster.stop(BROKER)
        cluster.write(BROKER, "kraft")
        cluster.start(BROKER, wait=False)
        cluster.wait_for(lambda: len(list(folder.glob("*-stray"))) == len(TOPICS), "strays")
        found = _stray(operator.look())
        assert found is not None
        assert (found.evidence["cause"], found.evidence["directories"]) == ("earlier", 2)
        assert "not with the KRaft file before the copy" in found.next_step
        cluster.stop(BROKER)
        _rename_back(found.next_step, tmp_path / "before")
        cluster.write(BROKER, "zk")
        cluster.start(BROKER)
        assert _counts(cluster)[0] == COUNT

        cluster.reach("M6")
        assert _counts(cluster)[1] < COUNT
        found = _stray(operator.look())
        assert found is not None
        assert (found.evidence["cause"], found.evidence["directories"]) == ("earlier", 1)
        cluster.stop(BROKER)
        _rename_back(found.next_step, tmp_path / "after")
        cluster.start(BROKER)
        cluster.wait_for(lambda: _counts(cluster) == [COUNT, COUNT], "all messages back", 120)
        assert _stray(operator.look()) is None
        cluster.to_kraft(BROKER)
        assert _counts(cluster) == [COUNT, COUNT]
