"""Statements of a script that act on a world: a table with a function for each verb."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, Final

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.simulator.chance import Chance
from kafkactl.simulator.machine import Machine
from kafkactl.simulator.quorum import CLUSTER_ID, AppendedBatch
from kafkactl.simulator.raft.log import Snapshot, SnapshotId
from kafkactl.simulator.raft.messages import (
    CLIENT,
    AddRaftVoterRequest,
    Disconnected,
    RemoveRaftVoterRequest,
)
from kafkactl.simulator.raft.voters import VoterSet
from kafkactl.simulator.script import Step
from kafkactl.simulator.views import latest_voters
from kafkactl.simulator.words import Ref, shown_duration
from kafkactl.simulator.world import World

SHUTDOWN_US: Final = 5_000_000  # `KafkaRaftClient.shutdown` of a controller: five seconds (SharedServer)
BATCH_RECORDS: Final = 10_000
RECORD_BYTES: Final = 100
NO_ANSWER: Final = "no answer"


class NotPossibleError(Exception):
    """A statement could not be carried out: the message reports why."""


class Operator:
    """Executor of a script: names of nodes, requests that wait for an answer, and the last mark.

    With `keeps_two` the last voter but one is not removed: a sole voter shows a commit before it is synced, as Kafka's
    does (`LeaderState.updateLocalState` comes before the flush), and may lose it with its host.
    """

    def __init__(self, world: World, *, keeps_two: bool = False) -> None:
        self.world = world
        self.keeps_two = keeps_two
        self.names: dict[str, int] = {}
        self.mark_us = 0
        self.in_vain: list[str] = []  # why statements, or a part of them, had nothing to do
        self._correlation = 0
        self._appends = 0
        self._asked: dict[int, str] = {}
        world.on_answer = self._answered

    def kept_of(self, unsynced: int) -> int:
        """Return the number of unsynced batches that remain after a crash of their host."""
        world = self.world
        if world.disks is None:
            world.disks = Chance(world.seed, "disks")
        return world.disks.below(unsynced + 1)

    def machine(self, ref: Ref) -> Machine:
        """Return the host that is meant now. Raises NotPossibleError."""
        world = self.world
        if isinstance(ref, int):
            if ref not in world.machines:
                raise NotPossibleError(f"there is no node {ref}: the nodes are {', '.join(map(str, world.machines))}")
            return world.machines[ref]
        if ref in self.names:
            return world.machines[self.names[ref]]
        leader = world.leader()
        if ref == "leader":
            if leader is None:
                raise NotPossibleError("no node leads")
            return leader
        named = set(self.names.values())
        for node in sorted(world.machines):
            machine = world.machines[node]
            if machine.role() == "follower" and node not in named:
                return machine
        raise NotPossibleError("no voter without a name follows a leader")

    def links(self, sender: Ref | None, receiver: Ref | None, both: bool) -> list[tuple[int, int]]:
        """Return the links that are meant, each direction on its own."""
        known = self.world.machines
        senders = list(known) if sender is None else [self.machine(sender).id]
        receivers = list(known) if receiver is None else [self.machine(receiver).id]
        pairs = [pair for pair in product(senders, receivers) if pair[0] != pair[1]]
        return [*pairs, *((to, start) for start, to in pairs)] if both else pairs

    @property
    def waits(self) -> bool:
        """Return True if a request has no answer yet."""
        return bool(self._asked)

    def ask(self, text: str, make: Callable[[Machine, int], Any]) -> None:
        """Send a request to the leader; its answer is noted when it comes. Without a leader there is none."""
        leader = self.world.leader()
        if leader is None:
            self._note(f"{text}: {NO_ANSWER}, no node leads", NO_ANSWER)
            return
        self._correlation += 1
        self._asked[self._correlation] = text
        self.world.deliver_from_client(leader, make(leader, self._correlation))

    def _answered(self, message: Any) -> None:
        text = self._asked.pop(message.correlation_id, None)
        if text is None:
            return
        if isinstance(message, Disconnected):
            self._note(f"{text}: {NO_ANSWER}, the connection broke", NO_ANSWER)
            return
        name = error_code(message.error_code).name
        shown = f", {message.error_message}" if message.error_code and message.error_message else ""
        self._note(f"{text}: {name}{shown}", name)

    def _note(self, text: str, answer: str) -> None:
        self.world.answers.append((self.world.now, answer))
        self.world.note(None, "answer", text, "good" if answer == "NONE" else "warn")

    def append(self, records: int) -> None:
        """Append records through the leader; do nothing without a leader."""
        while records > 0:
            leader = self.world.leader()
            if leader is None or leader.process is None or leader.busy:
                why = "no node leads" if leader is None else f"leader {leader.id} waits for its disk"
                self.in_vain.append(f"{why}; {records:,} records were not appended")
                break
            part = min(records, BATCH_RECORDS)
            self._appends += 1
            content = self._appends
            taken: list[int] = []

            def ask(process: Any, now: int, content: int = content, part: int = part, taken: list[int] = taken) -> Any:
                offset, effects = process.append(now, content, part, part * RECORD_BYTES)
                taken.append(offset)
                return effects

            self.world.call(leader, ask)
            if taken and taken[0] >= 0:
                self.world.appended.append(AppendedBatch(taken[0], content, part))
            records -= part


def carry_out(operator: Operator, step: Step) -> None:
    """Carry out one statement of a script. Raises NotPossibleError, and KeyError for a verb that is not an action."""
    ACTIONS[step.verb](operator, *step.args)


def _each(act: Callable[[Operator, Machine], None]) -> Callable[..., None]:
    def every(operator: Operator, *refs: Ref) -> None:
        for machine in [operator.machine(ref) for ref in refs]:
            act(operator, machine)

    return every


def _kill(operator: Operator, machine: Machine) -> None:
    if machine.runs:
        operator.world.note(machine.id, "fault", "killed", "bad")
        operator.world.end(machine)
    else:
        operator.in_vain.append(f"node {machine.id} was down before")


def _crash(operator: Operator, machine: Machine) -> None:
    world = operator.world
    if machine.runs:
        world.note(machine.id, "fault", "the host crashes", "bad")
        world.end(machine, refuses=False)
    machine.lose_unsynced(operator.kept_of(machine.unsynced))


def _stop(operator: Operator, machine: Machine) -> None:
    if machine.runs:
        operator.world.note(machine.id, "fault", "shutdown begins", "warn")
        operator.world.call(machine, lambda process, now: process.shutdown(now, SHUTDOWN_US))
    else:
        operator.in_vain.append(f"node {machine.id} was down before")


def _start(operator: Operator, machine: Machine) -> None:
    if not machine.runs:
        operator.world.note(machine.id, "fault", "started", "good")
        operator.world.begin(machine)
    else:
        operator.in_vain.append(f"node {machine.id} {'is paused' if machine.is_paused else 'runs'}; it was not started")


def _pause(operator: Operator, machine: Machine) -> None:
    if machine.runs and not machine.is_paused:
        machine.is_paused = True
        operator.world.note(machine.id, "fault", "paused", "warn")
    else:
        operator.in_vain.append(f"node {machine.id} {'was paused before' if machine.runs else 'is down'}")


def _resume(operator: Operator, machine: Machine) -> None:
    if machine.is_paused:
        operator.world.note(machine.id, "fault", "resumed", "good")
        operator.world.resume(machine)
    else:
        operator.in_vain.append(f"node {machine.id} {'is not paused' if machine.runs else 'is down'}")


def _wipe(operator: Operator, machine: Machine) -> None:
    if machine.runs:
        raise NotPossibleError(f"node {machine.id} runs; its disk can be wiped when it is down")
    machine.new_disk()  # in a static quorum it may vote
    operator.world.note(machine.id, "fault", "the disk is replaced by an empty one", "bad")


def _recover(operator: Operator, ref: Ref, raised: int) -> None:
    machine = operator.machine(ref)
    if machine.runs:
        raise NotPossibleError(f"node {machine.id} runs; its log can be recovered when it is down")
    end, epoch = machine.disk.end, machine.last_epoch
    if end == 0:
        raise NotPossibleError(f"the log of node {machine.id} is empty; there is nothing to recover")
    world, snapshot_id = operator.world, SnapshotId(end + raised, epoch + raised)
    world.monitor.recovered(machine.shadow, end, snapshot_id.end_offset)
    for taken in world.appended:
        is_kept = any(taken.content in batch.content for batch in machine.disk.batches)
        world.committed += is_kept * taken.records
        world.lost += (not is_kept) * taken.records
    world.appended = []
    machine.new_disk()
    alone = VoterSet([Voter(node_id=machine.id, directory_id=machine.directory, endpoints=(machine.endpoint,))])
    size = end * RECORD_BYTES
    machine.format(Snapshot(snapshot_id, size) if world.quorum.is_static else Snapshot(snapshot_id, size, 1, alone))
    world.note(machine.id, "fault", f"recovered: offset {snapshot_id.end_offset}, epoch {snapshot_id.epoch}", "warn")


def _move(operator: Operator, machine: Machine) -> None:
    if machine.runs:
        raise NotPossibleError(f"node {machine.id} runs; its host can be given another name when it is down")
    machine.endpoint = replace(machine.endpoint, host=f"{machine.endpoint.host}-moved")
    operator.world.address()
    operator.world.note(machine.id, "fault", f"the host is called {machine.endpoint.host} now", "warn")


def _snapshot(operator: Operator, machine: Machine) -> None:
    process = machine.process
    if process is None or machine.busy or machine.is_paused:
        state = "is down" if process is None else "is paused" if machine.is_paused else "waits for its disk"
        operator.in_vain.append(f"node {machine.id} {state}; it wrote no snapshot")
        return
    ends = [batch.end for batch in machine.disk.batches if batch.end <= process.high_watermark]
    if not ends:
        operator.in_vain.append(f"the log of node {machine.id} has nothing committed; it wrote no snapshot")
    else:
        operator.world.note(machine.id, "fault", f"snapshot up to offset {ends[-1] - 1}")
        operator.world.call(machine, lambda node, now: node.take_snapshot(now, ends[-1], ends[-1] * RECORD_BYTES))


def _cut(operator: Operator, sender: Ref | None, receiver: Ref | None, both: bool) -> None:
    pairs = operator.links(sender, receiver, both)
    operator.world.network.cut(pairs)
    if operator.world.timeline is not None:
        operator.world.note(None, "fault", f"cut {_shown(pairs)}", "bad")


def _heal(operator: Operator, sender: Ref | None, receiver: Ref | None, both: bool) -> None:
    pairs = operator.links(sender, receiver, both)
    operator.world.network.heal(pairs)
    if operator.world.timeline is not None:
        operator.world.note(None, "fault", f"heal {_shown(pairs)}", "good")


def _shown(pairs: Iterable[tuple[int, int]]) -> str:
    each = set(pairs)
    both = sorted(pair for pair in each if pair[0] < pair[1] and pair[::-1] in each)
    single = sorted(pair for pair in each if pair[::-1] not in each)
    words = [*(f"{start} <-> {to}" for start, to in both), *(f"{start} -> {to}" for start, to in single)]
    return ", ".join(words)


def _network(operator: Operator, what: str, low: int, high: int = 0) -> None:
    if what == "delay":
        operator.world.network.set_delay(low, high)
        text = f"delay {shown_duration(low)} to {shown_duration(high)}"
    else:
        operator.world.network.set_share(what, low)
        text = f"{what} {low / 10:.1f}%"
    operator.world.note(None, "fault", f"network: {text}")


def _disk(operator: Operator, ref: Ref, sync_us: int) -> None:
    machine = operator.machine(ref)
    machine.sync_us = sync_us
    operator.world.note(machine.id, "fault", f"a sync takes {shown_duration(sync_us)}")


def _clock(operator: Operator, ref: Ref, drift: int) -> None:
    machine = operator.machine(ref)
    operator.world.drift(machine, drift)
    operator.world.note(machine.id, "fault", f"the clock runs {'slow' if drift < 0 else 'fast'} by {abs(drift) / 10}%")


def _append(operator: Operator, records: int) -> None:
    operator.append(records)


def _add(operator: Operator, ref: Ref) -> None:
    machine = operator.machine(ref)

    def make(leader: Machine, correlation: int) -> AddRaftVoterRequest:
        return AddRaftVoterRequest(
            CLIENT, leader.id, correlation, None, CLUSTER_ID, machine.id, machine.directory, (machine.endpoint,)
        )

    operator.world.note(None, "fault", f"add voter {machine.id}")
    operator.ask(f"add voter {machine.id}", make)


def _remove(operator: Operator, ref: Ref) -> None:
    machine = operator.machine(ref)

    def make(leader: Machine, correlation: int) -> RemoveRaftVoterRequest:
        voter = None if leader.process is None else leader.process.voters.by_id.get(machine.id)
        directory = machine.directory if voter is None else voter.directory_id
        return RemoveRaftVoterRequest(CLIENT, leader.id, correlation, None, CLUSTER_ID, machine.id, directory)

    if operator.keeps_two and 1 <= len(latest_voters(operator.world).voters) <= 2:
        return
    operator.world.note(None, "fault", f"remove voter {machine.id}")
    operator.ask(f"remove voter {machine.id}", make)


def _name(operator: Operator, name: str, ref: Ref) -> None:
    machine = operator.machine(ref)
    operator.names[name] = machine.id
    operator.world.note(machine.id, "fault", f"named {name}")


def _mark(operator: Operator) -> None:
    operator.mark_us = operator.world.now


ACTIONS: Final[Mapping[str, Callable[..., None]]] = {
    "kill": _each(_kill),
    "crash": _each(_crash),
    "stop": _each(_stop),
    "start": _each(_start),
    "pause": _each(_pause),
    "resume": _each(_resume),
    "wipe": _each(_wipe),
    "recover": _recover,
    "move": _each(_move),
    "snapshot": _each(_snapshot),
    "cut": _cut,
    "heal": _heal,
    "network": _network,
    "disk": _disk,
    "clock": _clock,
    "append": _append,
    "add": _add,
    "remove": _remove,
    "name": _name,
    "mark": _mark,
}
