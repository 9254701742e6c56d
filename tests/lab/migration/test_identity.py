"""Nodes that are not who the inventory says, a quorum that is not up, and two drivers, on real clusters of Kafka 3.9.2.

A live KRaft cluster of another operator is where the inventory has our controller; nothing may happen to it.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.ports import HOST
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.driving.driven import Driven
from tests.lab.migration.driving.faults import FaultyDriven, UnderWay, begun, ended

THREE = (3001, 3002, 3003)


def disk(folder: Path) -> dict[str, bytes]:
    """Return what identifies a disk, and which directories are there."""
    found = {str(path.relative_to(folder.parent)): b"" for path in folder.parent.glob("*/*") if path.is_dir()}
    return found | {str(path): path.read_bytes() for path in folder.parent.rglob("meta.properties")}


def other_inventory(driven: Driven, name: str, **changes: str) -> str:
    """Return the driver's inventory with texts replaced."""
    text = driven.inventory.read_text(encoding="utf-8")
    for old, new in (pair.split(" => ") for pair in changes.values()):
        assert old in text, old
        text = text.replace(old, new)
    file = driven.cluster.workdir / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


ALL = (
    ("run", ("--yes",)), ("run", ("--dry-run",)), ("rollback", ("--yes",)), ("rollback", ("--dry-run",)),
    ("finalize", ("--dry-run",)),
)  # fmt: skip


