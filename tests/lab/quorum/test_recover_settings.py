"""Adopted topics whose settings no disk knows: nothing of them is deleted, and Kafka's own topics work as before.

A controller stops, and without it come a topic with old records that is kept forever, the topics of committed offsets
and transactions, and a transaction that is still open. Then every node is killed, and only that controller's log is
left.
"""

from __future__ import annotations

import shutil
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness import java, maven
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.java_program import counts_of, java_program
from tests.lab.harness.node import read_config, write_config
from tests.lab.harness.pool import Pool
from tests.lab.harness.storage_tool import JVM_OPTIONS
from tests.lab.quorum.lost_majority import Scene, admin, in_sync, produce, read_all, start_recovered, strays
from tests.lab.tiered.brokers import TieredCluster

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import ConfigResource, ConfigResourceType
    from kafka.structs import OffsetAndMetadata

Cli = Callable[..., Run]
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
DAY_MS = 24 * 3600 * 1000
SOON = (  # a broker looks for segments to delete at once, and often
    ("log.initial.task.delay.ms", "500"),
    ("log.retention.check.interval.ms", "500"),
    ("offsets.topic.replication.factor", "2"),
    ("transaction.state.log.replication.factor", "2"),
)
TOOL_OF = {"4.4.0": "4.3.1"}  # its own tools are not among the jars of the lab
TIERED = ("late", "known")
TWO = (("rlmm.config.remote.log.metadata.topic.replication.factor", "2"),)
PLACE = TopicPartition("kept", 0)
JAVA = Path(__file__).parents[1] / "java"


@pytest.mark.parametrize(
    "release", ["4.3.1", *(pytest.param(release, marks=pytest.mark.campaign) for release in ("3.9.2", "4.4.0"))]
)
def test_adopted_topics_keep_their_data(kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str):
    cluster = new_cluster(release, controllers=3, brokers=2, settings=SOON)
    scene, settings = lost_with_topics(cluster)
    out = cluster.disks.workdir / "recovered"
    run = adopted(kafkactl, scene, out)
    assert (run.code, run.json["outcome"]) == (0, "done"), run.stdout + run.stderr
    assert "adopted-settings-unknown" in {finding["id"] for finding in run.json["findings"]}
    start_recovered(scene, scene.lagging, out)
    set_before_brokers_start(cluster, release, scene.lagging)
    cluster.start(*cluster.broker_ids)
    cluster.wait_for(lambda: in_sync(cluster), "every replica in sync", 120)
    time.sleep(4)  # several looks for what may be deleted
    assert strays(scene) == {broker_id: [] for broker_id in cluster.broker_ids}
    found = read_all(cluster, ("kept",))
    assert found[("kept", 0)][: len(scene.records[("kept", 0)])] == scene.records[("kept", 0)]
    after = topic_settings(cluster)
    for name in (
        "cleanup.policy",
        "retention.ms",
        "segment.bytes",
        "unclean.leader.election.enable",
        "compression.type",
    ):
        assert {topic: after[topic][name] for topic in settings} == {
            topic: held[name] for topic, held in settings.items()
        }
    assert after["kept"]["max.message.bytes"] == "2000000"
    carries_on(cluster)


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["4.3.1", "3.9.2"])
def test_tiered_topics_keep_what_is_remote(kafkactl: Cli, lab_pool: Pool, tmp_path: Path, release: str):
    # Two topics that were tiered after the controller's end: one that it does not know, and one that it knows.
    cluster = TieringCluster(release, tmp_path / "cluster")
    try:
        cluster.start()
        cluster.chore("place", "known", "11,12", cluster.topic_settings(remote__storage__enable="false"))
        leader = cluster.leader()
        lagging, complete = (controller for controller in cluster.controller_ids if controller != leader)
        cluster.wait_for(cluster.commits, "committed")
        cluster.kill(lagging)
        cluster.chore("place", "late", "11,12", cluster.topic_settings())
        cluster.chore("configure", "known", "remote.storage.enable=true")
        for topic in TIERED:
            cluster.chore("produce", topic, 120)
        cluster.until(lambda: all(starts_later(cluster, topic) for topic in TIERED), "local segments gone")
        before = {topic: tiered(cluster, topic) for topic in TIERED}
        cluster.stop_chores()
        scene = Scene(cluster=cluster, lagging=lagging, leader=leader, complete=complete, records={})
        cluster.kill(*(node for node in (*cluster.controller_ids, *cluster.broker_ids) if cluster.node(node).alive))
        out = cluster.disks.workdir / "recovered"
        run = adopted(kafkactl, scene, out)
        assert (run.code, run.json["repairs"]["topics_tiered"]) == (0, ["known"]), run.stdout + run.stderr
        start_recovered(scene, lagging, out)
        cluster.start(*cluster.broker_ids)
        time.sleep(15)  # several rounds of the tasks that copy and delete
        for topic, remote in before.items():
            assert cluster.until(lambda topic=topic: tiered(cluster, topic), "tiered") == remote
    finally:
        cluster.close()


