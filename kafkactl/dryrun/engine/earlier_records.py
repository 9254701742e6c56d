"""Records before the checkpoint that a replay begins with: counted by their frames, their content unread.

Only control records are decoded, because the last LeaderChange in the log names the leader, even before a checkpoint.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Final

from kafkactl.core.errors import DecodeError
from kafkactl.metadata.replay.reference import Leader
from kafkactl.protocol.control_records import ControlType, decode_control_record
from kafkactl.protocol.log.frame import FRAME_VERSION
from kafkactl.protocol.record_batch import Record, decode_header, decode_records
from kafkactl.protocol.schema.definitions import message, metadata_record_names

UNDECODABLE: Final = "undecodable"


class Before:
    """The records below `end_offset`: `counts` by type, and the last `leader` that they name."""

    def __init__(self, end_offset: int) -> None:
        self.counts: Counter[str] = Counter()
        self.leader: Leader | None = None
        self._end_offset = end_offset

    def take(self, data: bytes, at: int, base: int = 0) -> None:
        """Take the batch at `at`, whole and of a right CRC; `base` is the place of `data` in the file."""
        header = decode_header(data, at, base=base)
        try:
            records = decode_records(data, header, base=base)
        except DecodeError:
            self.counts[UNDECODABLE] += 1
            return
        ours = [record for record in records if record.offset < self._end_offset]
        if header.is_control:
            self.counts.update(self._control(record, header.partition_leader_epoch) for record in ours)
        else:
            self.counts.update(type_of(record.value) for record in ours)

    def _control(self, record: Record, epoch: int) -> str:
        try:
            decoded = decode_control_record(record.key, record.value)
        except DecodeError:
            return UNDECODABLE
        if decoded.type is ControlType.LEADER_CHANGE:
            voters = tuple(voter["VoterId"] for voter in decoded.data["Voters"])
            self.leader = Leader(id=decoded.data["LeaderId"], epoch=epoch, voters=voters)
        return decoded.type.record_name


def type_of(value: bytes | None) -> str:
    """Return the type of a record by its frame alone; `undecodable` if the frame has none."""
    if value is None or len(value) < 3 or value[0] != FRAME_VERSION:
        return UNDECODABLE
    return record_types().get(value[1], UNDECODABLE)


@functools.cache
def record_types() -> dict[int | None, str]:
    """Return the names of metadata records by their api keys."""
    return {message(name).api_key: name for name in metadata_record_names()}
