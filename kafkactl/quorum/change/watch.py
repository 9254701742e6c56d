"""Observing the quorum while a request is on its way: until its outcome is known, or a node has caught up.

An observation is not a request: watching a request never repeats it; it ends when the voter sets that are
seen prove what became of it, or when its time is over, and then says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from kafkactl.change.clock import Clock, Deadline
from kafkactl.change.progress import Event, ProgressCallback
from kafkactl.change.waiting import wait_until
from kafkactl.cluster.quorum.liveness import proven
from kafkactl.cluster.quorum.state import Mode, QuorumState, ids_of
from kafkactl.core.errors import UnreachableError
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import ZERO_UUID
from kafkactl.quorum.catch_up import CatchUp, CatchUpSample, catch_up, sample_of
from kafkactl.quorum.change.ports import QuorumPort, QuorumWaitPolicy
from kafkactl.quorum.outcome import Answer, Known, Verdict, judge
from kafkactl.quorum.step import Action, Step

_ELECTION_WINDOW_MS = 60_000
_SETTLING_MS = 5_000


class QuorumWatcher:
    """Observer of one quorum, which keeps what a plan needs of earlier observations: epochs, and when they began."""

    def __init__(
        self,
        port: QuorumPort,
        clock: Clock,
        policy: QuorumWaitPolicy,
        tell: ProgressCallback,
        *,
        node_ids: frozenset[int] = frozenset(),
    ) -> None:
        self.port = port
        self.clock = clock
        self.policy = policy
        self.tell = tell
        self.last: QuorumState | None = None
        self.earlier: QuorumState | None = None  # the first observation of the last time the quorum was watched
        self._node_ids = node_ids
        self.own_elections = 0
        self._epochs: list[tuple[float, int]] = []  # when each leader epoch was first seen

    def observe(self) -> QuorumState:
        """Return the whole state. Raise UnreachableError."""
        return self._seen(self.port.observe())

    def prove(self, *, also: Collection[int] = ()) -> QuorumState:
        """Return the whole state, and for every voter whether it follows the leader now. Raise UnreachableError.

        `also` are node ids to check in addition to the voters and the nodes of the goal. If the leader or the voters
        changed meanwhile, no voter is proven alive, and a blocker reports it (`unproven`).
        """
        state = self.observe()
        if not state.has_leader:
            return state
        judged, self.earlier = proven(state, self, node_ids={*self._node_ids, *also}, watch_ms=self.policy.watch_ms)
        return self._seen(judged)

    def sample(self) -> QuorumState | None:
        """Return the leader's word alone, and who still answers."""
        return self.port.sample()

    def sleep_ms(self, duration_ms: float) -> None:
        """Wait between two samples."""
        self.clock.sleep_ms(duration_ms)

    def observe_nodes(self) -> QuorumState | None:
        """Return the leader's answer; None if no node leads or answers."""
        try:
            return self._seen(self.port.observe_nodes())
        except UnreachableError:
            self.tell(Event(kind="look", text="no controller leads now"))
            return None

    def pause(self) -> None:
        """Wait until the next observation."""
        self.clock.sleep_ms(self.policy.observe_every_ms)

    def now_ms(self) -> float:
        """Return the monotonic time in ms."""
        return self.clock.now_ms()

    @property
    def epoch_age_ms(self) -> int | None:
        """Return the time in ms since the present leader was first observed; None if none was."""
        return round(self.now_ms() - self._epochs[-1][0]) if self._epochs else None

    @property
    def recent_elections(self) -> int:
        """Return the number of new leader epochs within the last minute that this change did not cause."""
        since = self.now_ms() - _ELECTION_WINDOW_MS
        return max(0, sum(at > since for at, _ in self._epochs[1:]) - self.own_elections)

    def _seen(self, state: QuorumState) -> QuorumState:
        self.last = state
        epoch = state.leader_epoch
        if state.has_leader and epoch is not None and (not self._epochs or self._epochs[-1][1] != epoch):
            self._epochs.append((self.now_ms(), epoch))
        self.tell(Event(kind="look", text=_progress_words(state), state=state))
        return state


