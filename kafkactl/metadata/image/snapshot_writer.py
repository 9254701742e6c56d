"""An image as a snapshot: the bytes of a checkpoint that Kafka's loader reads.

Nothing here writes to a disk, and nothing should ever write into a directory of a node: a snapshot goes to a new
place, and is read back and compared before it is relied on. Layout: `raft/.../RecordsSnapshotWriter.java`,
KIP-630, KIP-853.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from kafkactl.cluster.quorum.voter_sets import voters_data
from kafkactl.core.errors import EncodeError
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.image.records import Level, image_record_sizes, image_records, level_of
from kafkactl.metadata.log.checkpoint import batch_sizes, batch_values
from kafkactl.protocol.compiled import encoder
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.log.frame import FRAME_VERSION, MetadataRecord
from kafkactl.protocol.primitives import base128
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message


def snapshot_batches(image: Image, *, epoch: int, last_contained_log_timestamp_ms: int, now_ms: int) -> Iterator[bytes]:
    """Yield the batches of a snapshot, first to last: header (with kraft.version and voters if the image has them),
    records in batches of at most 8 MiB, footer.

    `epoch` is that of the last log record in the snapshot, which is in its name, too (`snapshot_name`). Raises
    EncodeError `snapshot-without-metadata-version`.
    """
    level = _own_level(image)
    batch = functools.partial(encode_batch, timestamp_ms=now_ms, partition_leader_epoch=epoch)
    head = _head(image, last_contained_log_timestamp_ms)
    yield batch(head, base_offset=0, is_control=True)
    offset = len(head)
    for values in batch_values(map(_framed, image_records(image, level))):
        yield batch([(None, value) for value in values], base_offset=offset)
        offset += len(values)
    yield batch([_footer()], base_offset=offset, is_control=True)


class SnapshotSize(NamedTuple):
    """Bytes and records of a snapshot, control records included."""

    bytes: int
    records: int


def snapshot_size(image: Image) -> SnapshotSize:
    """Return the size of the snapshot of `snapshot_batches`, in a fraction of the time. Raise the same errors."""
    head = _head(image, 0)
    ends = [encode_batch(records, base_offset=0, timestamp_ms=0, is_control=True) for records in (head, [_footer()])]
    size, count = sum(map(len, ends)), len(head) + 1
    sizes = image_record_sizes(image, _own_level(image), lambda record: len(_framed(record)))
    for batch_bytes, records in batch_sizes(sizes):
        size += batch_bytes
        count += records
    return SnapshotSize(size, count)


def _own_level(image: Image) -> Level:
    level = level_of(image)
    if level is None:
        text = "the image has no metadata.version and none was given"
        raise EncodeError(text, id="snapshot-without-metadata-version", path="Checkpoint")
    return level


def _head(image: Image, last_contained_log_timestamp_ms: int) -> list[tuple[bytes | None, bytes | None]]:
    head: list[tuple[bytes | None, bytes | None]] = [
        encode_control_record(
            ControlType.SNAPSHOT_HEADER, {"LastContainedLogTimestamp": last_contained_log_timestamp_ms}
        )
    ]
    if image.kraft_version:
        head.append(encode_control_record(ControlType.KRAFT_VERSION, {"KRaftVersion": image.kraft_version}))
        if image.voters is not None:
            head.append(encode_control_record(ControlType.KRAFT_VOTERS, voters_data(image.voters)))
    return head


def _footer() -> tuple[bytes | None, bytes | None]:
    return encode_control_record(ControlType.SNAPSHOT_FOOTER, {})


def snapshot_name(end_offset: int, epoch: int) -> str:
    """Return the name of the file: the offset after its last record, and that record's epoch (`Snapshots.java`)."""
    return f"{end_offset:020d}-{epoch:010d}.checkpoint"


def _framed(record: MetadataRecord) -> bytes:
    content = encoder(message(record.type), record.version)(record.data)
    return bytes([FRAME_VERSION]) + base128(record.api_key) + base128(record.version) + content
