"""Saved observations of large clusters: whatever `migrate observe` writes, every command reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.core.values import Role
from kafkactl.migration.api.copy import read_copy_source
from kafkactl.migration.io.observation_writer import save_observation
from kafkactl.migration.io.saved_observation import CapturedMigration, load_captured
from kafkactl.migration.observed.raw_observation import RawNode, RawObservation
from kafkactl.storage.partition_folders import PartitionIds
from tests.migration.large_trees import BROKERS, TIME_MS, large_tree, topic_id

_READERS = ("status", "check", "plan", "compare", "rollback")
_SIZES = [
    3_000,
    pytest.param(20_000, marks=pytest.mark.slow),
    pytest.param(200_000, marks=[pytest.mark.campaign, pytest.mark.timeout(600)]),
]


def _saved(folder: Path, partitions: int, *, at_once: bool) -> str:
    ids = PartitionIds(topic_ids={f"topic-{topic}": topic_id(topic) for topic in range(partitions // 50)})
    nodes = tuple(RawNode(id=id, role=Role.BROKER, partition_ids=ids) for id in range(1, BROKERS + 1))
    raw = RawObservation(time_ms=TIME_MS, connect="zk:2181/kafka", chroot="/kafka", nodes=nodes)
    save_observation(str(folder), CapturedMigration(raw=raw, znodes=tuple(large_tree(partitions, at_once=at_once))))
    return str(folder)


@pytest.mark.parametrize("partitions", _SIZES)
def test_observation_of_a_large_cluster_is_read_by_every_command(kafkactl, tmp_path, partitions: int) -> None:
    folder = _saved(tmp_path / "seen", partitions, at_once=True)
    for verb in _READERS if partitions == _SIZES[0] else _READERS[:1]:  # all read an observation by one function
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


@pytest.mark.slow
def test_topic_ids_of_many_topics_on_each_broker_are_read(tmp_path) -> None:
    ids = PartitionIds(topic_ids={f"a-topic-with-a-longer-name-{topic}": topic_id(topic) for topic in range(200_000)})
    nodes = tuple(
        RawNode(id=id, role=Role.BROKER, partition_ids=ids, kafka_version="3.9.2") for id in range(1, BROKERS + 1)
    )
    raw = RawObservation(time_ms=TIME_MS, connect="zk:2181/kafka", chroot="/kafka", nodes=nodes)
    save_observation(str(tmp_path / "seen"), CapturedMigration(raw=raw, znodes=tuple(large_tree(50, at_once=True))))
    captured = load_captured(str(tmp_path / "seen"))
    assert captured.findings == ()
    assert [node.partition_ids for node in captured.raw.nodes] == [ids] * BROKERS
    assert read_copy_source(str(tmp_path / "seen"), chroot=None, config=None, timeout_ms=1).release == "3.9.2"
