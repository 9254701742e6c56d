"""The golden files, and how to write a checkpoint again with the times of the first writing."""

from __future__ import annotations

from pathlib import Path

from kafkactl.protocol.control_records import decode_control_record, encode_control_record
from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.log.frame import decode_record, encode_record
from kafkactl.protocol.record_batch import RecordBatch, decode_batches, encode_batch
from kafkactl.protocol.schema.definitions import message

GOLDEN = Path(__file__).parents[1] / "golden"
BATCH_FILES = sorted(path.name for path in GOLDEN.glob("*.bin") if ".record." not in path.name)
# Captures of running nodes, and what Kafka's own dump tool prints of them (`tests/campaigns/goldens/dumps.py`).
DUMPS = {
    Path("images/4.3.1/00000000000000000000.log.gz"): Path("dumps/4.3.1-log.txt.gz"),
    Path("migrations/3.9.2/metadata.log.gz"): Path("dumps/3.9.2-migration.txt.gz"),
}
CHECKPOINTS = [name for name in BATCH_FILES if ".checkpoint." in name]


def golden(name: str) -> bytes:
    return (GOLDEN / name).read_bytes()


def rewritten(data: bytes) -> bytes:
    """Return every record decoded to values and encoded from them, in newly written batches."""
    return b"".join(_rewritten_batch(found) for found in decode_batches(data))


def _rewritten_batch(found: RecordBatch) -> bytes:
    records: list[tuple[bytes | None, bytes | None]] = []
    for record in found.records:
        if found.header.is_control:
            control = decode_control_record(record.key, record.value)
            records.append(encode_control_record(control.type, control.data))
        else:
            assert record.value is not None
            decoded = decode_record(record.value)
            records.append((None, encode_record(message(decoded.type), decoded.version, decoded.data)))
    return encode_batch(
        records,
        base_offset=found.header.base_offset,
        timestamp_ms=found.header.base_timestamp_ms,
        partition_leader_epoch=found.header.partition_leader_epoch,
        is_control=found.header.is_control,
    )


def at_time(data: bytes, now_ms: int) -> bytes:
    """Return a checkpoint as if all of it had been written at one moment: batch times, and the header's unless it
    is 0."""
    out = bytearray(data)
    for found in decode_batches(data):
        start = found.header.position
        out[start + 27 : start + 43] = now_ms.to_bytes(8, "big") * 2
        if start == 0 and out[found.records[0].value_position + 2 :][:8] != bytes(8):
            at = found.records[0].value_position + 2
            out[at : at + 8] = now_ms.to_bytes(8, "big")
        crc = crc32c(bytes(out[start + 21 : start + found.header.size_bytes]))
        out[start + 17 : start + 21] = crc.to_bytes(4, "big")
    return bytes(out)
