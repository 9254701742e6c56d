"""The state that a starting node builds from a log: Kafka's loader, with its differences from the controller.

The active controller applies records one by one. A node that starts reads up to 8 MiB at a time and collects each read
into one delta. Three parts of such a delta are not the sum of their records:

* SCRAM (`ScramDelta.apply`): users are changed in the order of a hash table. If removals make a mechanism empty, all
  later changes of that mechanism in the same delta are lost. Measured up to 4.4.0.
* Topic configurations (`ConfigurationsDelta.replay`): the removal of a topic removes its configurations only if they
  existed before the read; if they were created and removed within one read, they remain. Measured from 3.8.1 on, not
  in 3.7.2.
* Aborted transactions (`MetadataBatchLoader`): aborted records are discarded only if nothing follows the abort in the
  same read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kafkactl.dryrun.engine.local import LogFile, records_in, start_of
from kafkactl.frozen import frozen
from kafkactl.metadata.image.model import TOPIC_CONFIG, Image, LogRecord, ScramCredential, ScramKey
from kafkactl.metadata.log.batch_runs import walk_runs
from kafkactl.metadata.log.frame import MetadataRecord
from kafkactl.metadata.replay.reference import Replaying
from kafkactl.metadata.replay.scram import apply_in_one_go
from kafkactl.protocol.batch_scan import Damage

CONFIGS_SINCE: Final = (3, 8)
READ_BYTES: Final = 8 * 1024 * 1024  # KafkaRaftClient.MAX_FETCH_SIZE_BYTES
_TOPIC, _CONFIG, _REMOVE_TOPIC, _SCRAM, _REMOVE_SCRAM, _BEGIN, _END, _ABORT = 2, 4, 9, 11, 22, 23, 24, 25


@frozen
class Started:
    """What a node believes after it read the log. `phantoms` counts records of aborted transactions that took effect;
    `from_offset` is where the replay began: 0, or behind a checkpoint."""

    image: Image
    from_offset: int
    phantoms: int


def started(segments: Sequence[LogFile], checkpoints: Sequence[LogFile], *, keeps_configs: bool = True) -> Started:
    """The image of a node that starts from these files. Raises InputError `log-start-missing`, and what pieces raise.

    `keeps_configs` is False for a release before `CONFIGS_SINCE`.
    """
    begin = start_of(segments, checkpoints, None)
    loader = _Loader(begin.image, keeps_configs=keeps_configs)
    for position, segment in enumerate(segments):
        following = segments[position + 1].base_offset if position + 1 < len(segments) else None
        is_needed = following is None or following > begin.end_offset
        # A starting node truncates the log at the first damage, even at offsets that the checkpoint covers.
        if not (loader.read(segment, begin.end_offset) if is_needed else _is_sound(segment)):
            break
    return Started(image=loader.image(), from_offset=begin.end_offset, phantoms=loader.phantoms)


def _is_sound(segment: LogFile) -> bool:
    return not any(isinstance(run, Damage) for run in walk_runs(segment.pieces(), file=segment.name))


class _Loader:
    """One node's loader. `_pending` is the delta: the records since the last image was made."""

    def __init__(self, start: Image, *, keeps_configs: bool) -> None:
        self._replaying = Replaying(replace(start, scram={}))
        self._keeps_configs = keeps_configs
        self._scram: dict[ScramKey, ScramCredential] = dict(start.scram)
        self._orphans: dict[str, dict[str, str]] = {}
        self._pending: list[LogRecord] = []
        self._open = False  # a transaction has begun and not ended
        self._aborted: list[LogRecord] | None = None  # of the transaction whose abort was read last, still pending
        self._begun_at = 0
        self._batches = 0  # read since the last image
        self.phantoms = 0

    def read(self, segment: LogFile, from_offset: int) -> bool:
        """Whether it is sound to its end."""
        size, batch, index, is_sound = 0, -1, 0, True
        for found in records_in(segment):
            if isinstance(found, Damage):
                is_sound = False
                break
            record, header = found
            if header.last_offset < from_offset:
                continue
            if header.base_offset != batch:
                if size + header.size_bytes > READ_BYTES and size:
                    self._end_read()
                    size = 0
                self._batches += batch >= 0 and size > 0
                batch, index = header.base_offset, 0
                size += header.size_bytes
            if not header.is_control and isinstance(record.record, MetadataRecord):
                self._take(record, record.record, is_first=index == 0 and self._batches == 0)
            elif header.is_control:
                self._replaying.take(*record)
            index += 1
        self._end_read()
        return is_sound

    def image(self) -> Image:
        made = self._replaying.image()
        configs = {key: dict(held) for key, held in made.configs.items()}
        for name, held in self._orphans.items():
            if held:
                configs[TOPIC_CONFIG, name] = {**held, **configs.get((TOPIC_CONFIG, name), {})}
        return replace(made, configs=configs, scram=dict(self._scram))

    def _take(self, record: LogRecord, decoded: MetadataRecord, *, is_first: bool) -> None:
        key = decoded.api_key
        if self._aborted is not None:  # something follows the abort: its records stay
            self.phantoms += len(self._aborted)
            self._aborted = None
        if key == _BEGIN:
            if not is_first:
                self._flush()
            self._open, self._begun_at = True, len(self._pending)
        elif key == _END:
            self._open = False
        elif key == _ABORT:
            self._open, self._aborted = False, self._pending[self._begun_at :]
        else:
            self._pending.append(record)

    def _end_read(self) -> None:
        """What was read becomes an image, unless a transaction is open or was aborted last."""
        if self._aborted is not None:
            self._pending.clear()
            self._aborted = None
            self._batches = 0
        elif not self._open:
            self._flush()

    def _flush(self) -> None:
        records, self._pending, self._batches, self._begun_at = self._pending, [], 0, 0
        self._change_scram(record.record for record in records)
        orphans = self._orphaned([record.record for record in records]) if self._keeps_configs else {}
        self._take_from_orphans(record.record for record in records)
        for record in records:
            if record.record.api_key not in (_SCRAM, _REMOVE_SCRAM):
                self._replaying.take(*record)
        self._orphans |= orphans

    def _change_scram(self, records: Iterable[MetadataRecord]) -> None:
        """Users in the order of Java's hash table, mechanism by mechanism."""
        changes: dict[int, dict[str, ScramCredential | None]] = {}
        for record in records:
            if record.api_key in (_SCRAM, _REMOVE_SCRAM):
                users = changes.setdefault(record.data["Mechanism"], {})
                users[record.data["Name"]] = _credential(record.data) if record.api_key == _SCRAM else None
        for mechanism, users in changes.items():
            held = {name: credential for (kind, name), credential in self._scram.items() if kind == mechanism}
            kept = apply_in_one_go(held, users)
            self._scram = {key: credential for key, credential in self._scram.items() if key[0] != mechanism}
            self._scram |= {(mechanism, name): credential for name, credential in kept.items()}

    def _take_from_orphans(self, records: Iterable[MetadataRecord]) -> None:
        """Remove a topic's deleted settings from those left over from a removed topic of the same name."""
        for record in records:
            held = self._orphans.get(record.data["ResourceName"]) if record.api_key == _CONFIG else None
            if held is not None and record.data["ResourceType"] == TOPIC_CONFIG and record.data["Value"] is None:
                held.pop(record.data["Name"], None)

    def _orphaned(self, records: Sequence[MetadataRecord]) -> dict[str, dict[str, str]]:
        """The configurations of topics that were removed in this read and had none before it."""
        names = {record.data["TopicId"]: record.data["Name"] for record in records if record.api_key == _TOPIC}
        removed = []
        for record in records:
            if record.api_key == _REMOVE_TOPIC:
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
        if record.api_key == _CONFIG and data["ResourceType"] == TOPIC_CONFIG and data["ResourceName"] == topic:
            held.pop(data["Name"], None)
            if data["Value"] is not None:
                held[data["Name"]] = data["Value"]
    return held


def _credential(data: Mapping[str, Any]) -> ScramCredential:
    return ScramCredential(
        salt=data["Salt"], stored_key=data["StoredKey"], server_key=data["ServerKey"], iterations=data["Iterations"]
    )
