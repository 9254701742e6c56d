"""What kafkactl predicts of live clusters is what they then do: the same verdict in every scene.

`make test` runs one course of each kind; the campaign runs all of them and writes docs/proof/live.md.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.scenes import features as scenes_features
from tests.lab.scenes import quorum as scenes_quorum
from tests.lab.scenes.scene import Course, Seen, Stage, run_course

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
    """Some scenes of a course."""
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
def test_what_is_predicted_happens(course: Course, course_run: RunCourse) -> None:
    assert [seen for seen in course_run(course) if not seen.agrees] == []


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("course", COURSES, ids=lambda course: course.name)
def test_what_is_predicted_happens_in_every_scene(course: Course, course_run: RunCourse) -> None:
    began = time.monotonic()
    seen = course_run(course)
    record(course, seen, time.monotonic() - began)
    assert [run for run in seen if not run.agrees] == []
    assert len(seen) == len(course.scenes)


def record(course: Course, seen: Sequence[Seen], seconds: float) -> None:
    """Put a course into the page, in place of its last run; the rest of the page is what the other courses left."""
    sections = _sections() | {course.name: _section(course, seen, seconds)}
    known = [course.name for course in COURSES if course.name in sections]
    body = "\n\n".join(f"## {name}\n\n{sections[name].strip()}" for name in known)
    rows = [line for name in known for line in sections[name].splitlines() if line.startswith("| ")]
    scenes = [line for line in rows if not line.startswith("| scene ")]
    differ = sum("**differs**" in line for line in scenes)
    head = _HEAD.format(scenes=len(scenes), same=len(scenes) - differ, clusters=len(known), courses=len(COURSES))
    PROOF.write_text(f"{head}\n{body}\n", encoding="utf-8")


_HEAD = """# What is predicted of a live cluster is what happens

Written by the run of `make lab` (tests/lab/scenes/test_live_scenes.py), a section a cluster.

{scenes} scenes on {clusters} of {courses} clusters; the prediction was right in {same}. In each scene `--dry-run`
predicts, then the change is made: by kafkactl where it would make it, and where it refuses by Kafka's own tool or
request, so that a refusal is judged by what would have happened. The truth is read from the nodes.
"""


def _sections() -> dict[str, str]:
    text = PROOF.read_text(encoding="utf-8") if PROOF.exists() else ""
    parts = re.split(r"(?m)^## (.+)\n", text)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _section(course: Course, seen: Sequence[Seen], seconds: float) -> str:
    releases = ", ".join(sorted({course.release, *dict(course.shape.get("releases", {})).values()}))
    agreed = sum(run.agrees for run in seen)
    lines = [
        f"Kafka {releases}; {datetime.now(UTC):%Y-%m-%d}; {agreed} of {len(course.scenes)} agree; {seconds:.0f} s.",
        "",
        "| scene | predicted | happened | done by | s |",
        "|---|---|---|---|---|",
    ]
    for run in seen:
        remark = "" if run.agrees else f" **differs** {'; '.join(run.remarks)}"
        lines.append(f"| {run.scene} | {run.predicted} | {run.happened}{remark} | {run.by} | {run.seconds:.0f} |")
    return "\n".join(lines)
