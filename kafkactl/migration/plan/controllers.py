"""The controllers' steps of the forward plan: file, format, start; and at the end the file that finalizes."""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.core.kafka_names import MIGRATION_ENABLE, ZkMigrationState
from kafkactl.migration.checks.planned_files import gets_migration_file
from kafkactl.migration.observed.observation import NodeRole, NodeSeen
from kafkactl.migration.plan.step import Barrier, File, Move, Progress, Step
from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.evidence import Evidence, file_has_flag, has_flag, state_metric
from kafkactl.migration.state.names import State


def quorum_steps(e: Evidence, ids: tuple[int, ...]) -> Iterator[Step]:
    """M0 to M3: all files, all disks, all starts, and the quorum is up."""
    for id in ids:
        node = e.observation.node(id, NodeRole.CONTROLLER)
        is_done = not gets_migration_file(node)
        yield _step(
            id,
            Move.PUT_CONFIG,
            State.M2,
            file=File.MIGRATION,
            gate=f"its file has {MIGRATION_ENABLE}=true and the brokers' zookeeper.* settings",
            why="started without the flag even once, a quorum can never migrate",
            is_done=is_done,
        )
    for id in ids:
        node = e.observation.node(id, NodeRole.CONTROLLER)
        yield _step(
            id,
            Move.FORMAT_DISK,
            State.M2,
            gate="meta.properties has the cluster id of ZooKeeper and the release of inter.broker.protocol.version",
            why="nothing compares the cluster id later on, and brokers register only with exactly that release",
            is_done=_up(node) or bool(node is not None and node.meta_properties),
        )
    yield from started(e, ids, State.M3)
    up = e.kraft_state == ZkMigrationState.PRE_MIGRATION and e.quorum is not None and e.quorum.leader_id is not None
    yield Step(
        action=Move.WAIT_QUORUM,
        target="controllers",
        gate="one leads, each is ready for the migration and in PRE_MIGRATION, /migration is at offset -1",
        why="a broker that enters before cannot register with any controller",
        state=Progress.DONE if up else Progress.PENDING,
        role=NodeRole.CONTROLLER,
        phase=State.M3,
    )


def started(e: Evidence, ids: tuple[int, ...], phase: State) -> Iterator[Step]:
    """Starts of the controllers that are down."""
    for id in ids:
        yield _step(
            id,
            Move.START_NODE,
            phase,
            file=File.MIGRATION,
            gate="the controller answers with ZkMigrationReady",
            why="a quorum needs a majority of its controllers",
            is_done=_up(e.observation.node(id, NodeRole.CONTROLLER)),
        )


def ids_down(e: Evidence, ids: tuple[int, ...]) -> tuple[int, ...]:
    """The controllers that were seen to be down, but for those whose file is the final one already."""
    nodes = ((id, e.observation.node(id, NodeRole.CONTROLLER)) for id in ids)
    return tuple(
        id for id, node in nodes if node is not None and node.alive is False and file_has_flag(node) is not False
    )


def final_steps(e: Evidence, ids: tuple[int, ...]) -> Iterator[Step]:
    """M9 to M11: one controller after the other, the leader last; the first one is the point of no return."""
    leader = None if e.quorum is None else e.quorum.leader_id
    is_final = e.kraft_state == ZkMigrationState.POST_MIGRATION
    # Before the copy a file without the flag is a mistake.
    copied = is_final or e.kraft_state == ZkMigrationState.MIGRATION
    for id in sorted(ids, key=lambda id: (id == leader, id)):
        node = e.observation.node(id, NodeRole.CONTROLLER)
        runs_without = copied and node is not None and has_flag(node) is False
        yield _step(
            id,
            Move.PUT_CONFIG,
            State.M10,
            file=File.FINAL,
            gate="its file has neither the flag nor zookeeper.* settings",
            why="the first controller without the flag that is elected ends the migration",
            is_done=copied and node is not None and file_has_flag(node) is False,
            barrier=None if is_final else Barrier.FINALIZE,
        )
        yield _step(
            id,
            Move.RESTART_NODE,
            State.M10,
            file=File.FINAL,
            gate="the controller answers without ZkMigrationReady, and follows the leader",
            why="the leader is the last one, so that all others have the right file when the migration ends",
            is_done=runs_without,
            barrier=None if is_final else Barrier.FINALIZE,
        )
    yield Step(
        action=Move.WAIT_FINALIZED,
        target="controllers",
        gate="the log says POST_MIGRATION, and every controller knows it",
        why="only then ZooKeeper is not needed any more",
        state=Progress.DONE if is_final and _all_know(e) else Progress.PENDING,
        role=NodeRole.CONTROLLER,
        phase=State.M10,
    )


def _all_know(e: Evidence) -> bool:
    return all(
        state_metric(controller) in (None, ZkMigrationState.POST_MIGRATION) for controller in e.observation.controllers
    )


def _up(node: NodeSeen | None) -> bool:
    return answers(node) is True


def _step(
    id: int,
    action: Move,
    phase: State,
    *,
    gate: str,
    why: str,
    is_done: bool,
    file: File | None = None,
    barrier: Barrier | None = None,
) -> Step:
    return Step(
        action=action,
        target=f"controller {id}",
        gate=gate,
        why=why,
        state=Progress.DONE if is_done else Progress.PENDING,
        node=id,
        role=NodeRole.CONTROLLER,
        file=file,
        barrier=barrier,
        phase=phase,
    )
