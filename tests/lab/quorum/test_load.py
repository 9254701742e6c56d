"""Clients at work while the leader of the metadata quorum is killed in a change: a sample of the load campaign."""

from __future__ import annotations

from pathlib import Path

from tests.campaigns.load.changes import COURSES
from tests.campaigns.load.test_load import run_whole_course
from tests.lab.harness.pool import Pool

SAMPLE = range(2, 3)  # The leader is replaced and killed meanwhile.
SAMPLED = next(course for course in COURSES if course.release == "4.3.1")


def test_nothing_acknowledged_is_lost_while_the_leader_is_killed_in_a_change(lab_pool: Pool, tmp_path: Path) -> None:
    runs, whole = run_whole_course(SAMPLED, tmp_path, SAMPLE)
    assert [run.blow for run in runs] == ["kill leader"]
    assert all(run.is_right for run in runs), runs
    assert whole["acked"] > 100 and whole["lost"] == 0
