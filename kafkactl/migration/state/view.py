"""Evidence in JSON values: the field of `migrate status` with the observed state."""

from __future__ import annotations

from typing import TypedDict

from kafkactl.migration.observed.observation import Mode, NodeSeen
from kafkactl.migration.state.brokers import BrokerEvidence, answers
from kafkactl.migration.state.evidence import STATE_WORDS, CopyMarker, Evidence, Holder, Quorum, has_flag, state_metric
from kafkactl.migration.state.names import State
from kafkactl.migration.state.soak import soak_of


class ControllerHolderDict(TypedDict):
    """`/controller`."""

    held_by: Holder
    id: int | None
    kraft_epoch: int | None
    ephemeral: bool | None


class MigrationZnodeDict(TypedDict):
    """`/migration`."""

    says: CopyMarker
    metadata_offset: int | None
    metadata_epoch: int | None
    age_ms: int | None
    """Age of the lock, by the clocks of the observer and of ZooKeeper."""


class LogDict(TypedDict):
    """The newest metadata log that was observed."""

    end_offset: int
    epoch: int
    copy_begin: int | None
    copy_end: int | None
    copies_aborted: int


class DualWriteDict(TypedDict):
    """Distance of ZooKeeper to the log."""

    offset: int | None
    log_offset: int | None
    lag: int | None
    """Records; not the lag metric, which is 0 while the driver is stuck."""
    follows: bool | None


class SoakDict(TypedDict):
    """M8 so far, by the times in the quorum's log."""

    since_ms: int
    """When the last broker came onto KRaft."""
    lasted_ms: int
    """Least time since then."""
    elections: int
    """Elections of a controller since then."""
    last_election_ago_ms: int | None
    words: str


class BrokerDict(TypedDict):
    """Evidence about each broker: znode, registration, its own answer (tag 3), observers of the quorum."""

    id: int
    alive: bool | None
    mode: Mode | None
    """By its own answers."""
    file: Mode | None
    """How it would start with the file on its disk."""
    znode: bool | None
    registered: bool | None
    migrating: bool | None
    fenced: bool | None
    tag: bool | None
    observer: bool | None


class ControllerDict(TypedDict):
    """A KRaft controller."""

    id: int
    alive: bool | None
    leader: bool | None
    ready: bool | None
    """True if it runs with the migration flag (ZkMigrationReady)."""
    zk_migration_state: str | None


class ObservedDict(TypedDict):
    """Observed state. None is what was not observed."""

    state: str
    zk_migration_state: str | None
    """NONE, PRE_MIGRATION, MIGRATION or POST_MIGRATION."""
    controller: ControllerHolderDict
    controller_epoch: int | None
    migration_znode: MigrationZnodeDict
    quorum: Quorum
    log: LogDict | None
    dual_write: DualWriteDict
    soak: SoakDict | None
    """None outside of M8, and if no log dates it."""
    brokers: list[BrokerDict]
    controllers: list[ControllerDict]


def observed_view(e: Evidence, state: State) -> ObservedDict:
    """Return the sources of evidence side by side; null is what was not observed."""
    return {
        "state": state.value,
        "zk_migration_state": None if e.kraft_state is None else STATE_WORDS.get(e.kraft_state, str(e.kraft_state)),
        "controller": _holder(e),
        "controller_epoch": None if e.tree is None else e.tree.controller_epoch,
        "migration_znode": _migration_znode(e),
        "quorum": e.controllers,
        "log": _log(e),
        "dual_write": {
            "offset": e.dual_write.offset,
            "log_offset": e.dual_write.last,
            "lag": e.dual_write.lag,
            "follows": e.dual_write.follows,
        },
        "soak": _soak(e),
        "brokers": [_broker(broker) for broker in e.brokers],
        "controllers": [_controller(controller, e) for controller in e.observation.controllers],
    }


def _holder(e: Evidence) -> ControllerHolderDict:
    held = None if e.tree is None else e.tree.controller
    return {
        "held_by": e.holder,
        "id": None if held is None else held.broker_id,
        "kraft_epoch": held.kraft_epoch if held is not None and held.is_kraft else None,
        "ephemeral": None if held is None else held.ephemeral,
    }


def _migration_znode(e: Evidence) -> MigrationZnodeDict:
    held = None if e.tree is None else e.tree.migration
    return {
        "says": e.copy_marker,
        "metadata_offset": None if held is None else held.metadata_offset,
        "metadata_epoch": None if held is None else held.metadata_epoch,
        "age_ms": e.dual_write.age_ms,
    }


def _log(e: Evidence) -> LogDict | None:
    if e.log is None:
        return None
    return {
        "end_offset": e.log.end_offset,
        "epoch": e.log.epoch,
        "copy_begin": e.log.copy_begin,
        "copy_end": e.log.copy_end,
        "copies_aborted": len(e.log.aborted_copies),
    }


def _soak(e: Evidence) -> SoakDict | None:
    soak = soak_of(e)
    if soak is None:
        return None
    return {
        "since_ms": soak.since_ms,
        "lasted_ms": soak.lasted_ms,
        "elections": soak.elections,
        "last_election_ago_ms": soak.last_election_ago_ms,
        "words": soak.words,
    }


def _broker(broker: BrokerEvidence) -> BrokerDict:
    held = broker.registration
    return {
        "id": broker.id,
        "alive": broker.answers,
        "mode": broker.mode,
        "file": broker.file_mode,
        "znode": broker.in_zookeeper,
        "registered": broker.registered,
        "migrating": None if held is None else held.migrating,
        "fenced": None if held is None else held.fenced,
        "tag": broker.ready,
        "observer": broker.observer,
    }


def _controller(node: NodeSeen, e: Evidence) -> ControllerDict:
    state = state_metric(node)
    return {
        "id": node.id,
        "alive": answers(node),
        "leader": None if e.quorum is None else e.quorum.leader_id == node.id,
        "ready": has_flag(node),
        "zk_migration_state": None if state is None else STATE_WORDS[state],
    }
