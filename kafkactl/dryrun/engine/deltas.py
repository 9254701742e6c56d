"""The deltas of a starting node: what it reads at a time, and the three parts that are not the sum of their records.

The rules are those that `loader` names; here every record is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kafkactl.metadata.image.model import TOPIC_CONFIG, Image, LogRecord, ScramCredential, ScramKey
from kafkactl.metadata.replay.reference import Replaying
from kafkactl.metadata.replay.scram import apply_in_one_go
from kafkactl.protocol.log.frame import MetadataRecord

READ_BYTES: Final = 8 * 1024 * 1024  # KafkaRaftClient.MAX_FETCH_SIZE_BYTES
TOPIC, CONFIG, REMOVE_TOPIC, SCRAM, REMOVE_SCRAM, BEGIN, END, ABORT = 2, 4, 9, 11, 22, 23, 24, 25


class Deltas:
    """Loader of one node. `_pending` is the delta: the records since the last image was made, None for each that the
    caller did not decode (`pass_over`).

    `phantoms` counts the records of aborted transactions that took effect, `kept_aborts` are the offsets at which these
    transactions were aborted. Batches are begun, and what is in them taken, in the order of the log; a segment is begun
    and ended.
    """

    def __init__(self, start: Image, *, keeps_configs: bool) -> None:
        self._replaying = Replaying(replace(start, scram={}))
        self._keeps_configs = keeps_configs
        self._scram: dict[ScramKey, ScramCredential] = dict(start.scram)
        self._orphans: dict[str, dict[str, str]] = {}
        self._pending: list[LogRecord | None] = []
        self._open = False  # a transaction has begun and not ended
        self._aborted: int | None = None  # records of the transaction whose abort was read last, still pending
        self._aborted_at = -1
        self._begun_at = 0
        self._batches = 0  # read since the last image
        self._batch = -1  # where the batch begins that was begun last in this segment
        self._index = 0  # of the next record in it
        self._read_bytes = 0
        self.phantoms = 0
        self.kept_aborts: set[int] = set()

    def begin_segment(self) -> None:
        """Begin a segment: a read does not reach from one segment into the next."""
        self._end_read()
        self._read_bytes, self._batch, self._index = 0, -1, 0

    def begin_batch(self, base_offset: int, size_bytes: int) -> None:
        """Begin a batch of the segment; ignore one that was begun already."""
        if base_offset == self._batch:
            return
        if self._read_bytes + size_bytes > READ_BYTES and self._read_bytes:
            self._end_read()
            self._read_bytes = 0
        self._batches += self._batch >= 0 and self._read_bytes > 0
        self._batch, self._index = base_offset, 0
        self._read_bytes += size_bytes

    def take(self, record: LogRecord, *, is_control: bool) -> None:
        """Take the next record of the batch, decoded; an undecodable one is left out."""
        if is_control:
            self._replaying.take(*record)
        elif isinstance(record.record, MetadataRecord):
            self._take(record, record.record, is_first=self._index == 0 and self._batches == 0)
        self._index += 1

    def pass_over(self, count: int) -> None:
        """Pass over as many records that are neither of a transaction's bounds nor any that a delta changes."""
        if count:
            self._keep_aborted()
            self._pending += [None] * count
            self._index += count

    def end_segment(self) -> None:
        """End the segment, and with it the last read."""
        self._end_read()

    def image(self) -> Image:
        """Return the image that the node believes after all records."""
        return self.on(self._replaying.image())

    def on(self, made: Image) -> Image:
        """Return a correct image with the configurations and SCRAM users that the node believes."""
        configs = {key: dict(held) for key, held in made.configs.items()}
        for name, held in self._orphans.items():
            if held:
                configs[TOPIC_CONFIG, name] = {**held, **configs.get((TOPIC_CONFIG, name), {})}
        return replace(made, configs=configs, scram=dict(self._scram))

    def _take(self, record: LogRecord, decoded: MetadataRecord, *, is_first: bool) -> None:
        key = decoded.api_key
        self._keep_aborted()
        if key == BEGIN:
            if not is_first:
                self._flush()
            self._open, self._begun_at = True, len(self._pending)
        elif key == END:
            self._open = False
        elif key == ABORT:
            self._open, self._aborted = False, len(self._pending) - self._begun_at
            self._aborted_at = record.offset
        else:
            self._pending.append(record)

    def _keep_aborted(self) -> None:
        """Keep the records of an aborted transaction because something follows the abort."""
        if self._aborted is not None:
            self.phantoms += self._aborted
            self.kept_aborts.add(self._aborted_at)
            self._aborted = None

    def _end_read(self) -> None:
        """Make an image of what was read, unless a transaction is open or was aborted last."""
        if self._aborted is not None:
            self._pending.clear()
            self._aborted = None
            self._batches = 0
        elif not self._open:
            self._flush()

    def _flush(self) -> None:
        records = [record for record in self._pending if record is not None]
        self._pending, self._batches, self._begun_at = [], 0, 0
        self._change_scram(record.record for record in records)
        orphans = self._orphaned([record.record for record in records]) if self._keeps_configs else {}
        self._take_from_orphans(record.record for record in records)
        for record in records:
            if record.record.api_key not in (SCRAM, REMOVE_SCRAM):
                self._replaying.take(*record)
        self._orphans |= orphans

    def _change_scram(self, records: Iterable[MetadataRecord]) -> None:
        """Change users in the order of Java's hash table, mechanism by mechanism."""
        changes: dict[int, dict[str, ScramCredential | None]] = {}
        for record in records:
            if record.api_key in (SCRAM, REMOVE_SCRAM):
                users = changes.setdefault(record.data["Mechanism"], {})
                users[record.data["Name"]] = _credential(record.data) if record.api_key == SCRAM else None
        for mechanism, users in changes.items():
            held = {name: credential for (kind, name), credential in self._scram.items() if kind == mechanism}
            kept = apply_in_one_go(held, users)
            self._scram = {key: credential for key, credential in self._scram.items() if key[0] != mechanism}
            self._scram |= {(mechanism, name): credential for name, credential in kept.items()}

    def _take_from_orphans(self, records: Iterable[MetadataRecord]) -> None:
        """Remove a topic's deleted settings from those left over from a removed topic of the same name."""
        for record in records:
            held = self._orphans.get(record.data["ResourceName"]) if record.api_key == CONFIG else None
            if held is not None and record.data["ResourceType"] == TOPIC_CONFIG and record.data["Value"] is None:
                held.pop(record.data["Name"], None)

    def _orphaned(self, records: Sequence[MetadataRecord]) -> dict[str, dict[str, str]]:
        """Return the configurations of topics that were removed in this read and had none before it."""
        names = {record.data["TopicId"]: record.data["Name"] for record in records if record.api_key == TOPIC}
        removed = []
        for record in records:
            if record.api_key == REMOVE_TOPIC:
                known = self._replaying.state.topics.get(record.data["TopicId"].raw)
                name = names.get(record.data["TopicId"]) or (known.name if known is not None else None)
                if name is not None:
                    removed.append(name)
        found: dict[str, dict[str, str]] = {}
        for name in removed:
            if (TOPIC_CONFIG, name) in self._replaying.state.configs or name in self._orphans:
                self._orphans.pop(name, None)
                continue
            held = _configs_of(records, name)
            if held:
                found[name] = held
        return found


def _configs_of(records: Iterable[MetadataRecord], topic: str) -> dict[str, str]:
    held: dict[str, str] = {}
    for record in records:
        data: Mapping[str, Any] = record.data
        if record.api_key == CONFIG and data["ResourceType"] == TOPIC_CONFIG and data["ResourceName"] == topic:
            held.pop(data["Name"], None)
            if data["Value"] is not None:
                held[data["Name"]] = data["Value"]
    return held


def _credential(data: Mapping[str, Any]) -> ScramCredential:
    return ScramCredential(
        salt=data["Salt"], stored_key=data["StoredKey"], server_key=data["ServerKey"], iterations=data["Iterations"]
    )
