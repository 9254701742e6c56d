"""Conditions of the rows of the table of states (table.py) on the evidence: a function for each condition."""

from __future__ import annotations

from typing import Final

from kafkactl.kafka_names import ZkMigrationState
from kafkactl.migration.observed.observation import Mode, NodeSeen
from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.evidence import (
    CopyMarker,
    Evidence,
    Holder,
    Quorum,
    file_has_flag,
    has_flag,
    is_finalized_by_flag,
    state_metric,
)

_ABORTS_OF_A_CRASH: Final = 2  # one is an election during the copy, which then begins again
_WRITTEN_MS: Final = 60_000  # a mirror writes /migration twice a second
_WINDOW: Final = 20  # records behind the copy's end before /migration must have its offset
_WINDOW_OF_AN_OBSERVATION: Final = 240  # the znodes may have been read two minutes of no-ops before the log


def post(e: Evidence) -> bool:
    """The migration is finalized, by the log, a metric, or a leader without the flag after the copy."""
    return e.kraft_state == ZkMigrationState.POST_MIGRATION or is_finalized_by_flag(e)


def runs_on_zookeeper(e: Evidence) -> bool:
    """A broker that is alive in ZooKeeper mode: by its znode, its answers, or a registration that is not fenced."""
    return any(
        broker.in_zookeeper
        or broker.mode in (Mode.ZK, Mode.MIGRATING)
        or (broker.registration is not None and broker.registration.migrating and not broker.registration.fenced)
        for broker in e.brokers
    )


def all_controllers_final(e: Evidence) -> bool:
    """No controller is seen to run with the flag, or to be about to."""
    return not any(
        has_flag(controller)
        or state_metric(controller) in (ZkMigrationState.MIGRATION, ZkMigrationState.PRE_MIGRATION)
        or (has_flag(controller) is None and may_have(controller, e))
        for controller in e.observation.controllers
    )


def may_have(controller: NodeSeen, e: Evidence) -> bool | None:
    """Return True if a controller that does not say so itself has the flag by its file, else its last registration."""
    in_file = file_has_flag(controller)
    held = None if e.log is None else e.log.controllers.get(controller.id)
    return (held is not None and held.zk_migration_ready) if in_file is None else in_file


def gone(e: Evidence) -> bool:
    """No majority of controllers runs."""
    return e.controllers in (Quorum.DOWN, Quorum.MINORITY)


def not_up(e: Evidence) -> bool:
    """No controller is seen to run."""
    return e.controllers is Quorum.DOWN or (e.controllers is Quorum.UNKNOWN and not e.controllers_refuse_client)


def split(e: Evidence) -> bool:
    """A ZooKeeper broker holds `/controller` while KRaft has copied and controllers may run."""
    alive = e.controllers in (Quorum.UP, Quorum.MINORITY)
    unknown = e.controllers is Quorum.UNKNOWN and e.copy_marker is CopyMarker.COPIED
    if e.kraft_state != ZkMigrationState.MIGRATION or e.holder is not Holder.ZOOKEEPER:
        return False
    return (alive and not in_motion(e)) or unknown


def in_motion(e: Evidence) -> bool:
    """The znodes were read before the copy, and the log after it."""
    return e.copy_marker is CopyMarker.NOT_COPIED and since_copy(e) <= _WINDOW_OF_AN_OBSERVATION


def since_copy(e: Evidence) -> int:
    """Records behind the end of the copy; as many as can be where that is not known."""
    if e.log is None or e.log.copy_begin is None:
        return 1 << 62
    return 0 if e.log.copy_end is None else e.log.end_offset - e.log.copy_end


def stale(e: Evidence) -> bool:
    """An offset of an earlier copy, and a quorum that has not copied: it would skip the copy and empty ZooKeeper."""
    if e.kraft_state != ZkMigrationState.PRE_MIGRATION or e.copy_marker is not CopyMarker.COPIED or e.copy_in_log:
        return False
    return e.controllers in (Quorum.UP, Quorum.MINORITY) or e.holder is Holder.KRAFT


