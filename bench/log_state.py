"""The state at the end of a log, in the few digests by which `bench.log_generator` and a replay are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from kafkactl.metadata.image.model import Image


def expected_of(image: Image) -> dict[str, Any]:
    """Return the state of an image in the form of `Expected.state`."""
    partitions = (
        (
            topic.name,
            at,
            (
                *partition[:5],
                partition[6],
                partition[7],
                b"".join(d.raw for d in partition[8]),
                partition[9],
                partition[10],
            ),
        )
        for topic in image.topics.values()
        for at, partition in topic.partitions.items()
    )
    return state_of(
        topics={topic.name: topic.id.raw for topic in image.topics.values()},
        partitions=partitions,
        brokers={
            broker.id: (broker.epoch, broker.fenced, broker.directories[0].raw) for broker in image.brokers.values()
        },
        configs=image.configs,
        acls={acl.id.raw: acl.principal for acl in image.acls.values()},
        scram={key: item.iterations for key, item in image.scram.items()},
        quotas={str(entity[0][1]): held["producer_byte_rate"] for entity, held in image.client_quotas.items()},
        levels=image.features,
        producer_id=image.next_producer_id,
    )


def state_of(*, topics: Mapping[str, bytes], partitions: Any, **rest: Any) -> dict[str, Any]:
    digest, count = hashlib.sha256(), 0
    for name, at, held in sorted(partitions):
        digest.update(f"{name} {at} {held!r}\n".encode())
        count += 1
    found: dict[str, Any] = {"topics": _digest(topics), "partition_count": count, "partitions": digest.hexdigest()}
    return found | {name: _digest(held) if isinstance(held, Mapping) else held for name, held in rest.items()}


def _digest(held: Mapping[Any, Any]) -> str:
    ordered = sorted((key, sorted(item.items()) if isinstance(item, Mapping) else item) for key, item in held.items())
    return hashlib.sha256(repr(ordered).encode()).hexdigest()
