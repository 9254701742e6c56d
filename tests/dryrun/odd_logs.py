"""Logs in which something is unusual or wrong, as the bytes of one segment each."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from typing import Any

from bench.log_generator import LogGenerator, Shape
from kafkactl.core.values import Uuid
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message

Records = list[bytes]


def topic_id(number: int) -> Uuid:
    return Uuid(b"\x51" + number.to_bytes(15, "big"))


def record(name: str, version: int = 0, **data: Any) -> bytes:
    return encode_record(message(name), version, data)


LEVEL = record("FeatureLevelRecord", Name="metadata.version", FeatureLevel=30)
BEGIN = record("BeginTransactionRecord", Name="bulk")
END, ABORT = record("EndTransactionRecord"), record("AbortTransactionRecord", Reason="why not")
CLEAR_ALL = record("ClearElrRecord", TopicName="")
NO_OP = record("NoOpRecord")


def topic(number: int, name: str = "") -> bytes:
    return record("TopicRecord", Name=name or f"t{number}", TopicId=topic_id(number))


def remove(number: int) -> bytes:
    return record("RemoveTopicRecord", TopicId=topic_id(number))


def partition(number: int, at: int = 0, version: int = 2, **data: Any) -> bytes:
    lists = {name: [1, 2, 3] for name in ("Replicas", "Isr")}
    fields = {"Leader": 1, "LeaderEpoch": 0, "PartitionEpoch": 0, **lists, **data}
    return record("PartitionRecord", version, PartitionId=at, TopicId=topic_id(number), **fields)


def change(number: int, at: int = 0, version: int = 2, **data: Any) -> bytes:
    return record("PartitionChangeRecord", version, PartitionId=at, TopicId=topic_id(number), **data)


DIRECTORIES = [Uuid(bytes([7]) * 16), Uuid(bytes([8]) * 16), Uuid(bytes([9]) * 16)]
_ONE = [LEVEL, topic(1), partition(1), partition(1, 1)]
CASES: dict[str, list[Records]] = {
    "aborted across batches": [
        _ONE,
        [BEGIN, topic(2), partition(2), change(1, Leader=2)],
        [change(1, Isr=[2])],
        [ABORT],
        [change(1, Isr=[3])],
    ],
    "ended": [_ONE, [BEGIN, topic(2), partition(2)], [change(2, Leader=3), END, change(2, Isr=[3])]],
    "never ended": [_ONE, [change(1, Leader=2)], [BEGIN, topic(2), partition(2), change(1, Leader=3)]],
    "nested and stray ends": [[LEVEL, END, ABORT, BEGIN, BEGIN, topic(1), partition(1), END], [change(1, Isr=[1])]],
    "eligible leaders cleared": [
        [*_ONE, topic(2), partition(2)],
        [change(1, EligibleLeaderReplicas=[2], Isr=[1]), change(2, LastKnownElr=[3])],
        [record("ClearElrRecord", TopicName="t1"), change(1, Isr=[1, 2])],
        [change(1, 1, EligibleLeaderReplicas=[3]), CLEAR_ALL, CLEAR_ALL, change(2, Leader=2)],
        [record("ClearElrRecord", TopicName="nobody")],
    ],
    "a clearing that is aborted": [
        _ONE, [change(1, EligibleLeaderReplicas=[2], Isr=[1])], [BEGIN, CLEAR_ALL, ABORT], [change(1, Leader=2)],
    ],
    "removed and what comes behind": [_ONE, [remove(1), change(1, Leader=2), partition(1, 5)], [remove(9)]],
    "a name that comes back": [_ONE, [remove(1), topic(2, "t1"), partition(2)], [change(2, Isr=[2])]],
    "twice the same topic": [_ONE, [change(1, Leader=2)], [topic(1), partition(1)], [change(1, 1, Leader=3)]],
    "partitions of nobody": [[LEVEL, partition(1), change(1)], [topic(1), change(1, 4)], [partition(1), change(1)]],
    "a partition made twice": [_ONE, [change(1, Leader=2)], [partition(1, Leader=3)], [change(1, Leader=1)]],
    "no metadata.version": [[topic(1), partition(1)], [change(1, Leader=2), LEVEL], [change(1, Leader=3)]],
    "no-ops in transactions and at the end": [
        [*_ONE, NO_OP], [BEGIN, NO_OP, change(1, Leader=2)], [NO_OP, ABORT, NO_OP], [BEGIN, NO_OP, END], [NO_OP],
    ],
    "no-ops before metadata.version": [[NO_OP], [NO_OP, LEVEL, NO_OP, topic(1), partition(1)], [change(1, Leader=3)]],
    "no-ops and nothing else": [[NO_OP, NO_OP], [BEGIN, NO_OP]],
    "replicas without directories": [
        [LEVEL, topic(1), partition(1, version=0), partition(1, 1, Directories=DIRECTORIES)],
        [change(1, version=0, Replicas=[4, 5], Isr=[4])],
        [change(1, 1, Replicas=[4, 5]), change(1, 1, Directories=DIRECTORIES[:1])],
        [change(1, 1, Replicas=[4, 5, 6], Directories=DIRECTORIES), change(1, 1, Leader=6)],
    ],
    "values that are not known": [
        _ONE, [change(1, LeaderRecoveryState=7), partition(1, 2, LeaderRecoveryState=9)], [change(1, Leader=3)],
    ],
    "not decodable": [
        _ONE,
        [change(1, Leader=2)[:-1], change(1, Leader=2) + b"\0", b"\1\5\2", b"", b"\1\x05\7" + bytes(30)],
        [b"\1\x85\0\2" + change(1, Leader=3)[3:], b"\2" + change(1)[1:], b"\1\x7f\0", change(1, 1, Leader=3)],
    ],
    "a value above four kilobytes": [
        _ONE, [partition(1, 7, Isr=list(range(2_000))), record("ConfigRecord", ResourceType=2, ResourceName="t1",
                                                               Name="a", Value="b" * 9_000)], [change(1, 7, Leader=5)],
    ],
}  # fmt: skip


def encoded(batches: list[Records], *, first: int = 0) -> bytes:
    data, offset = [], first
    for number, values in enumerate(batches):
        data.append(
            encode_batch(
                [(None, value) for value in values],
                base_offset=offset,
                timestamp_ms=1_000 + number,
                partition_leader_epoch=3,
            )
        )
        offset += len(values)
    return b"".join(data)


@functools.cache
def generated(seed: int, records: int = 4_000) -> bytes:
    shape = Shape(records=records, partitions=300, brokers=4 + seed, seed=seed, elr=seed % 2 == 0, epochs=3)
    return b"".join(LogGenerator(shape).batches())


@functools.cache
def damaged() -> tuple[tuple[str, bytes], ...]:
    """Return a generated log with flipped, missing, repeated and reordered bytes, and with epochs that go back."""
    return tuple(_damaged())


def _damaged() -> Iterator[tuple[str, bytes]]:
    data, rng = generated(9, 1_500), random.Random(5)
    starts = [0]
    while starts[-1] < len(data):
        at = starts[-1]
        starts.append(at + 12 + int.from_bytes(data[at + 8 : at + 12], "big"))
    for number in range(8):
        at = rng.randrange(len(data))
        yield f"flipped {number}", data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    yield "torn", data[:-7]
    first, second, third = (starts[len(starts) * share // 4] for share in (1, 2, 3))
    yield "hole", data[:first] + data[second:]
    yield "repeated", data[:second] + data[first:]
    yield "swapped", data[:first] + data[second:third] + data[first:second] + data[third:]
    yield "older epoch", data[: second + 12] + bytes(4) + data[second + 16 :]
