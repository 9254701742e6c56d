"""Brokers that return together, for one partition: every order in which they may register and be unfenced.

Each broker registers, which can take it out of ISR and ELR, and is unfenced later, which elects leaders; on empty
disks it also reports its new directories, before or after it is unfenced. Nothing orders the steps of one broker
against those of another, and replicas that are alive may join the ISR at any time in between. So the reachable states
are searched step by step; equal states are followed once, which keeps their number small.

Sources: `ClusterControlManager.registerBroker`, `ReplicationControlManager.handleBrokerShutdown`,
`handleBrokerUnfenced`, `alterPartition`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.dryrun.controller.election import Election, Ids, Target, change_partition, merge, without
from kafkactl.dryrun.controller.rules import Rules
from kafkactl.metadata.image.model import RECOVERING, Partition

MOST_TOGETHER: Final = 6  # brokers that can decide about one partition


class Online(IntEnum):
    """Rule for the directory of a replica on its returning broker: online never, always, or after it is reported."""

    NEVER = 0
    ALWAYS = 1
    REPORTED = 2


class Comer(NamedTuple):
    """A returning broker, as one partition sees it. `clean`: it registers as one that went down in order.

    `starting`: it has registered already and is about to be unfenced, or its process ends once more and it registers
    again. One that starts does so with the disks that it had.
    """

    clean: bool
    online: Online
    starting: bool = False


@frozen
class Arrival:
    """State of the cluster that decides how a partition ends. `comers` are the returning brokers that the partition
    names, `count` how many return in all; `alive` the other brokers that may lead it; `settings` the effective min ISR
    and whether an unclean election is allowed."""

    comers: Mapping[int, Comer]
    count: int
    alive: frozenset[int]
    rules: Rules
    settings: tuple[int, bool]


class End(NamedTuple):
    """A way in which a partition may end; `unclean`: on the way a replica led that was not known to be in sync."""

    partition: Partition
    unclean: bool


class _State(NamedTuple):
    """`registered`, `reported`, `unfenced`: which brokers have come so far; of one that was starting `reported` says
    that it has registered again."""

    partition: Partition
    unclean: bool
    registered: frozenset[int]
    reported: frozenset[int]
    unfenced: frozenset[int]


def deciding(partition: Partition, arrival: Arrival) -> frozenset[int]:
    """Return the returning brokers whose steps can decide the leader; the others only follow.

    Without an unclean election these are the brokers in ISR, ELR and last known leader. On empty disks the unfencing of
    a broker can make another one lead, so each replica is included.
    """
    named = {*partition.isr, *partition.eligible_leader_replicas, *partition.last_known_elr}
    if arrival.settings[1] or any(comer.online is Online.REPORTED for comer in arrival.comers.values()):
        named |= set(partition.replicas)
    return frozenset(named & set(arrival.comers))


def ends_of_return(partition: Partition, arrival: Arrival) -> tuple[End, ...]:
    """Return the possible ends of a partition after all have returned and all live replicas are in sync, without
    duplicates.

    Ends that differ only in their epochs or in the order of their lists are equal.
    """
    brokers = deciding(partition, arrival)
    there = frozenset(id for id, comer in arrival.comers.items() if comer.starting)
    frontier = {_State(_bare(partition), False, there, frozenset(), frozenset())}
    found: dict[tuple[object, ...], End] = {}
    while frontier:
        reached: set[_State] = set()
        for state in frontier:
            steps = list(_steps(state, brokers, arrival))
            reached.update(steps)
            if brokers <= state.unfenced and not _pending(state, brokers, arrival):
                end = _settled(state, arrival)
                found.setdefault((_apart(end.partition), end.unclean), end)
        frontier = reached
    return tuple(found.values())


def _pending(state: _State, brokers: frozenset[int], arrival: Arrival) -> bool:
    """Return True if a broker has still to report where its replicas are."""
    return any(arrival.comers[id].online is Online.REPORTED and id not in state.reported for id in brokers)


def _steps(state: _State, brokers: frozenset[int], arrival: Arrival) -> Iterator[_State]:
    """Yield the possible next states."""
    grown = _grown(state, arrival)
    if grown != state:
        yield grown
    if len(brokers) < arrival.count and state.partition.leader == NO_LEADER:  # one of the others is unfenced
        elected = _changed(state, arrival, _may_lead(state, arrival), state.partition.isr)
        if elected != state:
            yield elected
    for broker_id in brokers:
        comer = arrival.comers[broker_id]
        if broker_id not in state.registered:
            yield _register(state, broker_id, comer, arrival)
            continue
        if comer.starting and broker_id not in state.reported and broker_id not in state.unfenced:
            again = _register(state, broker_id, comer, arrival)
            yield again._replace(reported=state.reported | {broker_id})
        if comer.online is Online.REPORTED and broker_id not in state.reported:
            yield state._replace(reported=state.reported | {broker_id})
        if broker_id not in state.unfenced:
            yield _unfence(state, broker_id, arrival)


def _register(state: _State, broker_id: int, comer: Comer, arrival: Arrival) -> _State:
    before, elections = state.partition, arrival.rules.elections
    state = state._replace(registered=state.registered | {broker_id})
    unclean = elections.elr and not comer.clean
    is_named = broker_id in before.isr or (unclean and broker_id in before.eligible_leader_replicas)
    if not is_named or not (unclean or arrival.rules.registration_clears_isr):
        return state
    shutdown = frozenset({broker_id}) if unclean else frozenset()
    return _changed(
        state, arrival, _may_lead(state, arrival), without(before.isr, broker_id), unclean_shutdown=shutdown
    )


def _unfence(state: _State, broker_id: int, arrival: Arrival) -> _State:
    state = state._replace(unfenced=state.unfenced | {broker_id})
    if state.partition.leader != NO_LEADER:
        return state
    return _changed(state, arrival, _may_lead(state, arrival), state.partition.isr)


def _settled(state: _State, arrival: Arrival) -> End:
    """Return the end after all have returned and all live replicas caught up."""
    end = _grown(state._replace(unfenced=frozenset(arrival.comers), reported=frozenset(arrival.comers)), arrival)
    return End(end.partition, end.unclean)


def _grown(state: _State, arrival: Arrival) -> _State:
    """Return the state after the leader added every live replica to the ISR."""
    partition, may_lead = state.partition, _may_lead(state, arrival)
    if partition.leader == NO_LEADER:
        return state
    joined = [id for id in partition.replicas if id not in partition.isr and may_lead(id)]
    if not joined:
        return state
    return _changed(state, arrival, may_lead, (*partition.isr, *sorted(joined)), recovery_state=0)


def _may_lead(state: _State, arrival: Arrival) -> Callable[[int], bool]:
    def may_lead(broker_id: int) -> bool:
        comer = arrival.comers.get(broker_id)
        if comer is None:
            return broker_id in arrival.alive
        is_online = comer.online is Online.ALWAYS or (comer.online and broker_id in state.reported)
        return bool(broker_id in state.unfenced and is_online)

    return may_lead


def _changed(
    state: _State,
    arrival: Arrival,
    may_lead: Callable[[int], bool],
    isr: Ids,
    *,
    unclean_shutdown: frozenset[int] = frozenset(),
    recovery_state: int = -1,
) -> _State:
    least, is_unclean = arrival.settings
    target = Target(
        min_isr=least,
        isr=isr,
        election=Election.UNCLEAN if is_unclean else Election.ONLINE,
        unclean_shutdown=unclean_shutdown,
        recovery_state=recovery_state,
    )
    before = state.partition
    change = change_partition(before, target, may_lead, arrival.rules.elections)
    if change is None:
        return state
    after = merge(before, change)
    is_unclean = change.leader_recovery_state == RECOVERING or (
        change.leader >= 0
        and after.leader_recovery_state == RECOVERING
        and change.leader not in (*before.isr, *before.eligible_leader_replicas)
    )
    return state._replace(partition=_bare(after), unclean=state.unclean or is_unclean)


def _bare(partition: Partition) -> Partition:
    return partition._replace(leader_epoch=0, partition_epoch=0)


def _apart(partition: Partition) -> tuple[object, ...]:
    """Return the key that distinguishes final states of a partition, which ignores the order within lists."""
    return tuple(frozenset(part) if isinstance(part, tuple) else part for part in partition)
