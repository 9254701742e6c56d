"""The metadata log of a fake quorum in a migration: real records in real batches, folded as the product folds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafkactl.core.values import Uuid
from kafkactl.metadata.replay.log_replay import LogReplay
from kafkactl.migration.observed.log_facts import LogFacts
from kafkactl.migration.observed.log_folding import LogFolding
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.log.batch_runs import BatchRun
from kafkactl.protocol.log.frame import MetadataRecord, encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import metadata_record

NONE, MIGRATION, PRE_MIGRATION, POST_MIGRATION = 0, 1, 2, 3
REGISTER, UNFENCE_CHANGE, NO_OP, STATE, BEGIN, END, FEATURE, REGISTER_CONTROLLER = 0, 17, 20, 21, 23, 24, 12, 27


class FakeLog:
    """Records, appended by the leader."""

    def __init__(self, now_ms: float = 1) -> None:
        self.now_ms = now_ms  # by the leader's clock
        self.end_offset = 0
        self.epoch = 0
        self._replaying = LogReplay()
        self._folding = LogFolding()
        self._facts: LogFacts | None = None

    @property
    def facts(self) -> LogFacts:
        """Return what the product makes of it."""
        if self._facts is None:
            self._facts = self._folding.facts(self._replaying.image(), high_watermark=self.end_offset)
        return self._facts

    @property
    def state(self) -> int | None:
        """Return the last ZkMigrationState."""
        return self.facts.migration_state

    def append(self, *records: tuple[int, int, Mapping[str, Any]]) -> int:
        """Append one batch of (api key, version, fields); return the offset of the first."""
        return self._add([(None, encode_record(metadata_record(key), ver, data)) for key, ver, data in records])

    def append_copied(self, records: Iterable[MetadataRecord]) -> int:
        """Append one batch of records as `copy_batches` makes them."""
        return self._add(
            [(None, encode_record(metadata_record(record.api_key), record.version, record.data)) for record in records]
        )

    def lead(self, leader: int, voters: Iterable[int]) -> None:
        """Begin a new epoch."""
        self.epoch += 1
        ids = [{"VoterId": voter} for voter in voters]
        data = {"LeaderId": leader, "Voters": ids, "GrantingVoters": ids}
        self._add([encode_control_record(ControlType.LEADER_CHANGE, data)], is_control=True)

    def bootstrap(self, level: int, state: int) -> None:
        """Write what the first leader of a young quorum writes."""
        self.append(
            (BEGIN, 0, {"Name": "Bootstrap records"}),
            (FEATURE, 0, {"Name": "metadata.version", "FeatureLevel": level}),
            (STATE, 0, {"ZkMigrationState": state}),
            (END, 0, {}),
        )

    def register_controller(self, id: int, *, ready: bool) -> None:
        """Register a controller (KIP-919)."""
        fields = {"ControllerId": id, "IncarnationId": Uuid(bytes(14) + id.to_bytes(2, "big")),
                  "ZkMigrationReady": ready, "EndPoints": [], "Features": _ranges(1, 21)}  # fmt: skip
        self.append((REGISTER_CONTROLLER, 0, fields))

    def register_broker(self, id: int, *, migrating: bool, levels: tuple[int, int], incarnation: int) -> None:
        """Register a broker, then unfence it at once."""
        epoch = self.end_offset
        listener = {"Name": "PLAINTEXT", "Host": "127.0.0.1", "Port": 9090 + id, "SecurityProtocol": 0}
        fields = {"BrokerId": id, "IsMigratingZkBroker": migrating, "BrokerEpoch": epoch, "Fenced": True, "Rack": None,
                  "IncarnationId": Uuid(bytes([id]) + bytes(13) + incarnation.to_bytes(2, "big")),
                  "EndPoints": [listener], "Features": _ranges(*levels)}  # fmt: skip
        self.append((REGISTER, 3, fields))
        self.append((UNFENCE_CHANGE, 1, {"BrokerId": id, "BrokerEpoch": epoch, "Fenced": -1}))

    def no_ops(self, count: int) -> None:
        """Append the no-ops that a leader writes twice a second."""
        self.append(*[(NO_OP, 0, {})] * count)

    def _add(self, records: list[tuple[bytes | None, bytes | None]], *, is_control: bool = False) -> int:
        batch = encode_batch(
            records, base_offset=self.end_offset, timestamp_ms=int(self.now_ms), partition_leader_epoch=self.epoch,
            is_control=is_control,
        )  # fmt: skip
        first, self.end_offset = self.end_offset, self.end_offset + len(records)
        self._replaying.take_run(batch, [0], 0)
        self._folding.take_run(BatchRun(batch, 0, [0]))
        self._facts = None
        return first


def _ranges(low: int, high: int) -> list[dict[str, Any]]:
    return [{"Name": "metadata.version", "MinSupportedVersion": low, "MaxSupportedVersion": high}]
