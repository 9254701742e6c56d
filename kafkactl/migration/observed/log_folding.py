"""The fold that makes `LogFacts` of a metadata log: batch by batch, at little more than the cost of reading it.

No-ops and partition changes, which are nearly all of a log, are passed over undecoded. What cannot be read is passed
over too: the replay that makes the image reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from kafkactl.core.errors import DecodeError
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_names import TRANSACTION_NAME, ZkMigrationState
from kafkactl.metadata.image.model import FeatureRange, Image, Listener, LogRecord
from kafkactl.migration.observed.log_facts import (
    AbortedCopy,
    ControllerSeen,
    LeaderChange,
    LogFacts,
    RegistrationEvent,
    RegistrationSeen,
    ScramRemoval,
)
from kafkactl.protocol.codec import Message
from kafkactl.protocol.compiled_runtime import IrregularError
from kafkactl.protocol.control_records import ControlRecord, ControlType, decode_control_record
from kafkactl.protocol.log.batch_runs import BATCH_HEAD, UNUSUAL_BITS, BatchRun
from kafkactl.protocol.log.frame import FRAME_VERSION, MetadataRecord, decode_record
from kafkactl.protocol.plain_records import Span, plain_spans
from kafkactl.protocol.record_batch import HEADER_BYTES, LENGTH_END, decode_header, decode_records

_REGISTER, _UNREGISTER, _PARTITION_CHANGE, _FENCE, _UNFENCE, _CHANGE = 0, 1, 5, 7, 8, 17
_NO_OP, _ZK_STATE, _REMOVE_SCRAM, _BEGIN, _END, _ABORT = 20, 21, 22, 23, 24, 25
# A batch's one record, as a controller writes it twice a second: without a key, headers or deltas, a frame for a value.
_NO_OP_RECORD: Final = bytes([20, 0, 0, 0, 1, 8, FRAME_VERSION, _NO_OP, 0, 0, 0])
_REGISTER_CONTROLLER, _UNREGISTER_CONTROLLER, _FEATURE_LEVEL = 27, 29, 12
_PASSED_OVER: Final = frozenset({_PARTITION_CHANGE, _NO_OP})
_OF_NODES: Final = frozenset(
    {_REGISTER, _UNREGISTER, _FENCE, _UNFENCE, _CHANGE, _REGISTER_CONTROLLER, _UNREGISTER_CONTROLLER}
)
# What a copy below metadata.version 3.6-IV1, which has no transaction, is made of; everything else is of the nodes.
_NOT_COPIED: Final = _OF_NODES | {_FEATURE_LEVEL, _BEGIN, _END, _ABORT}


@dataclass(slots=True)
class _Transaction:
    begin: int
    name: str | None
    records: list[LogRecord] = field(default_factory=list)


class LogFolding:
    """Fold of a snapshot, then of the batches of a log in their order; `facts` is the result."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._base = self._end = 0
        self._epoch = -1
        self._changed: int | None = None
        self._snapshot_end: int | None = None
        self._states: list[tuple[int, int]] = []
        self._transaction: _Transaction | None = None
        self._copy: list[LogRecord] = []
        self._copy_begin: int | None = None
        self._copy_end: int | None = None
        self._aborted: list[AbortedCopy] = []
        self._brokers: dict[int, RegistrationSeen] = {}
        self._events: list[RegistrationEvent] = []
        self._controllers: dict[int, ControllerSeen] = {}
        self._leaders: list[LeaderChange] = []
        self._scram: list[ScramRemoval] = []
        self._since_copy: list[LogRecord] = []

    def take_snapshot(self, runs: Iterable[BatchRun], *, end_offset: int, epoch: int) -> None:
        """Apply the records of a snapshot, before those of the log.

        The snapshot replaces everything below `end_offset`.
        """
        for run in runs:
            for at in run.positions:
                for entry in _careful(run.data, at, run.base):
                    if isinstance(entry.record, MetadataRecord):
                        self._apply(
                            LogRecord(end_offset - 1, epoch, entry.timestamp_ms, entry.record), in_snapshot=True
                        )
        self._base = end_offset
        self.note_snapshot(end_offset=end_offset, epoch=epoch)

    def take_run(self, run: BatchRun) -> None:
        """Take the batches of a segment; what the snapshot replaces is not taken twice."""
        for at in run.positions:
            offset, _, epoch, _, delta, *_ = BATCH_HEAD.unpack_from(run.data, at)
            if offset + delta >= self._base:
                for entry in _interesting(run.data, at, run.base):
                    self._take(entry)
                if not _is_no_op(run.data, at):
                    self._changed = offset + delta
            self._first = offset if self._first is None else self._first
            self._end, self._epoch = max(self._end, offset + delta + 1), max(self._epoch, epoch)

    def note_snapshot(self, *, end_offset: int, epoch: int) -> None:
        """Record a snapshot next to the log that need not be read."""
        self._snapshot_end = max(self._snapshot_end or 0, end_offset)
        self._end, self._epoch = max(self._end, end_offset), max(self._epoch, epoch)

    def facts(
        self,
        image: Image,
        *,
        last_ms: int | None = None,
        high_watermark: int | None = None,
        findings: Sequence[Finding] = (),
    ) -> LogFacts:
        """Return the facts of the log.

        `image` is the state that results from the same log, `last_ms` the time of its last record.
        """
        snapshot_end = self._snapshot_end
        begin, end, copy = self._copy_begin, self._copy_end, self._copy
        if self._transaction is not None and self._transaction.name == TRANSACTION_NAME:
            begin, end, copy = self._transaction.begin, None, self._transaction.records
        return LogFacts(
            image=image,
            first_offset=self._first,
            last_offset=self._end - 1 if self._end else None,
            end_offset=self._end,
            epoch=self._epoch,
            high_watermark=high_watermark,
            snapshot_end_offset=snapshot_end,
            last_ms=last_ms,
            last_change_offset=self._base - 1 if self._changed is None and self._base else self._changed,
            migration_states=tuple(self._states),
            copy_begin=begin,
            copy_end=end,
            copy_records=tuple(entry.record for entry in copy),
            aborted_copies=tuple(self._aborted),
            registrations=dict(sorted(self._brokers.items())),
            registration_events=tuple(self._events),
            controllers=dict(sorted(self._controllers.items())),
            leader_changes=tuple(self._leaders),
            scram_removed_since_snapshot=tuple(
                removal for removal in self._scram if removal.offset >= (snapshot_end or 0)
            ),
            since_copy=tuple(self._since_copy),
            findings=tuple(findings),
        )

    def _take(self, entry: LogRecord) -> None:
        record = entry.record
        if isinstance(record, ControlRecord):
            if record.type is ControlType.LEADER_CHANGE:
                leader_id = record.data["LeaderId"]
                self._leaders.append(
                    LeaderChange(offset=entry.offset, epoch=entry.epoch, leader_id=leader_id, at_ms=entry.timestamp_ms)
                )
        elif record.api_key == _BEGIN:
            if self._transaction is None:  # Kafka has no transaction inside of another
                self._transaction = _Transaction(entry.offset, record.data["Name"])
        elif record.api_key in (_END, _ABORT):
            self._close(entry)
        elif self._transaction is not None:
            self._transaction.records.append(entry)
        else:
            self._collect(entry)
            self._apply(entry)

    def _close(self, entry: LogRecord) -> None:
        """Handle EndTransactionRecord or AbortTransactionRecord; an earlier copy is then gone from the log."""
        closed, self._transaction = self._transaction, None
        if closed is None:
            return
        is_copy = closed.name == TRANSACTION_NAME
        if entry.record.api_key == _ABORT:
            if is_copy:
                reason, records = entry.record.data["Reason"], len(closed.records)
                self._aborted.append(
                    AbortedCopy(begin=closed.begin, abort=entry.offset, records=records, reason=reason)
                )
            return
        if is_copy:
            self._copy_begin, self._copy_end, self._copy = closed.begin, entry.offset, closed.records
        for record in closed.records:
            self._apply(record)

    def _collect(self, entry: LogRecord) -> None:
        """Collect records outside of a transaction: of a copy without one, or what was changed since the copy."""
        state, kind = self._states[-1][1] if self._states else None, entry.record.api_key
        if state == ZkMigrationState.MIGRATION:
            if kind not in _OF_NODES:
                self._since_copy.append(entry)
        elif state == ZkMigrationState.PRE_MIGRATION and kind not in _NOT_COPIED:
            self._copy_begin = entry.offset if self._copy_begin is None else self._copy_begin
            self._copy.append(entry)
            if kind == _ZK_STATE and entry.record.data["ZkMigrationState"] == ZkMigrationState.MIGRATION:
                self._copy_end = entry.offset

    def _apply(self, entry: LogRecord, *, in_snapshot: bool = False) -> None:
        rule = _RULES.get(entry.record.api_key)
        if rule is not None:
            rule(self, entry, in_snapshot)

    def _register(self, entry: LogRecord, in_snapshot: bool) -> None:
        data: Message = entry.record.data
        id, epoch, migrating = data["BrokerId"], data["BrokerEpoch"], data["IsMigratingZkBroker"]
        before = self._brokers.get(id)
        offset = epoch if in_snapshot else entry.offset
        self._brokers[id] = RegistrationSeen(
            id=id,
            offset=offset,
            epoch=epoch,
            migrating=migrating,
            fenced=data["Fenced"],
            in_controlled_shutdown=data["InControlledShutdown"],
            incarnation_id=data["IncarnationId"],
            endpoints=_listeners(data),
            features=_features(data),
            directories=tuple(data["LogDirs"]),
            rack=data["Rack"],
            ever_migrating=migrating or (before is not None and before.ever_migrating),
            endpoints_before_kraft=_listeners(data)
            if migrating
            else ()
            if before is None
            else before.endpoints_before_kraft,
        )
        self._tell("register", offset, id, epoch, migrating, at_ms=entry.timestamp_ms)

    def _unregister(self, entry: LogRecord, _: bool) -> None:
        id = entry.record.data["BrokerId"]
        self._brokers.pop(id, None)
        self._tell("unregister", entry.offset, id, entry.record.data["BrokerEpoch"], at_ms=entry.timestamp_ms)

    def _fence(self, entry: LogRecord, _: bool) -> None:
        self._set_fenced(entry, entry.record.data["Id"], entry.record.data["Epoch"], entry.record.api_key == _FENCE)

    def _change(self, entry: LogRecord, _: bool) -> None:
        """Apply a BrokerRegistrationChangeRecord: 1 fences, -1 unfences; 0, an empty list and null change nothing."""
        data = entry.record.data
        id = data["BrokerId"]
        held = self._brokers.get(id)
        if held is not None and held.epoch == data["BrokerEpoch"]:
            leaving = data["InControlledShutdown"] == 1 or held.in_controlled_shutdown
            directories = tuple(data["LogDirs"]) or held.directories
            self._brokers[id] = changed(held, in_controlled_shutdown=leaving, directories=directories)
        if data["Fenced"]:
            self._set_fenced(entry, id, data["BrokerEpoch"], data["Fenced"] > 0)

    def _set_fenced(self, entry: LogRecord, id: int, epoch: int, fenced: bool) -> None:
        held = self._brokers.get(id)
        if held is not None and held.epoch == epoch:
            self._brokers[id] = changed(held, fenced=fenced)
        self._tell("fence" if fenced else "unfence", entry.offset, id, epoch, at_ms=entry.timestamp_ms)

    def _tell(self, what: str, offset: int, id: int, epoch: int, migrating: bool | None = None, *, at_ms: int) -> None:
        self._events.append(
            RegistrationEvent(offset=offset, id=id, what=what, epoch=epoch, migrating=migrating, at_ms=at_ms)
        )

    def _register_controller(self, entry: LogRecord, _: bool) -> None:
        data = entry.record.data
        self._controllers[data["ControllerId"]] = ControllerSeen(
            id=data["ControllerId"],
            offset=entry.offset,
            zk_migration_ready=data["ZkMigrationReady"],
            incarnation_id=data["IncarnationId"],
            endpoints=_listeners(data),
            features=_features(data),
        )

    def _unregister_controller(self, entry: LogRecord, _: bool) -> None:
        self._controllers.pop(entry.record.data["ControllerId"], None)

    def _set_state(self, entry: LogRecord, _: bool) -> None:
        self._states.append((entry.offset, entry.record.data["ZkMigrationState"]))

    def _remove_scram(self, entry: LogRecord, _: bool) -> None:
        data = entry.record.data
        self._scram.append(ScramRemoval(offset=entry.offset, mechanism=data["Mechanism"], user=data["Name"]))


