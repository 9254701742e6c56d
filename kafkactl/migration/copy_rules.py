"""What the copy of a release carries over, and how: the differences between 3.5.0 and 3.9, as a table.

Sources: core `ZkMigrationClient.scala` and `migration/ZkConfigMigrationClient.scala` at the tags of the releases named
in the rows. 3.4's copy was an early access without ACLs and SCRAM and is not told of here.
"""

from __future__ import annotations

from typing import Final

from kafkactl.errors import InputError
from kafkactl.features.releases import KafkaVersion
from kafkactl.frozen import frozen
from kafkactl.plan import Finding, blocker


@frozen
class CopyRules:
    """How one release copies.

    tokens: delegation tokens are carried over.
    skips_pending_deletions: topics in /admin/delete_topics are left out; before, they come to life again.
    plain_names: names of users and clients are taken out of their escapes, and the default quota is one; before,
    `bob%40x.com` becomes a user of that name, and the default quota one of the client "".
    default_broker_config: the default of all brokers is carried over; before, the copy dies of it.
    next_producer_id: the next producer id lies behind the last block; before, at its start, so ids are given twice
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


def _row(since: tuple[int, int, int], *, plain: bool, min_batch_size: int, **known: bool) -> CopyRules:
    return CopyRules(
        since=KafkaVersion(*since),
        tokens=known.get("tokens", False),
        skips_pending_deletions=known.get("skips", False),
        plain_names=plain,
        default_broker_config=since >= (3, 5, 2),
        next_producer_id=known.get("next_id", False),
        min_batch_size=min_batch_size,
    )


_ROWS: Final = (
    _row((3, 5, 0), plain=False, min_batch_size=0),
    _row((3, 5, 2), plain=False, min_batch_size=0, next_id=True),
    _row((3, 6, 0), plain=False, min_batch_size=0, tokens=True),
    _row((3, 6, 1), plain=False, min_batch_size=0, tokens=True, next_id=True, skips=True),
    _row((3, 6, 2), plain=True, min_batch_size=200, tokens=True, next_id=True, skips=True),
    _row((3, 7, 0), plain=False, min_batch_size=200, tokens=True, next_id=True, skips=True),
    _row((3, 7, 1), plain=True, min_batch_size=200, tokens=True, next_id=True, skips=True),
)
_LAST: Final = (3, 9)


def copy_rules(version: KafkaVersion) -> CopyRules:
    """The rules of a release; of its newest patch where none is named.

    Raises InputError `migration-release-unknown` for one that cannot copy, or whose copy is not told of here.
    """
    wanted = version.major, version.minor, 1 << 16 if version.patch is None else version.patch
    found = [row for row in _ROWS if (row.since.major, row.since.minor, row.since.patch or 0) <= wanted]
    if not found or wanted[:2] > _LAST:
        raise InputError(
            f"what Kafka {version} would copy from ZooKeeper is not known; 3.5 to 3.9 are",
            id="migration-release-unknown",
            next_step="Bring the cluster to the newest 3.9 first: its migration has the fewest faults.",
        )
    return found[-1]


def rules_seen(version: KafkaVersion) -> tuple[CopyRules, tuple[Finding, ...]]:
    """The rules of a release that nodes were seen to run. Where its copy is not told of here, those of the nearest one,
    and a finding that says so: what is predicted by them is not known.
    """
    try:
        return copy_rules(version), ()
    except InputError as error:
        row = _ROWS[-1] if (version.major, version.minor) > _LAST else _ROWS[0]
        text = f"{error.message}; the numbers are those of {row.since}"
        return row, (blocker("migration-release-unknown", f"Kafka {version}", text, error.next_step or ""),)
