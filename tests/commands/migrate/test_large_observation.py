"""Saved observations of large clusters: whatever `migrate observe` writes, every command reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.adapters.migration.save import save_observation
from kafkactl.adapters.migration.saved import Captured
from kafkactl.migration.observed.raw import RawObservation
from tests.migration.large_trees import TIME_MS, large_tree

_READERS = ("status", "check", "plan", "compare", "rollback")
_SIZES = [
    3_000,
    pytest.param(20_000, marks=pytest.mark.slow),
    pytest.param(200_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
]


def _saved(folder: Path, partitions: int, *, at_once: bool) -> str:
    raw = RawObservation(time_ms=TIME_MS, connect="zk:2181/kafka", chroot="/kafka")
    save_observation(str(folder), Captured(raw=raw, znodes=tuple(large_tree(partitions, at_once=at_once))))
    return str(folder)


@pytest.mark.parametrize("partitions", _SIZES)
def test_observation_of_a_large_cluster_is_read_by_every_command(kafkactl, tmp_path, partitions: int) -> None:
    folder = _saved(tmp_path / "seen", partitions, at_once=True)
    for verb in _READERS:
        more = ("--dry-run",) if verb == "rollback" else ()
        run = kafkactl("migrate", verb, "--observation", folder, *more, "-o", "json")
        assert run.code != 2, run.stderr
        assert run.json["kind"] == f"migrate.{verb}"
    run = kafkactl("dryrun", "zk-migration", folder, "-o", "json")
    assert run.code == 0, run.stderr
    assert run.json["effects"]["records_appended"]["by_type"]["PartitionRecord"] == partitions


@pytest.mark.parametrize("partitions", _SIZES[:2])
def test_tree_that_grew_over_time_is_read(kafkactl, tmp_path, partitions: int) -> None:
    run = kafkactl("dryrun", "zk-migration", _saved(tmp_path / "seen", partitions, at_once=False), "-o", "json")
    assert run.code == 0, run.stderr
    assert run.json["effects"]["records_appended"]["by_type"]["PartitionRecord"] == partitions
