"""Topic ids on the brokers' disks, on a real cluster: remedies carried out in the state in which they are shown."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from kafkactl.core.findings import Finding
from kafkactl.migration.checks.registry import check
from kafkactl.migration.observed.observation import Observation
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.plan_operator import Operator, delete

_TOPICS = ("before", "after", "whole", "meta")
_SET = re.compile(r"set /kafka(?P<path>\S+) '(?P<data>[^']*)'")
_PRINTF = re.compile(r"printf '(?P<content>[^']*)' > (?P<file>\S+/partition\.metadata)")


def _find(seen: Observation, id: str) -> dict[str, Finding]:
    return {finding.subject: finding for finding in check(seen) if finding.id == id}


def _write_znode(cluster: MigrationCluster, data: bytes, path: str) -> None:
    with cluster.open_zookeeper() as zookeeper:
        held = zookeeper.read(path)
        assert held is not None
        zookeeper.set(path, data, held.version)


def _carry_out(cluster: MigrationCluster, finding: Finding) -> None:
    command = _SET.search(finding.next_step)
    assert command is not None, finding.next_step
    _write_znode(cluster, command["data"].encode(), command["path"])


def _has_id(cluster: MigrationCluster, topic: str) -> bool:
    held = cluster.znode(f"/brokers/topics/{topic}")
    return held is not None and "topic_id" in json.loads(held.data)


def _elect(cluster: MigrationCluster) -> None:
    before = cluster.znode("/controller")
    assert before is not None
    delete(cluster, "/controller")

    def elected() -> bool:
        held = cluster.znode("/controller")
        return held is not None and held.czxid != before.czxid

    cluster.wait_for(elected, "elected another controller")
    cluster.wait_for(lambda: all(_has_id(cluster, topic) for topic in _TOPICS), "gave each topic an id")
    time.sleep(3)  # and the brokers have them


def _counts(cluster: MigrationCluster) -> list[int]:
    said = cluster.chores(*(f"count:{topic}" for topic in _TOPICS))
    return [int(count) for count in re.findall(r"count:\S+: (\d+)", said)]


def test_topic_ids_are_written_back_before_harm_and_after_it(tmp_path: Path) -> None:
    # Ids lost from two znodes, one repaired before the election and one after it; then a folder without an id.
    with MigrationCluster("3.9.2", tmp_path, brokers=2) as cluster:
        cluster.reach("M0")
        for topic in _TOPICS:
            cluster.chores(f"topic:{topic}:1:{1 if topic == 'meta' else 2}", f"produce:{topic}:50")
        operator = Operator(cluster)
        for topic in ("before", "after"):
            _write_znode(cluster, b'{"version":1,"partitions":{"0":[1,2]}}', f"/brokers/topics/{topic}")
        found = _find(operator.look(), "topic-without-id")
        _carry_out(cluster, found["/brokers/topics/before"])
        _elect(cluster)
        found = _find(operator.look(), "topic-id-differs-on-disk")
        assert list(found) == ["topic after"]
        _carry_out(cluster, found["topic after"])
        _elect(cluster)
        assert _find(operator.look(), "topic-id-differs-on-disk") == {}

        cluster.reach("M6")
        assert _counts(cluster) == [50, 50, 50, 50]
        _lose_and_regain_a_replica(cluster, operator)


def _lose_and_regain_a_replica(cluster: MigrationCluster, operator: Operator) -> None:
    """Lose the id of a folder, which is named before the KRaft start; after it, put its stray back with the id."""
    (broker,) = (id for id in cluster.broker_ids if (cluster.plan.log_dir(id) / "meta-0").is_dir())
    folder = cluster.plan.log_dir(broker) / "meta-0"
    cluster.stop(broker)
    (folder / "partition.metadata").unlink()
    assert list(_find(operator.look(), "partition-without-topic-id")) == [f"broker {broker}"]
    cluster.write(broker, "kraft")
    cluster.start(broker)
    cluster.wait_for(lambda: list(cluster.plan.log_dir(broker).glob("meta-0.*-stray")), "a stray")
    stray = _find(operator.look(), "partitions-became-strays")[f"broker {broker}"]
    assert stray.evidence["cause"] == "no-id"

    cluster.stop(broker)
    command = _PRINTF.search(stray.next_step)
    assert command is not None, stray.next_step
    Path(command["file"]).write_text(command["content"].replace("\\n", "\n"))
    folder.rename(folder.with_name("aside"))
    Path(command["file"]).parent.rename(folder)
    folder.with_name("aside").rename(cluster.workdir / "aside")
    cluster.start(broker)
    cluster.wait_for(lambda: _counts(cluster) == [50, 50, 50, 50], "all messages back", 120)
    assert _find(operator.look(), "partitions-became-strays") == {}