class TieringCluster(TieredCluster):
    """Three controllers, and two brokers that tier."""

    def __init__(self, release: str, workdir: Path) -> None:
        KafkaCluster.__init__(self, release, workdir, controllers=3, brokers=2, settings=TWO)
        self.release = release
        self._chores = None

    def stop_chores(self) -> None:
        """Kill the client before its brokers go."""
        if self._chores is not None:
            self._chores.kill()
        self._chores = None


def tiered(cluster: TieringCluster, topic: str) -> tuple[int, int] | None:
    """Return the earliest offset, and how many objects of logs the store has; None before the topic was tiered."""
    earliest, _, _, highest = map(int, cluster.chore("offsets", topic).split())
    objects = sum(1 for path in cluster.disks.store.rglob("*.log") if topic in str(path))
    return None if highest < 0 else (earliest, objects)


def starts_later(cluster: TieringCluster, topic: str) -> bool:
    """Return True if the oldest segments are only remote."""
    return int(cluster.chore("offsets", topic).split()[2]) >= 100


def adopted(kafkactl: Cli, scene: Scene, out: Path) -> Run:
    """Return the recovery from the controller that lags, with the brokers' folders."""
    shown = [word for path in brokers_folders(scene) for word in ("--log-dir", path)]
    words = ("--out", out, "--node-id", scene.lagging, "--log-dir", scene.disk(scene.lagging), *shown, "--adopt")
    lost = ("--lost", f"{scene.leader},{scene.complete}", "--confirm", scene.cluster.cluster_id)
    return kafkactl("quorum", "recover", *words, *lost, "-o", "json")


def set_before_brokers_start(cluster: KafkaCluster, release: str, controller: int) -> None:
    """Set what `kafkactl explain adopted-settings-unknown` advises, with Kafka's own tool."""
    address, jars = str(cluster.controller_address(controller)), maven.class_path(TOOL_OF.get(release, release))
    words = ["--alter", "--entity-type", "topics", "--entity-name", "kept", "--add-config", "max.message.bytes=2000000"]
    tool = [str(java.java_binary()), *JVM_OPTIONS, "-cp", jars, "kafka.admin.ConfigCommand"]
    command = [*tool, "--bootstrap-controller", address, *words]
    run = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def brokers_folders(scene: Scene) -> list[Path]:
    """Return the brokers' disks without their copies of the metadata log, which know more than the controller's."""
    for broker_id in scene.cluster.broker_ids:
        log = scene.disk(broker_id) / "__cluster_metadata-0"
        log.rename(scene.cluster.disks.workdir / f"metadata-of-{broker_id}")
    return [scene.disk(broker_id) for broker_id in scene.cluster.broker_ids]


def lost_with_topics(cluster: KafkaCluster) -> tuple[Scene, dict[str, dict[str, str]]]:
    """Return the dead cluster, and what its topics were set to."""
    cluster.start()
    leader = cluster.leader()
    lagging, complete = (controller for controller in cluster.controller_ids if controller != leader)
    cluster.kill(lagging)
    with admin(cluster) as chores:
        kept = {"num_partitions": 1, "replication_factor": 2, "configs": {"retention.ms": "-1"}}
        chores.create_topics({"kept": kept}, wait_for_metadata=True)
    old_ms = int(time.time() * 1000) - 90 * DAY_MS
    producer = KafkaProducer(bootstrap_servers=brokers(cluster), acks="all", enable_idempotence=True)
    for number in range(60):
        producer.send("kept", value=b"old-%d" % number * 20, partition=0, timestamp_ms=old_ms + number)
        producer.flush()
    producer.close()
    done = KafkaProducer(bootstrap_servers=brokers(cluster), transactional_id="done", acks="all")
    done.init_transactions()
    done.begin_transaction()
    done.send("kept", value=b"committed", partition=0)
    done.send_offsets_to_transaction({PLACE: OffsetAndMetadata(17, "", -1)}, "readers")
    done.commit_transaction()
    done.close()
    records = read_all(cluster, ("kept",))
    left_open = KafkaProducer(bootstrap_servers=brokers(cluster), transactional_id="open", acks="all")
    left_open.init_transactions()
    left_open.begin_transaction()
    left_open.send("kept", value=b"never committed", partition=0)
    left_open.flush()
    settings = topic_settings(cluster)
    cluster.kill(*(node for node in (*cluster.controller_ids, *cluster.broker_ids) if cluster.node(node).alive))
    left_open.close(timeout=0)
    return Scene(cluster=cluster, lagging=lagging, leader=leader, complete=complete, records=records), settings


