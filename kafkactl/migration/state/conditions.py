"""Conditions on the evidence that several states share; a condition of one state is in its file of `steps`."""

from __future__ import annotations

from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.migration.observed.observation import Mode, NodeSeen
from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.evidence import CopyMarker, Evidence, Holder, Quorum, file_has_flag, is_finalized_by_flag


def is_final(e: Evidence) -> bool:
    """Return True if the migration is finalized by the log, a metric, or a leader without the flag after the copy."""
    return e.kraft_state == ZkMigrationState.POST_MIGRATION or is_finalized_by_flag(e)


def not_up(e: Evidence) -> bool:
    """Return True if no controller is observed to run."""
    return e.controllers is Quorum.DOWN or (e.controllers is Quorum.UNKNOWN and not e.controllers_refuse_client)


def formatted(e: Evidence) -> bool:
    """Return True if a controller has a formatted disk."""
    return any(controller.meta_properties for controller in e.observation.controllers)


def entering(e: Evidence) -> bool:
    """Return True if a quorum waits for the brokers, or waited when it was last observed.

    `/migration` alone does not show a quorum: a candidate without a majority makes this znode, too.
    """
    if e.kraft_state is not None:
        return e.kraft_state == ZkMigrationState.PRE_MIGRATION
    return e.leads is not False and (e.controllers is Quorum.UP or e.copy_marker is CopyMarker.NOT_COPIED)


def claimed_uncopied(e: Evidence) -> bool:
    """Return True if KRaft holds `/controller`, and the copy is not done."""
    early = e.kraft_state == ZkMigrationState.PRE_MIGRATION or (
        e.kraft_state is None and e.copy_marker in (CopyMarker.NOT_COPIED, CopyMarker.BROKEN)
    )
    return early and e.holder is Holder.KRAFT


def copied(e: Evidence) -> bool:
    """Return True if the copy is done by the log or a metric, else by `/controller` and `/migration` together."""
    by_znodes = e.kraft_state is None and e.holder is Holder.KRAFT and e.copy_marker is CopyMarker.COPIED
    return e.kraft_state == ZkMigrationState.MIGRATION or by_znodes


def is_quorum_without_brokers(e: Evidence) -> bool:
    """Return True if KRaft is active after a copy, and every observed broker runs or would start on ZooKeeper alone.

    The brokers left before the controllers were stopped, or a quorum was started after a rollback.
    """
    if not copied(e) or e.holder is not Holder.KRAFT or e.controllers is not Quorum.UP:
        return False
    modes = [broker.runs_as for broker in e.brokers if broker.runs_as is not None]
    return any(broker.mode is Mode.ZK for broker in e.brokers) and all(mode is Mode.ZK for mode in modes)


def shown_by_tree_alone(e: Evidence) -> bool:
    """Return True if only ZooKeeper shows the brokers: a broker that left it, and is not down, is then on KRaft."""
    knows_brokers = e.tree is not None and e.tree.knows_brokers and e.log is None
    return knows_brokers and all(broker.on_kraft is None and broker.answers is not False for broker in e.brokers)


def gets_migration_file(controller: NodeSeen | None) -> bool:
    """Return True if `run` installs the migration file of a controller: it is down, and its file has no flag."""
    return answers(controller) is not True and (controller is None or file_has_flag(controller) is not True)
