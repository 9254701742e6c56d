"""Clients at work while features, levels and voters change and nodes fail: what is acknowledged is never lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.campaigns.load.changes import COURSES, Course
from tests.campaigns.load.faulted_changes import Run, run_course, shape_of
from tests.campaigns.load.proof import write_section
from tests.campaigns.load.traffic import Traffic
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.pool import Pool

RUNS = int(os.environ.get("KAFKACTL_LOAD_RUNS", "23"))
"""How many of each course; nine courses of 23 are the campaign."""


def run_whole_course(course: Course, root: Path, runs: range) -> tuple[list[Run], dict[str, int]]:
    with KafkaCluster(course.release, root, **shape_of(course)) as cluster:
        cluster.start()
        seen = []
        with Traffic(cluster) as traffic:
            for run in run_course(course, cluster, traffic, runs):
                print(run, flush=True)
                seen.append(run)
    return seen, traffic.result


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("course", COURSES, ids=lambda course: course.title)
def test_runs_under_load_are_right_and_lose_nothing(course: Course, lab_pool: Pool, tmp_path: Path) -> None:
    runs, whole = run_whole_course(course, tmp_path, range(RUNS))
    write_section(course.title, runs, whole)
    assert all(run.is_right for run in runs), [run for run in runs if not run.is_right]
    assert whole["lost"] == 0
