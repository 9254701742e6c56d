"""M3: the controllers start, one leads a majority, and the quorum waits for the brokers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, warning
from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.core.values import Role
from kafkactl.migration.observed.silence import leader_unknown, refusing
from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.conditions import entering
from kafkactl.migration.state.evidence import (
    STATE_WORDS,
    CopyMarker,
    Evidence,
    Holder,
    Quorum,
    file_has_flag,
    has_flag,
    state_metric,
)
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Level, Milestone, Row, StateDefinition
from kafkactl.migration.steps.rollback_case import RollbackCase
from kafkactl.migration.steps.step import File, Move, Progress, Step, controller_step

# Recognition


def _waits(e: Evidence) -> bool:
    """Return True if a quorum with a majority waits. Whom it waits for is in its log, else in its leader's answer."""
    return entering(e) and e.controllers is not Quorum.MINORITY


QUORUM_WAITS: Final = Row(State.M3, _waits, "a majority of the controllers is led, and no broker has entered")


# Forward


def plan(e: Evidence, ids: tuple[int, ...]) -> Iterator[Step]:
    """Yield the start of each controller, and the wait for the quorum."""
    yield from started(e, ids, State.M3)
    up = e.kraft_state == ZkMigrationState.PRE_MIGRATION and e.quorum is not None and e.quorum.leader_id is not None
    yield Step(
        action=Move.WAIT_QUORUM,
        target="controllers",
        gate="one leads, each is ready for the migration and in PRE_MIGRATION, /migration is at offset -1",
        why="a broker that enters before cannot register with any controller",
        state=Progress.DONE if up else Progress.PENDING,
        role=Role.CONTROLLER,
        phase=State.M3,
    )


def started(e: Evidence, ids: tuple[int, ...], phase: State) -> Iterator[Step]:
    """Yield the start of each controller, as steps of a state."""
    for id in ids:
        yield controller_step(
            id,
            Move.START_NODE,
            File.MIGRATION,
            gate="the controller answers with ZkMigrationReady",
            why="a quorum needs a majority of its controllers",
            is_done=answers(e.observation.node(id, Role.CONTROLLER)) is True,
            phase=phase,
        )


def ids_down(e: Evidence, ids: tuple[int, ...]) -> tuple[int, ...]:
    """Return the controllers that are observed to be down, without those that have their final file already."""
    nodes = ((id, e.observation.node(id, Role.CONTROLLER)) for id in ids)
    return tuple(
        id for id, node in nodes if node is not None and node.alive is False and file_has_flag(node) is not False
    )


# Gate


def quorum_ready(e: Evidence) -> Iterator[Finding]:
    """Report a missing leader, missing controllers with the flag in PRE_MIGRATION, and an inactive ZooKeeper."""
    if e.quorum is None or e.quorum.leader_id is None:
        unknown = leader_unknown(e.observation)
        text = f"the leader of the quorum is unknown: {unknown}" if unknown else "no controller was seen to lead"
        yield warning("quorum-not-ready", "controllers", text)
    refused_by = refusing(e.observation)
    for controller in e.observation.controllers:
        if controller.name in refused_by:
            yield warning("quorum-not-ready", controller.name, f"{controller.name} did not let kafkactl in")
        elif answers(controller) is not True:
            yield warning("quorum-not-ready", controller.name, f"{controller.name} was not observed to respond")
        elif has_flag(controller) is None:
            text = f"whether {controller.name} is ready for the migration was not observed"
            yield warning("quorum-not-ready", controller.name, text)
        state = state_metric(controller)
        if state is not None and state != ZkMigrationState.PRE_MIGRATION:
            text = f"the migration state of {controller.name} is {STATE_WORDS[state]}"
            yield warning("quorum-not-ready", controller.name, text, state=state)
    if e.copy_marker is not CopyMarker.NOT_COPIED:
        yield warning("quorum-not-ready", "/migration", f"/migration is {e.copy_marker}, not at offset -1")
    if e.holder is not Holder.ZOOKEEPER:
        yield warning(
            "quorum-not-ready", "/controller", f"/controller is held by {e.holder}, not by a ZooKeeper broker"
        )


# Rollback


def undo(case: RollbackCase) -> Iterator[Step]:
    """Stop the controllers, if they were ever started."""
    if case.is_quorum_started:
        yield controllers_stopped(case)


def controllers_stopped(case: RollbackCase) -> Step:
    """Return the stop of all controllers, done only if each is observed to be gone.

    A controller that hangs or is cut off from the network answers nothing, and continues later.
    """
    e, ids = case.evidence, case.controller_ids
    every = {controller.id: answers(controller) for controller in e.observation.controllers}
    unmet = (finding for finding in e.observation.findings if finding.id == "node-not-observed")
    silent = {finding.subject for finding in unmet if finding.evidence.get("reason") != "connection-refused"}
    is_gone = all(every.get(id) is False and f"controller {id}" not in silent for id in ids)
    is_done = e.controllers is Quorum.DOWN and is_gone
    return Step(
        action=Move.STOP_CONTROLLERS,
        target=f"controllers {', '.join(map(str, ids))}" if ids else "controllers",
        gate="no controller process runs in two observations, and no service manager restarts one",
        why="with one alive, deleting /controller makes two controllers, and no log says so",
        state=Progress.DONE if is_done else Progress.PENDING,
        role=Role.CONTROLLER,
    )


_BEFORE_FIRST_BROKER: Final = Milestone(
    name="quorum", precedes=lambda step: step.phase in (State.M4, State.M4L), asks_gate=True
)

M3: Final = StateDefinition(
    state=State.M3,
    level=Level.ENTERED,
    milestone=_BEFORE_FIRST_BROKER,
    plan=plan,
    shown_until=State.M4L,
    gate=(quorum_ready,),
    undo=undo,
)
