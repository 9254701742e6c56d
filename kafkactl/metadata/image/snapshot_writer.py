"""An image as a snapshot: the bytes of a checkpoint that Kafka's loader reads.

Nothing here writes to a disk, and nothing should ever write into a directory of a node: a snapshot goes to a new
place, and is read back and compared before it is relied on. Layout: `raft/.../RecordsSnapshotWriter.java`,
KIP-630, KIP-853.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from kafkactl.errors import EncodeError
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.image.records import Level, image_records, level_of
from kafkactl.metadata.log.checkpoint import batch_values
from kafkactl.metadata.log.frame import FRAME_VERSION, MetadataRecord
from kafkactl.metadata.log.voters import voters_data
from kafkactl.protocol.compiled import encoder
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.primitives import base128
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.schema.definitions import message


def encode_snapshot(
    image: Image,
    *,
    epoch: int,
    last_contained_log_timestamp_ms: int,
    now_ms: int,
    level: Level | None = None,
) -> bytes:
    """The bytes of a snapshot of this image; see `snapshot_batches`."""
    return b"".join(
        snapshot_batches(
            image,
            epoch=epoch,
            last_contained_log_timestamp_ms=last_contained_log_timestamp_ms,
            now_ms=now_ms,
            level=level,
        )
    )


def snapshot_batches(
    image: Image,
    *,
    epoch: int,
    last_contained_log_timestamp_ms: int,
    now_ms: int,
    level: Level | None = None,
) -> Iterator[bytes]:
    """The batches of a snapshot, first to last: header (with kraft.version and voters if the image has them), records
    in batches of at most 8 MiB, footer.

    `epoch` is that of the last log record in the snapshot, which is in its name, too (`snapshot_name`). `level` is
    that of `level_of`, by default the image's own; what it cannot tell is in `image_records.losses`. Raises
    EncodeError `snapshot-without-metadata-version`.
    """
    chosen = level or level_of(image)
    if chosen is None:
        text = "the image has no metadata.version and none was given"
        raise EncodeError(text, id="snapshot-without-metadata-version", path="Checkpoint")
    head = [
        encode_control_record(
            ControlType.SNAPSHOT_HEADER, {"LastContainedLogTimestamp": last_contained_log_timestamp_ms}
        )
    ]
    if image.kraft_version:
        head.append(encode_control_record(ControlType.KRAFT_VERSION, {"KRaftVersion": image.kraft_version}))
        if image.voters is not None:
            head.append(encode_control_record(ControlType.KRAFT_VOTERS, voters_data(image.voters)))
    batch = functools.partial(encode_batch, timestamp_ms=now_ms, partition_leader_epoch=epoch)
    yield batch(head, base_offset=0, is_control=True)
    offset = len(head)
    for values in batch_values(map(_framed, image_records(image, chosen))):
        yield batch([(None, value) for value in values], base_offset=offset)
        offset += len(values)
    footer = encode_control_record(ControlType.SNAPSHOT_FOOTER, {})
    yield batch([footer], base_offset=offset, is_control=True)


def snapshot_name(end_offset: int, epoch: int) -> str:
    """The name of the file: the offset behind the last record in it, and that record's epoch (`Snapshots.java`)."""
    return f"{end_offset:020d}-{epoch:010d}.checkpoint"


def _framed(record: MetadataRecord) -> bytes:
    content = encoder(message(record.type), record.version)(record.data)
    return bytes([FRAME_VERSION]) + base128(record.api_key) + base128(record.version) + content
