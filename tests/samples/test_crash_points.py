"""Failures of all file operations of format, apply and unformat, in all ways: none leaves a third state.

After each failure the disks are observed: Kafka would start only from a complete node, no file of others is touched,
and the command's answer is true. Then a new run completes the work, or refuses and says what to do.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafkactl.core.findings import Outcome, Severity
from kafkactl.core.values import Uuid
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.protocol.text.meta_properties import META_PROPERTIES, parse_meta_properties
from kafkactl.storage.format.unformat import UnformatPlan, plan_unformat
from kafkactl.storage.io.apply_format import apply_plan
from kafkactl.storage.io.apply_unformat import apply_unformat
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.model import (
    KAFKACTL_LOCK,
    LOST_AND_FOUND,
    Action,
    Applied,
    FormatPlan,
    Progress,
    VoterMode,
    is_staged_name,
)
from tests.campaigns.crash.scenarios import OWN_ID, SCENARIOS, Scenario, formatted
from tests.fakes.faulty_filesystem import Fault, FaultyFilesystem, Killed
from tests.storage.nodes import FixedSource

SAMPLE_EVERY = 11
Tree = dict[str, bytes | None]


@dataclass(frozen=True)
class Point:
    """Point at which a run fails, and how."""

    operation: int
    fault: Fault


@pytest.fixture
def root() -> Iterator[Path]:
    """Yield a scratch directory in memory if there is one: nothing here needs a disk that survives."""
    memory = Path("/dev/shm")
    scratch = Path(tempfile.mkdtemp(prefix="kafkactl-crash-", dir=memory if memory.is_dir() else None))
    yield scratch / "disks"
    shutil.rmtree(scratch)


def tree(root: Path) -> Tree:
    return {
        str(path.relative_to(root)): None if path.is_dir() else path.read_bytes() for path in sorted(root.rglob("*"))
    }


def faulty(root: Path, point: Point) -> FaultyFilesystem:
    scratch = root.parent / "kept"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    return FaultyFilesystem(scratch, fail_at=point.operation, fault=point.fault, seed=point.operation)


def count(root: Path, scenario: Scenario, *, unformat: bool = False) -> list[str]:
    """Return the operations of a run without failure."""
    scenario.build(root)
    files = faulty(root, Point(-1, Fault.ERROR_BEFORE))
    done = apply_unformat(unformat_plan(root, scenario), files) if unformat else apply_plan(scenario.plan(root), files)
    assert done.outcome is Outcome.DONE
    return files.operations


def points(operations: list[str]) -> list[Point]:
    """Return every operation with every fault. A short write is one only where something is written."""
    return [
        Point(number, fault)
        for number, name in enumerate(operations)
        for fault in Fault
        if fault is not Fault.SHORT_WRITE or name == "write"
    ]


def format_point(root: Path, scenario: Scenario, point: Point, *, same_plan: bool) -> None:
    """Fail once in a format; then apply the same plan once more (as `apply` does), or a new plan (as `format`)."""
    scenario.build(root)
    plan = scenario.plan(root)
    before = tree(root)
    applied = run(plan, faulty(root, point))
    check_no_third_state(root, plan, before)
    if applied is not None:
        check_findings(root, plan, applied, before)
    check_asks_for_ignore_formatted(root, scenario)
    again = plan if same_plan else scenario.plan(root, OtherSource())
    assert again.outcome in {Outcome.PLANNED, Outcome.NOTHING_TO_DO}, again.findings
    assert apply_plan(again, OsFilesystem()).outcome in {Outcome.DONE, Outcome.NOTHING_TO_DO}
    check_complete(root, scenario, plan, before)
    if same_plan:
        check_bytes(plan)


class OtherSource(FixedSource):
    """Other ids and another time than the run that failed."""

    def now_ms(self) -> int:
        return super().now_ms() + 3_600_000

    def directory_id(self, path: str) -> Uuid:
        return Uuid(b"\x50" + super().directory_id(path).raw[1:])


def run(plan: FormatPlan, files: FaultyFilesystem) -> Applied | None:
    """Apply; None if the process was killed."""
    try:
        return apply_plan(plan, files)
    except Killed:
        if files.fault is Fault.POWER_LOSS:
            files.lose_power()
        return None


def check_no_third_state(root: Path, plan: FormatPlan, before: Tree) -> None:
    """Check that where meta.properties is, all is; the metadata directory is last; the rest of the disk is as it
    was."""
    written = [directory for directory in plan.directories if directory.action is Action.FORMAT]
    marked = [directory for directory in written if (Path(directory.path) / META_PROPERTIES).exists()]
    for directory in marked:
        for file in directory.files:
            assert (Path(directory.path) / file.name).read_bytes() == file.content, (directory.path, file.name)
    if any(directory.role == "metadata" for directory in marked):
        assert len(marked) == len(written)
    planned = {
        str((Path(directory.path) / file.name).relative_to(root)) for directory in written for file in directory.files
    }
    now = tree(root)
    for name, content in before.items():
        if name not in planned and not is_ours(name):
            assert now.get(name, b"gone") == content, name
    strange = [name for name in now if name not in before and name not in planned and not is_ours(name)]
    assert all(now[name] is None for name in strange), strange


def is_ours(name: str) -> bool:
    """Return True for temporary files and the lock."""
    return is_staged_name(Path(name).name) or Path(name).name == KAFKACTL_LOCK


def check_findings(root: Path, plan: FormatPlan, applied: Applied, before: Tree) -> None:
    """Check that the outcome is what the disks say."""
    written = [directory for directory in plan.directories if directory.action is Action.FORMAT]
    marked = [directory.path for directory in written if (Path(directory.path) / META_PROPERTIES).exists()]
    ids = [finding.id for finding in applied.findings]
    match applied.outcome:
        case Outcome.DONE:
            check_bytes(plan)
            assert {applied.progress[directory.path] for directory in written} == {Progress.DONE}
        case Outcome.FAILED:
            assert marked == []
        case Outcome.PARTIAL:
            assert marked
        case other:
            raise AssertionError(other)
    if applied.outcome is not Outcome.DONE:
        assert all(finding.advice for finding in applied.findings if finding.severity is not Severity.WARNING), ids
    if "format-not-begun" in ids:
        # A lock file that could not be locked stays and does no harm (check_complete).
        now = {name: content for name, content in tree(root).items() if Path(name).name != KAFKACTL_LOCK}
        kept = {name: content for name, content in before.items() if not is_ours(name)}
        left = {name for name in now.keys() - kept.keys() if not is_ours(name)}
        assert all((root / name / KAFKACTL_LOCK).exists() or _holds_lock(root / name) for name in left), left
        assert {name: now.get(name, b"gone") for name in kept} == kept


def _holds_lock(place: Path) -> bool:
    return any(path.name == KAFKACTL_LOCK for path in place.rglob("*"))


def check_asks_for_ignore_formatted(root: Path, scenario: Scenario) -> None:
    """Check that a run without -g refuses what was finished before the failure, and names the next command."""
    plan = scenario.plan(root, again=False)
    if plan.outcome is Outcome.REFUSED:
        stops = [finding for finding in plan.findings if finding.severity is Severity.BLOCKER]
        assert {finding.id for finding in stops} == {"already-formatted"}
        assert all("--ignore-formatted" in finding.advice for finding in stops)


def check_complete(root: Path, scenario: Scenario, plan: FormatPlan, before: Tree) -> None:
    """Check that Kafka starts: every directory is marked, for one cluster and node, ids are different, nothing is
    left."""
    ids = []
    for directory in plan.directories:
        stored = parse_meta_properties((Path(directory.path) / META_PROPERTIES).read_bytes())
        assert (stored.cluster_id, stored.node_id) == (plan.cluster_id, plan.node_id)
        if stored.directory_id is not None:
            ids.append(stored.directory_id)
        names = {file.name for file in directory.files}
        assert {name for name in names if (Path(directory.path) / name).exists()} == names
        if scenario.mode is VoterMode.INITIAL_CONTROLLERS and directory.role == "metadata":
            assert str(stored.directory_id) == OWN_ID
    assert len(set(ids)) == len(ids)
    assert [name for name in tree(root) if is_ours(name)] == []


def check_bytes(plan: FormatPlan) -> None:
    """Check that the bytes are exactly what was planned."""
    for directory in plan.directories:
        for file in directory.files:
            path = Path(directory.path) / file.name
            assert path.read_bytes() == file.content
            assert file.mode is None or path.stat().st_mode & 0o7777 == file.mode


def unformat_plan(root: Path, scenario: Scenario) -> UnformatPlan:
    config = scenario.config(root)
    return plan_unformat(config, observe_node(config))


def unformat_point(root: Path, scenario: Scenario, point: Point) -> None:
    """Fail once in an unformat; then another run removes the rest."""
    scenario.build(root)
    before = tree(root)
    files = faulty(root, point)
    try:
        applied = apply_unformat(unformat_plan(root, scenario), files)
        assert applied.outcome in {Outcome.DONE, Outcome.FAILED, Outcome.PARTIAL}
        assert applied.outcome is Outcome.DONE or applied.findings[-1].advice
    except Killed:
        if point.fault is Fault.POWER_LOSS:
            files.lose_power()
    now = {name: content for name, content in tree(root).items() if not is_ours(name)}
    places = scenario.config(root).all_directories
    if all((Path(place) / META_PROPERTIES).exists() for place in places):
        assert now == {name: content for name, content in before.items() if not is_ours(name)}
    assert now.items() <= before.items()
    again = unformat_plan(root, scenario)
    assert again.outcome in {Outcome.PLANNED, Outcome.NOTHING_TO_DO}, again.findings
    assert apply_unformat(again, OsFilesystem()).outcome in {Outcome.DONE, Outcome.NOTHING_TO_DO}
    left = [name for place in places for name in tree(Path(place)) if LOST_AND_FOUND not in name]
    assert [name for name in left if Path(name).name != KAFKACTL_LOCK] == []


FORMATTED = tuple(
    Scenario(**{**vars(scenario), "name": f"unformat, {scenario.name}", "prepare": formatted(scenario), "owner": None})
    for scenario in SCENARIOS
    if scenario.name not in {"new disk", "owner"}
)


def run_format_points(root: Path, scenario: Scenario, every: int = 1) -> Counter[str]:
    ran: Counter[str] = Counter()
    operations = count(root, scenario)
    for number, point in enumerate(points(operations)):
        if number % every == 0:
            for same_plan in (False, True):
                try:
                    format_point(root, scenario, point, same_plan=same_plan)
                except AssertionError as error:
                    error.add_note(f"{scenario.name}: {point} ({operations[point.operation]}), same plan: {same_plan}")
                    raise
                ran[f"{'apply' if same_plan else 'format'}/{operations[point.operation]}/{point.fault}"] += 1
    return ran


def run_unformat_points(root: Path, scenario: Scenario, every: int = 1) -> Counter[str]:
    ran: Counter[str] = Counter()
    operations = count(root, scenario, unformat=True)
    for number, point in enumerate(points(operations)):
        if number % every == 0:
            try:
                unformat_point(root, scenario, point)
            except AssertionError as error:
                error.add_note(f"{scenario.name}: {point} ({operations[point.operation]})")
                raise
            ran[f"unformat/{operations[point.operation]}/{point.fault}"] += 1
    return ran


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda made: made.name)
def test_format_that_fails_can_be_finished(root: Path, scenario: Scenario) -> None:
    assert run_format_points(root, scenario, SAMPLE_EVERY)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", FORMATTED, ids=lambda made: made.name)
def test_unformat_that_fails_can_be_finished(root: Path, scenario: Scenario) -> None:
    assert run_unformat_points(root, scenario, SAMPLE_EVERY)
