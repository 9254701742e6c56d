"""The brokers' steps of the forward plan: into migration mode, and after the copy to KRaft. One broker at a time."""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.migration.observed.observation import Mode, NodeRole
from kafkactl.migration.plan.order import roll_order
from kafkactl.migration.plan.step import Barrier, File, Move, Progress, Step
from kafkactl.migration.state.brokers import BrokerEvidence
from kafkactl.migration.state.evidence import CopyMarker, Evidence, Holder
from kafkactl.migration.state.names import State


def entering_steps(e: Evidence) -> Iterator[Step]:
    """M3 to M4L: the broker that holds `/controller` last; the copy begins automatically with the last one.

    A registration is not enough: a broker that left again would be left out of the copy, so it enters once more.
    """
    order = _order(e)
    waiting = [broker for broker in order if not _has_entered(broker)]
    for broker in order:
        is_last = waiting[-1:] == [broker]
        runs = broker.mode is Mode.MIGRATING
        shared = {
            "phase": State.M4L if is_last else State.M4,
            "barrier": Barrier.LAST_BROKER if is_last else None,
        }
        yield _step(
            broker,
            Move.PUT_CONFIG,
            File.MIGRATION,
            gate="its file has the flag, the quorum and controller.listener.names, and keeps zookeeper.*",
            why="from now on its next start enters the migration",
            is_done=broker.file_mode is Mode.MIGRATING or (broker.file_mode is None and runs),
            **shared,  # type: ignore[arg-type]
        )
        yield _step(
            broker,
            Move.RESTART_NODE,
            File.MIGRATION,
            gate="back in /brokers/ids, registered as migrating, its own answer says so (tag 3), it follows the"
            " quorum's log, and all its replicas are in the ISR",
            why="restarted is not registered: all four witnesses count",
            is_done=runs or _has_entered(broker),
            **shared,  # type: ignore[arg-type]
        )
        yield _step(
            broker,
            Move.WAIT_BROKER_REGISTERED,
            File.MIGRATION,
            gate="the broker is registered as migrating",
            why="a broker in migration mode does not wait for its registration, and retries indefinitely",
            is_done=_has_entered(broker),
            **shared,  # type: ignore[arg-type]
        )


def copy_step(e: Evidence) -> Step:
    """M5: nothing to do but to look."""
    copied = (
        e.kraft_state == ZkMigrationState.MIGRATION and e.holder is Holder.KRAFT and e.copy_marker is CopyMarker.COPIED
    )
    return Step(
        action=Move.WAIT_COPY,
        target="controllers",
        gate="KRaft holds /controller, the log says MIGRATION, the offset in /migration follows the log",
        why="the copy starts automatically once every broker is registered",
        state=Progress.DONE if copied and e.has_dual_written else Progress.PENDING,
        role=NodeRole.CONTROLLER,
        phase=State.M5,
    )


def kraft_steps(e: Evidence) -> Iterator[Step]:
    """M6 and M7: a KRaft file reaches a broker's disk only now; before the copy it would rename every partition."""
    for broker in e.brokers:
        if broker.fell_back:
            yield from _mended(broker)
    for broker in roll_order(_order(e), e):
        held = broker.registration
        runs = broker.mode is Mode.KRAFT
        registered = held is not None and not held.migrating and not held.fenced and not broker.fell_back
        yield _step(
            broker,
            Move.PUT_CONFIG,
            File.KRAFT,
            gate="its file has process.roles=broker and node.id, and no zookeeper.* setting",
            why="from now on its next start is one on KRaft",
            is_done=broker.file_mode is Mode.KRAFT or (broker.file_mode is None and runs),
            phase=State.M7,
        )
        yield _step(
            broker,
            Move.RESTART_NODE,
            File.KRAFT,
            gate=f"registered without the migrating flag and not fenced, /brokers/ids/{broker.id} is gone, no *-stray"
            " directory, all its replicas are in the ISR",
            why="ZooKeeper stays up to date, and a rollback remains possible",
            is_done=runs or registered,
            phase=State.M7,
        )
        yield _step(
            broker,
            Move.WAIT_BROKER_REGISTERED,
            File.KRAFT,
            gate="the broker is registered without the migrating flag, and not fenced",
            why="only then KRaft counts it as changed",
            is_done=registered or (broker.registered is None and runs),
            phase=State.M7,
        )


def _mended(broker: BrokerEvidence) -> Iterator[Step]:
    """Steps for a broker that left KRaft for ZooKeeper mode: through migration mode, as KRaft registers it there."""
    yield _step(
        broker,
        Move.PUT_CONFIG,
        File.MIGRATION,
        gate="its file has the flag, the quorum and controller.listener.names, and keeps zookeeper.*",
        why="it left KRaft for ZooKeeper mode, where KRaft does not count on it",
        is_done=broker.file_mode is Mode.MIGRATING,
        phase=State.M7,
    )
    yield _step(
        broker,
        Move.RESTART_NODE,
        File.MIGRATION,
        gate="registered as migrating again, and all its replicas are in the ISR",
        why="no other broker may be stopped before its replicas are in the ISR again",
        is_done=False,
        phase=State.M7,
    )


def _has_entered(broker: BrokerEvidence) -> bool:
    return bool(broker.entered) and not broker.left and broker.in_zookeeper is not False


def _order(e: Evidence) -> list[BrokerEvidence]:
    """The ZooKeeper controller last."""
    held_by = None
    if e.holder is Holder.ZOOKEEPER and e.tree is not None and e.tree.controller is not None:
        held_by = e.tree.controller.broker_id
    known = [broker for broker in e.brokers if broker.node is not None or broker.in_zookeeper]
    return roll_order(known, e, last=held_by)


def _step(
    broker: BrokerEvidence,
    action: Move,
    file: File,
    *,
    gate: str,
    why: str,
    is_done: bool,
    phase: State,
    barrier: Barrier | None = None,
) -> Step:
    return Step(
        action=action,
        target=broker.name,
        gate=gate,
        why=why,
        state=Progress.DONE if is_done else Progress.PENDING,
        node=broker.id,
        role=NodeRole.BROKER,
        file=file,
        barrier=barrier,
        phase=phase,
    )
