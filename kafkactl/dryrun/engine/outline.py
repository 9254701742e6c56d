"""What has to be known of a log before its partition records can be folded out of order.

The effect of a partition record is independent of its position, with three exceptions that other records decide:
whether its transaction was aborted (KIP-868), whether its topic existed, and which ClearElrRecords come between
(KIP-966). Partition records whose effect these do not settle are replayed one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Final

from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.log.frame import FRAME_VERSION, MetadataRecord, decode_record
from kafkactl.metadata.replay.reference import ABORT, BEGIN, END, FEATURE_LEVEL
from kafkactl.metadata.replay.topics import CHANGE, PARTITION

_TOPIC, _REMOVE_TOPIC, _CLEAR_ELR = 2, 9, 28
_KINDS_READ: Final = frozenset({_TOPIC, PARTITION, CHANGE, _REMOVE_TOPIC, FEATURE_LEVEL, BEGIN, END, ABORT, _CLEAR_ELR})
_NO_END: Final = 1 << 62


@frozen
class Outline:
    """`withheld`: first and last offsets of transactions that were aborted or never ended. `born` and `gone`: where
    topics (raw ids) were created, each time, and first removed. `clears`: offset and topic of each ClearElrRecord, None
    for all topics. `unversioned`: ranges of offsets without a metadata.version. `exact`: topics with partition records
    among the others that take effect. `topics`: TopicRecords by their bytes, so that a replay need not decode the most
    numerous of the other records once more.
    """

    withheld: tuple[tuple[int, int], ...]
    born: dict[bytes, tuple[int, ...]]
    gone: dict[bytes, int]
    clears: tuple[tuple[int, bytes | None], ...]
    unversioned: tuple[tuple[int, int], ...]
    exact: frozenset[bytes]
    topics: Mapping[bytes, MetadataRecord] = field(default_factory=dict)


def outline_of(values: Iterable[tuple[int, bytes]], start: Image) -> Outline:
    """From the offsets and values of all records but the plain partition records, in their order."""
    outline, topics = _Outlining(start), dict[bytes, MetadataRecord]()
    for offset, value in values:
        usual = len(value) > 2 and value[0] == FRAME_VERSION and value[1] < 0x80 and value[2] < 0x80
        if usual and value[1] not in _KINDS_READ:
            continue
        try:
            record = decode_record(value)
        except DecodeError:
            continue  # has no effect, and is reported when it is replayed
        outline.take(offset, record)
        if record.api_key == _TOPIC:
            topics[value] = record
    return replace(outline.end(), topics=topics)


class _Outlining:
    def __init__(self, start: Image) -> None:
        self._withheld: list[tuple[int, int]] = []
        self._born: dict[bytes, tuple[int, ...]] = {}
        self._gone: dict[bytes, int] = {}
        self._clears: list[tuple[int, bytes | None]] = []
        self._unversioned: list[tuple[int, int]] = []
        self._exact: set[bytes] = set()
        self._ids = {name: id.raw for name, id in start.topic_ids.items()}
        self._names = {id.raw: topic.name for id, topic in start.topics.items()}
        self._no_version_from = None if METADATA_VERSION in start.features else -1
        self._begun: int | None = None
        self._pending: list[tuple[int, MetadataRecord]] = []

    def take(self, offset: int, record: MetadataRecord) -> None:
        key = record.api_key
        if key == BEGIN:
            self._begun = offset if self._begun is None else self._begun
        elif key in (END, ABORT):
            self._close(offset, aborted=key == ABORT)
        elif self._begun is None:
            self._apply(offset, record)
        else:
            self._pending.append((offset, record))

    def _close(self, offset: int, *, aborted: bool) -> None:
        if self._begun is not None and aborted:
            self._withheld.append((self._begun, offset))
        elif self._begun is not None:
            for at, record in self._pending:
                self._apply(at, record)
        self._begun = None
        self._pending = []

    def _apply(self, offset: int, record: MetadataRecord) -> None:
        data = record.data
        if record.api_key in (PARTITION, CHANGE):
            self._exact.add(data["TopicId"].raw)
        elif record.api_key == _TOPIC:
            raw, name = data["TopicId"].raw, data["Name"]
            self._born[raw] = (*self._born.get(raw, ()), offset)
            self._ids[name], self._names[raw] = raw, name
        elif record.api_key == _REMOVE_TOPIC:
            raw = data["TopicId"].raw
            self._gone.setdefault(raw, offset)
            removed = self._names.pop(raw, None)
            if removed is not None and self._ids.get(removed) == raw:
                del self._ids[removed]
        elif record.api_key == _CLEAR_ELR:
            cleared = data["TopicName"]
            if not cleared or cleared in self._ids:
                self._clears.append((offset, self._ids[cleared] if cleared else None))
        elif record.api_key == FEATURE_LEVEL and data["Name"] == METADATA_VERSION:
            self._set_version(offset, data["FeatureLevel"])

    def _set_version(self, offset: int, level: int) -> None:
        if level > 0 and self._no_version_from is not None:  # once set, it cannot be removed
            self._unversioned.append((self._no_version_from, offset))
            self._no_version_from = None

    def end(self) -> Outline:
        if self._begun is not None:
            self._withheld.append((self._begun, _NO_END))
        if self._no_version_from is not None:
            self._unversioned.append((self._no_version_from, _NO_END))
        return Outline(
            withheld=tuple(self._withheld),
            born=self._born,
            gone=self._gone,
            clears=tuple(self._clears),
            unversioned=tuple(self._unversioned),
            exact=frozenset(self._exact),
        )