_RULES: Final[dict[int, Callable[[LogFolding, LogRecord, bool], None]]] = {
    _REGISTER: LogFolding._register,
    _UNREGISTER: LogFolding._unregister,
    _FENCE: LogFolding._fence,
    _UNFENCE: LogFolding._fence,
    _CHANGE: LogFolding._change,
    _ZK_STATE: LogFolding._set_state,
    _REMOVE_SCRAM: LogFolding._remove_scram,
    _REGISTER_CONTROLLER: LogFolding._register_controller,
    _UNREGISTER_CONTROLLER: LogFolding._unregister_controller,
}


def _listeners(data: Message) -> tuple[Listener, ...]:
    return tuple(
        Listener(
            name=listener["Name"],
            host=listener["Host"],
            port=listener["Port"],
            security_protocol=listener["SecurityProtocol"],
        )
        for listener in data["EndPoints"]
    )


def _features(data: Message) -> dict[str, FeatureRange]:
    return {
        feature["Name"]: FeatureRange(feature["MinSupportedVersion"], feature["MaxSupportedVersion"])
        for feature in data["Features"]
    }


def _interesting(data: bytes, at: int, base: int) -> Iterator[LogRecord]:
    """Yield the records of a batch but those that are ignored and those that cannot be read."""
    offset, length, epoch, attributes, delta, timestamp, _, count = BATCH_HEAD.unpack_from(data, at)
    spans: Sequence[Span] = ()
    if not attributes & UNUSUAL_BITS and delta == count - 1:
        with suppress(IrregularError):
            spans = plain_spans(data, at + HEADER_BYTES, at + LENGTH_END + length, count)
    if not spans:
        yield from _careful(data, at, base)
        return
    for number, start, stop in spans:
        if data[start] != FRAME_VERSION or data[start + 1] not in _PASSED_OVER:
            record = _data_record(data[start:stop])
            if record is not None:
                yield LogRecord(offset + number, epoch, timestamp, record)


