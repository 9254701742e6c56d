"""The scene of a lost majority: F and L have everything, G stopped before the end, and all of them are dead.

Topics `orders` (3 partitions), `pay` and `gone` with records, a user, an ACL. Then G stops, and without it the quorum
creates `late`, gives `orders` a fourth partition, deletes `gone`, adds a user and an ACL, and changes a retention. All
processes are killed; which disks are lost is up to the test.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.node import read_config, write_config

with warnings.catch_warnings():  # of the library's own making: it reads its schemas in a way that Python gives up
    warnings.simplefilter("ignore")
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import (
        ACL,
        ACLOperation,
        ACLPermissionType,
        ConfigResource,
        ConfigResourceType,
        ResourcePattern,
        ResourceType,
        ScramMechanism,
        UserScramCredentialUpsertion,
    )
    from kafka.errors import KafkaError, RequestTimedOutError
    from kafka.net import KafkaNetSocket

_connect = KafkaNetSocket.sock_connect


async def _closed_where_refused(self: Any, net: Any, sock: Any, address: Any, timeout_at: Any = None) -> Any:
    """Close the socket of a refused connection: the library leaves it open, and its warning would end a test
    session."""
    try:
        return await _connect(self, net, sock, address, timeout_at=timeout_at)
    except BaseException:
        sock.close()
        raise


KafkaNetSocket.sock_connect = _closed_where_refused

Records = dict[tuple[str, int], list[tuple[int, bytes]]]
TWICE = 2
TOPICS = ("orders", "pay", "late")


@dataclass(frozen=True)
class Scene:
    """A dead cluster: who was who, the records that had been acknowledged, and the id of the topic that was deleted."""

    cluster: KafkaCluster
    lagging: int
    leader: int
    complete: int
    records: Records

    def disk(self, node_id: int) -> Path:
        """Return the log directory of a node."""
        return self.cluster.disks.log_dir(node_id)


def lose_majority(cluster: KafkaCluster, *, brokers_die: bool = True, restarts: int = 0) -> Scene:
    """Run the scene on a cluster that was not started yet; every controller is dead at its end, and the brokers.

    `restarts`: so often every broker is killed and returns while G is away, which raises leader epochs unknown to G.
    """
    cluster.start()
    with admin(cluster) as chores:
        _create(chores, {"orders": 3, "pay": 1, "gone": 1})
        _user(chores, "alice")
        _acl(chores, "alice")
        produce(cluster, {("orders", 0): 40, ("orders", 1): 40, ("orders", 2): 40, ("pay", 0): 60, ("gone", 0): 10})
        leader = cluster.leader()
        followers = [controller_id for controller_id in cluster.controller_ids if controller_id != leader]
        cluster.kill(followers[0])
        _create(chores, {"late": 2})
        chores.create_partitions({"orders": 4})
        chores.delete_topics(["gone"])
        _user(chores, "bob")
        _acl(chores, "bob")
        chores.alter_configs([ConfigResource(ConfigResourceType.TOPIC, "pay", {"retention.ms": "700000000"})])
    for broker_id in cluster.broker_ids * restarts:
        cluster.kill(broker_id)
        cluster.wait_for(lambda broker_id=broker_id: left(cluster, broker_id), "left the ISRs", 120)  # type: ignore[misc]
        cluster.start(broker_id)
        cluster.wait_for(lambda: in_sync(cluster), "every replica in sync", 120)
    time.sleep(1.5)
    produce(cluster, {("late", 0): 20, ("late", 1): 20, ("orders", 3): 10})
    records = read_all(cluster, TOPICS)
    cluster.wait_for(cluster.commits, "committed")
    cluster.kill(*cluster.controller_ids, *(cluster.broker_ids if brokers_die else ()))
    return Scene(cluster=cluster, lagging=followers[0], leader=leader, complete=followers[1], records=records)


@contextmanager
def admin(cluster: KafkaCluster) -> Iterator[KafkaAdminClient]:
    """Yield an administrator's client."""
    client = KafkaAdminClient(bootstrap_servers=_alive(cluster), request_timeout_ms=60_000)
    try:
        yield client
    finally:
        client.close()


def _alive(cluster: KafkaCluster) -> list[str]:
    """Return the brokers that run: this library gives up at the first that refuses a connection."""
    return [str(cluster.broker_address(broker_id)) for broker_id in cluster.broker_ids if cluster.node(broker_id).alive]


def _create(chores: KafkaAdminClient, topics: Mapping[str, int]) -> None:
    """Create the topic, and try again if a busy machine took longer than the request."""
    wanted = {name: {"num_partitions": count, "replication_factor": TWICE} for name, count in topics.items()}
    for _ in range(3):
        with contextlib.suppress(RequestTimedOutError):
            missing = {name: held for name, held in wanted.items() if name not in chores.list_topics()}
            if missing:
                chores.create_topics(missing, wait_for_metadata=True)
            return
    raise AssertionError(f"the topics {list(topics)} were not created")


