"""Shapes of generated metadata logs, and the figures expected of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Figures of a log. `records` is reached and then gone past by at most one operation."""

    records: int = 10_000
    partitions: int = 1_000
    brokers: int = 6
    controllers: int = 3
    partitions_of_topic: int = 20
    replicas: int = 3
    seed: int = 1
    epochs: int = 4
    elr: bool = True
    segment_bytes: int = 1 << 30
    batch_records: int = 40  # of churn; at most twice that: changes that a partition cannot have are left out
    configured_percent: int = 30  # of topics with a config
    no_op_permille: int = 0  # of all records: a controller writes one every half second, in a batch of its own
    first_offset: int = 0
    transaction_percent: int = 10  # of the operations that are rare, which are 7 in 100
    settings_percent: int = (
        0  # of the operations that are configs, ACLs, SCRAM users, quotas, and blocks of producer ids
    )
    is_diverse: bool = False  # replica lists are any ordered choice of brokers, and ISRs are in no order


@dataclass
class Expected:
    """The state at the end: counts, and digests of what is too long to write down.

    `bodies` are the different texts behind the ids of PartitionChangeRecords, `lists` the different lists of brokers
    that partitions were given as replicas or ISR.
    """

    records: int = 0
    batches: int = 0
    bytes: int = 0
    brokers: int = 0
    bodies: int = 0
    lists: int = 0
    transactions: int = 0
    aborted: int = 0
    last_offset: int = -1
    last_epoch: int = 0
    by_type: dict[str, int] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)


def reference_shape(records: int, partitions: int, **more: int) -> Shape:
    """Return the shape on which the goals in ratios to the CRC pass were set: at 200,000 partitions 10.9 records a
    batch and 65 bytes a record in a log of a million records, 11.1 and 51 in one of ten; one in forty is a NoOpRecord
    in its own batch.

    What a CRC pass costs depends on how many batches there are, so that a ratio means nothing without this.
    """
    epochs = max(6, records // 100_000)
    batch_records = 31 if records <= 5 * partitions else 35  # creations are larger, and few in a long log
    return Shape(
        records=records,
        partitions=partitions,
        brokers=30,
        epochs=epochs,
        batch_records=batch_records,
        configured_percent=67,
        no_op_permille=25,
        **more,
    )


def diverse_shape(records: int, partitions: int, **more: int) -> Shape:
    """Return a log of a larger cluster whose controller places replicas at random: few partitions have the same lists.

    At a million records and 150,000 partitions: 60 brokers, some 8,000 topics, 87,000 batches, 63 MB, some 120
    transactions of which a third are aborted, 250,000 different bodies among the changes of partitions.
    """
    epochs = max(6, records // 100_000)
    return Shape(
        records=records,
        partitions=partitions,
        brokers=60,
        partitions_of_topic=19,
        epochs=epochs,
        batch_records=32,
        configured_percent=67,
        no_op_permille=25,
        transaction_percent=3,
        is_diverse=True,
        **more,
    )


def described(log: Expected) -> str:
    """Return what a log is like, for the text of a proof: ratios to a pass over its batches depend on their number."""
    named = {"PartitionChangeRecord": "changes of partitions", "PartitionRecord": "partitions", "NoOpRecord": "no-ops"}
    mix = ", ".join(f"{100 * log.by_type.get(name, 0) / log.records:.1f} % {what}" for name, what in named.items())
    return (
        f"{log.records:,} records in {log.batches:,} batches, {log.records / log.batches:.1f} a batch,"
        f" {log.bytes / log.records:.0f} bytes a record, {log.bytes / 1e6:.0f} MB ({mix}), {log.brokers} brokers,"
        f" {log.lists:,} different lists of brokers, {log.bodies:,} different bodies of changes of partitions,"
        f" {log.transactions} transactions of which {log.aborted} are aborted"
    )
