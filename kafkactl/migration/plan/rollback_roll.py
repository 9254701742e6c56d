"""The restarts of a rollback: from KRaft into migration mode, and from there into plain ZooKeeper mode."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kafkactl.migration.observed.observation import Mode, NodeRole
from kafkactl.migration.plan.order import roll_order
from kafkactl.migration.plan.rollback_epoch import epoch_gate
from kafkactl.migration.plan.step import File, Move, Progress, Step
from kafkactl.migration.state.brokers import BrokerEvidence
from kafkactl.migration.state.evidence import Evidence, Holder


def back_to_migration_mode(e: Evidence) -> Iterator[Step]:
    """Each broker on KRaft, one by one, while the quorum lives."""
    returning = [broker for broker in e.brokers if _returns_first(broker, e)]
    fallen = [broker for broker in returning if broker.fell_back]  # first: its replicas are not in the ISR
    for broker in (*fallen, *roll_order((broker for broker in returning if not broker.fell_back), e)):
        is_there = broker.file_mode is Mode.MIGRATING
        yield _step(
            broker,
            Move.RESTORE_CONFIG,
            File.MIGRATION,
            gate="its file is that of migration mode: with the flag, zookeeper.* and the inter.broker.protocol.version",
            why="KRaft does not register a broker in ZooKeeper mode without the flag, so its replicas leave the ISR"
            if broker.fell_back
            else "only a broker in migration mode can be led by a ZooKeeper controller",
            state=Progress.DONE if is_there else Progress.PENDING,
        )
        yield _step(
            broker,
            Move.RESTART_NODE,
            File.MIGRATION,
            gate=f"registered as migrating again, /brokers/ids/{broker.id} is back, all its replicas are in the ISR",
            why="a quorum without controllers takes no broker back",
        )


def first_to_start(e: Evidence, *, is_overdue: bool = False, revived: Collection[int | None] = ()) -> tuple[int, ...]:
    """The broker that has to be started before a ZooKeeper controller can be elected: one where none lives in ZooKeeper
    mode. It happens: brokers in migration mode exit when their quorum is formatted again.

    `is_overdue`: those who live were waited for, and none of them was elected. `revived` are started before that.
    """
    not_zookeeper = e.holder in (Holder.NONE, Holder.KRAFT) and bool(e.brokers)
    lives = any(
        broker.id in revived or (broker.answers is not False and _lives_in_zookeeper(broker, e)) for broker in e.brokers
    )
    if not not_zookeeper or (lives and not (is_overdue and e.holder is Holder.NONE)):
        return ()
    if any(_returns_first(broker, e) for broker in e.brokers):
        return ()
    due = [broker.id for broker in _in_order(e) if _is_pending(broker, e)]
    return tuple(due[:1])


def rolled(e: Evidence, ids: tuple[int, ...]) -> Iterator[Step]:
    """The file and the restart of some brokers."""
    for broker in _in_order(e):
        if broker.id in ids:
            yield from _roll(broker, e)


def back_to_zookeeper(
    e: Evidence, without: tuple[int, ...] = (), revived: Collection[int | None] = ()
) -> Iterator[Step]:
    """All brokers that entered, one by one, once each of them follows the ZooKeeper controller."""
    left = [broker for broker in _in_order(e) if broker.id not in without]
    for broker in left:
        if _is_pending(broker, e) and (broker.id in revived or _lives_in_zookeeper(broker, e)):
            yield _step(
                broker,
                Move.WAIT_BROKER_FOLLOWS_CONTROLLER,
                None,
                gate="its Metadata answer names the broker that holds /controller",
                why="one that still looks for the KRaft controllers cannot be stopped cleanly",
            )
    for broker in left:
        yield from _roll(broker, e)


def _roll(broker: BrokerEvidence, e: Evidence) -> Iterator[Step]:
    file_is_there = broker.file_is_plain is True and not _returns_first(broker, e)
    yield _step(
        broker,
        Move.RESTORE_CONFIG,
        File.ORIGINAL,
        gate="its file is the one from before the migration",
        why="no migration setting may remain: with the flag the broker enters again, with some of them it exits",
        state=Progress.DONE if file_is_there else Progress.PENDING,
    )
    is_due = _is_pending(broker, e) or _is_to_be_elected_again(broker, e)
    if is_due or _was_in(broker):
        yield _step(
            broker,
            Move.RESTART_NODE,
            File.ORIGINAL,
            gate=f"/brokers/ids/{broker.id} is a new one (after a forced kill the old one has to vanish before the"
            " start), all its replicas are in the ISR, every partition has a leader",
            why=_why(broker, e),
            state=Progress.PENDING if is_due else Progress.DONE,
        )


def _in_order(e: Evidence) -> list[BrokerEvidence]:
    """The one that holds `/controller` last; first where it has to be elected again with a higher epoch."""
    held_by = e.tree.controller.broker_id if e.tree is not None and e.tree.controller is not None else None
    chosen = [
        broker
        for broker in e.brokers
        if _has_to_change(broker, e) or _is_to_be_elected_again(broker, e) or _was_in(broker)
    ]
    return roll_order(chosen, e, **{"first" if epoch_gate(e).after_election else "last": held_by})


def _was_in(broker: BrokerEvidence) -> bool:
    """It has entered once, so that its present state was caused by an operator."""
    return broker.registration is not None and broker.node is not None


def _is_pending(broker: BrokerEvidence, e: Evidence) -> bool:
    """It runs, or would be started, with the migration's configuration; or it was stopped and not started again."""
    if broker.runs_as in (Mode.MIGRATING, Mode.KRAFT) or _returns_first(broker, e):
        return True
    if broker.mode is None and broker.file_mode is None:
        return bool(broker.ready or broker.registration is not None)
    return broker.answers is False and broker.registration is not None


