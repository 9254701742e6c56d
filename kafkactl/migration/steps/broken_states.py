"""The states that no step of the procedure leads to: something is broken, or too little was observed."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import MIGRATION_ENABLE, ZkMigrationState
from kafkactl.migration.observed.observation import Mode
from kafkactl.migration.state.conditions import (
    claimed_uncopied,
    copied,
    formatted,
    is_final,
    is_quorum_without_brokers,
    not_up,
)
from kafkactl.migration.state.evidence import CopyMarker, Evidence, Holder, Quorum
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Row

_ABORTS_OF_A_CRASH: Final = 2  # one is an election during the copy, which then begins again
_WRITTEN_MS: Final = 60_000  # a mirror writes /migration twice a second
_WINDOW: Final = 20  # records after the copy's end before /migration must have its offset
_WINDOW_OF_AN_OBSERVATION: Final = 240  # the znodes may have been read two minutes of no-ops before the log
_ALIVE: Final = (Quorum.UP, Quorum.MINORITY)


# Identity, and nothing observed


def _nothing_observed(e: Evidence) -> bool:
    """Return True if neither znodes nor the state of a controller were observed."""
    return e.tree is None and e.kraft_state is None


UNIDENTIFIED_NODES: Final = Row(
    State.UNIDENTIFIED_NODES,
    lambda e: bool(e.identities.strangers),
    "nodes answer that are of another cluster, are other nodes than the inventory says, or do not identify"
    " themselves: nothing is concluded from them, so the state is unknown",
)
NOT_ENOUGH_EVIDENCE: Final = Row(
    State.NOT_ENOUGH_EVIDENCE,
    _nothing_observed,
    "neither ZooKeeper's znodes nor the state of any controller were observed",
)


# Finalized


def _runs_on_zookeeper(e: Evidence) -> bool:
    """Return True if a broker is alive in ZooKeeper mode, by its znode, its answers or an unfenced registration."""
    return any(
        broker.in_zookeeper
        or broker.mode in (Mode.ZK, Mode.MIGRATING)
        or (broker.registration is not None and broker.registration.migrating and not broker.registration.fenced)
        for broker in e.brokers
    )


FINALIZED_WITH_ZOOKEEPER_BROKER: Final = Row(
    State.FINALIZED_WITH_ZOOKEEPER_BROKER,
    lambda e: is_final(e) and _runs_on_zookeeper(e),
    "the log says POST_MIGRATION and a broker still runs in ZooKeeper mode: it learns nothing of new topics,"
    " and writes with acks=all to partitions that have it in the ISR time out",
)


# Never migrating


def _is_kraft_only(e: Evidence) -> bool:
    """Return True if brokers run on KRaft, the log states NONE, and there is no ZooKeeper."""
    return e.kraft_state == ZkMigrationState.NONE and e.tree is None and bool(e.on_kraft)


BORN_IN_KRAFT: Final = Row(
    State.BORN_IN_KRAFT,
    _is_kraft_only,
    "brokers are registered in a log that says NONE: this cluster was never migrated",
)
QUORUM_WITHOUT_MIGRATION_FLAG: Final = Row(
    State.QUORUM_WITHOUT_MIGRATION_FLAG,
    lambda e: e.kraft_state == ZkMigrationState.NONE,
    f"the log says NONE: the controllers were first started without {MIGRATION_ENABLE}=true;"
    " with the flag they now end at once",
)


# Two controllers at a time


def _has_unexplained_offset(e: Evidence) -> bool:
    """Return True if controllers run next to a ZooKeeper controller, and no log explains the offset in `/migration`."""
    is_shared = e.controllers in _ALIVE and e.holder is Holder.ZOOKEEPER
    return e.kraft_state is None and is_shared and e.copy_marker is CopyMarker.COPIED


def _is_written(e: Evidence) -> bool:
    """Return True if `/migration` is still being written."""
    return e.dual_write.age_ms is not None and e.dual_write.age_ms <= _WRITTEN_MS


def _is_split(e: Evidence) -> bool:
    """Return True if a ZooKeeper broker holds `/controller` while KRaft has copied and controllers may run."""
    unknown = e.controllers is Quorum.UNKNOWN and e.copy_marker is CopyMarker.COPIED
    if e.kraft_state != ZkMigrationState.MIGRATION or e.holder is not Holder.ZOOKEEPER:
        return False
    return (e.controllers in _ALIVE and not _is_in_motion(e)) or unknown


def _is_in_motion(e: Evidence) -> bool:
    """Return True if the znodes were read before the copy, and the log after it."""
    return e.copy_marker is CopyMarker.NOT_COPIED and _since_copy(e) <= _WINDOW_OF_AN_OBSERVATION


def _since_copy(e: Evidence) -> int:
    """Return the number of records after the end of the copy, a very large one if that end is unknown."""
    if e.log is None or e.log.copy_begin is None:
        return 1 << 62
    return 0 if e.log.copy_end is None else e.log.end_offset - e.log.copy_end


SPLIT_BRAIN_WITHOUT_LOG: Final = Row(
    State.SPLIT_BRAIN,
    lambda e: _has_unexplained_offset(e) and _is_written(e),
    "a ZooKeeper broker holds /controller, and KRaft controllers run that still write /migration: changes made"
    " through brokers go to ZooKeeper only",
)
SPLIT_BRAIN: Final = Row(
    State.SPLIT_BRAIN,
    _is_split,
    "a ZooKeeper broker holds /controller while the KRaft quorum says MIGRATION: changes made through brokers go to"
    " ZooKeeper only, and the next KRaft leader undoes them",
)


# The quorum of another migration


def _is_stale(e: Evidence) -> bool:
    """Return True if `/migration` has an offset of an earlier copy: this quorum would skip its copy."""
    if e.kraft_state != ZkMigrationState.PRE_MIGRATION or e.copy_marker is not CopyMarker.COPIED or e.copy_in_log:
        return False
    return e.controllers in _ALIVE or e.holder is Holder.KRAFT


def _is_of_another_quorum(e: Evidence) -> bool:
    """Return True if KRaft's `/controller` is another quorum's: no broker registered here, or its epoch is newer."""
    if e.kraft_state != ZkMigrationState.PRE_MIGRATION or e.holder is not Holder.KRAFT or not_up(e):
        return False
    claimed = None if e.tree is None or e.tree.controller is None else e.tree.controller.kraft_epoch
    newer = claimed is not None and e.log_epoch is not None and claimed > e.log_epoch
    registers_none = e.log is not None and not e.log.registrations
    return newer or (registers_none and not e.copy_in_log)


STALE_MIGRATION_WITHOUT_LOG: Final = Row(
    State.STALE_MIGRATION,
    _has_unexplained_offset,
    "KRaft controllers run, a ZooKeeper broker holds /controller, and /migration has the offset of a copy that no"
    " log shows: of an earlier quorum, it makes this one skip the copy and empty ZooKeeper",
)
STALE_MIGRATION: Final = Row(
    State.STALE_MIGRATION,
    _is_stale,
    "the quorum says PRE_MIGRATION and has copied nothing, and /migration has the offset of an earlier copy: once"
    " all brokers have entered, the copy is skipped and ZooKeeper is emptied",
)
STALE_CONTROLLER: Final = Row(
    State.STALE_CONTROLLER,
    _is_of_another_quorum,
    "/controller is held by a KRaft controller of another quorum: this one has no broker registered or is behind"
    " its epoch, so the cluster has no controller",
)
QUORUM_WITHOUT_BROKERS: Final = Row(
    State.QUORUM_WITHOUT_BROKERS,
    is_quorum_without_brokers,
    "KRaft holds /controller and writes ZooKeeper, and every broker runs in ZooKeeper mode without the migration"
    " flag: an old quorum was started after a rollback, or the brokers were rolled back before it; it deletes what"
    " was made in ZooKeeper since, so stop the controllers first",
)


# Controllers gone


def _has_no_majority(e: Evidence) -> bool:
    return e.controllers in (Quorum.DOWN, Quorum.MINORITY)


def _is_crashed(e: Evidence) -> bool:
    """Return True if KRaft claimed `/controller`, and the controllers are gone or gave up the copy repeatedly."""
    if not claimed_uncopied(e) or (e.copy_marker is CopyMarker.ABSENT and e.controllers is Quorum.DOWN):
        return False
    aborts = 0 if e.log is None else len(e.log.aborted_copies)
    again = e.log is not None and e.log.copy_begin is not None
    return _has_no_majority(e) or (aborts >= _ABORTS_OF_A_CRASH and not again)


def _entered_early(e: Evidence) -> bool:
    """Return True if brokers are in migration mode, and no disk, log or znode shows that there ever was a quorum."""
    if not not_up(e) or e.holder not in (Holder.ZOOKEEPER, Holder.NONE) or e.copy_marker is not CopyMarker.ABSENT:
        return False
    flagged = {broker.runs_as for broker in e.flagged}
    return e.kraft_state is None and not e.observation.logs and not formatted(e) and flagged == {Mode.MIGRATING}


def _is_rolling_back(e: Evidence) -> bool:
    """Return True if controllers are gone, KRaft does not hold `/controller`, and a part of the rollback is left."""
    if not not_up(e) or e.holder is Holder.UNKNOWN:
        return False
    down = e.controllers is Quorum.DOWN
    if e.holder is Holder.KRAFT:
        return down and e.copy_marker is CopyMarker.ABSENT
    if e.copy_marker is CopyMarker.COPIED:
        return True
    if e.copy_marker is CopyMarker.ABSENT:
        return bool(e.flagged) or (down and e.kraft_state == ZkMigrationState.MIGRATION and e.holder is Holder.NONE)
    return down and not e.controllers_ended and e.kraft_state in (ZkMigrationState.MIGRATION, None)


def _lost_quorum(e: Evidence) -> bool:
    """Return True if KRaft holds `/controller` after the copy, and no majority of controllers runs."""
    held = e.holder is Holder.KRAFT or (e.holder is Holder.UNKNOWN and e.kraft_state == ZkMigrationState.MIGRATION)
    return _has_no_majority(e) and held and copied(e)


COPY_CRASHED: Final = Row(
    State.COPY_CRASHED,
    _is_crashed,
    "KRaft has taken /controller, /migration says that nothing is copied, and the controllers are gone or have"
    " given up the copy again and again: the cluster has no controller",
)
BROKERS_BEFORE_QUORUM: Final = Row(
    State.BROKERS_BEFORE_QUORUM,
    _entered_early,
    "brokers run in migration mode, and no controller was ever formatted or started: the copy begins some seconds"
    " after the start of the controllers, so check everything before it as before the last broker enters",
)
INCOMPLETE_ROLLBACK: Final = Row(
    State.INCOMPLETE_ROLLBACK,
    _is_rolling_back,
    "no controller is seen to run and KRaft does not hold /controller, but /migration or brokers with the"
    " migration's configuration are left",
)
LOST_QUORUM: Final = Row(
    State.LOST_QUORUM,
    _lost_quorum,
    "KRaft holds /controller, which is never removed automatically, and no majority of controllers runs",
)


# Copied


def _lost_migration_znode(e: Evidence) -> bool:
    """Return True if `/migration` no longer says that the copy is done; it does so a moment after the copy's end.

    The claim writes `/migration` once, so a znode that was never written since its creation was created again.
    """
    if e.kraft_state is None and e.holder is Holder.KRAFT and e.controllers is Quorum.UP:
        return e.copy_marker is CopyMarker.ABSENT  # /migration is created before /controller is claimed
    if e.kraft_state != ZkMigrationState.MIGRATION or e.copy_marker in (CopyMarker.COPIED, CopyMarker.UNKNOWN):
        return False
    if e.copy_marker is not CopyMarker.NOT_COPIED or e.tree is None or e.tree.migration is None:
        return True
    created_again = e.holder is Holder.KRAFT and e.tree.migration.version == 0 and not is_version_untold(e)
    return _since_copy(e) > (_WINDOW if created_again else _WINDOW_OF_AN_OBSERVATION)


def is_version_untold(e: Evidence) -> bool:
    """Return True if the saved tree leaves out how often `/migration` was written."""
    znode = None if e.observation.tree is None else e.observation.tree.get("/migration")
    return znode is not None and "version" in znode.untold


LOST_MIGRATION_ZNODE: Final = Row(
    State.LOST_MIGRATION_ZNODE,
    _lost_migration_znode,
    "the log says MIGRATION and /migration does not say that the copy was done: nothing is written to ZooKeeper any"
    " more, and the lag metric shows 0",
)


# Ways out


class WayOut(Enum):
    """The way from a broken state to a healthy one, as far as kafkactl knows it."""

    UNKNOWN = auto()
    ROLLBACK = auto()
    START_CONTROLLERS = auto()
    BROKERS_TO_KRAFT = auto()


@frozen
class BrokenState:
    """A broken state. `gets_worse`: a run stops at once, because waiting makes it worse."""

    state: State
    way_out: WayOut = WayOut.UNKNOWN
    gets_worse: bool = False


BROKEN: Final = (
    BrokenState(state=State.STALE_MIGRATION, way_out=WayOut.ROLLBACK, gets_worse=True),
    BrokenState(state=State.STALE_CONTROLLER, way_out=WayOut.ROLLBACK, gets_worse=True),
    BrokenState(state=State.QUORUM_WITHOUT_MIGRATION_FLAG, way_out=WayOut.ROLLBACK, gets_worse=True),
    BrokenState(state=State.COPY_CRASHED, way_out=WayOut.START_CONTROLLERS, gets_worse=True),
    BrokenState(state=State.LOST_QUORUM, way_out=WayOut.START_CONTROLLERS),
    BrokenState(state=State.LOST_MIGRATION_ZNODE),
    BrokenState(state=State.SPLIT_BRAIN, way_out=WayOut.ROLLBACK, gets_worse=True),
    BrokenState(state=State.QUORUM_WITHOUT_BROKERS, way_out=WayOut.ROLLBACK),
    BrokenState(state=State.BROKERS_BEFORE_QUORUM),
    BrokenState(state=State.INCOMPLETE_ROLLBACK, way_out=WayOut.ROLLBACK),
    BrokenState(state=State.FINALIZED_WITH_ZOOKEEPER_BROKER, way_out=WayOut.BROKERS_TO_KRAFT, gets_worse=True),
    BrokenState(state=State.BORN_IN_KRAFT),
    BrokenState(state=State.NOT_ENOUGH_EVIDENCE),
    BrokenState(state=State.UNIDENTIFIED_NODES),
)

STOP_AT_ONCE: Final = frozenset(broken.state for broken in BROKEN if broken.gets_worse)


def way_out_of(state: State) -> WayOut | None:
    """Return the way out of a broken state; None for a state of the procedure."""
    return next((broken.way_out for broken in BROKEN if broken.state is state), None)
