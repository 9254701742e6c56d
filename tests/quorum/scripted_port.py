"""A simulated quorum: the states of `worlds` over time, with requests that are accepted, lost, late or refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from kafkactl.cluster.quorum.majority import tolerates
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.cluster.registrations import ControllerRegistration, Registrations
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Finding
from kafkactl.core.values import Endpoint, ReplicaKey, Uuid
from kafkactl.quorum.outcome import Answer
from kafkactl.quorum.step import Action, Step
from tests.quorum.worlds import CLUSTER_ID, NOW_MS, World, endpoint

OK, LOST = Answer(code=0), Answer(code=None)
TIMED_OUT = Answer(code=7, message="The request timed out.")


class SteppedClock:
    """A clock on which time passes only when the code under test waits."""

    def __init__(self) -> None:
        self.at_ms = 0.0

    def now_ms(self) -> float:
        return self.at_ms

    def sleep_ms(self, duration_ms: float) -> None:
        self.at_ms += max(0.0, duration_ms)


@dataclass
class Reaction:
    """Reaction to one request: whether Kafka takes it, what is answered, and when it commits."""

    taken: bool = True
    answer: Answer = OK
    commits_after_ms: float = 0.0
    sent: bool = True
    takes_ms: float = 20.0


@dataclass
class SteppedQuorum:
    """The port of a change onto a world of tests. `reactions` are used up by the requests, in order.

    `at_action` gets the number of every action before it happens; it may end the process, or change the world.
    """

    world: World
    clock: SteppedClock = field(default_factory=SteppedClock)
    reactions: list[Reaction] = field(default_factory=list)
    at_action: Callable[[int, str], None] = lambda number, name: None
    rehearsals: list[Answer] = field(default_factory=list)
    registered: bool = True
    unread_ms: int = 10_000
    epoch: int = 5
    actions: int = 0
    sent: list[str] = field(default_factory=list)
    frozen_until_ms: float = -1.0
    frozen_at: int = 0

    knows_cluster_id: bool = True
    denial: Finding | None = None

    @property
    def cluster_id(self) -> str:
        if not self.knows_cluster_id:
            raise UnreachableError("not told", id="request-not-supported")
        return CLUSTER_ID

    def change_denied(self, request: str) -> Finding | None:
        return self.denial

    def observe(self) -> QuorumState:
        self._act("observe")
        self.clock.sleep_ms(5)
        return self._state()

    def observe_nodes(self) -> QuorumState:
        self._act("look")
        self.clock.sleep_ms(1)
        state = self._state()
        if not state.has_leader:
            raise UnreachableError("nobody leads", id="no-active-controller")
        return replace(state, nodes={}, registrations=None, mode=None, kraft_version=None)

    def sample(self) -> QuorumState | None:
        self._act("glance")
        self.clock.sleep_ms(1)
        state = self._state()
        return state if state.has_leader else None

    def endpoints_of(self, node_id: int, state: QuorumState) -> tuple[Endpoint, ...]:
        known = state.registrations and state.registrations.controllers.get(node_id)
        return known.endpoints if known else ()

    def send(self, step: Step, endpoints: Sequence[Endpoint]) -> Answer:
        self._act("send")
        reaction = self.reactions.pop(0) if self.reactions else Reaction()
        if not reaction.sent:
            raise UnreachableError("connection refused", id="connection-refused")
        if step.action is Action.ADD:
            assert tuple(endpoints) == (endpoint(step.id),), endpoints
        self.sent.append(step.action.value if step.id is None else f"{step.action.value} {step.id}")
        if reaction.taken:
            self._take(step, reaction)
        self.clock.sleep_ms(reaction.takes_ms)
        self._act("answered")
        return reaction.answer

    def leave(self, key: ReplicaKey) -> None:
        """Remove that voter, as any other operator may."""
        self.world = replace(self.world, voters=self.world.voters - {key})

    def rehearse(self, step: Step) -> Answer:
        self._act("rehearse")
        assert step.action is Action.UPGRADE
        return self.rehearsals.pop(0) if self.rehearsals else OK

    def _take(self, step: Step, reaction: Reaction) -> None:
        leader = self.world.elected
        self.world = self.world.taken(step)
        if step.key is not None and step.key == leader:
            self.epoch += 1
        if reaction.commits_after_ms:
            self.frozen_at = self._end() - 1
            self.frozen_until_ms = self.clock.now_ms() + reaction.commits_after_ms

    def _act(self, name: str) -> None:
        self.actions += 1
        self.at_action(self.actions, name)

    def _end(self) -> int:
        return 1_001 + int(self.clock.now_ms() // 100)

    def _state(self) -> QuorumState:
        end = self._end()
        frozen = self.clock.now_ms() < self.frozen_until_ms
        alive = tolerates(self.world.voters, self.world.alive) >= 0
        high_watermark = (self.frozen_at if frozen else end - 1) if alive else None
        ids = {voter.node_id for voter in self.world.voters | self.world.alive}
        state = self.world.observe(
            leader_epoch=self.epoch, high_watermark=high_watermark, registrations=_registrations(ids, self.registered)
        )
        return replace(
            state,
            voters=tuple(_moved(voter, end) for voter in state.voters),
            observers=tuple(_moved(observer, end) for observer in state.observers),
        )


def _moved(replica, end):
    fetches = replica.last_fetch_timestamp_ms == NOW_MS
    return replace(replica, log_end_offset=end - (replica.lag or 0)) if fetches else replica


def _registrations(ids: set[int], registered: bool) -> Registrations:
    controllers = {
        node_id: ControllerRegistration(
            id=node_id, incarnation_id=Uuid(bytes(16)), features={}, endpoints=(endpoint(node_id),)
        )
        for node_id in (ids if registered else ())
    }
    return Registrations(brokers={}, controllers=controllers, levels={"metadata.version": 33}, kraft_version=1)
