"""The error codes of the protocol that a raft node gives or understands (clients `Errors.java`), and its own end."""

from __future__ import annotations

from typing import Final

NONE: Final = 0
NOT_LEADER_OR_FOLLOWER: Final = 6
REQUEST_TIMED_OUT: Final = 7
BROKER_NOT_AVAILABLE: Final = 8
UNSUPPORTED_VERSION: Final = 35
INVALID_REQUEST: Final = 42
FENCED_LEADER_EPOCH: Final = 74
UNKNOWN_LEADER_EPOCH: Final = 75
INCONSISTENT_VOTER_SET: Final = 94
SNAPSHOT_NOT_FOUND: Final = 98
POSITION_OUT_OF_RANGE: Final = 99
INCONSISTENT_CLUSTER_ID: Final = 104
INVALID_VOTER_KEY: Final = 125
DUPLICATE_VOTER: Final = 126
VOTER_NOT_FOUND: Final = 127


class RaftThreadError(Exception):
    """Kafka's raft thread would throw here, and its process would end."""