def watch_outcome(
    watcher: QuorumWatcher,
    step: Step,
    answer: Answer,
    *,
    sent_at_ms: float,
    unread_ms: int,
    already: QuorumState | None = None,
) -> tuple[Verdict, QuorumState | None]:
    """Return the outcome of a request that was sent once, and the last observation of the quorum.

    `sent_at_ms` is monotonic time; a node reads the request within `unread_ms`, or never. The function returns when the
    outcome is known, or after `QuorumWaitPolicy.step_ms`.
    """
    reads: list[QuorumState] = [] if already is None else [already]
    # Without an answer nothing is certain before the request must have been read or lost.
    least_ms = 0 if answer.code is not None else sent_at_ms - watcher.now_ms() + unread_ms + _SETTLING_MS

    def read() -> tuple[Verdict, QuorumState | None]:
        state = _observed_for(watcher, step)
        reads.append(_leaderless(reads[-1] if reads else watcher.last) if state is None else state)
        watched_ms = round(watcher.now_ms() - sent_at_ms)
        verdict = judge(step, answer, reads, watched_ms=watched_ms, unread_ms=unread_ms)
        return verdict, reads[-1] if state is not None else watcher.last

    return wait_until(
        read,
        lambda found: found[0].known in (Known.DONE, Known.FAILED),
        until=Deadline.after(max(watcher.policy.step_ms, least_ms), watcher.clock),
        every_ms=watcher.policy.observe_every_ms,
    )


def watch_catch_up(watcher: QuorumWatcher, step: Step, *, deadline: Deadline) -> tuple[CatchUp, QuorumState | None]:
    """Wait until the node of a `wait` step has caught up and stayed so, by the gate of `QuorumWaitPolicy`.

    It ends sooner if the voter set changes meanwhile: then the plan was made for another quorum.
    """
    assert step.key is not None, "a wait is about a node"
    key, samples = step.key, list[CatchUpSample]()

    def sampled() -> tuple[CatchUp, QuorumState | None]:
        state = watcher.observe_nodes()
        sample = None if state is None else sample_of(state, key, at_ms=round(watcher.now_ms()))
        samples[:] = [*samples, sample] if sample is not None else []
        return catch_up(samples, watcher.policy.gate), state

    def waiting(found: tuple[CatchUp, QuorumState | None]) -> None:
        watcher.tell(Event(kind="wait", text=_catch_up_words(step, found[0]), step=step, state=found[1]))

    return wait_until(
        sampled,
        lambda found: found[0].ready or (found[1] is not None and found[1].voter_keys != step.voters_before),
        until=deadline,
        every_ms=watcher.policy.observe_every_ms,
        waiting=waiting,
    )


def watch_until(
    watcher: QuorumWatcher,
    is_well: Callable[[QuorumState], bool],
    *,
    within_ms: int,
    see: Callable[[], QuorumState] | None = None,
) -> QuorumState | None:
    """Observe until the quorum is as it should be; the last observation if it does not become so in time.

    `see` is how, unless by `QuorumWatcher.observe`.
    """
    how = see or watcher.observe

    def seen() -> QuorumState | None:
        try:
            return how()
        except UnreachableError:
            return None

    until = Deadline.after(within_ms, watcher.clock)
    every_ms = watcher.policy.observe_every_ms
    return wait_until(seen, lambda state: state is not None and is_well(state), until=until, every_ms=every_ms)


def stays_away(watcher: QuorumWatcher, step: Step) -> bool:
    """Return True if a removed voter that still runs does not come back (auto-join) for a while."""
    until = Deadline.after(watcher.policy.stays_away_ms, watcher.clock)
    while not until.passed:
        state = watcher.observe_nodes()
        if state is not None and step.key in state.voter_keys:
            return False
        watcher.pause()
    return True


def is_converted(state: QuorumState) -> bool:
    """Return True if a quorum is dynamic and every voter's directory is known."""
    return state.mode is Mode.DYNAMIC and all(voter.directory_id not in (None, ZERO_UUID) for voter in state.voters)


def _observed_for(watcher: QuorumWatcher, step: Step) -> QuorumState | None:
    """Return an observation that can show the step: DescribeQuorum does not contain the level of kraft.version."""
    if step.action is not Action.UPGRADE:
        return watcher.observe_nodes()
    try:
        return watcher.observe()
    except UnreachableError:
        return None


def _leaderless(last: QuorumState | None) -> QuorumState:
    """Return the observation of a quorum without a leader: what was known of the voters, and no leader."""
    if last is not None:
        return replace(last, leader_id=NO_LEADER, high_watermark=None)
    return QuorumState(
        cluster_id="", mode=None, kraft_version=None, leader_id=NO_LEADER, leader_epoch=None, high_watermark=None,
        voters=(),
    )  # fmt: skip


def _progress_words(state: QuorumState) -> str:
    if not state.has_leader:
        return "no controller leads now"
    return (
        f"leader {state.leader_id} in epoch {state.leader_epoch}, voters {ids_of(state.voter_keys)}, "
        f"high watermark {state.high_watermark}"
    )


def _catch_up_words(step: Step, found: CatchUp) -> str:
    left = "" if not found.estimate_ms else f", about {found.estimate_ms // 1000 + 1} s left"
    return f"controller {step.id}: {', '.join(found.reasons)}{left}"
