"""Failures of all file operations of writing a recovery: Kafka would start from nothing or from the whole.

The directory is observed after each failure: with meta.properties it is complete, and nothing but what is ours was
touched. Then the same command again finishes it, with the same ids.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.quorum.api.recover.plan import PlannedRecovery, RecoveryRequest, apply_recovery, plan_recovery
from kafkactl.quorum.recover.answer import read_kept_plan
from kafkactl.quorum.recover.observed_disks import RecoveryTarget
from kafkactl.quorum.recover.request import RecoveryOverrides
from tests.fakes.faulty_filesystem import Fault, FaultyFilesystem, Killed
from tests.quorum.recover import worlds

SAMPLE_EVERY = 9


@pytest.fixture
def root() -> Iterator[Path]:
    """Yield a scratch directory in memory if there is one."""
    memory = Path("/dev/shm")
    scratch = Path(tempfile.mkdtemp(prefix="kafkactl-crash-", dir=memory if memory.is_dir() else None))
    yield scratch
    shutil.rmtree(scratch)


def request(root: Path) -> RecoveryRequest:
    return RecoveryRequest(
        log_dirs=tuple(str(root / "sources" / name) for name in ("c2", "b11", "b12")),
        target=RecoveryTarget(directory=str(root / "made" / "new")),
        lost=(1, 3),
        overrides=RecoveryOverrides(),
        raise_epoch=1000,
        raise_offset=1000,
    )


def planned(root: Path) -> PlannedRecovery:
    return plan_recovery(request(root), now_ms=1_700_000_000_000, probe=lambda _: ())


def faulty(root: Path, number: int, fault: Fault) -> FaultyFilesystem:
    kept = root / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    return FaultyFilesystem(kept, fail_at=number, fault=fault, seed=number)


def points(root: Path) -> list[tuple[int, str, Fault]]:
    files = faulty(root, -1, Fault.ERROR_BEFORE)
    assert apply_recovery(planned(root), files).outcome is Outcome.DONE
    return [
        (number, name, fault)
        for number, name in enumerate(files.operations)
        for fault in Fault
        if fault is not Fault.SHORT_WRITE or name == "write"
    ]


def fail_once(root: Path, number: int, fault: Fault) -> None:
    made = root / "made"
    shutil.rmtree(made)
    made.mkdir()
    sources = worlds.tree(root / "sources")
    files, first = faulty(root, number, fault), planned(root)
    outcome = None
    try:
        outcome = apply_recovery(first, files).outcome
    except Killed:
        if fault is Fault.POWER_LOSS:
            files.lose_power()
    out = made / "new"
    has_mark = (out / "meta.properties").exists()
    if has_mark:
        check_whole(out, first)
    assert outcome in (None, Outcome.DONE, Outcome.PARTIAL, Outcome.FAILED)
    assert outcome is not Outcome.DONE or has_mark
    assert outcome is not Outcome.FAILED or not has_mark
    again = planned(root)
    assert again.outcome in (Outcome.PLANNED, Outcome.NOTHING_TO_DO), [
        finding.message for finding in again.plan.findings
    ]
    done = Outcome.DONE if again.outcome is Outcome.PLANNED else Outcome.NOTHING_TO_DO
    assert apply_recovery(again, OsFilesystem()).outcome is done
    if (made / "new.recovery.json").exists() and has_mark:
        assert again.plan.request.directory_id == first.plan.request.directory_id
    check_whole(out, again)
    assert sorted(path.name for path in made.iterdir()) == ["new", "new.recovery.json"]
    kept = read_kept_plan((made / "new.recovery.json").read_bytes(), file="x")
    assert kept.plan_sha256 == again.answer().to_dict()["plan_sha256"]
    assert worlds.tree(root / "sources") == sources


def check_whole(out: Path, of: PlannedRecovery) -> None:
    """Check that Kafka would start from the directory: nothing is missing, nothing is half, nothing else is there."""
    result = of.plan.result
    assert result is not None
    checkpoint, meta = (out / file.name for file in result.files)
    assert checkpoint.read_bytes() == b"".join(result.snapshot())
    assert meta.read_bytes() == result.meta_properties
    assert sorted(path.name for path in out.iterdir()) == ["__cluster_metadata-0", "meta.properties"]
    assert [path.name for path in checkpoint.parent.iterdir()] == [checkpoint.name]


def run_points(root: Path, every: int) -> int:
    log = worlds.whole_log()
    worlds.disk(root / "sources" / "c2", 2, log)
    worlds.broker_disks(root / "sources", log=log)
    (root / "made").mkdir()
    found = points(root)[::every]
    for number, name, fault in found:
        try:
            fail_once(root, number, fault)
        except AssertionError as error:
            error.add_note(f"operation {number} ({name}): {fault}")
            raise
    return len(found)


@pytest.mark.slow
def test_recovery_that_fails_can_be_finished(root: Path):
    assert run_points(root, SAMPLE_EVERY) > 10
