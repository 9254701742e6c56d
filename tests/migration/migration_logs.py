"""Metadata logs of a migration, batch by batch, as bytes of a segment."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kafkactl.core.values import Uuid
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.log.frame import MetadataRecord, encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message

TIME_MS = 1_790_000_000_000
_ENCODED: dict[str, bytes] = {}
"""Encoded records: simulated clusters write their logs again for each observation."""
PLAIN = {"Name": "PLAINTEXT", "Host": "localhost", "Port": 9092, "SecurityProtocol": 0}


def record(type_: str, version: int | None = None, **data: Any) -> tuple[str, int | None, dict[str, Any]]:
    """Return a record of a type, in its newest version below 4.0's unless one is given."""
    return type_, version, data


def framed(given: tuple[str, int | None, dict[str, Any]] | MetadataRecord) -> bytes:
    if isinstance(given, MetadataRecord):
        return encode_record(message(given.type), given.version, given.data)
    type_, version, data = given
    key = f"{type_} {version} {data}"
    if key not in _ENCODED:
        spec = message(type_)
        _ENCODED[key] = encode_record(spec, spec.valid_versions.highest if version is None else version, data)
    return _ENCODED[key]


class LogWriter:
    """Appends batches and knows the next offset."""

    def __init__(self, first_offset: int = 0, epoch: int = 1) -> None:
        self.data = b""
        self.offset = first_offset
        self.epoch = epoch
        self._first = first_offset

    def batch(self, *records: Any) -> int:
        """Append one batch; return the offset of its first record."""
        values = [(None, framed(entry)) for entry in records]
        return self._append(values, is_control=False)

    def leader(self, leader_id: int, *, epoch: int | None = None) -> int:
        """Return a LeaderChange, in the next epoch if one is given."""
        self.epoch = self.epoch if epoch is None else epoch
        data = {"LeaderId": leader_id, "Voters": [{"VoterId": leader_id}], "GrantingVoters": []}
        return self._append([encode_control_record(ControlType.LEADER_CHANGE, data)], is_control=True)

    def _append(self, values: Any, *, is_control: bool) -> int:
        at = self.offset
        self.data += encode_batch(
            values, base_offset=at, timestamp_ms=TIME_MS, partition_leader_epoch=self.epoch, is_control=is_control
        )
        self.offset += len(values)
        return at

    def write(self, folder: Path) -> Path:
        """Write the log as the only segment of a __cluster_metadata-0 below this folder."""
        place = folder / "__cluster_metadata-0"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{self._first:020}.log").write_bytes(self.data)
        return place


def bootstrap(log: LogWriter, *, level: int = 20, controllers: Iterable[int] = (3001,), state: int = 2) -> None:
    """Write what a fresh quorum writes first (zk-migration-measured 1.2, M3)."""
    log.leader(3001)
    log.batch(
        record("BeginTransactionRecord", Name="Bootstrap records"),
        record("FeatureLevelRecord", Name="metadata.version", FeatureLevel=level),
        record("ZkMigrationStateRecord", ZkMigrationState=state),
        record("EndTransactionRecord"),
    )
    for id in controllers:
        log.batch(controller(id))


def controller(id: int, *, ready: bool = True) -> Any:
    return record("RegisterControllerRecord", ControllerId=id, IncarnationId=uuid(id), ZkMigrationReady=ready,
                  EndPoints=[PLAIN], Features=[])  # fmt: skip


def broker(log: LogWriter, id: int, *, migrating: bool = True) -> int:
    """Return a registration; its offset, which is its broker epoch."""
    return log.batch(
        record(
            "RegisterBrokerRecord",
            3,
            BrokerId=id,
            BrokerEpoch=log.offset,
            IsMigratingZkBroker=migrating,
            IncarnationId=uuid(id),
            EndPoints=[PLAIN],
            Features=[],
            LogDirs=[uuid(100 + id)],
            Rack=None,
        )
    )


def unfence(log: LogWriter, id: int, epoch: int, *, fenced: int = -1) -> int:
    return log.batch(record("BrokerRegistrationChangeRecord", 2, BrokerId=id, BrokerEpoch=epoch, Fenced=fenced))


def copy(log: LogWriter, batches: Iterable[Iterable[MetadataRecord]]) -> tuple[int, int]:
    """Return the batches of `copy_batches`, a no-op between any two; offsets of begin and end."""
    begin = log.offset
    for batch in batches:
        log.batch(*batch)
        log.batch(record("NoOpRecord"))
    return begin, log.offset - 2


def uuid(number: int) -> Uuid:
    return Uuid((number + 1000).to_bytes(16, "big"))
