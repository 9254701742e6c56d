"""M2: the controllers get their files and formatted disks; no majority of them is led yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.core.values import Role
from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.conditions import formatted, gets_migration_file
from kafkactl.migration.state.evidence import Evidence
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Level, Row, StateDefinition
from kafkactl.migration.steps.rollback_case import RollbackCase
from kafkactl.migration.steps.step import File, Move, Step, controller_step

# Recognition


def _some_run(e: Evidence) -> bool:
    return any(answers(controller) for controller in e.observation.controllers)


NOT_LED: Final = Row(
    State.M2, _some_run, "controllers run, and no leader of a majority of them was seen to commit anything"
)
FORMATTED: Final = Row(State.M2, formatted, "controllers are formatted and none of them runs")


# Forward


def plan(e: Evidence, ids: tuple[int, ...]) -> Iterator[Step]:
    """Yield the file of each controller, then the format of each disk."""
    for id in ids:
        yield controller_step(
            id,
            Move.PUT_CONFIG,
            File.MIGRATION,
            gate=f"its file has {MIGRATION_ENABLE}=true and the brokers' zookeeper.* settings",
            why="started without the flag even once, a quorum can never migrate",
            is_done=not gets_migration_file(e.observation.node(id, Role.CONTROLLER)),
            phase=State.M2,
        )
    for id in ids:
        node = e.observation.node(id, Role.CONTROLLER)
        yield controller_step(
            id,
            Move.FORMAT_DISK,
            gate="meta.properties has the cluster id of ZooKeeper and the release of inter.broker.protocol.version",
            why="nothing compares the cluster id later on, and brokers register only with exactly that release",
            is_done=answers(node) is True or bool(node is not None and node.meta_properties),
            phase=State.M2,
        )


# Gate


def controllers_formatted(e: Evidence) -> Iterator[Finding]:
    """Report a controller without meta.properties, and a quorum that was started and ended."""
    if e.controllers_ended:
        names = ", ".join(controller.name for controller in e.observation.controllers)
        text = (
            f"no controller runs ({names}), and /migration shows that one was started: the quorum ended before a broker"
            " entered, and nothing was copied"
        )
        yield blocker("started-controllers-ended", names, text)
    for controller in e.observation.controllers:
        if not controller.meta_properties and not answers(controller):
            yield warning("controller-disk-not-seen", controller.name, "no meta.properties of it was seen")


# Rollback


def undo(case: RollbackCase) -> Iterator[Step]:
    """Wipe the disks of all controllers: a registration in their log never expires before the copy."""
    yield from wiped(case.evidence, case.controller_ids, disks_unseen(case))


def wiped(e: Evidence, ids: Iterable[int], unseen: frozenset[int] = frozenset()) -> Iterator[Step]:
    """Yield the wipe of disks that are known to be used, and of those that are not known to be empty (`unseen`)."""
    for id in ids:
        node = e.observation.node(id, Role.CONTROLLER)
        log = e.observation.logs.get(id)
        is_used = (log is not None and log.end_offset > 0) or bool(node and (node.meta_properties or answers(node)))
        if is_used or id in unseen:
            yield controller_step(
                id,
                Move.WIPE_DISK,
                gate="its metadata directory is archived and empty",
                why="its log has registrations that never expire; the next try needs a new quorum",
            )


def disks_unseen(case: RollbackCase) -> frozenset[int]:
    """Return the controllers of the inventory whose disks are not known to be empty."""
    return frozenset(
        controller.id
        for controller in (() if case.inventory is None else case.inventory.controllers)
        if (node := case.evidence.observation.node(controller.id, Role.CONTROLLER)) is None
        or node.meta_properties is not None
        or not controller.log
    )


M2: Final = StateDefinition(
    state=State.M2, level=Level.PREPARED, plan=plan, shown_until=State.M4L, gate=(controllers_formatted,), undo=undo
)
