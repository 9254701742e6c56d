"""A line for every record, the same by the fast way and the careful one, and an error for what cannot be read."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from kafkactl.core.values import Uuid
from kafkactl.metadata.dump.lines import LineMaker, RecordFilter, control_json, record_type_names
from kafkactl.metadata.dump.text import record_json
from kafkactl.metadata.log.keys import Key, KeyFilter
from kafkactl.protocol.control_records import ControlType, decode_control_record, encode_control_record
from kafkactl.protocol.log.frame import decode_record, encode_record
from kafkactl.protocol.record_batch import decode_batches, encode_batch
from kafkactl.protocol.schema.definitions import message, metadata_record_names
from tests.metadata.goldens import BATCH_FILES, golden
from tests.protocol.batches import batch, gzipped, record
from tests.protocol.random_messages import random_message

TOPIC_ID = Uuid(bytes(15) + b"\7")
OTHER_ID = Uuid(bytes(15) + b"\x09")


def dumped(
    data: bytes, wanted: RecordFilter | None = None, *, hide: bool = True, **begin: Any
) -> tuple[list[Any], list[str]]:
    maker = LineMaker(wanted or RecordFilter(), hide=hide)
    if begin:
        maker.begin(**begin)
    text = "".join(maker.lines([data], file="f"))
    lines = [json.loads(line) for line in text.splitlines()]
    assert maker.count == len(lines)
    assert maker.problem_count == len(maker.problems)
    return lines, [problem.id for problem in maker.problems]


def reference(data: bytes, *, hide: bool = True) -> list[dict[str, Any]]:
    """Return the same by the strict reader of batches."""
    lines = []
    for found in decode_batches(data):
        for entry in found.records:
            line: dict[str, Any] = {
                "offset": entry.offset,
                "epoch": found.header.partition_leader_epoch,
                "timestamp_ms": entry.timestamp_ms,
            }
            if found.header.is_control:
                control = decode_control_record(entry.key, entry.value)
                data_json: Any = control_json(control)
                line |= {"kind": "control", "version": control.version}
            else:
                assert entry.value is not None
                decoded = decode_record(entry.value)
                data_json = record_json(decoded, hide=hide)
                line |= {"kind": "record", "type": decoded.type, "version": decoded.version}
            lines.append({**line, "data": data_json, "file": "f"})
    return lines


def without_control_type(lines: list[Any]) -> list[Any]:
    return [{k: v for k, v in line.items() if k != "type" or line["kind"] != "control"} for line in lines]


@pytest.mark.parametrize("name", BATCH_FILES)
@pytest.mark.parametrize("hide", [True, False])
def test_files_of_kafka_are_dumped_as_the_reference_dumps_them(name: str, hide: bool):
    lines, problems = dumped(golden(name), hide=hide)
    assert problems == []
    assert lines
    assert without_control_type(lines) == reference(golden(name), hide=hide)


def values(seed: int, count: int) -> list[bytes]:
    rng = random.Random(seed)
    specs = [message(name) for name in metadata_record_names()]
    made = []
    for _ in range(count):
        spec = rng.choice(specs)
        version = rng.choice(list(spec.valid_versions))
        made.append(encode_record(spec, version, random_message(rng, spec, version)))
    return made


@pytest.mark.parametrize("seed", range(10))
def test_any_records_are_dumped_as_the_reference_dumps_them(seed: int):
    data = encode_batch(
        [(None, value) for value in values(seed, 300)], base_offset=2**40, timestamp_ms=-5, partition_leader_epoch=7
    )
    lines, problems = dumped(data)
    assert problems == []
    assert lines == reference(data)


def test_foreign_batches_are_dumped():
    entry = encode_record(message("NoOpRecord"), 0, {})
    body = record(None, entry, delta=0, time_delta=3, headers=[(b"h", b"x")]) + record(
        None, entry, delta=70, time_delta=-2
    )
    for data in (batch(body, count=2), batch(gzipped(body), count=2, attributes=1), batch(body, count=2, attributes=8)):
        assert dumped(data) == (reference(data), [])


def test_more_records_than_any_batch_has():
    no_op = encode_record(message("NoOpRecord"), 0, {})
    body = b"".join(record(None, no_op, delta=delta) for delta in range(3))
    assert dumped(batch(body, count=2**31 - 1)) == ([], ["too-many-records"])


def topic_log() -> bytes:
    def made(name: str, version: int, **data: Any) -> tuple[None, bytes]:
        return None, encode_record(message(name), version, data)

    first = [
        made("TopicRecord", 0, Name="orders", TopicId=TOPIC_ID),
        made("PartitionRecord", 0, PartitionId=0, TopicId=TOPIC_ID, Replicas=[1], Isr=[1], Leader=1),
        made("TopicRecord", 0, Name="other", TopicId=OTHER_ID),
        made("ConfigRecord", 0, ResourceType=2, ResourceName="orders", Name="retention.ms", Value="1"),
    ]
    second = [
        made("PartitionChangeRecord", 2, PartitionId=0, TopicId=TOPIC_ID, Leader=2),
        made("PartitionChangeRecord", 2, PartitionId=0, TopicId=OTHER_ID, Leader=2),
        made("RegisterBrokerRecord", 1, BrokerId=2, BrokerEpoch=9),
        made("ClearElrRecord", 0, TopicName=""),
        made("RemoveTopicRecord", 0, TopicId=TOPIC_ID),
    ]
    leader = encode_control_record(ControlType.LEADER_CHANGE, {"LeaderId": 1})
    return (
        encode_batch([leader], base_offset=10, timestamp_ms=1, is_control=True)
        + encode_batch(first, base_offset=11, timestamp_ms=2)
        + encode_batch(second, base_offset=15, timestamp_ms=3)
    )


def offsets(wanted: RecordFilter) -> list[int]:
    lines, problems = dumped(topic_log(), wanted, kind="segment", base_offset=10)
    assert problems == []
    return [line["offset"] for line in lines]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (RecordFilter(), list(range(10, 20))),
        (RecordFilter(from_offset=12, to_offset=16), [12, 13, 14, 15, 16]),
        (RecordFilter(from_offset=19), [19]),
        (RecordFilter(to_offset=10), [10]),
        (RecordFilter(types=frozenset({"TopicRecord"})), [11, 13]),
        (RecordFilter(types=frozenset({"LeaderChange", "RemoveTopicRecord"})), [10, 19]),
        (RecordFilter(types=frozenset({"TopicRecord"}), from_offset=12), [13]),
        (RecordFilter(key=KeyFilter(Key(sorts=None, name="orders"))), [11, 12, 14, 15, 19]),
        (RecordFilter(key=KeyFilter(Key(sorts=None, name="orders")), from_offset=15), [15, 19]),
        (RecordFilter(key=KeyFilter(Key(sorts=frozenset({"topic"}), name="orders"))), [11, 12, 14, 15, 18, 19]),
        (RecordFilter(key=KeyFilter(Key(sorts=None, name=str(OTHER_ID)))), [13, 16]),
        (RecordFilter(key=KeyFilter(Key(sorts=None, name="2"))), [17]),
        (RecordFilter(key=KeyFilter(Key(sorts=None, name="topic:orders:retention.ms"))), [14]),
        (RecordFilter(key=KeyFilter(Key(sorts=None, name="nobody"))), []),
    ],
)
def test_requested_records_are_dumped(wanted: RecordFilter, expected: list[int]):
    assert offsets(wanted) == expected


def test_record_types_include_control_records():
    assert {"TopicRecord", "UnregisterControllerRecord", "LeaderChange", "KRaftVoters"} <= set(record_type_names())


def test_record_that_cannot_be_read_has_its_line():
    sound = (None, encode_record(message("NoOpRecord"), 0, {}))
    newer = (None, b"\1\x7f\0rest")
    data = encode_batch([sound, newer, sound], base_offset=0, timestamp_ms=1)
    lines, problems = dumped(data)
    assert [line["kind"] for line in lines] == ["record", "undecodable", "record"]
    assert problems == ["unknown-record-type"]
    assert lines[1]["error"] == {
        "id": "unknown-record-type",
        "message": "no record type has the api key 127",
        "value": None,
    }
    assert dumped(data, hide=False)[0][1]["error"]["value"] == "AX8AcmVzdA=="
    assert dumped(encode_batch([(b"key", b"\1")], base_offset=0, timestamp_ms=1))[1] == ["not-a-metadata-record"]


def test_damage_is_reported_once_and_read_past():
    data = topic_log()
    second = data.index(encode_batch_start(15))
    hurt = bytearray(data)
    hurt[100 + 30] ^= 1
    lines, problems = dumped(bytes(hurt))
    assert problems == ["crc-mismatch"]
    assert [line["offset"] for line in lines] == [10, 15, 16, 17, 18, 19]
    assert dumped(data[: second + 20])[1] == []
    assert dumped(data[: second + 20], kind="checkpoint", base_offset=30)[1] == ["offset-gap", "truncated-batch"]


def encode_batch_start(offset: int) -> bytes:
    return offset.to_bytes(8, "big")


def test_missing_offsets_are_reported():
    data = topic_log()
    assert dumped(data, kind="segment", base_offset=8)[1] == ["offset-gap"]
    maker = LineMaker(RecordFilter(), hide=True)
    for base, text in (
        (10, data),
        (20, b""),
        (25, encode_batch([(None, b"\1\x14\0\0")], base_offset=25, timestamp_ms=1)),
    ):
        maker.begin("segment", base)
        list(maker.lines([text], file="f"))
    assert [problem.id for problem in maker.problems] == ["offset-gap"]


def test_corrupt_compression_is_reported():
    lines, problems = dumped(batch(b"xxxx", count=1, attributes=4))
    assert (lines, problems) == ([], ["corrupt-compression"])
