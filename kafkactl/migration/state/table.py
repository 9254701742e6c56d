"""Where a migration really is: the state that all nodes' evidence shows together, never what a journal remembers.

A table of rows, the first that holds decides: what is final or broken comes first, so that of two readings the more
careful one is reported. The headings in the table say why the rows below them are there; `make docs` draws both
(docs/migration-states.md). Sources: metadata `KRaftMigrationDriver`, `ActivationRecordsGenerator`, `ZkMigrationState`;
what each state looks like from outside was measured on 3.8.1 and 3.9.2. Not atomic: an observation is made in some
seconds, so a log without the end of the copy next to a ZooKeeper that knows it does not contradict it.
"""

from __future__ import annotations

from typing import Final

from kafkactl.findings import Finding, blocker
from kafkactl.frozen import frozen
from kafkactl.kafka_names import MIGRATION_ENABLE, ZkMigrationState
from kafkactl.migration.observed.observation import Mode, NodeSeen, Observation
from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.evidence import (
    CopyMarker,
    Evidence,
    Holder,
    Quorum,
    evidence_of,
    file_has_flag,
    has_flag,
    is_finalized_by_flag,
    state_metric,
)
from kafkactl.migration.state.names import State
from kafkactl.migration.state.row import Band, Row
from kafkactl.migration.state.unknown import missing_evidence, several_clusters, what_is_left_over

__all__ = ["TABLE", "ObservedState", "State", "observed_state", "state_of_evidence"]

_ABORTS_OF_A_CRASH: Final = 2  # one is an election during the copy, which then begins again
_WRITTEN_MS: Final = 60_000  # a mirror writes /migration twice a second
_WINDOW: Final = 20  # records behind the copy's end before /migration must have its offset
_WINDOW_OF_AN_OBSERVATION: Final = 240  # the znodes may have been read two minutes of no-ops before the log


@frozen
class ObservedState:
    """What an observation shows: the state, why it is that one, what is wrong or not known, what is left over."""

    state: State
    why: str
    findings: tuple[Finding, ...] = ()
    leftovers: tuple[Finding, ...] = ()


def observed_state(observation: Observation) -> ObservedState:
    """The state that an observation shows. Never raises for what was observed."""
    return state_of_evidence(evidence_of(observation))


def state_of_evidence(evidence: Evidence) -> ObservedState:
    """The same from evidence that was gathered already."""
    row = next(row for row in TABLE if isinstance(row, Row) and row.holds(evidence))
    findings = [*several_clusters(evidence), *missing_evidence(evidence)]
    if row.state.is_broken:
        findings.insert(0, blocker(row.state.value, "migration", row.why, f"kafkactl explain {row.state}"))
    left = what_is_left_over(evidence) if row.state in (State.M0, State.INCOMPLETE_ROLLBACK) else ()
    return ObservedState(state=row.state, why=row.why, findings=tuple(findings), leftovers=left)


# --- what the rows ask ----------------------------------------------------------------------------------------------


def _post(e: Evidence) -> bool:
    return e.kraft_state == ZkMigrationState.POST_MIGRATION or is_finalized_by_flag(e)


def _runs_on_zookeeper(e: Evidence) -> bool:
    """A broker that is alive in ZooKeeper mode: by its znode, its answers, or a registration that is not fenced."""
    return any(
        broker.in_zookeeper
        or broker.mode in (Mode.ZK, Mode.MIGRATING)
        or (broker.registration is not None and broker.registration.migrating and not broker.registration.fenced)
        for broker in e.brokers
    )


def _all_controllers_final(e: Evidence) -> bool:
    """No controller is seen to run with the flag, or to be about to."""
    return not any(
        has_flag(controller)
        or state_metric(controller) in (ZkMigrationState.MIGRATION, ZkMigrationState.PRE_MIGRATION)
        or (has_flag(controller) is None and _may_have(controller, e))
        for controller in e.observation.controllers
    )


