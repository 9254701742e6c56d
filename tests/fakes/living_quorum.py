"""A quorum that is simulated in time: followers fetch, a leader appends no-ops, nodes are killed, paused and cut off.

It has what decides whether a replica is seen to advance (KafkaRaftClient, LeaderState): a no-op every 500 ms, on which
each follower fetches with a larger offset; the fetch that the leader parks for up to 500 ms, whose completion sets the
time of the last fetch even if the follower is gone by then; elections, after which no follower has fetched yet. Time
passes only where the code under test waits. `true_life` is what the code under test has to find out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.majority import majority, tolerates
from kafkactl.cluster.quorum.observation import QuorumAnswer, quorum_state
from kafkactl.cluster.quorum.state import Probe, QuorumState, Replica
from kafkactl.cluster.registrations import ControllerRegistration, Registrations
from kafkactl.core.errors import UnreachableError
from kafkactl.core.values import Endpoint, ReplicaKey, Role, Uuid
from kafkactl.quorum.outcome import Answer
from kafkactl.quorum.step import Action, Step
from tests.quorum.worlds import CLUSTER_ID, endpoint, key, versions

NO_OP_MS = 500
FETCH_WAIT_MS = 500
FETCH_TIMEOUT_MS = 2_000
STUCK_MS = 1_000.0  # what a request to a hanging node costs its sender
EPOCH_MS = 1_700_000_000_000


@dataclass(frozen=True)
class Event:
    """Event of a node at a moment: kill, pause, resume, start, cut (it cannot be reached from here), isolate (it cannot
    fetch, and can be reached), elect (the leader resigns, and `node_id` becomes the next)."""

    at_ms: float
    what: str
    node_id: int


@dataclass
class _Node:
    id: int
    directory: str = "a"
    runs: bool = True
    paused: bool = False
    cut: bool = False
    isolated: bool = False
    delay_ms: float = 8.0
    end: int | None = None
    fetched_ms: float | None = None
    parked_ms: float | None = None  # since when a fetch of it lies at the leader
    starts: int = 0
    struck_ms: float = 0.0

    @property
    def follows(self) -> bool:
        return self.runs and not self.paused and not self.isolated

    @property
    def answers(self) -> bool:
        return self.runs and not self.paused and not self.cut


@dataclass
class LivingQuorum:
    """The port of a change (`World`) onto a quorum in time; it is its own clock.

    `sent` are the requests that were taken; `wedged` those after which no majority of the voters lived, each with the
    time since the last of the missing voters was struck.
    """

    voters: tuple[int, ...] = (1, 2, 3)
    observers: tuple[int, ...] = ()
    events: Sequence[Event] = ()
    static: bool = False
    out_of_reach: bool = False
    no_ops: bool = True
    phase_ms: float = 170.0
    leader_id: int = 1
    unread_ms: int = 10_000
    at_ms: float = 0.0
    sent: list[str] = field(default_factory=list)
    wedged: list[tuple[str, float]] = field(default_factory=list)
    sampling: int = 0

    cluster_id: str = CLUSTER_ID
    knows_cluster_id: bool = True

    def change_denied(self, request: str) -> None:
        return None

    def __post_init__(self) -> None:
        self.epoch = 5
        self.end = 1_000
        self.high_watermark: int | None = 1_000
        self.next_no_op_ms = self.phase_ms
        self.elected_at_ms: float | None = None  # when the next leader takes over; None while one leads
        self.successor: int | None = None
        self.lost_majority_ms: float | None = None
        self.nodes = {item: _Node(id=item, delay_ms=4.0 + 3 * item) for item in (*self.voters, *self.observers)}
        for node in self.nodes.values():
            node.end, node.fetched_ms, node.parked_ms = self.end, 0.0, 0.0
        self._todo = sorted(self.events, key=lambda event: event.at_ms)
        self._happen()

    def now_ms(self) -> float:
        return self.at_ms

    def sleep_ms(self, duration_ms: float) -> None:
        target = self.at_ms + max(0.0, duration_ms)
        while True:
            moments = [moment for moment in self._moments() if moment <= target]
            if not moments:
                break
            self.at_ms = max(self.at_ms, min(moments))
            self._happen()
        self.at_ms = target

    def _moments(self) -> list[float]:
        """Return when something happens next."""
        found = [event.at_ms for event in self._todo[:1]]
        found += [] if self.elected_at_ms is None else [self.elected_at_ms]
        found += [self.next_no_op_ms] if self.leads else []
        found += [at for node in self.nodes.values() if (at := self._next_fetch(node)) is not None]
        return found

    def _next_fetch(self, node: _Node) -> float | None:
        """Return when it fetches next: a while after there is something to fetch, else when its parked fetch is
        answered."""
        if not self.leads or node.id == self.leader_id or not self._fetches(node):
            return None
        if node.end is None or node.end < self.end:
            return max(self.appended_ms, node.fetched_ms or self.appended_ms) + node.delay_ms
        return (node.fetched_ms if node.parked_ms is None else node.parked_ms) + FETCH_WAIT_MS

    def _fetches(self, node: _Node) -> bool:
        return node.follows and not self.nodes[self.leader_id].isolated

    @property
    def appended_ms(self) -> float:
        return self.next_no_op_ms - NO_OP_MS

    @property
    def leads(self) -> bool:
        node = self.nodes[self.leader_id]
        return self.elected_at_ms is None and node.runs and not node.paused

    def _happen(self) -> None:
        now = self.at_ms
        while self._todo and self._todo[0].at_ms <= now:
            self._strike(self._todo.pop(0))
        if self.elected_at_ms is not None and self.elected_at_ms <= now:
            self._elect()
        if self.leads and self.next_no_op_ms <= now:
            self.next_no_op_ms += NO_OP_MS
            if self.no_ops:
                self.end += 1
                for node in self.nodes.values():
                    # The parked fetch is completed, which sets the time, whether or not the follower still is there.
                    if node.parked_ms is not None and now - node.parked_ms <= FETCH_WAIT_MS:
                        node.fetched_ms = now
                    node.parked_ms = None
        for node in self.nodes.values():
            due = self._next_fetch(node)
            if due is not None and due <= now:
                node.end, node.fetched_ms, node.parked_ms = self.end, now, now
        self._commit()
        self._check_quorum()

    def _strike(self, event: Event) -> None:
        node = self.nodes[event.node_id]
        node.struck_ms = event.at_ms
        if event.what == "kill":
            node.runs = False
        elif event.what in ("pause", "resume"):
            node.paused = event.what == "pause"
        elif event.what == "start":
            node.runs, node.starts = True, node.starts + 1
        elif event.what == "cut":
            node.cut = True
        elif event.what == "isolate":
            node.isolated = True
        elif event.what == "elect":
            self._resign(300.0, event.node_id)
        if event.what in ("kill", "pause") and event.node_id == self.leader_id:
            self._resign(FETCH_TIMEOUT_MS + 300.0, None)

    def _resign(self, after_ms: float, successor: int | None) -> None:
        self.elected_at_ms, self.successor = self.at_ms + after_ms, successor
        self.high_watermark = None

    def _elect(self) -> None:
        able = [voter for voter in self.voters if self.nodes[voter].follows]
        if len(able) < majority(len(self.voters)):
            self.elected_at_ms = self.at_ms + 1_000
            return
        self.leader_id = self.successor if self.successor in able else min(able)
        self.elected_at_ms, self.epoch, self.end = None, self.epoch + 1, self.end + 1
        self.next_no_op_ms = self.at_ms + NO_OP_MS
        self.lost_majority_ms = None
        for node in self.nodes.values():
            node.end = node.fetched_ms = node.parked_ms = None

    def _commit(self) -> None:
        ends = sorted((self._end_of(voter) for voter in self.voters), reverse=True)
        committed = ends[majority(len(self.voters)) - 1]
        if self.leads and committed >= 0:
            self.high_watermark = max(committed, self.high_watermark or 0)

    def _end_of(self, node_id: int) -> int:
        if node_id == self.leader_id:
            return self.end
        end = self.nodes[node_id].end
        return -1 if end is None else end

    def _check_quorum(self) -> None:
        """Resign as a leader without a majority after one and a half fetch timeouts."""
        if not self.leads:
            return
        lives = sum(voter == self.leader_id or self._fetches(self.nodes[voter]) for voter in self.voters)
        if lives >= majority(len(self.voters)):
            self.lost_majority_ms = None
        elif self.lost_majority_ms is None:
            self.lost_majority_ms = self.at_ms
        elif self.at_ms - self.lost_majority_ms >= FETCH_TIMEOUT_MS * 3 // 2:
            self._resign(1_000.0, None)

    @property
    def true_life(self) -> frozenset[ReplicaKey]:
        """Return who follows, or leads."""
        return frozenset(key(node.id, node.directory) for node in self.nodes.values() if node.follows)

    @property
    def voter_keys(self) -> frozenset[ReplicaKey]:
        return frozenset(key(voter, self.nodes[voter].directory) for voter in self.voters)

    def observe(self) -> QuorumState:
        hangs = any(node.runs and node.paused for node in self.nodes.values()) and not self.out_of_reach
        state = self._state(full=True)
        self.sleep_ms(STUCK_MS if hangs else 20.0)
        return state

    def observe_nodes(self) -> QuorumState:
        state = self._state(full=False)
        self.sleep_ms(5.0)
        if not state.has_leader:
            raise UnreachableError("no controller leads the quorum", id="no-active-controller")
        return state

    def sample(self) -> QuorumState | None:
        self.sampling += 1
        state = self._state(full=False)
        self.sleep_ms(4.0)
        return state if state.has_leader else None

    def endpoints_of(self, node_id: int, state: QuorumState) -> tuple[Endpoint, ...]:
        return (endpoint(node_id),)

    def rehearse(self, step: Step) -> Answer:
        self.sleep_ms(10.0)
        if not self.leads:
            raise UnreachableError("no controller leads the quorum", id="no-active-controller")
        return Answer(code=0)

    def send(self, step: Step, endpoints: Sequence[Endpoint]) -> Answer:
        if not self.leads:
            raise UnreachableError("no controller leads the quorum", id="no-active-controller")
        words = step.action.value if step.id is None else f"{step.action.value} {step.id}"
        self.sent.append(words)
        if step.action is Action.UPGRADE:
            self.static = False
        elif step.action is Action.ADD:
            assert step.id is not None
            self.voters = tuple(sorted((*self.voters, step.id)))
            self.observers = tuple(observer for observer in self.observers if observer != step.id)
        else:
            assert step.id is not None
            self.voters = tuple(voter for voter in self.voters if voter != step.id)
            self.observers = tuple(sorted((*self.observers, step.id)))
        if tolerates(self.voter_keys, self.true_life) < 0:
            gone = [self.nodes[voter].struck_ms for voter in self.voters if not self.nodes[voter].follows]
            self.wedged.append((words, self.at_ms - max(gone)))
        if self.leader_id not in self.voters:
            self._resign(200.0, None)
        self.sleep_ms(20.0)
        return Answer(code=0)

    def _state(self, *, full: bool) -> QuorumState:
        asked = {} if self.out_of_reach else self.nodes
        facts = tuple(self._facts(node, full=full) for node in asked.values())
        answers = (self._answer(),) if self.leads else ()
        state = quorum_state(
            cluster_id=CLUSTER_ID,
            answers=answers,
            nodes=facts,
            heard={"a broker": self._versions()} if self.out_of_reach else {},
            registrations=self._registrations() if full and self.leads else None,
            probes=tuple(self._probes()) if full and self.leads else (),
        )
        return state if self.leads else replace(state, voters=(), observers=())

    def _answer(self) -> QuorumAnswer:
        return QuorumAnswer(
            asked="the leader",
            version=2,
            leader_id=self.leader_id,
            leader_epoch=self.epoch,
            high_watermark=-1 if self.high_watermark is None else self.high_watermark,
            voters=tuple(self._replica(voter) for voter in self.voters),
            observers=tuple(self._replica(observer) for observer in self.observers),
        )

    def _replica(self, node_id: int) -> Replica:
        node = self.nodes[node_id]
        leads = node_id == self.leader_id
        fetched_ms = self.at_ms if leads else node.fetched_ms
        time_ms = -1 if fetched_ms is None else EPOCH_MS + int(fetched_ms)
        return Replica(
            id=node_id,
            directory_id=None if self.static else key(node_id, node.directory).directory_id,
            endpoints=(endpoint(node_id),) if node_id in self.voters else (),
            log_end_offset=self.end if leads else -1 if node.end is None else node.end,
            last_fetch_timestamp_ms=time_ms,
            last_caught_up_timestamp_ms=time_ms,
        )

    def _facts(self, node: _Node, *, full: bool) -> ClusterNode:
        answers = node.answers
        return ClusterNode(
            id=node.id,
            answers=answers,
            role=Role.CONTROLLER,
            cluster_id=CLUSTER_ID if answers else None,
            versions=self._versions() if answers else None,
            named_itself=answers and full,
            auto_join=False if answers else None,
        )

    def _versions(self):
        level = 0 if self.static else 1
        return versions(finalized={"metadata.version": 30, **({"kraft.version": 1} if level else {})})

    def _probes(self):
        for voter in self.voters if not self.out_of_reach else ():
            node = self.nodes[voter]
            yield Probe(endpoint=endpoint(voter), answers=node.answers, role=Role.CONTROLLER if node.answers else None)

    def _registrations(self) -> Registrations:
        controllers: Mapping[int, ControllerRegistration] = {
            node: ControllerRegistration(
                id=node, incarnation_id=Uuid(bytes(16)), features={}, endpoints=(endpoint(node),)
            )
            for node in self.nodes
        }
        return Registrations(
            brokers={}, controllers=controllers, levels={"metadata.version": 33}, kraft_version=0 if self.static else 1
        )
