"""Metadata partition of a user partition's records.

Source: `RemoteLogMetadataTopicPartitioner.java`, `TopicIdPartition.hashCode`, `Utils.murmur2`.
"""

from __future__ import annotations

from typing import Final

from kafkactl.tiered.records import PartitionKey

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return Kafka's 32-bit hash of record keys, as an unsigned number."""
    value = (_SEED ^ len(data)) & _MASK
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        k = (int.from_bytes(data[at : at + 4], "little") * _M) & _MASK
        k = ((k ^ (k >> 24)) * _M) & _MASK
        value = ((value * _M) & _MASK) ^ k
    if len(data) > whole:
        value = ((value ^ int.from_bytes(data[whole:], "little")) * _M) & _MASK
    value = ((value ^ (value >> 13)) * _M) & _MASK
    return value ^ (value >> 15)


def metadata_partition_of(key: PartitionKey, partitions: int) -> int:
    """Return the metadata partition among `partitions` (at least 1), the number configured on the brokers."""
    most, least = (int.from_bytes(key.topic_id[at : at + 8], "big") for at in (0, 8))
    value = 31 * (31 * (31 + _folded(least)) + _folded(most)) + key.partition
    return (murmur2((value & _MASK).to_bytes(4, "big")) & 0x7FFFFFFF) % partitions


def _folded(half: int) -> int:
    """Return Java's hash of a long."""
    return (half ^ (half >> 32)) & _MASK
