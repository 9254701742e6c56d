"""Predictions for live clusters against their later behaviour: the same verdict in every scene.

`make test` runs one course of each kind; the campaign runs all of them and writes docs/proof/live.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.scenes import features as scenes_features
from tests.lab.scenes import quorum as scenes_quorum
from tests.lab.scenes.scene import Course, Seen, Stage, run_course
from tests.proof_page import record_part

PROOF = Path(__file__).parents[3] / "docs" / "proof" / "live.md"
COURSES = (*scenes_features.ALL, *scenes_quorum.ALL)
Kafkactl = Callable[..., Run]
RunCourse = Callable[[Course], list[Seen]]


@pytest.fixture
def course_run(
    new_cluster: ClusterOf, kafkactl: Kafkactl, storage_tool: StorageToolServer,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> Iterator[RunCourse]:  # fmt: skip
    """Run a course on a cluster of its own; journals go to the test's folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run_one(course: Course) -> list[Seen]:
        with new_cluster(course.release, **course.shape) as cluster:
            cluster.start()
            return run_course(course, Stage(cluster=cluster, kafkactl=kafkactl, tool=storage_tool))

    yield run_one


def part(course: Course, *names: str) -> Course:
    """Return some scenes of a course."""
    found = {scene.name: scene for scene in course.scenes}
    return replace(course, scenes=tuple(found[name] for name in names))


SAMPLE = (
    part(
        scenes_features.COURSES[2],
        "up by one level", "down within a run of levels", "down across a metadata change",
        "a feature whose dependency is missing", "a feature and what it depends on",
    ),
    part(
        scenes_quorum.ALL[2],
        "from one voter to three",  # a dead voter is in tests/lab/quorum/test_liveness.py
    ),
)  # fmt: skip


@pytest.mark.parametrize("course", SAMPLE, ids=lambda course: course.name)
def test_predicted_verdicts_are_observed(course: Course, course_run: RunCourse) -> None:
    assert [seen for seen in course_run(course) if not seen.agrees] == []


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("course", COURSES, ids=lambda course: course.name)
def test_predicted_verdicts_are_observed_in_every_scene(course: Course, course_run: RunCourse) -> None:
    began = time.monotonic()
    seen = course_run(course)
    record(course, seen, time.monotonic() - began)
    assert [run for run in seen if not run.agrees] == []
    assert len(seen) == len(course.scenes)


def record(course: Course, seen: Sequence[Seen], seconds: float) -> None:
    """Put the row of a course in place of its last run."""
    releases = ", ".join(sorted({course.release, *dict(course.shape.get("releases", {})).values()}))
    agreed = sum(run.agrees for run in seen)
    record_part(
        PROOF,
        _HEAD,
        course.name,
        f"{agreed} of {len(course.scenes)} agree; Kafka {releases}; {seconds:.0f} s",
        [
            f"{run.scene}: predicted {run.predicted}, happened {run.happened} (by {run.by}); {'; '.join(run.remarks)}"
            for run in seen
            if not run.agrees
        ],
    )


_HEAD = """# Changes of live clusters, predicted and made

Repeat with `make lab` (tests/lab/scenes/test_live_scenes.py), which writes this page: a row a cluster. The scenes are
in tests/lab/scenes/features.py and quorum.py. In each scene `--dry-run` predicts, then the change is made: by kafkactl
if it would make the change, and by Kafka's own tool or request if it refuses, so that a refusal is judged by what would
have happened. The truth is read from the nodes.
"""
