"""Rules of a migration by release: schemas/features/migration_rules.toml as values."""

from __future__ import annotations

import functools

from kafkactl.core.frozen import frozen
from kafkactl.protocol.catalog.releases import KafkaVersion
from kafkactl.protocol.schema.release_table import ReleaseTable, Version, read_release_table

_ANY_PATCH = 1 << 16  # behind every patch


@frozen
class MigrationRules:
    """Rules of a migration that differ between releases.

    migrates: the release has the migration. is_recommended: it has the corrections without which none should be tried.
    needs_transactions: the controllers refuse to begin below the metadata.version with transactions (KAFKA-17457).
    registers_control_plane: control.plane.listener.name is in the registration in migration mode (KAFKA-17788).
    shows_flag: ApiVersions says whether a node runs with the migration flag.
    writes_one_state: the only ZkMigrationState in its log is PRE_MIGRATION, written as 1.
    request_versions: the highest versions of Produce, Fetch, LeaderAndIsr and AddPartitionsToTxn that a broker on
    ZooKeeper takes, by which its release is known; empty if there are no such brokers.
    """

    migrates: bool
    is_recommended: bool
    needs_transactions: bool
    registers_control_plane: bool
    shows_flag: bool
    writes_one_state: bool
    request_versions: list[int]


def numbers_of(version: KafkaVersion) -> Version:
    """Return a version as tables of releases need it; without a patch, after every patch of the release."""
    return version.major, version.minor, _ANY_PATCH if version.patch is None else version.patch


def migration_rules(version: Version) -> MigrationRules:
    """Return the rules at a version; those of the oldest row for an earlier version."""
    return MigrationRules(**_table().at(version))


def first_recommended() -> KafkaVersion:
    """Return the oldest version whose migration should be tried."""
    return next(KafkaVersion(*row.since) for row in _table().rows if row.fields["is_recommended"])


def release_of_requests(highest: tuple[int, ...]) -> KafkaVersion | None:
    """Return the release of a broker on ZooKeeper that accepts requests up to these versions; None for any other."""
    for row in _table().rows:
        if row.fields["request_versions"] == list(highest):
            return KafkaVersion(*row.since[:2])
    return None


@functools.cache
def _table() -> ReleaseTable:
    return read_release_table("features/migration_rules.toml", MigrationRules.__annotations__)
