"""Names and numbers that Kafka gives and that several packages use, each written once."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

# Features (server-common/.../MetadataVersion.java, Feature.java).
METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
TRANSACTION_VERSION: Final = "transaction.version"
GROUP_VERSION: Final = "group.version"
ELR_VERSION: Final = "eligible.leader.replicas.version"
SHARE_VERSION: Final = "share.version"
STREAMS_VERSION: Final = "streams.version"

LAST_LEVEL_BEFORE_4_0: Final = 21  # metadata.version 3.9-IV0, the last that knows ZooKeeper; Kafka 4.0 begins with 22

# A configuration of nodes up to 3.9 (KIP-866).
MIGRATION_ENABLE: Final = "zookeeper.metadata.migration.enable"

METADATA_TOPIC: Final = "__cluster_metadata"
# Offset 0, epoch 0: 20 digits and 10 digits (raft/.../Snapshots.java).
FIRST_CHECKPOINT = "00000000000000000000-0000000000.checkpoint"
METADATA_LOG: Final = f"{METADATA_TOPIC}-0"
REMOTE_LOG_METADATA: Final = "__remote_log_metadata"  # KIP-405

NO_LEADER: Final = -1  # of a partition (LeaderConstants.java) and of a quorum


class ZkMigrationState(IntEnum):
    """State in a ZkMigrationStateRecord (ZkMigrationState.java); the numbers are not in the order of time."""

    NONE = 0
    MIGRATION = 1
    PRE_MIGRATION = 2
    POST_MIGRATION = 3


MIGRATING_STATES: Final = frozenset({ZkMigrationState.PRE_MIGRATION, ZkMigrationState.MIGRATION})
TRANSACTION_NAME: Final = "ZK Migration"
