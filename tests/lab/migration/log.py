"""The records of a metadata log on disk, and those of the copy in it, by batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.metadata.io.source import open_source
from kafkactl.protocol.log.batch_runs import BatchRun, walk_runs
from kafkactl.protocol.log.frame import MetadataRecord, decode_record
from kafkactl.protocol.record_batch import decode_header, decode_records

NAME = "ZK Migration"
# Nodes may register while the copy is under way, and then stand between its begin and end.
NOT_COPIED = ("NoOpRecord", "RegisterBrokerRecord", "BrokerRegistrationChangeRecord", "RegisterControllerRecord")

COPIED = (
    "TopicRecord", "PartitionRecord", "ConfigRecord", "UserScramCredentialRecord", "ClientQuotaRecord",
    "ProducerIdsRecord", "AccessControlEntryRecord", "DelegationTokenRecord", "ZkMigrationStateRecord",
)  # fmt: skip


def batches(log: Path) -> Iterator[tuple[int, tuple[MetadataRecord, ...]]]:
    """Return first offset and records of each data batch of the segments; nothing if there is no log yet."""
    if not log.is_dir():
        return
    for file in open_source(str(log)).segments:
        for run in walk_runs(file.pieces(), file=file.name):
            for position in run.positions if isinstance(run, BatchRun) else ():
                header = decode_header(run.data, position)
                if not header.is_control:
                    found = decode_records(run.data, header)
                    yield header.base_offset, tuple(decode_record(record.value or b"") for record in found)


def records(log: Path) -> Iterator[tuple[int, MetadataRecord]]:
    """Return offset and record of everything in the segments."""
    for first, found in batches(log):
        for delta, record in enumerate(found):
            yield first + delta, record


def copied_batches(log: Path) -> list[tuple[MetadataRecord, ...]]:
    """Return the batches of the last copy, from the one with BeginTransaction to the one with EndTransaction, nothing
    else.

    Below metadata.version 3.6-IV1 there are no transactions: up to the ZkMigrationState that says that it is done.
    """
    found: list[tuple[MetadataRecord, ...]] = []
    bare: list[tuple[MetadataRecord, ...]] = []
    inside = begun = False
    for _, batch in batches(log):
        if any(record.type == "BeginTransactionRecord" and record.data["Name"] == NAME for record in batch):
            found, inside, begun = [], True, True
        kept = tuple(record for record in batch if record.type not in NOT_COPIED)
        if inside and kept:
            found.append(kept)
        inside = inside and not any(record.type == "EndTransactionRecord" for record in batch)
        if kept and not (bare and _is_done(bare[-1])) and all(_is_copied(record) for record in kept):
            bare.append(kept)
    return found if begun else bare


def _is_copied(record: MetadataRecord) -> bool:
    return (
        record.type in COPIED
        and record.data.get("ZkMigrationState", ZkMigrationState.MIGRATION) == ZkMigrationState.MIGRATION
    )


def _is_done(batch: tuple[MetadataRecord, ...]) -> bool:
    return any(record.type == "ZkMigrationStateRecord" for record in batch)
