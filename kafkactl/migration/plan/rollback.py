"""The rollback to ZooKeeper from wherever a migration is, in the order that was proven on real clusters.

Brokers on KRaft return to migration mode first, because only a live quorum accepts them. Then all controllers are
stopped, by process: `/controller` deleted while one of them lives is a split brain without a log line. Then
`/controller_epoch` is raised where it has to be, KRaft's `/controller` and `/migration` are deleted, a ZooKeeper broker
is elected, every broker is seen to follow it, and only then they are restarted with their own files: one that still
waits for the dead controllers cannot be stopped cleanly. At last the controllers' disks go, because a registration
never expires before the copy. What is done already is found by looking, so a rollback can be begun again anywhere.

A ZooKeeper broker's `/controller` is ephemeral and never deleted: if it was there all the time, nothing was taken over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkactl.core.findings import Outcome, blockers
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_names import MIGRATION_ENABLE, ZkMigrationState
from kafkactl.migration.inventory import Inventory
from kafkactl.migration.observed.observation import Mode, NodeRole, Observation
from kafkactl.migration.plan.rollback_epoch import epoch_gate
from kafkactl.migration.plan.rollback_memory import NOTHING, Remembered, disks_unseen, files_back, started_again
from kafkactl.migration.plan.rollback_refusals import objections
from kafkactl.migration.plan.rollback_roll import back_to_migration_mode, back_to_zookeeper, first_to_start, rolled
from kafkactl.migration.plan.step import File, Move, Progress, Step, Way
from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.evidence import CopyMarker, Evidence, Holder, Quorum, evidence_of, has_flag
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.table import ObservedState, state_of_evidence

__all__ = ["Step", "Way", "plan_rollback", "rollback_of", "wipes"]

_PRESENT = (CopyMarker.NOT_COPIED, CopyMarker.COPIED, CopyMarker.BROKEN)


def plan_rollback(
    observation: Observation,
    inventory: Inventory | None = None,
    *,
    accepted: frozenset[str] = frozenset(),
    remembered: Remembered = NOTHING,
) -> Way:
    """The rollback from what was observed. Never raises for what it holds.

    Controllers that only the inventory names are among those to be stopped, and to be wiped. `accepted` are ids of
    refusals that the operator accepts (`rollback_refusals.ACCEPTABLE`), `remembered` is what a journal knows
    of an earlier run.
    """
    evidence = evidence_of(observation)
    return rollback_of(evidence, state_of_evidence(evidence), inventory, accepted=accepted, remembered=remembered)


def rollback_of(
    e: Evidence,
    observed: ObservedState,
    inventory: Inventory | None = None,
    *,
    accepted: frozenset[str] = frozenset(),
    remembered: Remembered = NOTHING,
) -> Way:
    """The same from evidence that was gathered already."""
    found = objections(e, observed, accepted)
    if blockers(found):
        return Way(outcome=Outcome.REFUSED, state=observed.state, steps=(), findings=found)
    findings = (*found, *observed.leftovers)
    steps = _numbered(_steps(e, observed, inventory, remembered))
    is_pending = any(step.state is Progress.PENDING for step in steps)
    if not is_pending:
        return Way(outcome=Outcome.NOTHING_TO_DO, state=observed.state, steps=(), findings=findings)
    return Way(
        outcome=Outcome.PLANNED,
        state=observed.state,
        steps=steps,
        findings=findings,
        consequences=tuple(_consequences(e, observed.state, steps)),
    )


def wipes(e: Evidence, inventory: Inventory | None = None) -> tuple[Step, ...]:
    """The disks of controllers that are left over when everything else of a rollback is done."""
    return _numbered(_wiped(e, _controller_ids(e, inventory)))


def _steps(e: Evidence, observed: ObservedState, inventory: Inventory | None, remembered: Remembered) -> Iterator[Step]:
    controllers = _controller_ids(e, inventory)
    unseen = frozenset() if inventory is None else disks_unseen(inventory, e.observation)
    if observed.state is State.M0:
        yield from _from_m0(e, observed, inventory, remembered)
        return
    revived: frozenset[int | None] = frozenset()
    if e.holder is Holder.KRAFT:
        yield from _flags_back(e)
        changing = tuple(back_to_migration_mode(e))
        if e.controllers not in (Quorum.DOWN, Quorum.MINORITY):  # who is down comes up before another one is stopped
            roll = {step.target for step in changing}
            started = _started_again(e, inventory, remembered, File.MIGRATION)
            down = tuple(step for step in started if step.target not in roll)
            revived = frozenset(step.node for step in down)
            yield from down
        yield from changing
    was_started = observed.state is not State.M2 or any(answers(controller) for controller in e.observation.controllers)
    if was_started:
        yield _stop_controllers(e, controllers)
    yield from _znodes(e)
    if was_started:
        yield from _brokers_back(e, inventory, remembered, revived)
    else:
        yield from _started_again(e, inventory, remembered)
    yield from _wiped(e, controllers, unseen)


def _from_m0(
    e: Evidence, observed: ObservedState, inventory: Inventory | None, remembered: Remembered
) -> Iterator[Step]:
    """The epochs are seen to be wrong still, or the journal knows of something that is not done."""
    goes_on = inventory is not None and remembered.goes_back
    if inventory is not None and goes_on:
        yield from files_back(inventory, observed.leftovers)
    if epoch_gate(e).is_beaten:
        yield _stop_controllers(e, _controller_ids(e, inventory))
        yield from _znodes(e)
        yield from _brokers_back(e, inventory, remembered)
    else:
        yield from _started_again(e, inventory, remembered)
    if inventory is not None and goes_on:
        left = (controller.id for controller in inventory.controllers if controller.name not in remembered.wiped)
        yield from _wiped(e, tuple(left), disks_unseen(inventory, e.observation))


def _brokers_back(
    e: Evidence, inventory: Inventory | None, remembered: Remembered, revived: frozenset[int | None] = frozenset()
) -> Iterator[Step]:
    """A broker that is down comes up before another one is stopped; `revived` are those that did so earlier on."""
    first = first_to_start(e, is_overdue=remembered.waited, revived=revived)
    rest = tuple(rolled(e, first)), tuple(back_to_zookeeper(e, without=first, revived=revived))
    own = {step.target for steps in rest for step in steps if step.action is Move.RESTART_NODE}
    yield from (step for step in _started_again(e, inventory, remembered) if step.target not in own)
    yield from rest[0]
    yield _elected(e)
    yield from rest[1]


def _started_again(
    e: Evidence, inventory: Inventory | None, remembered: Remembered, file: File = File.ORIGINAL
) -> Iterator[Step]:
    if inventory is not None:
        yield from started_again(inventory, e.observation, remembered, {NodeRole.BROKER: file})


def _numbered(steps: Iterable[Step]) -> tuple[Step, ...]:
    return tuple(changed(step, number=number) for number, step in enumerate(steps, start=1))


def _controller_ids(e: Evidence, inventory: Inventory | None) -> tuple[int, ...]:
    """Every controller that any source names."""
    ids = {controller.id for controller in e.observation.controllers} | set(e.observation.logs)
    ids |= set() if e.quorum is None else {voter.id for voter in e.quorum.voters}
    ids |= set() if inventory is None else {controller.id for controller in inventory.controllers}
    return tuple(sorted(ids))


# --- the controllers ------------------------------------------------------------------------------------------------


def _flags_back(e: Evidence) -> Iterator[Step]:
    """A controller without the flag finalizes the migration if it is elected, be it by the stop of the others."""
    if e.kraft_state != ZkMigrationState.MIGRATION:
        return
    for controller in e.observation.controllers:
        if has_flag(controller) is not False:
            continue
        shared = {"target": controller.name, "node": controller.id, "role": NodeRole.CONTROLLER, "file": File.MIGRATION}
        yield Step(
            action=Move.RESTORE_CONFIG,
            gate=f"its file has {MIGRATION_ENABLE}=true",
            why="this controller runs without the migration flag: if elected, it finalizes the migration at once",
            **shared,  # type: ignore[arg-type]
        )
        yield Step(
            action=Move.RESTART_NODE,
            gate="the controller answers with ZkMigrationReady, and follows the leader",
            why="no controller may be without the flag while others stop",
            **shared,  # type: ignore[arg-type]
        )


def _stop_controllers(e: Evidence, ids: tuple[int, ...]) -> Step:
    """Done only where each was seen to be gone: one that hangs or is cut off answers nothing, and goes on later."""
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
        role=NodeRole.CONTROLLER,
    )


def _wiped(e: Evidence, ids: tuple[int, ...], unseen: frozenset[int] = frozenset()) -> Iterator[Step]:
    """The disks that something is known to be on, and those of this try that are not known to be empty (`unseen`)."""
    for id in ids:
        node = e.observation.node(id, NodeRole.CONTROLLER)
        log = e.observation.logs.get(id)
        is_used = (log is not None and log.end_offset > 0) or bool(node and (node.meta_properties or answers(node)))
        if is_used or id in unseen:
            yield Step(
                action=Move.WIPE_DISK,
                target=f"controller {id}",
                gate="its metadata directory is archived and empty",
                why="its log has registrations that never expire; the next try needs a new quorum",
                node=id,
                role=NodeRole.CONTROLLER,
            )


# --- ZooKeeper ------------------------------------------------------------------------------------------------------


def _znodes(e: Evidence) -> Iterator[Step]:
    gate = epoch_gate(e)
    if gate.needed and e.observation.tree is not None:
        yield Step(
            action=Move.RAISE_CONTROLLER_EPOCH,
            target="/controller_epoch",
            gate=f"/controller_epoch is at least {gate.value}, and above the epoch of every partition state",
            why=f"it is {gate.epoch} and partition states have up to {gate.highest}: a ZooKeeper controller could not"
            " change them (KAFKA-20488)",
            path="/controller_epoch",
            version=_version(e, "/controller_epoch"),
            value=gate.value,
        )
    if e.holder is Holder.KRAFT and e.tree is not None and e.tree.controller and not e.tree.controller.ephemeral:
        yield Step(
            action=Move.DELETE_CONTROLLER_ZNODE,
            target="/controller",
            gate="the persistent /controller of KRaft is gone",
            why="it is persistent, so no ZooKeeper broker is elected while it is there",
            path="/controller",
            version=_version(e, "/controller"),
        )
    if e.copy_marker in _PRESENT or (
        e.observation.tree is not None and e.observation.tree.get("/migration") is not None
    ):
        yield Step(
            action=Move.DELETE_MIGRATION_ZNODE,
            target="/migration",
            gate="/migration does not exist",
            why="a later try that finds it would skip the copy and empty ZooKeeper",
            path="/migration",
            version=_version(e, "/migration"),
        )


def _version(e: Evidence, path: str) -> int | None:
    znode = None if e.observation.tree is None else e.observation.tree.get(path)
    return None if znode is None or "version" in znode.untold else znode.version


def _elected(e: Evidence) -> Step:
    is_done = e.holder is Holder.ZOOKEEPER and e.controllers is Quorum.DOWN
    return Step(
        action=Move.WAIT_ZOOKEEPER_CONTROLLER,
        target="/controller",
        gate="/controller is ephemeral, and names a broker that is in /brokers/ids",
        why="brokers in migration mode elect one of them within 50 ms; if none is there after 30 s, restart one broker",
        state=Progress.DONE if is_done else Progress.PENDING,
        path="/controller",
    )


def _consequences(e: Evidence, state: State, steps: tuple[Step, ...]) -> Iterator[str]:
    actions = [step.action for step in steps if step.state is Progress.PENDING]
    if Move.DELETE_CONTROLLER_ZNODE in actions:
        yield (
            "From stop-controllers until a ZooKeeper broker is elected there is no controller: no leader is "
            "elected, no topic"
            " created. The election takes some 10 ms; the duration depends on how fast the controllers stop."
        )
    rolls = actions.count(Move.RESTART_NODE)
    if rolls:
        yield "1 restart." if rolls == 1 else f"{rolls} restarts, one node at a time."
    if any(broker.runs_as is Mode.KRAFT for broker in e.brokers):
        yield "Brokers on KRaft are restarted twice: into migration mode, and out of it."
    if state is State.QUORUM_WITHOUT_BROKERS:
        yield (
            "What the quorum has deleted from ZooKeeper since its start is not restored: stop the controllers, and"
            " compare ZooKeeper with an observation from before. After the last step restart the brokers one by one:"
            " until then they ignore the ZooKeeper controller because they know newer leader epochs than the quorum"
            " wrote."
        )
    elif e.copy_marker is CopyMarker.COPIED and Move.DELETE_CONTROLLER_ZNODE in actions:
        yield "What was changed while ZooKeeper was written is kept. The epochs are looked at again before the raise."
