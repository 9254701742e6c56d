"""Znodes as Kafka 3.9 writes them: the tree of a small cluster with one of everything, and ways to spoil it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable

from kafkactl.migration.zktree.parse import parse_znodes
from kafkactl.migration.zktree.values import KafkaTree
from kafkactl.migration.zktree.znode import Znode

CLUSTER_ID = "Some-cluster-id_22char"
ORDERS_ID = "3DQ5fs2iR1mUsgN7o0xA9g"
LOGS_ID = "q8jYpF3nTeKz0g2GQ2hVcw"
_SALT, _STORED, _SERVER = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2, 3))
CREDENTIAL = f"salt={_SALT},stored_key={_STORED},server_key={_SERVER},iterations=4096"


def text(value: object) -> bytes:
    """Return JSON as Jackson writes it: no blanks."""
    return json.dumps(value, separators=(",", ":")).encode()


def config(**values: str) -> bytes:
    return text({"version": 1, "config": values})


def acls(*entries: tuple[str, str, str, str]) -> bytes:
    names = ("principal", "permissionType", "operation", "host")
    return text({"version": 1, "acls": [dict(zip(names, entry, strict=True)) for entry in entries]})


def _broker(id: int) -> bytes:
    return text(
        {
            "features": {},
            "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT", "SASL": "SASL_PLAINTEXT"},
            "endpoints": [f"PLAINTEXT://127.0.0.1:{9090 + id}", f"SASL://127.0.0.1:{9190 + id}"],
            "jmx_port": -1,
            "port": 9090 + id,
            "host": "127.0.0.1",
            "version": 5,
            "timestamp": "1790000000000",
            "rack": None if id == 1 else "r2",
        }
    )


def _topic(id: str, partitions: dict[str, list[int]], **more: dict[str, list[int]]) -> bytes:
    moves = {"adding_replicas": {}, "removing_replicas": {}} | more
    return text({"removing_replicas": moves["removing_replicas"], "partitions": partitions, "topic_id": id,
                 "adding_replicas": moves["adding_replicas"], "version": 3})  # fmt: skip


def _state(leader: int, isr: list[int], epoch: int = 4) -> bytes:
    return text({"controller_epoch": 3, "leader": leader, "version": 1, "leader_epoch": epoch, "isr": isr})


def _token(id: str) -> bytes:
    return text({"owner": "User%3Aalice", "tokenRequester": "User%3Abob", "renewers": ["User%3Acarol%2A"],
                 "issueTimestamp": 1790000000000, "maxTimestamp": 1790604800000, "expiryTimestamp": 1790086400000,
                 "tokenId": id, "version": 3})  # fmt: skip


def small() -> dict[str, bytes | None]:
    """Return the data of every znode by path."""
    return {
        "/cluster/id": text({"version": "1", "id": CLUSTER_ID}),
        "/controller": text({"version": 2, "brokerid": 1, "timestamp": "1790000000000", "kraftControllerEpoch": -1}),
        "/controller_epoch": b"3",
        "/feature": text({"features": {}, "version": 2, "status": 1}),
        "/brokers/seqid": None,
        "/brokers/ids": None,
        "/brokers/ids/1": _broker(1),
        "/brokers/ids/2": _broker(2),
        "/brokers/topics/orders": _topic(ORDERS_ID, {"0": [1, 2], "1": [2, 1]}),
        "/brokers/topics/orders/partitions/0/state": _state(1, [1, 2]),
        "/brokers/topics/orders/partitions/1/state": _state(2, [2]),
        "/brokers/topics/logs": _topic(
            LOGS_ID, {"0": [2, 1]}, adding_replicas={"0": [2]}, removing_replicas={"0": [1]}
        ),
        "/brokers/topics/logs/partitions/0/state": _state(1, [1], epoch=0),
        "/config/topics/orders": config(**{"retention.ms": "1000", "cleanup.policy": "compact"}),
        "/config/brokers/<default>": config(**{"log.cleaner.threads": "2"}),
        "/config/brokers/1": config(**{"listener.name.sasl.ssl.key.password": "keyLength:128,salt:x"}),
        "/config/users/<default>": config(consumer_byte_rate="2000000"),
        "/config/users/alice": config(**{"SCRAM-SHA-256": CREDENTIAL, "producer_byte_rate": "1024.5"}),
        "/config/users/bob%40x.com": config(**{"SCRAM-SHA-512": CREDENTIAL}),
        "/config/users/alice/clients/app%2A1": config(request_percentage="50"),
        "/config/users/alice/clients/<default>": config(request_percentage="25"),
        "/config/clients/slow": config(producer_byte_rate="1"),
        "/config/ips/10.0.0.1": config(connection_creation_rate="5"),
        "/config/changes/config_change_0000000001": text({"version": 2, "entity_path": "topics/orders"}),
        "/kafka-acl/Topic/orders": acls(("User:alice", "Allow", "Read", "*"), ("User:eve", "Deny", "All", "10.0.0.9")),
        "/kafka-acl/Cluster/kafka-cluster": acls(("User:kafka", "Allow", "ClusterAction", "*")),
        "/kafka-acl/Group": None,
        "/kafka-acl-extended/prefixed/Group/app-": acls(("User:alice", "Allow", "Read", "*")),
        "/delegation_token/tokens/tok1": _token("tok1"),
        "/latest_producer_id_block": text({"version": 1, "broker": 2, "block_start": "4000", "block_end": "4999"}),
        "/admin/delete_topics": None,
        "/admin/delete_topics/logs": None,
        "/isr_change_notification": None,
        "/log_dir_event_notification": None,
    }


def znodes(data: dict[str, bytes | None], chroot: str = "") -> tuple[Znode, ...]:
    """Return znodes with this data; every version is 7, `/controller` and brokers belong to a session."""
    return tuple(
        Znode(
            path=chroot + path,
            data=content,
            version=7,
            czxid=100 + at,
            mzxid=200 + at,
            mtime_ms=1790000000000,
            ephemeral_owner=72 if path == "/controller" or path.startswith("/brokers/ids/") else 0,
        )
        for at, (path, content) in enumerate(data.items())
    )


def parsed(changes: dict[str, bytes | None] | None = None) -> KafkaTree:
    """Return the small tree with some znodes changed or added."""
    return parse_znodes(znodes(small() | (changes or {})))


def ids(tree: KafkaTree, path: str | None = None) -> list[str]:
    """Return the ids of the findings, of one subject if a path is given."""
    return [finding.id for finding in tree.findings if path is None or finding.subject == path]


def without(data: dict[str, bytes | None], gone: Iterable[str]) -> dict[str, bytes | None]:
    return {path: content for path, content in data.items() if path not in set(gone)}
