"""Comparison of brokers, producer ids, release and cluster id in ZooKeeper and in the image.

Brokers that run on ZooKeeper have a znode and a registration marked as migrating; those on KRaft have no znode.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kafkactl.core.kafka_names import LAST_LEVEL_BEFORE_4_0, METADATA_VERSION
from kafkactl.core.values import host_port
from kafkactl.metadata.image.model import Broker
from kafkactl.migration.compare.case import Answer, Case, Difference, Unknown
from kafkactl.migration.zktree.values import ZkBroker, ZkProducerIds
from kafkactl.storage.config.keys import metadata_version_name

BROKER, PRODUCER_IDS, FEATURE, CLUSTER_ID = "broker", "producer-ids", "feature", "cluster-id"
STOPPED: Final = "stopped-broker"
_STOPPED_TEXT = "the broker is down: fenced in KRaft, without a znode in ZooKeeper"
_IDS: Final = "/brokers/ids"
_BLOCK: Final = "/latest_producer_id_block"
_KRAFT_WRITES: Final = -1  # the broker of a block that the migration's mirror wrote


def brokers(case: Case) -> Iterator[Answer]:
    """Compare brokers on ZooKeeper with the registrations of brokers in migration mode."""
    if not case.is_kept(_IDS):
        yield Unknown(entity=BROKER, key="*", reason=f"{_IDS} is not in the observation")
        return
    migrating = {id for id, broker in case.image.brokers.items() if broker.is_migrating_zk_broker}
    for id in sorted({*case.tree.brokers, *migrating}):
        if case.is_hidden(f"{_IDS}/{id}"):
            yield Unknown(entity=BROKER, key=str(id), reason="its znode is not shown")
        else:
            yield from _broker(id, case.tree.brokers.get(id), case.image.brokers.get(id))


def _broker(id: int, left: ZkBroker | None, right: Broker | None) -> Iterator[Answer]:
    stopped = left is None and right is not None and right.fenced
    zookeeper = None if left is None else {"mode": "zookeeper", "rack": left.rack, **_zk_endpoints(left)}
    kraft = None if right is None else _registration(right)
    if left is not None and right is not None and zookeeper is not None and kraft is not None:
        # The listener for controllers is in no znode before 3.9, and others may be added while it goes on.
        wanted = {name for name in kraft if name.startswith("listener ")} - set(zookeeper)
        kraft = {name: value for name, value in kraft.items() if name not in wanted}
        expected = zookeeper | {"mode": "migrating", "fenced": False}
        if expected == kraft:
            return
        differing = {name for name in {*expected, *kraft} if expected.get(name) != kraft.get(name)}
        zookeeper = {name: value for name, value in zookeeper.items() if name in differing}
        kraft = {name: value for name, value in kraft.items() if name in differing}
    yield Difference(
        entity=BROKER,
        key=str(id),
        znode=f"{_IDS}/{id}",
        zookeeper=zookeeper,
        kraft=kraft,
        rule=STOPPED if stopped else None,
        explained=_STOPPED_TEXT if stopped else None,
    )


def _zk_endpoints(broker: ZkBroker) -> dict[str, str]:
    pairs = (endpoint.partition("://")[::2] for endpoint in broker.endpoints)
    return {f"listener {name}": address for name, address in pairs}


def _registration(broker: Broker) -> dict[str, Any]:
    return {
        "mode": "migrating" if broker.is_migrating_zk_broker else "kraft",
        "rack": broker.rack,
        "fenced": broker.fenced,
    } | {
        f"listener {listener.name}": host_port(listener.host.strip("[]"), listener.port)
        for listener in broker.listeners
    }


def producer_ids(case: Case) -> Iterator[Answer]:
    """Compare producer ids.

    KRaft continues after ZooKeeper's last block, or at the start of a block that its mirror wrote.

    A KRaft that is behind gives ids out twice (KAFKA-15552).
    """
    if case.is_hidden(_BLOCK):
        yield Unknown(entity=PRODUCER_IDS, key="next", reason="its znode is not shown")
        return
    if not case.is_kept(_BLOCK):
        yield Unknown(entity=PRODUCER_IDS, key="next", reason=f"{_BLOCK} is not in the observation")
        return
    left, right = case.tree.producer_ids, case.image.next_producer_id
    if right in _next_ids(left):
        return
    zookeeper = None
    if left is not None:
        zookeeper = {"broker": left.broker_id, "block_start": left.start, "block_end": left.end}
    kraft = None if right is None else {"next_producer_id": right}
    yield Difference(entity=PRODUCER_IDS, key="next", znode=_BLOCK, zookeeper=zookeeper, kraft=kraft)


def _next_ids(block: ZkProducerIds | None) -> tuple[int | None, ...]:
    if block is None:
        return None, 0
    return (block.end + 1, block.start) if block.broker_id == _KRAFT_WRITES else (block.end + 1,)


def features(case: Case) -> Iterator[Answer]:
    """Compare metadata.version with inter.broker.protocol.version of the brokers that still run on ZooKeeper.

    They register the one as the only level that they support, so the two must be the same.
    """
    from kafkactl.protocol.catalog.index import metadata_versions

    level = case.image.metadata_version
    names = {level.level: level.name for level in metadata_versions()}
    kraft = None if level is None else names.get(level, str(level))
    odd: dict[str, list[int]] = {}
    for id, text in sorted(case.inter_broker_protocol.items()):
        name = metadata_version_name(text, LAST_LEVEL_BEFORE_4_0, LAST_LEVEL_BEFORE_4_0) or text
        if name != kraft:
            odd.setdefault(name, []).append(id)
    if odd:
        # All brokers that differ mostly do so in the same way: then it is one name.
        zookeeper: Any = next(iter(odd)) if len(odd) == 1 else {name: {"brokers": ids} for name, ids in odd.items()}
        yield Difference(entity=FEATURE, key=METADATA_VERSION, zookeeper=zookeeper, kraft=kraft)


def cluster_id(case: Case) -> Iterator[Answer]:
    """Yield a difference between ZooKeeper's cluster id and that of the controllers' disks."""
    path = "/cluster/id"
    if case.tree.cluster_id is None:
        yield Unknown(entity=CLUSTER_ID, key="cluster.id", reason=f"{path} is not in the observation")
        return
    odd = {node: id for node, id in sorted(case.cluster_ids.items()) if id != case.tree.cluster_id}
    if odd:
        yield Difference(entity=CLUSTER_ID, key="cluster.id", znode=path, zookeeper=case.tree.cluster_id, kraft=odd)