def _may_have(controller: NodeSeen, e: Evidence) -> bool | None:
    """Whether a controller that does not say so itself has the flag: by its file, else by its last registration."""
    in_file = file_has_flag(controller)
    held = None if e.log is None else e.log.controllers.get(controller.id)
    return (held is not None and held.zk_migration_ready) if in_file is None else in_file


def _gone(e: Evidence) -> bool:
    """No majority of controllers runs."""
    return e.controllers in (Quorum.DOWN, Quorum.MINORITY)


def _not_up(e: Evidence) -> bool:
    return e.controllers is Quorum.DOWN or (e.controllers is Quorum.UNKNOWN and not e.controllers_refuse_client)


def _split(e: Evidence) -> bool:
    alive = e.controllers in (Quorum.UP, Quorum.MINORITY)
    unknown = e.controllers is Quorum.UNKNOWN and e.copy_marker is CopyMarker.COPIED
    if e.kraft_state != ZkMigrationState.MIGRATION or e.holder is not Holder.ZOOKEEPER:
        return False
    return (alive and not _in_motion(e)) or unknown


def _in_motion(e: Evidence) -> bool:
    """The znodes were read before the copy, and the log after it."""
    return e.copy_marker is CopyMarker.NOT_COPIED and _since_copy(e) <= _WINDOW_OF_AN_OBSERVATION


def _since_copy(e: Evidence) -> int:
    """Records behind the end of the copy; as many as can be where that is not known."""
    if e.log is None or e.log.copy_begin is None:
        return 1 << 62
    return 0 if e.log.copy_end is None else e.log.end_offset - e.log.copy_end


def _stale(e: Evidence) -> bool:
    """An offset of an earlier copy, and a quorum that has not copied: it would skip the copy and empty ZooKeeper."""
    if e.kraft_state != ZkMigrationState.PRE_MIGRATION or e.copy_marker is not CopyMarker.COPIED or e.copy_in_log:
        return False
    return e.controllers in (Quorum.UP, Quorum.MINORITY) or e.holder is Holder.KRAFT


def _of_another_cluster(e: Evidence) -> bool:
    """`/controller` is KRaft's and not of this quorum: no broker has registered here, or its epoch is the newer one."""
    if e.kraft_state != ZkMigrationState.PRE_MIGRATION or e.holder is not Holder.KRAFT or _not_up(e):
        return False
    claimed = None if e.tree is None or e.tree.controller is None else e.tree.controller.kraft_epoch
    newer = claimed is not None and e.log_epoch is not None and claimed > e.log_epoch
    registers_none = e.log is not None and not e.log.registrations
    return newer or (registers_none and not e.copy_in_log)


def _claimed_uncopied(e: Evidence) -> bool:
    early = e.kraft_state == ZkMigrationState.PRE_MIGRATION or (
        e.kraft_state is None and e.copy_marker in (CopyMarker.NOT_COPIED, CopyMarker.BROKEN)
    )
    return early and e.holder is Holder.KRAFT


def _crashed(e: Evidence) -> bool:
    if not _claimed_uncopied(e) or (e.copy_marker is CopyMarker.ABSENT and e.controllers is Quorum.DOWN):
        return False
    aborts = 0 if e.log is None else len(e.log.aborted_copies)
    again = e.log is not None and e.log.copy_begin is not None
    return _gone(e) or (aborts >= _ABORTS_OF_A_CRASH and not again)


def _rolling_back(e: Evidence) -> bool:
    """Controllers are gone or not seen, KRaft does not hold `/controller`, and something of the rollback is undone."""
    if not _not_up(e) or e.holder is Holder.UNKNOWN:
        return False
    down = e.controllers is Quorum.DOWN
    if e.holder is Holder.KRAFT:
        return down and e.copy_marker is CopyMarker.ABSENT
    if e.copy_marker is CopyMarker.COPIED:
        return True
    if e.copy_marker is CopyMarker.ABSENT:
        return bool(e.flagged) or (down and e.kraft_state == ZkMigrationState.MIGRATION and e.holder is Holder.NONE)
    return down and not e.controllers_ended and e.kraft_state in (ZkMigrationState.MIGRATION, None)