def refused(driven: Driven, inventory: str, id: str, commands: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
    """Check that no command that changes something does anything, and that each says why."""
    own, driven.inventory = driven.inventory, Path(inventory)
    try:
        checked = driven.kafkactl("check", code=7)
        assert id in {finding["id"] for finding in checked["findings"] if finding["severity"] == "blocker"}
        for verb, words in commands:
            answer = driven.kafkactl(verb, *words, code=3)
            assert answer["outcome"] == "refused"
            assert id in {finding["id"] for finding in answer["findings"]}, (verb, words, answer["findings"])
            assert [step for step in answer["steps"] if step["state"] == "done"] == []
    finally:
        driven.inventory = own


def test_another_clusters_nodes_are_not_touched(tmp_path: Path) -> None:
    # Foreign, swapped, missing: refused by every command; and a port that is invalid gives no quorum.
    with (
        MigrationCluster("3.9.2", tmp_path / "ours", brokers=2, controllers=2) as cluster,
        KafkaCluster("3.9.2", tmp_path / "other", controllers=1, brokers=0) as other,
        Driven(cluster) as driven,
    ):
        cluster.reach("M0")
        other.start()
        node, place = other.node(1), other.config_file(1)
        before = disk(other.disks.log_dir(1))
        address = f"{HOST}:{cluster.plan.controllers[3001]}"
        foreign = other_inventory(
            driven, "foreign",
            address=f'"{address}" => "{other.controller_address(1)}"',
            config=f"{json.dumps(str(cluster.config_file(3001)))} => {json.dumps(str(place))}",
            disk=f"{json.dumps(str(cluster.plan.log_dir(3001)))} => {json.dumps(str(other.disks.log_dir(1)))}",
        )  # fmt: skip
        refused(driven, foreign, "node-of-another-cluster", ALL)
        own, driven.inventory = driven.inventory, Path(foreign)
        status = driven.kafkactl("status", code=7)
        assert status["state"] == "unidentified-nodes"
        driven.inventory = own
        assert node.alive
        assert disk(other.disks.log_dir(1)) == before

        first, second = (f'"{HOST}:{cluster.plan.brokers[id][0]}"' for id in cluster.broker_ids)
        swapped = other_inventory(driven, "swapped", a=f"{first} => @", b=f"{second} => {first}", c=f"@ => {second}")
        refused(driven, swapped, "node-with-another-id", ALL[:1])

        text = driven.inventory.read_text(encoding="utf-8")
        cut = text.rindex("[[nodes]]")
        missing = cluster.workdir / "missing.toml"
        missing.write_text(text[:cut], encoding="utf-8")
        refused(driven, str(missing), "quorum-voter-not-in-inventory", ALL[2:3])

        wrong = other_inventory(driven, "port", a=f'"{address}" => "{HOST}:{cluster.zookeeper.ports[0]}"')
        driven.inventory = Path(wrong)
        assert driven.kafkactl("status")["state"] == "M0"
        driven.inventory = own
        assert [cluster.node(id).alive for id in cluster.broker_ids] == [True, True]


def test_all_controllers_are_started_and_one_driver_drives(tmp_path: Path) -> None:
    # `run --until M3` starts three controllers; a second driver is refused, and a killed one resumes at once.
    with MigrationCluster("3.9.2", tmp_path, brokers=2, controllers=3) as cluster, FaultyDriven(cluster) as driven:
        cluster.reach("M0")
        answer = driven.run("--until", "M2")
        assert answer["state"] == "M2"
        formatted = [step["target"] for step in answer["steps"] if step["action"] == "format-disk"]
        assert formatted == [f"controller {id}" for id in THREE]
        assert driven.kafkactl("status")["state"] == "M2"
        answer = driven.run("--until", "M3")
        assert (answer["outcome"], answer["state"]) == ("done", "M3")
        assert [cluster.node(id).alive for id in THREE] == [True, True, True]
        status = driven.kafkactl("status")
        assert (status["state"], status["observed"]["quorum"]) == ("M3", "up")
        assert [controller["leader"] for controller in status["observed"]["controllers"]].count(True) == 1
        assert driven.run("--until", "M3")["outcome"] == "nothing-to-do"

        colleague = driven.with_other_journal("colleague")
        with UnderWay(driven, "run", "--until", "M4L", "--accept", "rollback-needs-controller-epoch") as run:
            run.until(lambda entries: any(step.startswith("restart-node broker") for step in begun(entries)))
            second = ended(colleague, "run", "--until", "M4L", "--accept", "rollback-needs-controller-epoch")
            assert (second.code, second.ids) == (3, ["concurrent-migration-run"]), second.said[-2000:]
            assert f"process {run.process.pid}" in second.said
            assert begun(colleague.journal) == []
            run.process.kill()
        assert run.code == -9
        again = ended(driven, "run", "--until", "M4L", "--accept", "rollback-needs-controller-epoch")
        assert (again.code, again.answer["state"]) == (0, "M4L"), again.said[-2000:]
        held = [entry["data"]["held_by"] for entry in driven.journal if entry["entry"] == "lock"]
        assert "taken over from process" in held[-1]
        assert ended(colleague, "rollback").answer["outcome"] == "refused"  # its journal knows no original file


@pytest.mark.campaign
@pytest.mark.parametrize(("release", "controllers"), [("3.6.2", 1), ("3.7.2", 3), ("3.9.2", 3)])
def test_every_release_says_who_it_is(release: str, controllers: int, tmp_path: Path) -> None:
    # With what its protocol has, at M3 and at M7: nothing to object of a cluster that is as the inventory says.
    #
    # A leader of 3.6.2 never learns the ApiVersions of a controller that was started after its election, and waits for
    # it ("Missing apiVersion from nodes"), so there is one.
    with MigrationCluster(release, tmp_path, brokers=2, controllers=controllers) as cluster, Driven(cluster) as driven:
        cluster.reach("M3")
        _is_itself(driven, tmp_path / "m3")
        cluster.reach("M7")
        _is_itself(driven, tmp_path / "m7")


def _is_itself(driven: Driven, folder: Path) -> None:
    driven.kafkactl("observe", "--out", str(folder))
    saved: dict[str, Any] = json.loads((folder / "observation.json").read_text())
    seen = {node["id"]: node["identity"] for node in saved["nodes"]}
    for id, seen_node in seen.items():
        assert seen_node["cluster_id"] == driven.cluster.cluster_id() or seen_node["is_of_asked"] is True, (
            id,
            seen_node,
        )
        assert seen_node["node_id"] in (id, None)
    assert sum(seen_node["node_id"] is not None for seen_node in seen.values()) >= len(driven.cluster.broker_ids) + 1


@pytest.mark.campaign
@pytest.mark.parametrize("seconds", [0.0, 0.5, 1.0, 2.0, 3.0, 5.0])
def test_broker_that_exits_before_a_restart_stops_the_roll(seconds: float, tmp_path: Path) -> None:
    # Killed just before the next broker would be stopped, while ZooKeeper still has its session and the ISR has it.
    with MigrationCluster("3.9.2", tmp_path, brokers=3) as cluster, FaultyDriven(cluster) as driven:
        cluster.reach("M3")
        cluster.chores("topic:pairs:6:2")
        with UnderWay(driven, "run", "--until", "M4L", "--accept", "rollback-needs-controller-epoch") as run:
            run.until(lambda entries: any(step.startswith("restart-node broker") for step in begun(entries)))
            first = int(begun(driven.journal)[-1].split()[-1])
            run.until(lambda entries: any(entry["entry"] == "done" for entry in entries[-1:]))
            time.sleep(seconds)
            victim = next(id for id in cluster.broker_ids if id != first)
            cluster.node(victim).kill()
        restarted = [step for step in begun(driven.journal) if step.startswith("restart-node broker")]
        assert run.code in (3, 5), (run.answer, run.said[-3000:])
        assert len(restarted) <= 2
