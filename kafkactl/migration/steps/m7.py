"""M7: the brokers change to KRaft, one at a time.

A KRaft file is put on a broker's disk after the copy only: before the copy the broker would rename every partition to
*-stray.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, warning
from kafkactl.migration.observed.observation import Mode
from kafkactl.migration.state.brokers import BrokerEvidence
from kafkactl.migration.state.conditions import copied, shown_by_tree_alone
from kafkactl.migration.state.evidence import Evidence, Holder, Quorum
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Level, Row, StateDefinition
from kafkactl.migration.steps.m6 import mirror_follows
from kafkactl.migration.steps.order import known_brokers, roll_order
from kafkactl.migration.steps.rollback_case import RollbackCase
from kafkactl.migration.steps.step import File, Move, Step, broker_step

# Recognition


def _some_on_kraft(e: Evidence) -> bool:
    """Return True if some brokers have changed to KRaft; if only ZooKeeper shows brokers, if some have left it."""
    return bool(e.on_kraft) or (shown_by_tree_alone(e) and not all(broker.in_zookeeper for broker in e.brokers))


SOME_ON_KRAFT: Final = Row(
    State.M7,
    lambda e: copied(e) and _some_on_kraft(e),
    "the copy is done, and some brokers are on KRaft, others not",
)


# Forward


def plan(e: Evidence, _ids: tuple[int, ...] = ()) -> Iterator[Step]:
    """Yield the return of brokers that left KRaft, then the file, restart and registration of each broker."""
    for broker in e.brokers:
        if broker.fell_back:
            yield from _returned_to_migration_mode(broker)
    for broker in roll_order(known_brokers(e), e):
        held = broker.registration
        runs = broker.mode is Mode.KRAFT
        registered = held is not None and not held.migrating and not held.fenced and not broker.fell_back
        yield broker_step(
            broker,
            Move.PUT_CONFIG,
            File.KRAFT,
            gate="its file has process.roles=broker and node.id, and no zookeeper.* setting",
            why="from now on its next start is one on KRaft",
            is_done=broker.file_mode is Mode.KRAFT or (broker.file_mode is None and runs),
            phase=State.M7,
        )
        yield broker_step(
            broker,
            Move.RESTART_NODE,
            File.KRAFT,
            gate=f"registered without the migrating flag and not fenced, /brokers/ids/{broker.id} is gone, no *-stray"
            " directory, all its replicas are in the ISR",
            why="ZooKeeper stays up to date, and a rollback remains possible",
            is_done=runs or registered,
            phase=State.M7,
        )
        yield broker_step(
            broker,
            Move.WAIT_BROKER_REGISTERED,
            File.KRAFT,
            gate="the broker is registered without the migrating flag, and not fenced",
            why="only then KRaft counts it as changed",
            is_done=registered or (broker.registered is None and runs),
            phase=State.M7,
        )


def _returned_to_migration_mode(broker: BrokerEvidence) -> Iterator[Step]:
    """Yield the steps of a broker that left KRaft for ZooKeeper mode: KRaft registers it in migration mode only."""
    yield broker_step(
        broker,
        Move.PUT_CONFIG,
        File.MIGRATION,
        gate="its file has the flag, the quorum and controller.listener.names, and keeps zookeeper.*",
        why="it left KRaft for ZooKeeper mode, where KRaft does not count on it",
        is_done=broker.file_mode is Mode.MIGRATING,
        phase=State.M7,
    )
    yield broker_step(
        broker,
        Move.RESTART_NODE,
        File.MIGRATION,
        gate="registered as migrating again, and all its replicas are in the ISR",
        why="no other broker may be stopped before its replicas are in the ISR again",
        phase=State.M7,
    )


# Gate

_RETURN: Final = "Start it with its file of migration mode first, and wait until all its replicas are in the ISR."

_TWO: Final = "Wait until its session in ZooKeeper expires; if the znode stays, stop the second process under this id."


def every_broker_on_kraft(e: Evidence) -> Iterator[Finding]:
    """Report each broker that is not registered as a KRaft broker, is fenced, or is still in ZooKeeper."""
    for broker in e.brokers:
        held = broker.registration
        reasons = [
            what
            for what, is_so in (
                ("registered as migrating", held is not None and held.migrating),
                ("not registered", broker.registered is False),
                ("fenced", held is not None and held.fenced),
                ("still in /brokers/ids", bool(broker.in_zookeeper)),
                ("not seen to run on KRaft", held is None and broker.registered is None and not broker.on_kraft),
            )
            if is_so
        ]
        if reasons:
            step = _RETURN if broker.fell_back else _TWO if broker.mode is Mode.KRAFT and broker.in_zookeeper else ""
            yield warning("broker-not-on-kraft", broker.name, ", ".join(reasons), step)


# Rollback


def undo(case: RollbackCase) -> Iterator[Step]:
    """Plan the return of each broker on KRaft to migration mode while the quorum lives, which must accept it."""
    yield from started_before(case)
    yield from _back_to_migration_mode(case)


def started_before(case: RollbackCase) -> tuple[Step, ...]:
    """Return the starts of brokers that an earlier run stopped: they are up before another broker is stopped."""
    if case.evidence.holder is not Holder.KRAFT or case.evidence.controllers in (Quorum.DOWN, Quorum.MINORITY):
        return ()
    rolled = {step.target for step in _back_to_migration_mode(case)}
    return tuple(step for step in case.started_again(File.MIGRATION) if step.target not in rolled)


def _back_to_migration_mode(case: RollbackCase) -> Iterator[Step]:
    e = case.evidence
    returning = [broker for broker in e.brokers if returns_first(broker, e)]
    fallen = [broker for broker in returning if broker.fell_back]  # first: its replicas are not in the ISR
    for broker in (*fallen, *roll_order((broker for broker in returning if not broker.fell_back), e)):
        yield broker_step(
            broker,
            Move.RESTORE_CONFIG,
            File.MIGRATION,
            gate="its file is that of migration mode: with the flag, zookeeper.* and the inter.broker.protocol.version",
            why="KRaft does not register a broker in ZooKeeper mode without the flag, so its replicas leave the ISR"
            if broker.fell_back
            else "only a broker in migration mode can be led by a ZooKeeper controller",
            is_done=broker.file_mode is Mode.MIGRATING,
        )
        yield broker_step(
            broker,
            Move.RESTART_NODE,
            File.MIGRATION,
            gate=f"registered as migrating again, /brokers/ids/{broker.id} is back, all its replicas are in the ISR",
            why="a quorum without controllers takes no broker back",
        )


def returns_first(broker: BrokerEvidence, e: Evidence) -> bool:
    """Return True if a rollback gives the broker the file of migration mode before its own file."""
    if e.holder is not Holder.KRAFT or not _can_return(e):
        return False
    return broker.runs_as is Mode.KRAFT or broker.fell_back


def _can_return(e: Evidence) -> bool:
    """Return False if every broker has left KRaft: then the controllers are stopped first, and none returns to it."""
    return any(broker.runs_as in (Mode.KRAFT, Mode.MIGRATING) for broker in e.brokers)


M7: Final = StateDefinition(
    state=State.M7,
    level=Level.COPIED,
    plan=plan,
    shown_until=State.M7,
    gate=(mirror_follows, every_broker_on_kraft),
    undo=undo,
    needs_quorum=True,
    is_mirrored=True,
)