def _rolled_back(e: Evidence) -> bool:
    """The log is that of controllers that are gone, and ZooKeeper is as if they had never been."""
    return _not_up(e) and e.holder in (Holder.ZOOKEEPER, Holder.NONE) and e.copy_marker is CopyMarker.ABSENT


def _copied(e: Evidence) -> bool:
    """The copy counts: by the log or a metric, else because KRaft holds `/controller` and `/migration` says so."""
    by_znodes = e.kraft_state is None and e.holder is Holder.KRAFT and e.copy_marker is CopyMarker.COPIED
    return e.kraft_state == ZkMigrationState.MIGRATION or by_znodes


def _lost_quorum(e: Evidence) -> bool:
    held = e.holder is Holder.KRAFT or (e.holder is Holder.UNKNOWN and e.kraft_state == ZkMigrationState.MIGRATION)
    return _gone(e) and held and _copied(e)


def _lost_memory(e: Evidence) -> bool:
    """`/migration` no longer says that the copy is done; it does so a moment after the copy's end.

    The claim writes it once, so one that was never written since it was made was made again.
    """
    if e.kraft_state is None and e.holder is Holder.KRAFT and e.controllers is Quorum.UP:
        return e.copy_marker is CopyMarker.ABSENT  # it is made before /controller is claimed
    if e.kraft_state != ZkMigrationState.MIGRATION or e.copy_marker in (CopyMarker.COPIED, CopyMarker.UNKNOWN):
        return False
    if e.copy_marker is not CopyMarker.NOT_COPIED or e.tree is None or e.tree.migration is None:
        return True
    created_again = e.holder is Holder.KRAFT and e.tree.migration.version == 0 and not _is_version_untold(e)
    return _since_copy(e) > (_WINDOW if created_again else _WINDOW_OF_AN_OBSERVATION)


def _is_version_untold(e: Evidence) -> bool:
    """Whether the saved tree leaves out how often `/migration` was written."""
    znode = None if e.observation.tree is None else e.observation.tree.get("/migration")
    return znode is not None and "version" in znode.untold


def _entering(e: Evidence) -> bool:
    """A quorum waits for the brokers, or has waited when it was last seen. A lone candidate makes `/migration` too."""
    if e.kraft_state is not None:
        return e.kraft_state == ZkMigrationState.PRE_MIGRATION
    return e.leads is not False and (e.controllers is Quorum.UP or e.copy_marker is CopyMarker.NOT_COPIED)


def _waits(e: Evidence) -> bool:
    """A quorum with a majority waits. Whom it waits for is known from its log; without a log, from its leader."""
    return _entering(e) and e.controllers is not Quorum.MINORITY


def _not_led(e: Evidence) -> bool:
    """Some controllers run, and no majority of them has a leader that has committed."""
    return any(answers(controller) for controller in e.observation.controllers)


def _formatted(e: Evidence) -> bool:
    return any(controller.meta_properties for controller in e.observation.controllers)


def _nothing_seen(e: Evidence) -> bool:
    return e.tree is None and e.kraft_state is None


def _old_offset(e: Evidence) -> bool:
    """Controllers run next to a ZooKeeper controller, `/migration` has an offset, and no log says how that came."""
    alive = e.controllers in (Quorum.UP, Quorum.MINORITY)
    return e.kraft_state is None and alive and e.holder is Holder.ZOOKEEPER and e.copy_marker is CopyMarker.COPIED


def _is_written(e: Evidence) -> bool:
    """Whether `/migration` is still being written."""
    return e.dual_write.age_ms is not None and e.dual_write.age_ms <= _WRITTEN_MS


def _kraft_only(e: Evidence) -> bool:
    return e.kraft_state == ZkMigrationState.NONE and e.tree is None and bool(e.on_kraft)


def _some_left(e: Evidence) -> bool:
    """Brokers that are still registered as migrating, or where no log shows them, that run so."""
    if e.log is None and e.migrating_count is not None:
        return e.migrating_count > 0
    if any(broker.on_kraft is False for broker in e.brokers):
        return True
    unseen = e.log is None and not e.on_kraft
    return unseen and (not _by_tree_alone(e) or any(broker.in_zookeeper for broker in e.brokers))


