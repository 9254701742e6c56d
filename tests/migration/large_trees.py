"""The tree of a cluster with many partitions, with the znodes that `migrate observe` writes: no `…/partitions/N`."""

from __future__ import annotations

import random
from collections.abc import Iterator

from kafkactl.migration.zktree.znode import Znode, ZnodeAcl
from tests.migration.zk_trees import CLUSTER_ID, small, text

BROKERS = 6
PARTITIONS_A_TOPIC = 50
TIME_MS = 1_790_000_000_000
_ACL = (ZnodeAcl(perms=31, scheme="world", id="anyone"),)
_OTHER = ("/controller", "/controller_epoch", "/feature")


def topic_id(number: int) -> str:
    """Return the id of the topic with this number."""
    return random.Random(number).randbytes(16).hex()[:21] + "A"


def large_tree(partitions: int, *, at_once: bool = False, chroot: str = "/kafka") -> Iterator[Znode]:
    """Yield the znodes; with `at_once` all of one transaction and one moment, which pack to a fifth of the bytes."""
    spread = random.Random(7)
    zxid = 1
    data = small()
    for path in _OTHER:
        yield Znode(path=chroot + path, data=data[path], ctime_ms=TIME_MS, mtime_ms=TIME_MS)
    for broker in range(1, BROKERS + 1):
        yield Znode(path=f"{chroot}/brokers/ids/{broker}", data=data["/brokers/ids/1"])
    yield Znode(path=f"{chroot}/cluster/id", data=text({"version": "1", "id": CLUSTER_ID}))
    for topic in range(partitions // PARTITIONS_A_TOPIC):
        replicas = {
            str(at): [(topic + at + more) % BROKERS + 1 for more in range(3)] for at in range(PARTITIONS_A_TOPIC)
        }
        fields = {"version": 3, "topic_id": topic_id(topic), "adding_replicas": {}, "removing_replicas": {}}
        place = f"{chroot}/brokers/topics/topic-{topic}"
        yield _znode(place, {**fields, "partitions": replicas}, zxid, 0)
        for partition, ids in replicas.items():
            zxid += 0 if at_once else spread.randrange(1, 1000)
            state = {"controller_epoch": 1, "leader": ids[0], "version": 1, "leader_epoch": 0, "isr": ids}
            yield _znode(
                f"{place}/partitions/{partition}/state", state, zxid, 0 if at_once else spread.randrange(10**9)
            )


def _znode(path: str, value: object, zxid: int, later_ms: int) -> Znode:
    at_ms = TIME_MS + later_ms
    return Znode(
        path=path, data=text(value), czxid=zxid, mzxid=zxid, pzxid=zxid, ctime_ms=at_ms, mtime_ms=at_ms, acl=_ACL
    )
