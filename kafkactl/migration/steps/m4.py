"""M4 and M4L: the brokers enter migration mode, one at a time, the ZooKeeper controller last.

M4L is the state in which all brokers but one have entered. The copy begins automatically with the last one, so a
barrier precedes its steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from kafkactl.core.findings import Finding, warning
from kafkactl.migration.observed.observation import Mode
from kafkactl.migration.state.brokers import BrokerEvidence
from kafkactl.migration.state.conditions import entering
from kafkactl.migration.state.evidence import Evidence, Holder, Quorum
from kafkactl.migration.state.names import State
from kafkactl.migration.steps import m7
from kafkactl.migration.steps.definition import Level, Milestone, Row, StateDefinition
from kafkactl.migration.steps.epoch import epoch_gate
from kafkactl.migration.steps.m3 import quorum_ready
from kafkactl.migration.steps.order import roll_order, zookeeper_controller_last
from kafkactl.migration.steps.rollback_case import RollbackCase
from kafkactl.migration.steps.step import Barrier, File, Move, Progress, Step, broker_step

# Recognition

ALL_BUT_ONE_ENTERED: Final = Row(
    State.M4L,
    lambda e: entering(e) and bool(e.entered) and len(e.missing) == 1,
    "every broker but one has entered: the copy begins automatically with the last one",
)
SOME_ENTERED: Final = Row(
    State.M4,
    lambda e: entering(e) and bool(e.entered),
    "the quorum waits, and some brokers have entered",
)


# Forward


def plan(e: Evidence, _ids: tuple[int, ...]) -> Iterator[Step]:
    """Yield the file, the restart and the registration of each broker; the last one that waits is M4L.

    A registration is not enough: a broker that left again would be left out of the copy, so it enters once more.
    """
    order = zookeeper_controller_last(e)
    waiting = [broker for broker in order if not _has_entered(broker)]
    for broker in order:
        is_last = waiting[-1:] == [broker]
        phase, barrier = (State.M4L, Barrier.LAST_BROKER) if is_last else (State.M4, None)
        runs = broker.mode is Mode.MIGRATING
        yield broker_step(
            broker,
            Move.PUT_CONFIG,
            File.MIGRATION,
            gate="its file has the flag, the quorum and controller.listener.names, and keeps zookeeper.*",
            why="from now on its next start enters the migration",
            is_done=broker.file_mode is Mode.MIGRATING or (broker.file_mode is None and runs),
            phase=phase,
            barrier=barrier,
        )
        yield broker_step(
            broker,
            Move.RESTART_NODE,
            File.MIGRATION,
            gate="back in /brokers/ids, registered as migrating, its own answer says so (tag 3), it follows the"
            " quorum's log, and all its replicas are in the ISR",
            why="restarted is not registered: all four witnesses count",
            is_done=runs or _has_entered(broker),
            phase=phase,
            barrier=barrier,
        )
        yield broker_step(
            broker,
            Move.WAIT_BROKER_REGISTERED,
            File.MIGRATION,
            gate="the broker is registered as migrating",
            why="a broker in migration mode does not wait for its registration, and retries indefinitely",
            is_done=_has_entered(broker),
            phase=phase,
            barrier=barrier,
        )


def _has_entered(broker: BrokerEvidence) -> bool:
    return bool(broker.entered) and not broker.left and broker.in_zookeeper is not False


# Gate


def every_broker_entered(e: Evidence) -> Iterator[Finding]:
    """Report each broker that has not entered, with the witnesses that it lacks."""
    for broker in e.expected:
        lacking = _lacking(broker)
        if lacking:
            yield warning(
                "broker-not-entered",
                broker.name,
                f"{broker.name} has not entered the migration: {', '.join(lacking)}",
                "Start it in migration mode."
                if broker.mode is not None and not broker.ready
                else "Wait and look again.",
                **witnesses(broker),
            )


def _lacking(broker: BrokerEvidence) -> list[str]:
    """Return the witnesses against an entry; if there are none, the witnesses that were not observed."""
    said = {
        "no znode": broker.in_zookeeper,
        "not registered as migrating": broker.entered,
        "its own answer does not say so": broker.ready,
        "no observer of the quorum": broker.observer,
    }
    lacking = [what for what, there in said.items() if there is False]
    return lacking or [f"{what} (not observed)" for what, there in said.items() if there is None]


def witnesses(broker: BrokerEvidence) -> dict[str, bool | None]:
    """Return the four witnesses as evidence of a finding; None if a witness was not observed."""
    return {
        "znode": broker.in_zookeeper,
        "registered_migrating": None if broker.registered is None else bool(broker.entered),
        "tag": broker.ready,
        "observer": broker.observer,
    }


# Rollback


def undo(case: RollbackCase) -> Iterator[Step]:
    """Plan the restart of the brokers in ZooKeeper mode; without a started quorum none of them ever left it."""
    if case.is_quorum_started:
        yield from brokers_back(case, frozenset(step.node for step in m7.started_before(case)))
    else:
        yield from case.started_again()


def brokers_back(case: RollbackCase, revived: Collection[int | None] = ()) -> Iterator[Step]:
    """Yield the election of a ZooKeeper controller and the restart of each broker with its own file.

    A broker that is down is started before another one is stopped; `revived` are those that were started before.
    """
    e = case.evidence
    first = _first_to_start(case, revived)
    before = [step for broker in _in_order(e) if broker.id in first for step in _roll(broker, e)]
    after = list(_rolled(e, [broker for broker in _in_order(e) if broker.id not in first], revived))
    own = {step.target for step in (*before, *after) if step.action is Move.RESTART_NODE}
    yield from (step for step in case.started_again() if step.target not in own)
    yield from before
    yield _elected(e)
    yield from after


def _first_to_start(case: RollbackCase, revived: Collection[int | None]) -> tuple[int, ...]:
    """Return the broker to start before an election is possible; none if a broker lives in ZooKeeper mode.

    Brokers in migration mode exit when their quorum is formatted again. An earlier run may have waited for the brokers
    that live (`Remembered.waited`), and none of them was elected.
    """
    e = case.evidence
    not_zookeeper = e.holder in (Holder.NONE, Holder.KRAFT) and bool(e.brokers)
    lives = any(
        broker.id in revived or (broker.answers is not False and _lives_in_zookeeper(broker, e)) for broker in e.brokers
    )
    if not not_zookeeper or (lives and not (case.remembered.waited and e.holder is Holder.NONE)):
        return ()
    if any(m7.returns_first(broker, e) for broker in e.brokers):
        return ()
    due = [broker.id for broker in _in_order(e) if _is_pending(broker, e)]
    return tuple(due[:1])


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


def _rolled(e: Evidence, brokers: Collection[BrokerEvidence], revived: Collection[int | None]) -> Iterator[Step]:
    """Yield the waits until each broker follows the ZooKeeper controller, then the roll of all brokers."""
    for broker in brokers:
        if _is_pending(broker, e) and (broker.id in revived or _lives_in_zookeeper(broker, e)):
            yield broker_step(
                broker,
                Move.WAIT_BROKER_FOLLOWS_CONTROLLER,
                None,
                gate="its Metadata answer names the broker that holds /controller",
                why="one that still looks for the KRaft controllers cannot be stopped cleanly",
            )
    for broker in brokers:
        yield from _roll(broker, e)


def _roll(broker: BrokerEvidence, e: Evidence) -> Iterator[Step]:
    yield broker_step(
        broker,
        Move.RESTORE_CONFIG,
        File.ORIGINAL,
        gate="its file is the one from before the migration",
        why="no migration setting may remain: with the flag the broker enters again, with some of them it exits",
        is_done=broker.file_is_plain is True and not m7.returns_first(broker, e),
    )
    is_due = _is_pending(broker, e) or _is_to_be_elected_again(broker, e)
    if is_due or _was_in(broker):
        yield broker_step(
            broker,
            Move.RESTART_NODE,
            File.ORIGINAL,
            gate=f"/brokers/ids/{broker.id} is a new one (after a forced kill the old one has to vanish before the"
            " start), all its replicas are in the ISR, every partition has a leader",
            why=_why(broker, e),
            is_done=not is_due,
        )


def _in_order(e: Evidence) -> list[BrokerEvidence]:
    """Return the brokers to roll: the active controller last, or first if it needs an election with a higher epoch."""
    held_by = e.tree.controller.broker_id if e.tree is not None and e.tree.controller is not None else None
    chosen = [
        broker
        for broker in e.brokers
        if _has_to_change(broker, e) or _is_to_be_elected_again(broker, e) or _was_in(broker)
    ]
    return roll_order(chosen, e, **{"first" if epoch_gate(e).after_election else "last": held_by})


def _was_in(broker: BrokerEvidence) -> bool:
    """Return True if the broker has entered once, so that an operator caused its present state."""
    return broker.registration is not None and broker.node is not None


def _is_pending(broker: BrokerEvidence, e: Evidence) -> bool:
    """Return True if the broker runs or would start with the migration's configuration, or is stopped after entry."""
    if broker.runs_as in (Mode.MIGRATING, Mode.KRAFT) or m7.returns_first(broker, e):
        return True
    if broker.mode is None and broker.file_mode is None:
        return bool(broker.ready or broker.registration is not None)
    return broker.answers is False and broker.registration is not None