def _some_on_kraft(e: Evidence) -> bool:
    return bool(e.on_kraft) or (_by_tree_alone(e) and not all(broker.in_zookeeper for broker in e.brokers))


def _by_tree_alone(e: Evidence) -> bool:
    """Only ZooKeeper shows the brokers: one that is not in it any more, and not seen to be down, is on KRaft."""
    knows_brokers = e.tree is not None and e.tree.knows_brokers and e.log is None
    return knows_brokers and all(broker.on_kraft is None and broker.answers is not False for broker in e.brokers)


# --- the table ------------------------------------------------------------------------------------------------------

TABLE: Final[tuple[Band | Row, ...]] = (
    Band(
        "Identity",
        "evidence of a node of another cluster proves nothing about this one, so no later row may use it",
    ),
    Row(
        State.UNIDENTIFIED_NODES,
        lambda e: bool(e.identities.strangers),
        "nodes answer that are of another cluster, are other nodes than the inventory says, or do not identify"
        " themselves: nothing is concluded from them, so the state is unknown",
    ),
    Band(
        "Finalized",
        "nothing undoes POST_MIGRATION, whatever else is seen; a broker left in ZooKeeper mode is the only difference"
        " between a broken end and M10 or M11, so that row is the first of the three",
    ),
    Row(
        State.FINALIZED_WITH_ZOOKEEPER_BROKER,
        lambda e: _post(e) and _runs_on_zookeeper(e),
        "the log says POST_MIGRATION and a broker still runs in ZooKeeper mode: it learns nothing of new topics,"
        " and writes with acks=all to partitions that have it in the ISR time out",
    ),
    Row(
        State.M11,
        lambda e: _post(e) and _all_controllers_final(e),
        "the log says POST_MIGRATION, and no controller has the flag",
    ),
    Row(State.M10, _post, "the log says POST_MIGRATION, and not every controller runs without the flag yet"),
    Band(
        "Nothing observed",
        "every later row would read what was not observed as absent, and the last row would say M0",
    ),
    Row(
        State.NOT_ENOUGH_EVIDENCE,
        _nothing_seen,
        "neither ZooKeeper's znodes nor the state of any controller were observed",
    ),
    Band(
        "No log",
        "these rows judge by ZooKeeper alone; the rows that take a quorum without a log for one that waits (M3)"
        " would hold, too",
    ),
    Row(
        State.SPLIT_BRAIN,
        lambda e: _old_offset(e) and _is_written(e),
        "a ZooKeeper broker holds /controller, and KRaft controllers run that still write /migration: changes made"
        " through brokers go to ZooKeeper only",
    ),
    Row(
        State.STALE_MIGRATION,
        _old_offset,
        "KRaft controllers run, a ZooKeeper broker holds /controller, and /migration has the offset of a copy that no"
        " log shows: of an earlier quorum, it makes this one skip the copy and empty ZooKeeper",
    ),
    Band(
        "Never migrating",
        "a log that says NONE cannot migrate any more; only brokers registered in it, and no ZooKeeper, show that"
        " it never had to",
    ),
    Row(
        State.BORN_IN_KRAFT,
        _kraft_only,
        "brokers are registered in a log that says NONE: this cluster was never migrated",
    ),
    Row(
        State.QUORUM_WITHOUT_MIGRATION_FLAG,
        lambda e: e.kraft_state == ZkMigrationState.NONE,
        f"the log says NONE: the controllers were first started without {MIGRATION_ENABLE}=true;"
        " with the flag they now end at once",
    ),
    Band(
        "Contradictions",
        "each of them also fulfils the row of a healthy state: a split brain that of M6, a stale offset those of"
        " M3 to M5, a crashed copy that of M5",
    ),
    Row(
        State.SPLIT_BRAIN,
        _split,
        "a ZooKeeper broker holds /controller while the KRaft quorum says MIGRATION: changes made through brokers go to"
        " ZooKeeper only, and the next KRaft leader undoes them",
    ),
    Row(
        State.STALE_MIGRATION,
        _stale,
        "the quorum says PRE_MIGRATION and has copied nothing, and /migration has the offset of an earlier copy: once"
        " all brokers have entered, the copy is skipped and ZooKeeper is emptied",
    ),
    Row(
        State.STALE_CONTROLLER,
        _of_another_cluster,
        "/controller is held by a KRaft controller of another quorum: this one has no broker registered or is behind"
        " its epoch, so the cluster has no controller",
    ),
    Row(
        State.COPY_CRASHED,
        _crashed,
        "KRaft has taken /controller, /migration says that nothing is copied, and the controllers are gone or have"
        " given up the copy again and again: the cluster has no controller",
    ),
    Band(
        "Copying",
        "/controller of KRaft without a copy is M5 although the log still shows a quorum that waits",
    ),
    Row(State.M5, _claimed_uncopied, "KRaft has taken /controller, and the copy is not done yet"),
    Band(
        "Controllers gone",
        "the log of controllers that are gone is history: it may still say MIGRATION, and would be read as M6",
    ),
    Row(
        State.INCOMPLETE_ROLLBACK,
        _rolling_back,
        "no controller is seen to run and KRaft does not hold /controller, but /migration or brokers with the"
        " migration's configuration are left",
    ),
    Row(
        State.LOST_QUORUM,
        _lost_quorum,
        "KRaft holds /controller, which is never removed automatically, and no majority of controllers runs",
    ),
    Row(
        State.M0,
        lambda e: e.kraft_state in (ZkMigrationState.PRE_MIGRATION, ZkMigrationState.MIGRATION) and _rolled_back(e),
        "a ZooKeeper controller is active and no sign of a migration is in ZooKeeper or on a broker; the log is"
        " that of controllers that are gone",
    ),
    Band(
        "Copied",
        "what is lost or not mirrored yet comes first; then M8, M7, M6, for each of them also fulfils the rows of"
        " those below it",
    ),
    Row(
        State.LOST_MIGRATION_ZNODE,
        _lost_memory,
        "the log says MIGRATION and /migration does not say that the copy was done: nothing is written to ZooKeeper any"
        " more, and the lag metric shows 0",
    ),
    Row(
        State.M5,
        lambda e: _copied(e) and not e.on_kraft and e.tree is not None and not e.has_dual_written,
        "the copy is committed, and /migration does not follow the log yet",
    ),
    Row(
        State.M8,
        lambda e: _copied(e) and not _some_left(e),
        "the copy is done, and no broker is registered as migrating",
    ),
    Row(
        State.M7,
        lambda e: _copied(e) and _some_on_kraft(e),
        "the copy is done, and some brokers are on KRaft, others not",
    ),
    Row(State.M6, _copied, "the copy is done, and all brokers are in ZooKeeper mode"),
    Band(
        "Waiting for brokers",
        "from the narrowest condition to the widest: all brokers have entered, all but one, some, none",
    ),
    Row(
        State.M5,
        lambda e: _entering(e) and bool(e.entered) and not e.missing,
        "every broker has entered: the copy begins automatically",
    ),
    Row(
        State.M4L,
        lambda e: _entering(e) and bool(e.entered) and len(e.missing) == 1,
        "every broker but one has entered: the copy begins automatically with the last one",
    ),
    Row(State.M4, lambda e: _entering(e) and bool(e.entered), "the quorum waits, and some brokers have entered"),
    Row(State.M3, _waits, "a majority of the controllers is led, and no broker has entered"),
    Band(
        "Without a leader",
        "whatever runs or is formatted has proved nothing else by now; the last row holds always",
    ),
    Row(State.M2, _not_led, "controllers run, and no leader of a majority of them was seen to commit anything"),
    Row(State.M2, _formatted, "controllers are formatted and none of them runs"),
    Row(State.M0, lambda _: True, "nothing of a migration is there"),
)