def of_another_cluster(e: Evidence) -> bool:
    """`/controller` is KRaft's and not of this quorum: no broker has registered here, or its epoch is the newer one."""
    if e.kraft_state != ZkMigrationState.PRE_MIGRATION or e.holder is not Holder.KRAFT or not_up(e):
        return False
    claimed = None if e.tree is None or e.tree.controller is None else e.tree.controller.kraft_epoch
    newer = claimed is not None and e.log_epoch is not None and claimed > e.log_epoch
    registers_none = e.log is not None and not e.log.registrations
    return newer or (registers_none and not e.copy_in_log)


def claimed_uncopied(e: Evidence) -> bool:
    """KRaft holds `/controller`, and the copy is not done."""
    early = e.kraft_state == ZkMigrationState.PRE_MIGRATION or (
        e.kraft_state is None and e.copy_marker in (CopyMarker.NOT_COPIED, CopyMarker.BROKEN)
    )
    return early and e.holder is Holder.KRAFT


def crashed(e: Evidence) -> bool:
    """Return True if `claimed_uncopied`, and the controllers are gone or gave up the copy again and again."""
    if not claimed_uncopied(e) or (e.copy_marker is CopyMarker.ABSENT and e.controllers is Quorum.DOWN):
        return False
    aborts = 0 if e.log is None else len(e.log.aborted_copies)
    again = e.log is not None and e.log.copy_begin is not None
    return gone(e) or (aborts >= _ABORTS_OF_A_CRASH and not again)


def rolling_back(e: Evidence) -> bool:
    """Controllers are gone or not seen, KRaft does not hold `/controller`, and something of the rollback is undone."""
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


def rolled_back(e: Evidence) -> bool:
    """The log is that of controllers that are gone, and ZooKeeper is as if they had never been."""
    return not_up(e) and e.holder in (Holder.ZOOKEEPER, Holder.NONE) and e.copy_marker is CopyMarker.ABSENT


def copied(e: Evidence) -> bool:
    """The copy counts: by the log or a metric, else because KRaft holds `/controller` and `/migration` says so."""
    by_znodes = e.kraft_state is None and e.holder is Holder.KRAFT and e.copy_marker is CopyMarker.COPIED
    return e.kraft_state == ZkMigrationState.MIGRATION or by_znodes


def lost_quorum(e: Evidence) -> bool:
    """KRaft holds `/controller` after the copy, and no majority of controllers runs."""
    held = e.holder is Holder.KRAFT or (e.holder is Holder.UNKNOWN and e.kraft_state == ZkMigrationState.MIGRATION)
    return gone(e) and held and copied(e)


def lost_memory(e: Evidence) -> bool:
    """`/migration` no longer says that the copy is done; it does so a moment after the copy's end.

    The claim writes it once, so one that was never written since it was made was made again.
    """
    if e.kraft_state is None and e.holder is Holder.KRAFT and e.controllers is Quorum.UP:
        return e.copy_marker is CopyMarker.ABSENT  # it is made before /controller is claimed
    if e.kraft_state != ZkMigrationState.MIGRATION or e.copy_marker in (CopyMarker.COPIED, CopyMarker.UNKNOWN):
        return False
    if e.copy_marker is not CopyMarker.NOT_COPIED or e.tree is None or e.tree.migration is None:
        return True
    created_again = e.holder is Holder.KRAFT and e.tree.migration.version == 0 and not is_version_untold(e)
    return since_copy(e) > (_WINDOW if created_again else _WINDOW_OF_AN_OBSERVATION)


def is_version_untold(e: Evidence) -> bool:
    """Return True if the saved tree leaves out how often `/migration` was written."""
    znode = None if e.observation.tree is None else e.observation.tree.get("/migration")
    return znode is not None and "version" in znode.untold


