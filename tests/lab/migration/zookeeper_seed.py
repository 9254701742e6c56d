"""Kafka's tree in a ZooKeeper without any Kafka: as many topics and partitions as a test or a benchmark asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kafkactl.core.values import Uuid
from tests.lab.migration.kazoo_session import kazoo_session

_AT_ONCE = 400  # creations in one transaction


def seeded(connect: str, chroot: str = "", *, topics: int = 3, partitions: int = 4, replicas: int = 3) -> int:
    """Make the tree and return how many znodes it has."""
    count = 0
    with kazoo_session(connect, timeout_s=60) as client:
        if chroot:
            client.ensure_path(chroot)
        waiting = client.transaction()
        for path, data in _znodes(topics, partitions, replicas):
            waiting.create(chroot + path, data)
            count += 1
            if count % _AT_ONCE == 0:
                _commit(waiting)
                waiting = client.transaction()
        _commit(waiting)
    return count


def _commit(transaction) -> None:
    for result in transaction.commit():
        if isinstance(result, Exception):
            raise result


def _znodes(topics: int, partitions: int, replicas: int) -> Iterator[tuple[str, bytes]]:
    roots = ("cluster", "brokers", "brokers/ids", "brokers/topics", "config", "config/topics", "config/brokers")
    for path in (*roots, "config/users", "config/clients", "admin", "admin/delete_topics"):
        yield f"/{path}", b""
    yield "/cluster/id", _json(version="1", id="Some-cluster-id_22char")
    yield "/controller_epoch", b"3"
    for broker in range(1, replicas + 1):
        found = _json(version=5, host="127.0.0.1", port=9092, jmx_port=-1, endpoints=["PLAINTEXT://127.0.0.1:9092"])
        yield f"/brokers/ids/{broker}", found
    for number in range(topics):
        yield from _topic(f"topic-{number}", number, partitions, replicas)


def _topic(name: str, number: int, partitions: int, replicas: int) -> Iterator[tuple[str, bytes]]:
    assigned = {
        str(partition): [(number + partition + replica) % replicas + 1 for replica in range(replicas)]
        for partition in range(partitions)
    }
    id_ = str(Uuid((number + (1 << 64)).to_bytes(16, "big")))
    topic = _json(version=3, topic_id=id_, partitions=assigned, adding_replicas={}, removing_replicas={})
    yield f"/brokers/topics/{name}", topic
    yield f"/config/topics/{name}", _json(version=1, config={"retention.ms": "3600000"})
    yield f"/brokers/topics/{name}/partitions", b""
    for partition, brokers in assigned.items():
        path = f"/brokers/topics/{name}/partitions/{partition}"
        yield path, b""
        yield (
            f"{path}/state",
            _json(controller_epoch=3, leader=brokers[0], version=1, leader_epoch=0, isr=brokers),
        )


def _json(**fields: object) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