def brokers(cluster: KafkaCluster) -> list[str]:
    return [str(cluster.broker_address(broker_id)) for broker_id in cluster.broker_ids]


def topic_settings(cluster: KafkaCluster) -> dict[str, dict[str, str]]:
    """Return what each topic is set to, defaults included."""
    with admin(cluster) as chores:
        names = chores.list_topics()
        asked = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        found = next(iter(chores.describe_configs(asked, config_filter="all").values()))
    return {topic: {key: value["value"] for key, value in found[topic].items()} for topic in names}


def carries_on(cluster: KafkaCluster) -> None:
    """Check that offsets that were committed are there, and that the next holder of the transactional id ends the open
    transaction."""
    reader = KafkaConsumer(bootstrap_servers=brokers(cluster), group_id="readers", enable_auto_commit=False,
                           isolation_level="read_committed", auto_offset_reset="earliest")  # fmt: skip
    assert reader.committed(PLACE) == 17
    again = KafkaProducer(bootstrap_servers=brokers(cluster), transactional_id="open", acks="all")
    again.init_transactions()
    again.begin_transaction()
    again.send("kept", value=b"after", partition=0)
    again.commit_transaction()
    again.close()
    reader.assign([PLACE])
    reader.seek_to_beginning()
    found: list[bytes] = []
    deadline = time.monotonic() + 120
    while b"after" not in found and time.monotonic() < deadline:
        found += [record.value for batch in reader.poll(timeout_ms=300).values() for record in batch]
    reader.close()
    assert found[-2:] == [b"committed", b"after"]


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["4.3.1", "4.4.0"])
@pytest.mark.parametrize("adopted_later", [False, True])
def test_share_group_continues(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str, adopted_later: bool
):
    # What a share group accepted stays accepted: its state is found by topic id, which an adoption keeps.
    cluster = new_cluster(release, controllers=1, brokers=1, settings=SOON[:2])
    cluster.start()
    disk, broker, work = cluster.disks.log_dir(1), cluster.disks.log_dir(11), cluster.disks.workdir
    with admin(cluster) as chores:
        chores.create_topics({"work": {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)
    shown: tuple[object, ...] = ("--log-dir", broker, "--lost", 1)
    if adopted_later:
        shutil.copytree(disk, work / "before")  # without the topics of Kafka's own
        shown = ("--log-dir", work / "before", "--log-dir", broker, "--adopt", "--drop-empty")
    produce(cluster, {("work", 0): 100})
    assert accepted(cluster, "group", 100, reset="earliest") == (100, 0, 99)
    cluster.kill(11, 1)
    if adopted_later:
        shutil.move(broker / "__cluster_metadata-0", work / "hidden")
    words = ("quorum", "recover", *shown, "--config", cluster.config_file(1), "--out", work / "recovered", "-o", "json")
    run = kafkactl(*words, "--confirm", cluster.cluster_id)
    assert run.code == 0, run.stdout
    given = {each["topic"]: each["settings"] for each in run.json["repairs"]["adopted_settings"]}
    assert ("__share_group_state" in given) is adopted_later
    write_config(cluster.config_file(1), read_config(cluster.config_file(1)) | {"log.dirs": str(work / "recovered")})
    cluster.start()
    if adopted_later:
        produce(cluster, {("work", 0): 1})
        assert accepted(cluster, "group", 1) == (1, 100, 100)
    produce(cluster, {("work", 0): 10})
    assert accepted(cluster, "group", 10)[0] == 10
    assert accepted(cluster, "other", 100, reset="earliest")[1] == 0


def accepted(cluster: KafkaCluster, group: str, count: int, *, reset: str = "-") -> tuple[int, ...]:
    """Return how many records a member of a share group accepts, the first offset and the last."""
    words = (cluster.bootstrap_server, "work", group, str(count), "60", reset)
    command = java_program(cluster.shape.release, JAVA / "ShareReader.java", *words)
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return tuple(counts_of(run.stdout)[name] for name in ("read", "first", "last"))
