"""The names of where a migration is: the states of the procedure, and the situations that no procedure leads to.

States are those of the driver: M0 nothing has begun, M1 planned, M2 controllers are formatted, M3 a majority of them
is led and waits, M4 brokers enter migration mode, M4L all but one have, M5 the copy, M6 copied and mirrored to
ZooKeeper with every broker in ZooKeeper mode, M7 brokers change to KRaft, M8 all have, M9 armed to finalize, M10
finalizing, M11 done.
M1 and M9 are decisions of an operator: only a journal knows of them, no cluster shows them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """State of a migration.

    The values that are not an M-number name what is broken, or that too little was observed.
    """

    M0 = "M0"
    M1 = "M1"
    M2 = "M2"
    M3 = "M3"
    M4 = "M4"
    M4L = "M4L"
    M5 = "M5"
    M6 = "M6"
    M7 = "M7"
    M8 = "M8"
    M9 = "M9"
    M10 = "M10"
    M11 = "M11"
    STALE_MIGRATION = "stale-migration"
    STALE_CONTROLLER = "stale-controller"
    QUORUM_WITHOUT_MIGRATION_FLAG = "quorum-without-migration-flag"
    COPY_CRASHED = "copy-crashed"
    LOST_QUORUM = "lost-quorum"
    LOST_MIGRATION_ZNODE = "lost-migration-znode"
    SPLIT_BRAIN = "split-brain"
    QUORUM_WITHOUT_BROKERS = "quorum-without-brokers"
    BROKERS_BEFORE_QUORUM = "brokers-before-quorum"
    INCOMPLETE_ROLLBACK = "incomplete-rollback"
    FINALIZED_WITH_ZOOKEEPER_BROKER = "finalized-with-zookeeper-broker"
    BORN_IN_KRAFT = "born-in-kraft"
    NOT_ENOUGH_EVIDENCE = "not-enough-evidence"
    UNIDENTIFIED_NODES = "unidentified-nodes"

    @property
    def is_broken(self) -> bool:
        """Return True if no step of the procedure leads here, so that an operator has to act."""
        return self not in _PROCEDURE

    @property
    def place(self) -> int | None:
        """Return the place in the forward plan, by which states can be compared; None for a state that is not on it."""
        return _PROCEDURE.index(self) if self in _PROCEDURE else None

    @property
    def words(self) -> str:
        """Return the meaning of the state, in a few words."""
        return _WORDS[self]


_WORDS: Final = {
    State.M0: "on ZooKeeper, nothing of a migration has begun",
    State.M1: "planned, and nothing of it done",
    State.M2: "controllers are formatted, and no majority of them is led yet",
    State.M3: "the quorum is up and waits for the brokers",
    State.M4: "brokers are entering migration mode",
    State.M4L: "all brokers but one have entered; the copy starts automatically with the last one",
    State.M5: "the metadata is being copied",
    State.M6: "copied; KRaft decides, ZooKeeper is written too, every broker is in ZooKeeper mode",
    State.M7: "brokers are changing to KRaft",
    State.M8: "every broker is on KRaft, and ZooKeeper is still written",
    State.M9: "approved to be finalized",
    State.M10: "finalizing: a rollback is impossible",
    State.M11: "finalized",
    State.STALE_MIGRATION: "a new quorum believes in the copy of an earlier one and will empty ZooKeeper",
    State.STALE_CONTROLLER: "/controller is held by a quorum that does not exist any more",
    State.QUORUM_WITHOUT_MIGRATION_FLAG: (
        "the controllers were first started without the migration flag and can never migrate"
    ),
    State.COPY_CRASHED: "the copy has begun and no controller is left to end it",
    State.LOST_QUORUM: "KRaft holds /controller and has no majority of controllers",
    State.LOST_MIGRATION_ZNODE: "/migration was deleted or emptied after the copy: ZooKeeper is not written any more",
    State.SPLIT_BRAIN: "a ZooKeeper controller and a KRaft controller are both active",
    State.QUORUM_WITHOUT_BROKERS: "KRaft is active and writes ZooKeeper, and every broker runs in ZooKeeper mode",
    State.BROKERS_BEFORE_QUORUM: "brokers run in migration mode, and there is no quorum yet",
    State.INCOMPLETE_ROLLBACK: "a rollback was begun and is not complete",
    State.FINALIZED_WITH_ZOOKEEPER_BROKER: "finalized while a broker still ran in ZooKeeper mode",
    State.BORN_IN_KRAFT: "a cluster that has never been on ZooKeeper",
    State.NOT_ENOUGH_EVIDENCE: "neither ZooKeeper nor a controller was seen",
    State.UNIDENTIFIED_NODES: "nodes of the inventory are not who it says: where the migration is, is unknown",
}
_PROCEDURE: Final = tuple(state for state in State if state.value.startswith("M"))
