"""Rules of each release for its copy from ZooKeeper: schemas/features/copy_rules.toml as values."""

from __future__ import annotations

import functools

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, blocker
from kafkactl.core.frozen import frozen
from kafkactl.migration.observed.release_rules import numbers_of
from kafkactl.protocol.catalog.releases import KafkaVersion, newest_with_zookeeper
from kafkactl.protocol.schema.release_table import ReleaseTable, Version, read_release_table


@frozen
class CopyRules:
    """Rules by which one release copies; `since` is the first patch with these rules.

    tokens: delegation tokens are carried over.
    skips_pending_deletions: topics in /admin/delete_topics are left out; before, they come to life again.
    plain_names: names of users and clients are taken out of their escapes, and the default quota is one; before,
    `bob%40x.com` becomes a user of that name, and the default quota one of the client "".
    default_broker_config: the default of all brokers is carried over; before, the copy fails on it.
    next_producer_id: the next producer id is after the last block; before, at its start, so ids are given twice
    (KAFKA-15552).
    min_batch_size: small batches are joined until they have so many records; 0: each stays alone.
    """

    since: KafkaVersion
    tokens: bool
    skips_pending_deletions: bool
    plain_names: bool
    default_broker_config: bool
    next_producer_id: bool
    min_batch_size: int


def copy_rules(version: KafkaVersion) -> CopyRules:
    """Return the rules of a release; of its newest patch if none is named.

    Raises InputError `migration-release-unknown` for one that cannot copy, or whose copy is not in the table.
    """
    last = newest_with_zookeeper()
    first, numbers = _table().rows[0].since, numbers_of(version)
    if numbers < first or numbers[:2] > last.numbers[:2]:
        raise InputError(
            f"what Kafka {version} would copy from ZooKeeper is not known; {first[0]}.{first[1]} to {last.name} are",
            id="migration-release-unknown",
        )
    return _rules_at(numbers)


def rules_seen(version: KafkaVersion) -> tuple[CopyRules, tuple[Finding, ...]]:
    """Return the rules of the release that nodes run.

    If its copy is not listed, return those of the nearest release and a finding: predictions by these rules are
    uncertain.
    """
    try:
        return copy_rules(version), ()
    except InputError as error:
        row = _rules_at(numbers_of(version))  # the newest row for a later release, the oldest for an earlier one
        text = f"{error.message}; the numbers are those of {row.since}"
        return row, (blocker("migration-release-unknown", f"Kafka {version}", text, error.advice),)


def _rules_at(version: Version) -> CopyRules:
    row = _table().row_at(version)
    return CopyRules(since=KafkaVersion(*row.since), **row.fields)


@functools.cache
def _table() -> ReleaseTable:
    return read_release_table("features/copy_rules.toml", set(CopyRules.__annotations__) - {"since"})