def _has_to_change(broker: BrokerEvidence, e: Evidence) -> bool:
    """Its file or its process is not that of plain ZooKeeper mode."""
    return _is_pending(broker, e) or broker.file_is_plain is False


def _is_to_be_elected_again(broker: BrokerEvidence, e: Evidence) -> bool:
    if e.tree is None or e.tree.controller is None or not epoch_gate(e).after_election:
        return False
    return broker.id == e.tree.controller.broker_id


def _returns_first(broker: BrokerEvidence, e: Evidence) -> bool:
    """Whether it gets the file of migration mode before its own."""
    if e.holder is not Holder.KRAFT or not _can_return(e):
        return False
    return broker.runs_as is Mode.KRAFT or broker.fell_back


def _can_return(e: Evidence) -> bool:
    """Return False if every broker has left KRaft: then the controllers are stopped first, and none returns to it."""
    return any(broker.runs_as in (Mode.KRAFT, Mode.MIGRATING) for broker in e.brokers)


def _lives_in_zookeeper(broker: BrokerEvidence, e: Evidence) -> bool:
    """Whether it will be alive in ZooKeeper mode before the roll; one straight from KRaft has no such controller."""
    if broker.answers is False:
        return _returns_first(broker, e)
    return broker.runs_as is not Mode.KRAFT or _returns_first(broker, e)


def _why(broker: BrokerEvidence, e: Evidence) -> str:
    if _is_to_be_elected_again(broker, e):
        return "this controller was elected with the low epoch: only a new election uses the raised one"
    if broker.runs_as is Mode.KRAFT and not _returns_first(broker, e):
        return (
            "this broker is on KRaft without a quorum to return through; it may have to be killed, its data is intact"
        )
    return "only a start with its own file takes it out of migration mode"


def _step(
    broker: BrokerEvidence,
    action: Move,
    file: File | None,
    *,
    gate: str,
    why: str,
    state: Progress = Progress.PENDING,
) -> Step:
    return Step(
        action=action,
        target=broker.name,
        gate=gate,
        why=why,
        state=state,
        node=broker.id,
        role=NodeRole.BROKER,
        file=file,
    )
