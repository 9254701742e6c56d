"""The changes that a metadata log holds as rows: a replay that compares each value before and after a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafkactl.core.safe_text import json_text
from kafkactl.dryrun.engine.local import decoded_records
from kafkactl.metadata.image.model import (
    EMPTY,
    ISR_AT,
    LEADER_AT,
    REPLICAS_AT,
    TOPIC_CONFIG,
    ConfigKey,
    Image,
    LogRecord,
)
from kafkactl.metadata.image.nodes import node_json
from kafkactl.metadata.io.image import history_files
from kafkactl.metadata.io.source import CHECKPOINT, LogFile, LogSource
from kafkactl.metadata.log.keys import RESOURCE_WORDS
from kafkactl.metadata.replay.reference import Replaying
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.redact import redacted_configs

Row = tuple[Any, ...]
_PARTITION_VALUES: Final = (("leader", LEADER_AT), ("isr", ISR_AT), ("replicas", REPLICAS_AT))
_NODE_RECORDS: Final[Mapping[str, tuple[str, str]]] = {
    "RegisterBrokerRecord": ("broker", "BrokerId"),
    "UnregisterBrokerRecord": ("broker", "BrokerId"),
    "BrokerRegistrationChangeRecord": ("broker", "BrokerId"),
    "FenceBrokerRecord": ("broker", "Id"),
    "UnfenceBrokerRecord": ("broker", "Id"),
    "RegisterControllerRecord": ("controller", "ControllerId"),
    "UnregisterControllerRecord": ("controller", "ControllerId"),
}


def change_rows(
    source: LogSource, *, topic: str | None = None, since_ms: int | None = None, to_offset: int | None = None
) -> Iterator[Row]:
    """Return offset, epoch, time in ms, what, subject, topic, partition, key, before and after of each change that was
    applied, up to the first damage or the record at `to_offset`.

    A log that does not begin at offset 0 begins with its snapshot, which is not a change. Raises what reading raises.
    """
    watched = _Watched(EMPTY)
    first = 0
    for file in history_files(source):
        if file.kind == CHECKPOINT:
            watched, first = _Watched(_snapshot(file)), file.base_offset or 0
            continue
        for record in _records(file):
            if record is None or (to_offset is not None and record.offset > to_offset):
                return
            if record.offset < first:
                continue
            watched.take(*record)
            if watched.rows:
                for row in watched.rows:
                    if (topic is None or row[5] == topic) and (since_ms is None or row[2] >= since_ms):
                        yield row
                watched.rows.clear()


def has_metadata(source: LogSource) -> bool:
    """Return True if a metadata record can be read, at once when the first one is found."""
    records = (record for file in history_files(source) for record in _records(file))
    return any(record is not None and isinstance(record.record, MetadataRecord) for record in records)


def _records(file: LogFile) -> Iterator[LogRecord | None]:
    """Return the records of a file, and None if it is damaged."""
    for run in walk_runs(file.pieces(), file=file.name):
        if isinstance(run, Damage):
            yield None
            return
        for position in run.positions:
            for record, _ in decoded_records(run.data, position, run.base, file.name):
                yield record


def _snapshot(file: LogFile) -> Image:
    replaying = Replaying(snapshot=True)
    for record in _records(file):
        if record is None:
            break
        replaying.take(*record)
    return replaying.image()


class _Watched(Replaying):
    """A replay that collects what each record changed in `rows`."""

    def __init__(self, start: Image) -> None:
        super().__init__(start)
        self.rows: list[Row] = []
        self._places: dict[int, tuple[int, int]] = {}  # epoch and time of the records of the open transaction

    def take(self, offset: int, epoch: int, timestamp_ms: int, record: Any) -> None:
        """Apply the next record."""
        self._places[offset] = epoch, timestamp_ms
        super().take(offset, epoch, timestamp_ms, record)
        if self.transaction is None:
            self._places.clear()

    def _apply(self, offset: int, record: MetadataRecord) -> None:
        before = self._values(record)
        super()._apply(offset, record)
        after = self._values(record)
        epoch, time_ms = self._places.get(offset, (-1, -1))
        for name, (value, shown) in before.items():
            later, later_shown = after.get(name, (None, None))
            if value != later and not _is_part_of_new_or_gone(name, value, later):
                self.rows.append((offset, epoch, time_ms, *name, _json(shown), _json(later_shown)))
        for name, (value, shown) in after.items():
            if name not in before and not _is_part_of_new_or_gone(name, None, value):
                self.rows.append((offset, epoch, time_ms, *name, None, _json(shown)))

    def _values(self, record: MetadataRecord) -> dict[Row, tuple[Any, Any]]:
        """Return the values that a record can change, with what is shown of each, by the columns that name them."""
        data, state = record.data, self.state
        found: dict[Row, tuple[Any, Any]] = {}
        if record.type in ("PartitionRecord", "PartitionChangeRecord"):
            found = self._partition(data["TopicId"].raw, data["PartitionId"])
        elif record.type == "ConfigRecord":
            found = self._configs((data["ResourceType"], data["ResourceName"]), data["Name"])
        elif record.type == "RemoveTopicRecord" and data["TopicId"].raw in state.topics:
            found = self._configs((TOPIC_CONFIG, state.topics[data["TopicId"].raw].name), None)
        elif record.type == "FeatureLevelRecord" and data["Name"] in state.features:
            level = state.features[data["Name"]]
            found[("level", data["Name"], None, None, data["Name"])] = level, level
        elif record.type in _NODE_RECORDS:
            word, field = _NODE_RECORDS[record.type]
            nodes: Mapping[int, Any] = state.brokers if word == "broker" else state.controllers
            found = _registration(word, nodes.get(data[field]))
        return found

    def _partition(self, topic_id: bytes, number: int) -> dict[Row, tuple[Any, Any]]:
        topic = self.state.topics.get(topic_id)
        held = None if topic is None else topic.partitions.get(number)
        if topic is None or held is None:
            return {}
        subject = f"{topic.name}-{number}"
        return {(what, subject, topic.name, number, None): (held[at], held[at]) for what, at in _PARTITION_VALUES}

    def _configs(self, key: ConfigKey, name: str | None) -> dict[Row, tuple[Any, Any]]:
        kind, resource = key
        held = self.state.configs.get(key, {})
        shown = redacted_configs(kind, {setting: held[setting] for setting in held if name in (None, setting)})
        subject = f"{RESOURCE_WORDS.get(kind, str(kind))}:{resource}"
        topic = resource if kind == TOPIC_CONFIG else None
        return {("config", subject, topic, None, setting): (held[setting], value) for setting, value in shown.items()}


def _registration(word: str, node: Any) -> dict[Row, tuple[Any, Any]]:
    if node is None:
        return {}
    return {("registration", f"{word} {node.id}", None, None, None): (node, node_json(node))}


def _is_part_of_new_or_gone(name: Row, before: Any, after: Any) -> bool:
    """Return True for a value of a partition that is created or removed."""
    return name[0] in ("leader", "isr", "replicas") and (before is None or after is None)


def _json(value: Any) -> str | None:
    return None if value is None else json_text(value, compact=True)