def _user(chores: KafkaAdminClient, name: str) -> None:
    chores.alter_user_scram_credentials(
        [UserScramCredentialUpsertion(name, ScramMechanism.SCRAM_SHA_256, b"wonderland", iterations=4096)]
    )


def _acl(chores: KafkaAdminClient, name: str) -> None:
    pattern = ResourcePattern(ResourceType.TOPIC, "pay")
    chores.create_acls([ACL(f"User:{name}", "*", ACLOperation.READ, ACLPermissionType.ALLOW, pattern)])


def produce(cluster: KafkaCluster, counts: Mapping[tuple[str, int], int]) -> None:
    """Produce that many records to each partition, acknowledged by all replicas, by an idempotent producer."""
    producer = KafkaProducer(bootstrap_servers=_alive(cluster), acks="all", enable_idempotence=True, linger_ms=5)
    sent = [
        producer.send(topic, value=f"{topic}-{partition}-{number}".encode(), partition=partition)
        for (topic, partition), count in counts.items()
        for number in range(count)
    ]
    for future in sent:
        future.get(timeout=120)
    producer.close()


def read_all(cluster: KafkaCluster, topics: tuple[str, ...], timeout_s: float = 120) -> Records:
    """Return every record of these topics with its offset, from the beginning to the end."""
    consumer = KafkaConsumer(bootstrap_servers=_alive(cluster), auto_offset_reset="earliest", enable_auto_commit=False)
    try:
        places = [
            TopicPartition(topic, partition)
            for topic in topics
            for partition in consumer.partitions_for_topic(topic) or ()
        ]
        consumer.assign(places)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(places)
        found: Records = {(place.topic, place.partition): [] for place in places}
        deadline = time.monotonic() + timeout_s
        while any(consumer.position(place) < ends[place] for place in places):
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"not read to the end: { {place: consumer.position(place) for place in places} } {ends}"
                )
            for place, batch in consumer.poll(timeout_ms=300).items():
                found[(place.topic, place.partition)] += [(record.offset, record.value) for record in batch]
        return found
    finally:
        consumer.close()


def start_recovered(scene: Scene, node_id: int, directory: Path) -> None:
    """Point every node to the recovered controller, and start that one alone."""
    cluster = scene.cluster
    address = str(cluster.controller_address(node_id))
    for node in (node_id, *(broker_id for broker_id in cluster.broker_ids if not cluster.node(broker_id).alive)):
        file = cluster.config_file(node)
        held: dict[str, Any] = read_config(file)
        if "controller.quorum.voters" in held:
            held["controller.quorum.voters"] = f"{node_id}@{address}"
        else:
            held["controller.quorum.bootstrap.servers"] = address
        if node == node_id:
            held["log.dirs"] = str(directory)
        write_config(file, held)
    cluster.node(node_id).start().wait_ready()


def strays(scene: Scene) -> dict[int, list[str]]:
    """Return the partition folders of each broker that were renamed, by the name they had."""
    return {
        broker_id: sorted(path.name.split(".")[0] for path in scene.disk(broker_id).glob("*-stray"))
        for broker_id in scene.cluster.broker_ids
    }


def isrs(cluster: KafkaCluster) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return the in-sync replicas of every partition, as brokers report them; nothing if none answers right now."""
    with contextlib.suppress(KafkaError), admin(cluster) as chores:
        return {
            (topic["name"], partition["partition_index"]): tuple(sorted(partition["isr_nodes"]))
            for topic in chores.describe_topics()
            for partition in topic["partitions"]
        }
    return {}


def in_sync(cluster: KafkaCluster) -> bool:
    """Return True if every partition has both replicas in sync."""
    found = isrs(cluster)
    return bool(found) and all(len(isr) == TWICE for isr in found.values())


def left(cluster: KafkaCluster, broker: int) -> bool:
    """Return True if a dead broker is in no ISR any more."""
    found = isrs(cluster)
    return bool(found) and all(broker not in isr for isr in found.values())


def whole(scene: Scene, node_id: int) -> None:
    """Check that brokers are back, nothing is stray, all is in sync, and every record as it was, and writable."""
    cluster = scene.cluster
    cluster.start(*(broker for broker in cluster.broker_ids if not cluster.node(broker).alive))
    assert cluster.leader() == node_id
    cluster.wait_for(lambda: in_sync(cluster), "every replica in sync", 120)
    assert strays(scene) == {broker_id: [] for broker_id in cluster.broker_ids}
    assert read_all(cluster, TOPICS) == scene.records
    produce(cluster, dict.fromkeys(scene.records, 3))
    after = read_all(cluster, TOPICS)
    assert {place: len(found) for place, found in after.items()} == {
        place: len(found) + 3 for place, found in scene.records.items()
    }
