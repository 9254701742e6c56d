"""A migration from ZooKeeper that is not finished."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.cluster.state import ClusterState
from kafkactl.core.findings import Finding, warning
from kafkactl.core.wording import first_few, plural

_IDS_SHOWN: Final = 9
MIGRATE_STATUS: Final = "See its state and its next step: `kafkactl migrate status --inventory FILE`."


def unfinished_migration(state: ClusterState) -> Iterator[Finding]:
    """Yield a finding if the metadata log, or a broker in ZooKeeper mode, shows a migration that is not finished."""
    ids = state.on_zookeeper
    if not (state.migrating or ids) or state.left_on_zookeeper:
        return
    brokers = f"{plural('broker', len(ids))} {first_few(list(map(str, sorted(ids))), _IDS_SHOWN)}" if ids else ""
    more = f": {brokers} in ZooKeeper mode" if ids else ""
    if state.is_before_copy:
        more = f": {brokers or 'no broker'} entered, and ZooKeeper alone knows the topics and the other brokers"
    text = f"the migration from ZooKeeper is not finished{more}"
    yield warning("zk-migration-not-finished", "ZooKeeper migration", text, MIGRATE_STATUS)