def entering(e: Evidence) -> bool:
    """A quorum waits for the brokers, or has waited when it was last seen. A lone candidate makes `/migration` too."""
    if e.kraft_state is not None:
        return e.kraft_state == ZkMigrationState.PRE_MIGRATION
    return e.leads is not False and (e.controllers is Quorum.UP or e.copy_marker is CopyMarker.NOT_COPIED)


def waits(e: Evidence) -> bool:
    """A quorum with a majority waits. Whom it waits for is known from its log; without a log, from its leader."""
    return entering(e) and e.controllers is not Quorum.MINORITY


def is_quorum_without_brokers(e: Evidence) -> bool:
    """KRaft is active after a copy, and every broker that is observed runs, or would be started, on ZooKeeper alone.

    Brokers that left before the controllers were stopped, or a quorum that was started after a rollback.
    """
    if not copied(e) or e.holder is not Holder.KRAFT or e.controllers is not Quorum.UP:
        return False
    seen = [broker.runs_as for broker in e.brokers if broker.runs_as is not None]
    return any(broker.mode is Mode.ZK for broker in e.brokers) and all(mode is Mode.ZK for mode in seen)


def entered_early(e: Evidence) -> bool:
    """Brokers are in migration mode, and nothing shows that there ever was a quorum: no disk, no log, no znode."""
    if not not_up(e) or e.holder not in (Holder.ZOOKEEPER, Holder.NONE) or e.copy_marker is not CopyMarker.ABSENT:
        return False
    flagged = {broker.runs_as for broker in e.flagged}
    return e.kraft_state is None and not e.observation.logs and not formatted(e) and flagged == {Mode.MIGRATING}


def not_led(e: Evidence) -> bool:
    """Some controllers run, and no majority of them has a leader that has committed."""
    return any(answers(controller) for controller in e.observation.controllers)


def formatted(e: Evidence) -> bool:
    """A controller has a formatted disk."""
    return any(controller.meta_properties for controller in e.observation.controllers)


def nothing_seen(e: Evidence) -> bool:
    """Neither znodes nor the state of a controller were observed."""
    return e.tree is None and e.kraft_state is None


def old_offset(e: Evidence) -> bool:
    """Controllers run next to a ZooKeeper controller, `/migration` has an offset, and no log says how that came."""
    alive = e.controllers in (Quorum.UP, Quorum.MINORITY)
    return e.kraft_state is None and alive and e.holder is Holder.ZOOKEEPER and e.copy_marker is CopyMarker.COPIED


def is_written(e: Evidence) -> bool:
    """Return True if `/migration` is still being written."""
    return e.dual_write.age_ms is not None and e.dual_write.age_ms <= _WRITTEN_MS


def kraft_only(e: Evidence) -> bool:
    """Brokers run on KRaft, the log says NONE, and there is no ZooKeeper."""
    return e.kraft_state == ZkMigrationState.NONE and e.tree is None and bool(e.on_kraft)


def some_left(e: Evidence) -> bool:
    """Brokers that are still registered as migrating, or where no log shows them, that run so."""
    if e.log is None and e.migrating_count is not None:
        return e.migrating_count > 0
    if any(broker.on_kraft is False for broker in e.brokers):
        return True
    unseen = e.log is None and not e.on_kraft
    return unseen and (not by_tree_alone(e) or any(broker.in_zookeeper for broker in e.brokers))


def some_on_kraft(e: Evidence) -> bool:
    """Some brokers have changed to KRaft, or where only ZooKeeper shows brokers, some have left it."""
    return bool(e.on_kraft) or (by_tree_alone(e) and not all(broker.in_zookeeper for broker in e.brokers))


def by_tree_alone(e: Evidence) -> bool:
    """Only ZooKeeper shows the brokers: one that is not in it any more, and not seen to be down, is on KRaft."""
    knows_brokers = e.tree is not None and e.tree.knows_brokers and e.log is None
    return knows_brokers and all(broker.on_kraft is None and broker.answers is not False for broker in e.brokers)
