"""Work in progress that ZooKeeper keeps: producer id blocks, deletions, reassignments, elections, notifications.

Sources: core `ZkData.scala` (ProducerIdBlockZNode, DeleteTopicsTopicZNode, ReassignPartitionsZNode,
PreferredReplicaElectionZNode and the notification znodes).
"""

from __future__ import annotations

from typing import Final

from kafkactl.core.findings import Severity
from kafkactl.migration.zktree.json import (
    BrokenError,
    as_int,
    as_ints,
    as_list,
    as_object,
    as_text,
    needed,
    parse_json,
)
from kafkactl.migration.zktree.reading import TreeReader
from kafkactl.migration.zktree.values import ZkProducerIds, ZkReassignment
from kafkactl.migration.zktree.znode import Znode
from kafkactl.protocol.text.java_text import parse_int

NOTIFICATIONS: Final = (
    "/config/changes",
    "/isr_change_notification",
    "/log_dir_event_notification",
    "/kafka-acl-changes",
    "/kafka-acl-extended-changes",
    "/delegation_token/token_changes",
)
_INT_MAX: Final = (1 << 31) - 1
_LONG_BITS: Final = 64


def read_producer_ids(reader: TreeReader) -> ZkProducerIds | None:
    """Read the last block of producer ids; None before the first, until which the znode has null data."""
    znode = reader.tree.get("/latest_producer_id_block")
    if znode is None or (znode.data is None and znode.hidden is None):
        return None
    return reader.read(
        "/latest_producer_id_block",
        _producer_ids,
        id="broken-producer-id-block-znode",
        then="the copy fails at it, and with it every KRaft controller in turn; brokers get no new producer ids",
    )


def _producer_ids(znode: Znode) -> ZkProducerIds:
    fields = as_object(parse_json(znode.data))
    broker_id = needed(fields, "broker", as_int)
    start = parse_int(needed(fields, "block_start", as_text), _LONG_BITS)
    end = parse_int(needed(fields, "block_end", as_text), _LONG_BITS)
    if start is None or end is None:
        raise BrokenError("block_start or block_end is not a 64-bit whole number")
    if not -_INT_MAX <= end - start + 1 <= _INT_MAX:
        raise BrokenError("the block has more ids than fit 32 bits")
    return ZkProducerIds(broker_id=broker_id, start=start, end=end)


def read_pending_deletions(reader: TreeReader) -> tuple[str, ...]:
    """Read the topics that wait for their deletion, which are not migrated."""
    return reader.tree.children("/admin/delete_topics")


def read_reassignments(reader: TreeReader) -> tuple[ZkReassignment, ...]:
    """Read the request of a tool from before 2.4, which KRaft ignores."""
    found = reader.read(
        "/admin/reassign_partitions",
        _reassignments,
        id="broken-admin-znode",
        then="the ZooKeeper controller deletes it, and what was asked for is not done",
    )
    return found or ()


def _reassignments(znode: Znode) -> tuple[ZkReassignment, ...]:
    return tuple(
        ZkReassignment(
            topic=needed(partition, "topic", as_text),
            partition=needed(partition, "partition", as_int),
            replicas=needed(partition, "replicas", as_ints),
        )
        for partition in _partitions(znode)
    )


def read_preferred_elections(reader: TreeReader) -> tuple[tuple[str, int], ...]:
    """Read topic and partition of the preferred leader elections that were requested in ZooKeeper."""
    found = reader.read(
        "/admin/preferred_replica_election",
        lambda znode: tuple(
            (needed(partition, "topic", as_text), needed(partition, "partition", as_int))
            for partition in _partitions(znode)
        ),
        id="broken-admin-znode",
        then="the ZooKeeper controller fails at it",
    )
    return found or ()


def _partitions(znode: Znode) -> list[dict[str, object]]:
    listed = needed(as_object(parse_json(znode.data)), "partitions", as_list)
    return [dict(as_object(partition, "an entry of partitions")) for partition in listed]


def read_notifications(reader: TreeReader) -> dict[str, int]:
    """Read the number of notifications of each kind, by the path of their parent."""
    counts = {path: len(reader.tree.children(path)) for path in NOTIFICATIONS}
    _check_isr_changes(reader)
    return counts


def _check_isr_changes(reader: TreeReader) -> None:
    """Check the notifications. One that cannot be read stays, as the controller fails before it deletes it."""
    for parent, name_of in (
        ("/isr_change_notification", "isr_change_"),
        ("/log_dir_event_notification", "log_dir_event_"),
    ):
        for name in reader.tree.children(parent):
            path = f"{parent}/{name}"
            if not name.startswith(name_of):
                text = f"its name does not begin with {name_of}; it is never read"
                reader.note("unexpected-notification-znode", Severity.INFO, path, text)
