"""The port of a change onto a simulated quorum: Kafka's rules in virtual time, with a fault at any event.

The change engine observes, sends and waits as it does with a live cluster; what it sees is what the simulated leader
would answer to DescribeQuorum, and time passes where it waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.liveness import by_one_answer
from kafkactl.cluster.quorum.state import Mode, QuorumState, Replica
from kafkactl.core.errors import UnreachableError
from kafkactl.core.values import ZERO_UUID, Endpoint, ReplicaKey, Role
from kafkactl.quorum.outcome import Answer
from kafkactl.quorum.step import Action, Step
from kafkactl.simulator.actions import Operator
from kafkactl.simulator.machine import Machine, endpoint_of
from kafkactl.simulator.quorum import CLUSTER_ID
from kafkactl.simulator.raft.changes import upgrade_refusal
from kafkactl.simulator.raft.messages import CLIENT, AddRaftVoterRequest, Disconnected, RemoveRaftVoterRequest
from kafkactl.simulator.raft.profiles import OBSERVER_SESSION_US
from kafkactl.simulator.world import World
from tests.quorum.worlds import versions

NO_OP_US = 500_000  # metadata.max.idle.interval.ms: an idle leader writes a no-op so often
ANSWER_US = 10_000_000


class SimulatedQuorum:
    """A quorum of the simulator as a port, and the clock of the code that uses it.

    `at_event` is called once, when the event number `fault_at` of the world is over.
    """

    unread_ms = 10_000

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.world: World = operator.world
        self.fault_at: int | None = None
        self.at_event: Callable[[], None] = lambda: None
        self.sent: list[Step] = []
        self.spans: list[tuple[int, int]] = []  # the events between a request and the end of its answer
        self._next_no_op = self.world.now
        self._answers: dict[int, Any] = {}
        self._asked = 1_000_000
        self.world.on_answer = self._answered

    def now_ms(self) -> float:
        return self.world.now / 1000

    def sleep_ms(self, duration_ms: float) -> None:
        self._pass(round(max(0.0, duration_ms) * 1000))

    def _pass(self, time_us: int, stops: Callable[[], bool] = lambda: False) -> None:
        end = self.world.now + time_us
        while self.world.now < end and not stops():
            if self.world.now >= self._next_no_op:
                self._next_no_op = self.world.now + NO_OP_US
                self.operator.append(1)
            self._run(min(end, self._next_no_op), stops)
            assert not self.world.monitor.violations, self.world.monitor.violations

    def _run(self, until_us: int, stops: Callable[[], bool]) -> None:
        world = self.world
        if self.fault_at is not None:
            fault_at = self.fault_at
            if world.run_until(until_us, lambda: world.events >= fault_at or stops()) and world.events >= fault_at:
                self.fault_at = None
                self.at_event()
            return
        world.run_until(until_us, stops)

    cluster_id = CLUSTER_ID

    def observe(self) -> QuorumState:
        self._pass(5_000)
        return self._state()

    def observe_nodes(self) -> QuorumState:
        self._pass(1_000)
        state = self._state(nodes=False)
        if not state.has_leader:
            raise UnreachableError("nobody leads", id="no-active-controller")
        return state

    def sample(self) -> QuorumState | None:
        self._pass(1_000)
        state = self._state()
        return state if state.has_leader else None

    def endpoints_of(self, node_id: int, state: QuorumState) -> tuple[Endpoint, ...]:
        return (self.world.machines[node_id].endpoint,)

    def rehearse(self, step: Step) -> Answer:
        leader = self._leader()
        refusal = upgrade_refusal(leader.process)
        return Answer(code=95, message=refusal) if refusal else Answer(code=0)

    def _leader(self) -> Machine:
        leader = self.world.leader()
        if leader is None or leader.process is None:
            raise UnreachableError("nobody leads", id="no-active-controller")
        return leader

    def _state(self, *, nodes: bool = True) -> QuorumState:
        machine = self.world.leader()
        facts = (
            {each.id: _facts(each, self._reached(each.id)) for each in self.world.machines.values()} if nodes else {}
        )
        if machine is None or machine.process is None or machine.busy:
            return QuorumState(
                cluster_id=CLUSTER_ID, mode=None, kraft_version=None, leader_id=-1, leader_epoch=None,
                high_watermark=None, voters=(), nodes=facts,
            )  # fmt: skip
        node: Any = machine.process
        seen = {replica.key.node_id: replica for replica in node.leader.replicas.values()}
        end, level, now = node.log_end, node.log.kraft_version, self.world.now
        voters = tuple(_replica(machine, now, key, seen.get(key.node_id), end) for key in node.voters.keys)
        observers = tuple(
            _replica(machine, now, key, each, end)
            for key, each in node.leader.observers.items()
            if each.last_fetch >= 0 and machine.local(now) - each.last_fetch < OBSERVER_SESSION_US
        )
        state = QuorumState(
            cluster_id=CLUSTER_ID,
            mode=Mode.DYNAMIC if level else Mode.STATIC,
            kraft_version=level,
            leader_id=machine.id,
            leader_epoch=node.epoch,
            high_watermark=node.high_watermark if node.high_watermark >= 0 else None,
            voters=voters,
            observers=observers,
            nodes=facts,
        )
        return by_one_answer(state)

    def _reached(self, node: int) -> bool:
        """Return False for a node that is cut off from all others: it is cut off from the client, too."""
        others = [other for other in self.world.machines if other != node]
        return not all((other, node) in self.world.network.cuts for other in others)

    def send(self, step: Step, endpoints: Sequence[Endpoint]) -> Answer:
        leader = self._leader()
        begun = self.world.events
        self.sent.append(step)
        assert step.tolerates_after >= 0, "a step that can never commit was sent"
        try:
            return self._upgrade(leader) if step.action is Action.UPGRADE else self._ask(leader, step, endpoints)
        finally:
            self.spans.append((begun, self.world.events))

    def _upgrade(self, leader: Machine) -> Answer:
        refusals: list[str] = []

        def ask(process: Any, now: int) -> Any:
            refusal, effects = process.upgrade_kraft_version(now)
            refusals.append(refusal)
            return effects

        self.world.call(leader, ask)
        self._pass(100_000)
        if not refusals:
            return Answer(code=None)
        return Answer(code=95, message=refusals[0]) if refusals[0] else Answer(code=0)

    def _ask(self, leader: Machine, step: Step, endpoints: Sequence[Endpoint]) -> Answer:
        assert step.key is not None
        self._asked += 1
        asked, id, directory = self._asked, step.key.node_id, step.key.directory_id
        if step.action is Action.ADD:
            request: Any = AddRaftVoterRequest(
                CLIENT, leader.id, asked, None, CLUSTER_ID, id, directory, tuple(endpoints)
            )
        else:
            request = RemoveRaftVoterRequest(CLIENT, leader.id, asked, None, CLUSTER_ID, id, directory)
        self.world.deliver_from_client(leader, request)
        self._pass(ANSWER_US, lambda: asked in self._answers)
        answer = self._answers.get(asked)
        if answer is None or isinstance(answer, Disconnected):
            return Answer(code=None)
        return Answer(code=answer.error_code, message=answer.error_message or "")

    def _answered(self, message: Any) -> None:
        self._answers[message.correlation_id] = message


def _replica(leader: Machine, now_us: int, key: ReplicaKey, found: Any, end: int) -> Replica:
    """Return what the leader says of a replica; times are by its clock, in milliseconds."""
    id, directory = key.node_id, None if key.directory_id == ZERO_UUID else key.directory_id
    if id == leader.id:
        now_ms = leader.local(now_us) // 1000
        return Replica(
            id=id, directory_id=directory, endpoints=(leader.endpoint,), log_end_offset=end, lag=0,
            last_fetch_timestamp_ms=now_ms, last_caught_up_timestamp_ms=now_ms,
        )  # fmt: skip
    known = found is not None and found.end >= 0
    return Replica(
        id=id,
        directory_id=directory,
        endpoints=(endpoint_of(id),),
        log_end_offset=found.end if known else None,
        lag=end - found.end if known else None,
        last_fetch_timestamp_ms=found.last_fetch // 1000 if known and found.last_fetch >= 0 else None,
        last_caught_up_timestamp_ms=found.last_caught_up // 1000 if known and found.last_caught_up >= 0 else None,
    )


def _facts(machine: Machine, reached: bool) -> ClusterNode:
    """Return what a node answers to a client that is on no link that is cut."""
    process: Any = machine.process
    runs = process is not None and not machine.is_paused and reached
    level = process.log.kraft_version if runs else 0
    finalized = {"metadata.version": 30, **({"kraft.version": level} if level else {})}
    return ClusterNode(
        id=machine.id,
        answers=runs,
        role=Role.CONTROLLER,
        cluster_id=CLUSTER_ID if runs else None,
        versions=versions(finalized=finalized) if runs else None,
        auto_join=False if runs else None,
        named_itself=runs,
    )
