"""The world around the nodes: one queue of events in virtual time, one stream of chance for each purpose.

An event is a message that arrives, a timer, the end of a sync, or a connection that breaks. Each is handed to one node,
whose effects are carried out in order; then the invariants look at what changed. The same plan and seed give the same
run on every machine and Python: nothing depends on hashes, sets are not iterated, times are whole microseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from typing import Any

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.values import ZERO_UUID
from kafkactl.simulator.chance import Chance, Choices
from kafkactl.simulator.invariants import Monitor
from kafkactl.simulator.machine import DELIVER, LOOPBACK_US, REFUSED_US, SYNCED, WAKE, Machine, disks_of, shown_role
from kafkactl.simulator.network import Network
from kafkactl.simulator.quorum import AppendedBatch, Quorum
from kafkactl.simulator.raft.disk import AppendLog, CleanLog, FlushLog, StartLogAt, TruncateLog, WriteQuorumState
from kafkactl.simulator.raft.effects import DRAW, FAULT, NOTE, SEND, WRITE, Purpose, State
from kafkactl.simulator.raft.log import BOOTSTRAP_SNAPSHOT_ID, Snapshot
from kafkactl.simulator.raft.messages import CLIENT, Disconnected, FetchResponse, VoteRequest, VoteResponse
from kafkactl.simulator.raft.ports import Effect, Replica
from kafkactl.simulator.raft.voters import VoterSet
from kafkactl.simulator.timeline import Happening, HappeningKind, Timeline


class World:
    """A run. `now` is in microseconds since it began; `events` counts what was handed to nodes, `ended` processes."""

    def __init__(self, quorum: Quorum, seed: int, *, traced: bool = True) -> None:
        self.quorum, self.seed = quorum, seed
        self.now = self.events = self.ended = 0
        self.timers = Chance(seed, "timers")
        self.disks: Chance | None = None  # made by the first crash: most runs need none, and to seed one takes time
        self.network = Network(Chance(seed, "network"), quorum.nodes)
        self.machines = {node: Machine(node, Choices(seed, node, len(quorum.nodes))) for node in quorum.nodes}
        self.monitor = Monitor(partial(disks_of, self.machines))
        self.timeline = Timeline() if traced else None
        self.answers: list[tuple[int, str]] = []  # time and answer of each change of the voters
        self.elections: list[tuple[int, int, int]] = []  # time, node, epoch of each leader
        self.appended: list[AppendedBatch] = []  # what a leader took and has not committed
        self.committed = self.lost = 0  # of the records that leaders took
        self.on_answer: Callable[[Any], None] = lambda _message: None
        self.queue: list[tuple[int, int, int, Machine, Any, int]] = []
        self._sequence = 0
        self.address()
        self._format()
        for machine in self.machines.values():
            self.begin(machine)

    def _voters(self) -> VoterSet:
        """Return the first ones: a static quorum does not name their directories."""
        machines, is_static = [self.machines[node] for node in self.quorum.voters], self.quorum.is_static
        return VoterSet(
            Voter(node_id=each.id, directory_id=ZERO_UUID if is_static else each.directory, endpoints=(each.endpoint,))
            for each in machines
        )

    def _format(self) -> None:
        if not self.quorum.is_static:
            snapshot = Snapshot(BOOTSTRAP_SNAPSHOT_ID, 100, 1, self._voters())
            for node in self.quorum.voters:
                self.machines[node].format(snapshot)

    def begin(self, machine: Machine) -> None:
        """Start a process on a host that has none."""
        machine.life += 1
        machine.busy = machine.is_paused = False
        machine.is_reachable = True
        machine.fault = ""
        machine.wake_at = -1
        machine.forget()
        machine.process = self.quorum.make_node(
            machine.id,
            machine.directory,
            machine.disk,
            **self.quorum.settings,
            endpoints=(machine.endpoint,),
            static_voters=self._static,
            bootstrap_servers=self._servers,
            first_correlation_id=machine.first_correlation_id,
        )
        self.perform(machine, machine.process.start(machine.local(self.now)))

    def end(self, machine: Machine, *, refuses: bool = True) -> None:
        """End the process: unstarted writes are dropped, and its connections break."""
        self.ended += 1
        machine.process = None
        machine.busy = machine.is_paused = False
        machine.is_reachable = refuses
        machine.rest.clear()
        waiting = [*machine.queue]
        machine.queue.clear()
        if refuses:
            for (source, correlation), life in machine.open.items():
                self._disconnect(machine.id, source, correlation, life)
            for message, life in waiting:
                if (
                    not callable(message)
                    and message.is_request
                    and (message.source, message.correlation_id) not in machine.open
                ):
                    self._disconnect(machine.id, message.source, message.correlation_id, life)
        machine.open.clear()
        machine.ballots.clear()
        self.note(machine.id, "role", "down", "bad")

    def call(self, machine: Machine, ask: Callable[[Replica, int], list[Effect]]) -> None:
        """Hand something to a running process that is neither paused nor at its disk; else it waits there."""
        if machine.process is None:
            return
        if machine.busy or machine.is_paused:
            machine.queue.append((ask, 0))
            return
        self.perform(machine, ask(machine.process, machine.local(self.now)))

    def resume(self, machine: Machine) -> None:
        """Resume a paused process: its timers first, then the waiting events."""
        machine.is_paused = False
        if machine.process is not None and not machine.busy:
            self.perform(machine, machine.process.wake(machine.local(self.now)))
            self._drain(machine)

    def deliver_from_client(self, machine: Machine, message: Any) -> None:
        """Deliver an operator's request to a node, from a host whose connections are not cut."""
        self.push(self.now, DELIVER, machine, message, 0)

    def address(self) -> None:
        """Apply the present host names to connections and to the configuration of processes that start."""
        each = self.machines.values()
        self.by_address = {(machine.endpoint.host, machine.endpoint.port): machine for machine in each}
        self._servers = tuple(machine.endpoint for machine in each)
        self._static = self._voters() if self.quorum.is_static else None

    def drift(self, machine: Machine, drift: int) -> None:
        """Set a clock to run faster or slower from now on, in parts per thousand."""
        machine.set_drift(self.now, drift)
        if machine.process is not None and not machine.busy and not machine.is_paused:
            self._schedule_wake(machine)

    def run_until(self, time_us: int, stops: Callable[[], bool] | None = None) -> bool:
        """Process events up to a time; return True if `stops` became true, False when the time is reached.

        Also ends at the first event after which an invariant is broken.
        """
        queue, violations, known = self.queue, self.monitor.violations, len(self.monitor.violations)
        if stops is not None and stops():
            return True
        while queue and queue[0][0] <= time_us:
            self.now, _, kind, machine, thing, life = heappop(queue)
            self.events += 1
            if kind == WAKE:
                self._wake(machine, life)
            elif kind == DELIVER:
                self._deliver(machine, thing, life)
            elif machine.life == life and machine.process is not None:
                self._go_on(machine)
            if len(violations) > known:
                return False
            if stops is not None and stops():
                return True
        self.now = max(self.now, time_us)
        return False

    def _wake(self, machine: Machine, life: int) -> None:
        if machine.life != life or machine.process is None or machine.wake_at != self.now:
            return  # of an earlier process, or another wake-up has taken its place
        machine.wake_at = -1
        if machine.busy or machine.is_paused:
            return  # its timers are looked at when it goes on
        local = machine.local(self.now)
        if machine.process.wake_at <= local:
            self.perform(machine, machine.process.wake(local))
        else:
            self._schedule_wake(machine)

    def _deliver(self, machine: Machine, message: Any, life: int) -> None:
        process = machine.process
        if process is None or not (message.is_request or machine.life == life):
            if message.is_request and machine.is_reachable:
                self._disconnect(machine.id, message.source, message.correlation_id, life)
            return
        if machine.is_paused or machine.busy:
            machine.queue.append((message, life))
            return
        if message.is_request:
            machine.open[message.source, message.correlation_id] = life
            if type(message) is VoteRequest and not message.pre_vote:
                machine.ballots[message.source, message.correlation_id] = message.replica_epoch
        self.perform(machine, process.receive(machine.local(self.now), message))

    def _disconnect(self, node: int, source: int, correlation: int, life: int) -> None:
        message = Disconnected(node, source, correlation)
        if source == CLIENT:
            self.on_answer(message)
        elif (node, source) not in self.network.cuts:
            self.push(self.now + REFUSED_US, DELIVER, self.machines[source], message, life)

    def _go_on(self, machine: Machine) -> None:
        """Continue after a sync: perform the remaining effects, then the waiting events."""
        machine.busy = False
        (first, *rest), machine.rest = machine.rest, []
        self._write(machine, first)
        self.perform(machine, rest)
        if not machine.busy and not machine.is_paused and machine.process is not None:
            self.perform(machine, machine.process.wake(machine.local(self.now)))
            self._drain(machine)

    def _drain(self, machine: Machine) -> None:
        while machine.queue and not machine.busy and not machine.is_paused and machine.process is not None:
            message, life = machine.queue.popleft()
            if callable(message):
                self.call(machine, message)
            else:
                self._deliver(machine, message, life)

    def perform(self, machine: Machine, effects: list[Effect]) -> None:
        """Carry out, in order, what a call of a process returned; what follows a sync waits for its end."""
        waiting = effects[::-1]  # the next one last
        while waiting:
            effect: Any = waiting.pop()
            kind = effect.effect
            if kind == SEND:
                self.send(machine, effect)
            elif kind == WRITE:
                if effect.synced and machine.sync_us:
                    waiting.append(effect)
                    self._sync(machine, waiting)
                    return
                self._write(machine, effect)
            elif kind == DRAW:
                waiting += self._drawn(machine, effect)[::-1]
            elif kind == FAULT:
                machine.fault = effect.reason
                self.note(machine.id, "fault", f"the process ends: {effect.reason}", "bad")
                self.end(machine)
                return
            elif kind != NOTE:
                raise TypeError(f"a node returned {effect!r}")
        self._observe(machine)

    def _drawn(self, machine: Machine, draw: Any) -> list[Effect]:
        is_choice, process = draw.purpose is Purpose.BOOTSTRAP, machine.process
        number = machine.choices.one() if is_choice else self.timers.below(draw.bound)
        return [] if process is None else process.drawn(machine.local(self.now), draw.purpose, number)

    def _sync(self, machine: Machine, waiting: list[Effect]) -> None:
        """Sync the disk; draws after the sync belong to the present call and are answered immediately.

        The next effect is the last of the waiting list.
        """
        rest: list[Effect] = []
        while waiting:
            effect: Any = waiting.pop()
            if effect.effect == DRAW:
                waiting += self._drawn(machine, effect)[::-1]
            else:
                rest.append(effect)
        machine.rest, machine.busy = rest, True
        self.push(self.now + machine.sync_us, SYNCED, machine, None, machine.life)

    def send(self, machine: Machine, message: Any) -> None:
        """Send a message of a node over the network."""
        if message.is_request:
            target = self._target(message)
            if target is None:
                return
            life = machine.life
        else:
            life = machine.open.pop((message.destination, message.correlation_id), -1)
            if message.destination == CLIENT:
                self.on_answer(message)
                return
            target = self.machines[message.destination]
            if type(message) is FetchResponse:
                if message.high_watermark > machine.seen_watermark and machine.process is not None:
                    self._watermark(machine, message.high_watermark, machine.process.voters)
            elif type(message) is VoteResponse and message.vote_granted:
                self._granted(machine, message)
        if target is machine:
            self.push(self.now + LOOPBACK_US, DELIVER, target, message, life)
            return
        for delay in self.network.fates(machine.id, target.id):
            self.push(self.now + delay, DELIVER, target, message, life)

    def _target(self, message: Any) -> Machine | None:
        address = message.address
        if address is not None:
            return self.by_address.get((address.host, address.port))
        return self.machines.get(message.destination)

    def _granted(self, machine: Machine, message: VoteResponse) -> None:
        epoch = machine.ballots.pop((message.destination, message.correlation_id), None)
        if epoch is not None:  # None for a pre-vote
            self.monitor.time_us, self.monitor.event = self.now, self.events
            candidate = self.machines[message.destination]
            self.monitor.voted(machine.id, machine.directory, epoch, (candidate.id, candidate.directory))

    def _write(self, machine: Machine, write: Any) -> None:
        monitor, shadow, process = self.monitor, machine.shadow, machine.process
        monitor.time_us, monitor.event = self.now, self.events
        if type(write) is AppendLog:
            for before, after in machine.voter_changes(write.batches) if machine.leads else ():
                monitor.voters_changed(machine.id, before, after)
            machine.disk.apply(write)
            monitor.appended(machine.id, shadow, write.batches)
            return
        machine.disk.apply(write)
        if type(write) is FlushLog:
            shadow.durable = shadow.end
        elif type(write) is WriteQuorumState:
            state = write.state
            voted = (state.voted_id, state.voted_directory_id) if state.voted_id >= 0 else None
            monitor.state_written(machine.id, machine.directory, state.leader_epoch, voted)
        elif type(write) is TruncateLog:
            watermark = -1 if process is None else process.high_watermark
            epoch = monitor.epoch_of(machine.directory) if process is None else process.epoch
            monitor.truncated(machine.id, shadow, machine.disk.end, watermark, epoch=epoch, leads=machine.leads)
            shadow.durable = shadow.end
        elif type(write) is StartLogAt:
            monitor.restarted_at(machine.id, shadow, write.snapshot_id.end_offset)
        elif type(write) is CleanLog:
            monitor.cleaned(machine.id, shadow, write.snapshot_id.end_offset)

    def _observe(self, machine: Machine) -> None:
        process = machine.process
        if process is None:
            return
        if process.state is not machine.seen_state or process.epoch != machine.seen_epoch:
            self._changed(machine, process)
        if process.voters is not machine.seen_voters:
            self._new_voters(machine, process)
        if process.high_watermark != machine.seen_watermark and process.high_watermark >= 0:
            self._watermark(machine, process.high_watermark, process.voters if process.state is State.LEADER else None)
        if machine.wake_at < 0 or machine.world_time(process.wake_at) < machine.wake_at:
            self._schedule_wake(machine)

    def _schedule_wake(self, machine: Machine) -> None:
        if machine.process is not None:
            at = max(self.now, machine.world_time(machine.process.wake_at))
            machine.wake_at = at
            self.push(at, WAKE, machine, None, machine.life)

    def _changed(self, machine: Machine, process: Replica) -> None:
        monitor = self.monitor
        monitor.time_us, monitor.event = self.now, self.events
        leads_now = process.state is State.LEADER and (machine.seen_state, machine.seen_epoch) != (
            State.LEADER,
            process.epoch,
        )
        machine.seen_state, machine.seen_epoch = process.state, process.epoch
        if leads_now:
            monitor.leads(machine.id, machine.directory, process.epoch, machine.shadow)
            self.elections.append((self.now, machine.id, process.epoch))
        if process.state is State.STOPPED:
            self.end(machine)
        elif self.timeline is not None:
            self.note(machine.id, "role", *shown_role(machine, process))

    def _new_voters(self, machine: Machine, process: Replica) -> None:
        if machine.seen_voters is not None and self.timeline is not None and process.voters != machine.seen_voters:
            self.note(machine.id, "voters", f"voters {process.voters} (offset {process.voters_offset})")
        machine.seen_voters = process.voters

    def _watermark(self, machine: Machine, watermark: int, voters: VoterSet | None) -> None:
        """Record a new high watermark of the process, or of a leader that resigns in the same call."""
        monitor = self.monitor
        monitor.time_us, monitor.event = self.now, self.events
        before, machine.seen_watermark = machine.seen_watermark, watermark
        monitor.watermark(machine.id, before, watermark, machine.shadow, voters)
        if voters is not None and self.appended:
            self._acknowledge(machine, watermark)

    def _acknowledge(self, machine: Machine, watermark: int) -> None:
        """Count appended batches below the high watermark: as committed if this log holds them, else as lost."""
        waiting: list[AppendedBatch] = []
        for taken in self.appended:
            if taken.offset >= watermark:
                waiting.append(taken)
            elif any(taken.content in batch.content and batch.end > taken.offset for batch in machine.disk.batches):
                self.committed += taken.records
            else:
                self.lost += taken.records
        self.appended = waiting

    def note(self, node: int | None, kind: HappeningKind, text: str, tone: str = "plain") -> None:
        """Add an entry to the timeline, if there is one."""
        if self.timeline is not None:
            self.timeline.add(Happening(self.now, node, kind, text, tone))

    def leader(self) -> Machine | None:
        """Return the running process that leads the newest epoch and is not paused; None if none leads."""
        found, newest = None, -1
        for machine in self.machines.values():
            process = machine.process
            if process is not None and machine.leads and not machine.is_paused and process.epoch > newest:
                found, newest = machine, process.epoch
        return found

    def push(self, at: int, kind: int, machine: Machine, thing: Any, life: int) -> None:
        """Add an event to the queue, after all others of its moment."""
        self._sequence += 1
        heappush(self.queue, (at, self._sequence, kind, machine, thing, life))
