"""Adopted partitions in an answer: their brokers, their ISR, and the folders that are renamed."""

from __future__ import annotations

from types import SimpleNamespace as Some

from kafkactl.core.values import Uuid
from kafkactl.quorum.recover.folders import Adoptable
from kafkactl.quorum.recover.repairs import Repairs

TOPIC = Uuid(bytes(15) + b"\7")


def folder(broker: int | None, end: int, name: str = "orders-1") -> Some:
    return Some(broker=broker, place=(4, end), log_end_offset=end, disk=f"/data/{broker}", name=name)


def test_adopted_partition_names_all_its_brokers() -> None:
    replicas = (folder(12, 90), folder(11, 90, "orders-1.abc-stray"), folder(13, 80))
    adopted = Adoptable(topic="orders", topic_id=TOPIC, partition=1, replicas=replicas)  # type: ignore[arg-type]
    (shown,) = Repairs(adopted=(adopted,)).to_dict()["adopted"]
    assert shown == {
        "topic": "orders",
        "topic_id": str(TOPIC),
        "partition": 1,
        "replicas": [11, 12, 13],
        "isr": [11, 12],
        "leader": 12,
        "log_end_offset": 90,
        "folders_to_rename": [{"broker": 11, "from": "/data/11/orders-1.abc-stray", "to": "/data/11/orders-1"}],
    }
