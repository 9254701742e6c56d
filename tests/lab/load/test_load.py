"""Clients at work while features, levels and voters change and nodes fail: what is acknowledged is never lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.pool import Pool
from tests.lab.load.changes import COURSES, Course
from tests.lab.load.faulted_changes import Run, run_course, shape_of
from tests.lab.load.proof import write_section
from tests.lab.load.traffic import Traffic

RUNS = int(os.environ.get("KAFKACTL_LOAD_RUNS", "23"))
"""How many of each course; nine courses of 23 are the campaign."""
SAMPLE = range(2, 4)  # the leader is replaced and killed meanwhile, then a level is lowered and the leader killed
SAMPLED = next(course for course in COURSES if course.release == "4.3.1")


def _run_course(course: Course, root: Path, runs: range) -> tuple[list[Run], dict[str, int]]:
    with KafkaCluster(course.release, root, **shape_of(course)) as cluster:
        cluster.start()
        seen = []
        with Traffic(cluster) as traffic:
            for run in run_course(course, cluster, traffic, runs):
                print(run, flush=True)
                seen.append(run)
    return seen, traffic.result


def test_nothing_acknowledged_is_lost_while_the_leader_is_killed_in_a_change(lab_pool: Pool, tmp_path: Path) -> None:
    runs, whole = _run_course(SAMPLED, tmp_path, SAMPLE)
    assert [run.blow for run in runs] == ["kill leader"] * 2
    assert all(run.is_right for run in runs), runs
    assert whole["acked"] > 100 and whole["lost"] == 0


@pytest.mark.campaign
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("course", COURSES, ids=lambda course: course.title)
def test_the_campaign(course: Course, lab_pool: Pool, tmp_path: Path) -> None:
    runs, whole = _run_course(course, tmp_path, range(RUNS))
    write_section(course.title, runs, whole)
    assert all(run.is_right for run in runs), [run for run in runs if not run.is_right]
    assert whole["lost"] == 0
