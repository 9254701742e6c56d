"""Nodes that are controller and broker in one process: two of three are lost, and the third keeps its partitions."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.errors import LabError
from tests.lab.harness.node import read_config, write_config
from tests.lab.quorum.lost_majority import admin, isrs, produce, read_all

Cli = Callable[..., Run]
NODES = 3
PARTITIONS = 4
REFUSED = "Found unexpected metadata location in data directory"


def lived(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str, *, dynamic: bool, directories: int
) -> tuple[KafkaCluster, int]:
    """Return a topic on three combined nodes; and the one whose disk will be left."""
    cluster = new_cluster(release, controllers=NODES, brokers=0, combined=True, dynamic=dynamic)
    for node_id in cluster.controller_ids:
        more_directories(kafkactl, cluster, node_id, directories)
    cluster.start()
    with admin(cluster) as chores:
        held = {"num_partitions": PARTITIONS, "replication_factor": NODES}
        chores.create_topics({"orders": held}, wait_for_metadata=True)
    produce(cluster, {("orders", partition): 20 for partition in range(PARTITIONS)})
    survivor = cluster.leader()
    cluster.wait_for(lambda: {len(isr) for isr in isrs(cluster).values()} == {NODES}, "every replica in sync", 120)
    return cluster, survivor


def more_directories(kafkactl: Cli, cluster: KafkaCluster, node_id: int, directories: int) -> None:
    """Give a formatted node further log directories: Kafka puts new partitions where there are fewest."""
    places = [cluster.disks.log_dir(node_id)]
    places += [places[0].with_name(f"{places[0].name}-data{number}") for number in range(1, directories)]
    file = cluster.config_file(node_id)
    write_config(file, read_config(file) | {"log.dirs": ",".join(map(str, places))})
    if directories > 1:
        mode = [] if "controller.quorum.voters" in read_config(file) else ["--no-initial-controllers"]
        words = ("--cluster-id", cluster.cluster_id, "--config", file, "--ignore-formatted", *mode)
        run = kafkactl("storage", "format", *words, "--kafka-version", cluster.disks.shape.release, "--yes")
        assert run.code == 0, run.stdout + run.stderr


def configure(cluster: KafkaCluster, node_id: int, survivor: int, metadata: Path | None = None) -> None:
    file, address = cluster.config_file(node_id), str(cluster.controller_address(survivor))
    held = read_config(file)
    if "controller.quorum.voters" in held:
        held |= {"controller.quorum.voters": f"{survivor}@{address}"}
    else:
        held |= {"controller.quorum.bootstrap.servers": address}
    write_config(file, held if metadata is None else held | {"metadata.log.dir": str(metadata)})


def whole_campaign(*values: object) -> pytest.ParameterSet:
    return pytest.param(*values, marks=pytest.mark.campaign)


@pytest.mark.parametrize(
    ("release", "dynamic", "directories", "grows"),
    [
        ("4.3.1", True, 1, False),
        *(whole_campaign(release, True, 1, True) for release in ("3.9.2", "4.3.1", "4.4.0")),
        *(whole_campaign(release, True, 3, True) for release in ("3.9.2", "4.3.1", "4.4.0")),
        *(
            whole_campaign(release, False, directories, True)
            for release in ("3.9.2", "4.3.1")
            for directories in (1, 3)
        ),
    ],
)
def test_combined_node_is_recovered_by_the_steps_of_the_plan(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str, dynamic: bool, directories: int, grows: bool
):
    cluster, survivor = lived(kafkactl, new_cluster, release, dynamic=dynamic, directories=directories)
    records = read_all(cluster, ("orders",))
    cluster.kill(*cluster.controller_ids)
    gone = [node_id for node_id in cluster.controller_ids if node_id != survivor]
    disk, work = cluster.disks.log_dir(survivor), cluster.disks.workdir
    disks = read_config(cluster.config_file(survivor))["log.dirs"].split(",")
    shown = [word for path in disks for word in ("--log-dir", path)]
    words = ("quorum", "recover", *shown, "--lost", ",".join(map(str, gone)), "--out", work / "recovered",
             "--config", cluster.config_file(survivor), "--without-broker-disks", "-o", "json")  # fmt: skip
    for node_id in gone:
        for path in read_config(cluster.config_file(node_id))["log.dirs"].split(","):
            shutil.rmtree(path)
    planned = kafkactl(*words, "--plan")
    assert planned.code == 0, planned.stdout
    written = kafkactl(*words, "--confirm", cluster.cluster_id)
    assert written.code == 0, written.stdout
    configure(cluster, survivor, survivor, work / "recovered")
    with pytest.raises(LabError, match=REFUSED):  # what the next step is for
        cluster.node(survivor).start().wait_ready()
    fence = [step for step in written.json["steps"] if step["action"] == "fence-old-voter" and step["command"]]
    (work / "BACKUP").mkdir()
    verb, option, source, target = shlex.split(fence[0]["command"])
    assert (verb, option, len(fence)) == ("mv", "-nT", 1)
    assert Path(source).parent == disk
    Path(source).rename(work / target)
    cluster.node(survivor).start().wait_ready()
    alone = {(survivor,)}
    cluster.wait_for(lambda: elected(cluster) and set(isrs(cluster).values()) == alone, "led by the node left", 120)
    assert cluster.leader() == survivor
    assert read_all(cluster, ("orders",)) == records
    assert not [path for place in disks for path in Path(place).glob("*-stray")]
    assert list(cluster.voters()) == [survivor]
    if grows:
        grown_back(kafkactl, cluster, survivor, gone, dynamic=dynamic)


def elected(cluster: KafkaCluster) -> bool:
    """Make the unclean election of the plan: which lost broker is the last in sync is up to Kafka."""
    body = {"ElectionType": 1, "TopicPartitions": None, "TimeoutMs": 5_000}
    with cluster.client(timeout_ms=8_000, request_timeout_ms=6_000) as client:
        client.ask_active_controller("ElectLeaders", body)
    return True


def grown_back(kafkactl: Cli, cluster: KafkaCluster, survivor: int, gone: list[int], *, dynamic: bool) -> None:
    """Make new disks for the lost nodes; of a static quorum one voter after the other, as the steps of the plan are."""
    if dynamic:
        for node_id in gone:
            cluster.replace_disk(node_id, start=False)
            configure(cluster, node_id, survivor)
            cluster.node(node_id).start()
        for node_id in gone:
            cluster.node(node_id).wait_ready()
        target = ",".join(map(str, cluster.controller_ids))
        address = cluster.controller_address(survivor)
        run = kafkactl("quorum", "reassign", "--target", target, "--bootstrap-controller", address, "--yes")
        assert run.code == 0, run.stdout + run.stderr
    else:
        for number, node_id in enumerate(gone, 1):
            add_static(cluster, node_id, [survivor, *gone[:number]])
    assert sorted(cluster.voters()) == list(cluster.controller_ids)
    produce(cluster, {("orders", partition): 3 for partition in range(PARTITIONS)})
    whole = {len(found) for found in read_all(cluster, ("orders",)).values()}
    assert whole == {23}
    cluster.wait_for(lambda: {len(isr) for isr in isrs(cluster).values()} == {NODES}, "copied to the new disks", 120)


def add_static(cluster: KafkaCluster, node_id: int, voters: list[int]) -> None:
    """Add one blank voter to the configuration of the nodes that run, and wait until the leader has it caught up."""
    cluster.disks.replace(node_id, cluster.disks.shape.release)
    named = ",".join(f"{voter}@{cluster.controller_address(voter)}" for voter in voters)
    for voter in voters:
        file = cluster.config_file(voter)
        write_config(file, read_config(file) | {"controller.quorum.voters": named})
    cluster.stop(*(voter for voter in voters if voter != node_id))
    for voter in voters:
        cluster.node(voter).start()
    for voter in voters:
        cluster.node(voter).wait_ready()
    cluster.wait_for(cluster.commits, "committed with the voter that was added", 120)