def _is_no_op(data: bytes, at: int) -> bool:
    """Return True if a batch has nothing but a no-op."""
    _, _, _, attributes, delta, *_ = BATCH_HEAD.unpack_from(data, at)
    return delta == 0 and not attributes & UNUSUAL_BITS and data.startswith(_NO_OP_RECORD, at + HEADER_BYTES)


def _careful(data: bytes, at: int, base: int) -> Iterator[LogRecord]:
    """Yield the records of a batch of any kind, by the codecs."""
    try:
        header = decode_header(data, at, base=base)
        records = decode_records(data, header, base=base)
    except DecodeError:
        return
    for entry in records:
        found: MetadataRecord | ControlRecord | None
        if header.is_control:
            found = _control_record(entry.key, entry.value)
        else:
            found = None if entry.key is not None or entry.value is None else _data_record(entry.value)
        if found is not None:
            yield LogRecord(entry.offset, header.partition_leader_epoch, entry.timestamp_ms, found)


def _data_record(value: bytes) -> MetadataRecord | None:
    try:
        record = decode_record(value)
    except DecodeError:
        return None
    return None if record.api_key in _PASSED_OVER else record


def _control_record(key: bytes | None, value: bytes | None) -> ControlRecord | None:
    try:
        return decode_control_record(key, value)
    except DecodeError:
        return None
