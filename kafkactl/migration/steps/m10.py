"""M10: the controllers restart without the migration flag, the leader last, and the migration is being finalized.

The first restart is the point of no return.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, warning
from kafkactl.core.kafka_names import MIGRATION_ENABLE, ZkMigrationState
from kafkactl.core.values import Role
from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.conditions import is_final
from kafkactl.migration.state.evidence import Evidence, Holder, file_has_flag, has_flag, state_metric
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Level, Row, StateDefinition
from kafkactl.migration.steps.rollback_case import RollbackCase
from kafkactl.migration.steps.step import Barrier, File, Move, Progress, Step, controller_step

# Recognition

FINALIZING: Final = Row(
    State.M10, is_final, "the log says POST_MIGRATION, and not every controller runs without the flag yet"
)


# Forward


def plan(e: Evidence, ids: tuple[int, ...]) -> Iterator[Step]:
    """Yield the final file and the restart of each controller, and the wait for POST_MIGRATION."""
    leader = None if e.quorum is None else e.quorum.leader_id
    is_over = e.kraft_state == ZkMigrationState.POST_MIGRATION
    barrier = None if is_over else Barrier.FINALIZE
    # Before the copy a file without the flag is a mistake.
    is_copied = is_over or e.kraft_state == ZkMigrationState.MIGRATION
    for id in sorted(ids, key=lambda id: (id == leader, id)):
        node = e.observation.node(id, Role.CONTROLLER)
        yield controller_step(
            id,
            Move.PUT_CONFIG,
            File.FINAL,
            gate="its file has neither the flag nor zookeeper.* settings",
            why="the first controller without the flag that is elected ends the migration",
            is_done=is_copied and node is not None and file_has_flag(node) is False,
            phase=State.M10,
            barrier=barrier,
        )
        yield controller_step(
            id,
            Move.RESTART_NODE,
            File.FINAL,
            gate="the controller answers without ZkMigrationReady, and follows the leader",
            why="the leader is the last one, so that all others have the right file when the migration ends",
            is_done=is_copied and node is not None and has_flag(node) is False,
            phase=State.M10,
            barrier=barrier,
        )
    yield Step(
        action=Move.WAIT_FINALIZED,
        target="controllers",
        gate="the log says POST_MIGRATION, and every controller knows it",
        why="only then ZooKeeper is not needed any more",
        state=Progress.DONE if is_over and _all_know(e) else Progress.PENDING,
        role=Role.CONTROLLER,
        phase=State.M10,
    )


def _all_know(e: Evidence) -> bool:
    return all(
        state_metric(controller) in (None, ZkMigrationState.POST_MIGRATION) for controller in e.observation.controllers
    )


# Gate


def controllers_final(e: Evidence) -> Iterator[Finding]:
    """Report each controller that has the flag, does not know POST_MIGRATION, or does not respond."""
    for controller in e.observation.controllers:
        if has_flag(controller) or (has_flag(controller) is None and file_has_flag(controller)):
            yield warning("controller-not-final", controller.name, f"{controller.name} still has the migration flag")
        elif state_metric(controller) in (ZkMigrationState.MIGRATION, ZkMigrationState.PRE_MIGRATION):
            text = f"{controller.name} does not report POST_MIGRATION yet"
            yield warning("controller-not-final", controller.name, text, "Wait and look again.")
        elif answers(controller) is False:
            yield warning("controller-not-final", controller.name, f"{controller.name} does not respond", "Start it.")


# Rollback


def undo(case: RollbackCase) -> Iterator[Step]:
    """Give the flag back to controllers that run without it while the migration is not finalized.

    A controller without the flag finalizes the migration if it is elected, also by the stop of the others.
    """
    e = case.evidence
    if e.holder is not Holder.KRAFT or e.kraft_state != ZkMigrationState.MIGRATION:
        return
    for controller in e.observation.controllers:
        if has_flag(controller) is not False:
            continue
        yield controller_step(
            controller.id,
            Move.RESTORE_CONFIG,
            File.MIGRATION,
            gate=f"its file has {MIGRATION_ENABLE}=true",
            why="this controller runs without the migration flag: if elected, it finalizes the migration at once",
        )
        yield controller_step(
            controller.id,
            Move.RESTART_NODE,
            File.MIGRATION,
            gate="the controller answers with ZkMigrationReady, and follows the leader",
            why="no controller may be without the flag while others stop",
        )


M10: Final = StateDefinition(
    state=State.M10,
    level=Level.FINAL,
    ends_automatically=True,
    plan=plan,
    shown_until=State.M10,
    gate=(controllers_final,),
    undo=undo,
)