def _has_to_change(broker: BrokerEvidence, e: Evidence) -> bool:
    """Return True if the broker's file or process is not that of plain ZooKeeper mode."""
    return _is_pending(broker, e) or broker.file_is_plain is False


def _is_to_be_elected_again(broker: BrokerEvidence, e: Evidence) -> bool:
    if e.tree is None or e.tree.controller is None or not epoch_gate(e).after_election:
        return False
    return broker.id == e.tree.controller.broker_id


def _lives_in_zookeeper(broker: BrokerEvidence, e: Evidence) -> bool:
    """Return True if the broker lives in ZooKeeper mode before the roll; straight from KRaft it has no controller."""
    if broker.answers is False:
        return m7.returns_first(broker, e)
    return broker.runs_as is not Mode.KRAFT or m7.returns_first(broker, e)


def _why(broker: BrokerEvidence, e: Evidence) -> str:
    if _is_to_be_elected_again(broker, e):
        return "this controller was elected with the low epoch: only a new election uses the raised one"
    if broker.runs_as is Mode.KRAFT and not m7.returns_first(broker, e):
        return (
            "this broker is on KRaft without a quorum to return through; it may have to be killed, its data is intact"
        )
    return "only a start with its own file takes it out of migration mode"


LAST_BROKER: Final = Milestone(name="last-broker", precedes=lambda step: step.barrier is Barrier.LAST_BROKER)
"""The milestone before the last broker, in any state: a cluster with one broker never shows M4L."""

M4: Final = StateDefinition(
    state=State.M4,
    level=Level.ENTERED,
    plan=plan,
    shown_until=State.M4L,
    gate=(quorum_ready, every_broker_entered),
    undo=undo,
)
M4L: Final = StateDefinition(
    state=State.M4L, level=Level.ENTERED, ends_automatically=True, gate=(quorum_ready, every_broker_entered)
)
