"""Liveness of voters, from offsets that advanced during the observation, never from earlier state.

A voter acknowledges a commit by fetching, so for a gate that protects a majority the evidence is a fetch that the
leader received while the leader was watched: between two answers of the same leader in the same epoch the replica's log
end moved on. The time of the last fetch alone is weak evidence: the leader parks a fetch for up to 500 ms
(`KafkaRaftClient.MAX_FETCH_WAIT_MS`) and sets that time again when the parked fetch is completed by an append, also if
the follower is gone by then (`KafkaRaftClient.handleFetchRequest`, `LeaderState.updateReplicaState`). So a fetch time
is evidence only if the leader's log does not grow, and only if it is later than any fetch that could have been parked
when the observation began. An idle leader of metadata.version 3.3-IV1 or later appends a no-op every 500 ms
(metadata.max.idle.interval.ms), so a healthy voter advances in every half second.

A node's own answer shows that its process runs, not that it follows the leader, and Kafka has no request in which a
controller names its directory. An answer is evidence if no majority is at stake; otherwise it can only be evidence
against life: a node that answered when the observation began and does not answer at its end is not alive, whatever it
fetched in between. A node that never could be reached from here and continues to fetch is alive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Protocol

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.state import ALIVE_WITHIN_MS, FETCH_TIMEOUT_MS, Progress, QuorumState, Replica, progress
from kafkactl.core.findings import blocker
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import ReplicaKey

NOT_STEADY = "quorum-not-steady"
FETCH_WAIT_MS = 500  # KafkaRaftClient.MAX_FETCH_WAIT_MS
WATCH_MS = FETCH_TIMEOUT_MS  # a follower that cannot fetch for that long gives its leader up
SAMPLE_EVERY_MS = 150
# Most time in ms between the last observed advance and the end of the observation. All followers advance on the same
# no-op, so one sample shows it for a healthy quorum.
FRESH_MS = 400
_ALIGN_MS = 1_000  # at most this much longer, until all that advance have just done so
_ENOUGH_MS = 2 * FETCH_WAIT_MS  # two intervals in which a replica that follows has advanced


class LifeSign(StrEnum):
    """Evidence that a replica is alive.

    leads: it answered as the leader, from the thread that appends and commits. fetches: its fetches advanced while the
    leader was watched. answers: its own process answered at its own endpoint under its own node id and cluster id; no
    evidence for a majority.
    """

    LEADS = "leads"
    FETCHES = "fetches"
    ANSWERS = "answers"


@frozen
class Life:
    """Liveness of one replica or node, from an observation.

    `alive`: True if there is evidence; False if it was watched for long enough and nothing advanced, or it stopped
    answering; None if that is unknown. `sign` is the evidence. `answers`: True if it answered at its own endpoint when
    it was last asked; None if it was not asked, or could not be. `reason` is a clause about the node.
    """

    alive: bool | None
    sign: LifeSign | None
    answers: bool | None
    reason: str


@frozen
class Sample:
    """The quorum as one answer of its leader shows it.

    `at_ms` is the local monotonic time in ms at which the question was sent. `state.nodes` has the answers of the nodes
    themselves at that moment; a node that was not asked is absent, or None.
    """

    at_ms: float
    state: QuorumState


class Sampling(Protocol):
    """Source of the samples of an observation, and the time between them."""

    def now_ms(self) -> float:
        """Return the monotonic time in ms."""
        ...

    def sleep_ms(self, duration_ms: float) -> None:
        """Wait for this time."""
        ...

    def sample(self) -> QuorumState | None:
        """Return the present answer of the leader, and for each reachable voter if it still answers.

        A sample takes no longer than a healthy quorum needs; None if no node answers as the leader.
        """
        ...


@frozen
class Observation:
    """Samples of one quorum in their order, and the answers of the nodes before the first."""

    samples: tuple[Sample, ...]
    before: Mapping[int, ClusterNode]

    @property
    def first(self) -> Sample:
        """Return the first sample of the leader that was observed last: earlier ones are not evidence about now."""
        return _of_one_leader(self.samples)[0]

    @property
    def last(self) -> Sample:
        """Return the newest sample."""
        return self.samples[-1]

    @property
    def watched_ms(self) -> int:
        """Return the time for which the leader that was observed last was watched."""
        return round(self.last.at_ms - self.first.at_ms)

    def seeing(self, sample: Sample) -> Observation:
        """Return the observation with one more sample."""
        return Observation(samples=(*self.samples, sample), before=self.before)


def lives(observation: Observation) -> dict[ReplicaKey, Life]:
    """Return the liveness of every voter and observer, for gates of a majority: `answers` alone is never alive."""
    samples = _of_one_leader(observation.samples)
    found = {
        replica.key: _life(replica, samples, _own_answers(replica.id, observation))
        for replica in observation.last.state.replicas
    }
    # Two directories of one id that both advance are two processes: each is alive.
    runs_on = {key.node_id: key for key, life in found.items() if life.alive}
    return {
        key: life if life.alive or runs_on.get(key.node_id, key) == key else _elsewhere(life, runs_on[key.node_id])
        for key, life in found.items()
    }


def with_lives(state: QuorumState, observation: Observation) -> QuorumState:
    """Return the state with the replicas of the last sample and their liveness.

    `state` is the whole observation of the same quorum (`is_same_quorum`), of which samples show a part.
    """
    found, last = lives(observation), observation.last.state
    return changed(
        state,
        leader_id=last.leader_id,
        leader_epoch=last.leader_epoch,
        high_watermark=last.high_watermark,
        voters=tuple(_with_life(voter, found[voter.key]) for voter in last.voters),
        observers=tuple(_with_life(observer, found[observer.key]) for observer in last.observers),
    )


def unproven(state: QuorumState) -> QuorumState:
    """Return the state with no voter proven alive, and the blocker with the reason: leader or voters changed meanwhile.

    Liveness by a single answer (`by_one_answer`) is not evidence for a majority.
    """
    reason = "could not be watched: the leader or the voters changed meanwhile"
    unknown = Life(alive=None, sign=None, answers=None, reason=reason)
    finding = blocker(
        NOT_STEADY,
        "quorum",
        f"the leader or the voter set changed while the quorum was observed (controller {state.leader_id} led epoch "
        f"{state.leader_epoch} at its beginning), so no voter could be seen to follow one leader",
        "Run the command again once the quorum keeps one leader; `kafkactl quorum describe --watch` shows it.",
        leader_id=state.leader_id,
        leader_epoch=state.leader_epoch,
    )
    return changed(
        state,
        voters=tuple(_with_life(voter, unknown) for voter in state.voters),
        observers=tuple(_with_life(observer, unknown) for observer in state.observers),
        findings=(*state.findings, finding),
    )


def is_steady(state: QuorumState) -> bool:
    """Return True if the state is of a quorum that could be watched."""
    return state.has_leader and all(finding.id != NOT_STEADY for finding in state.findings)


def is_same_quorum(state: QuorumState, other: QuorumState) -> bool:
    """Return True if two states are of the same leader, epoch and voter set."""
    return (state.leader_id, state.leader_epoch, state.voter_keys) == (
        other.leader_id,
        other.leader_epoch,
        other.voter_keys,
    )


def watch(
    sampling: Sampling,
    before: Mapping[int, ClusterNode] | None = None,
    *,
    needed: Iterable[ReplicaKey] = (),
    watch_ms: float = WATCH_MS,
) -> Observation | None:
    """Observe repeatedly until every voter, and each node in `needed`, is proven alive, or the time has expired.

    `before` is what nodes answered just before. A healthy quorum takes one interval of its no-ops, about half a
    second. The result may end with another leader than it began with; None if no node leads.
    """
    until_ms = sampling.now_ms() + watch_ms
    observation: Observation | None = None
    while True:
        at_ms = sampling.now_ms()
        state = sampling.sample()
        if state is None or not state.has_leader:
            return None
        sample = Sample(at_ms=at_ms, state=state)
        observation = (
            Observation(samples=(sample,), before=before or {}) if observation is None else observation.seeing(sample)
        )
        over_ms = sampling.now_ms() - until_ms
        if over_ms >= _ALIGN_MS or _is_settled(observation, frozenset(needed), is_over=over_ms >= 0):
            return observation
        sampling.sleep_ms(SAMPLE_EVERY_MS)


def proven(
    state: QuorumState, sampling: Sampling, *, node_ids: Collection[int] = (), watch_ms: float = WATCH_MS
) -> tuple[QuorumState, QuorumState | None]:
    """Return the state of a quorum that has a leader, with evidence of liveness, and the first sample of the watch.

    `node_ids` are nodes that matter in addition to the voters. If leader or voters changed meanwhile, no voter is
    proven alive, a blocker reports it (`unproven`), and there is no first sample.
    """
    needed = [observer.key for observer in state.observers if observer.id in node_ids]
    found = watch(sampling, state.nodes, needed=needed, watch_ms=watch_ms)
    if found is None or not is_same_quorum(state, found.last.state):
        return unproven(state), None
    return with_lives(state, found), found.first.state


def by_one_answer(state: QuorumState, *, alive_within_ms: int = ALIVE_WITHIN_MS) -> QuorumState:
    """Return the state with the liveness of its replicas by a single answer, which is evidence for a majority only for
    the leader.

    A replica is alive if it answers at its own endpoint as itself and fetched within `alive_within_ms`; dead if it has
    not fetched for longer, or neither answers nor ever fetched from this leader; otherwise unknown.
    """
    return changed(
        state,
        voters=tuple(_with_life(voter, _glimpse(voter, state, alive_within_ms)) for voter in state.voters),
        observers=tuple(
            _with_life(observer, _glimpse(observer, state, alive_within_ms)) for observer in state.observers
        ),
    )


def is_itself(node: ClusterNode, cluster_id: str | None) -> bool:
    """Return True if a node answered at its endpoint, named itself, and is not of another cluster.

    No request of Kafka shows on which directory a controller runs, so for a voter with a known directory this
    proves nothing.
    """
    return node.answers is True and node.named_itself and cluster_id in (None, node.cluster_id or cluster_id)


def _glimpse(replica: Replica, state: QuorumState, alive_within_ms: int) -> Life:
    node = state.nodes.get(replica.id)
    answers = None if node is None else node.answers
    if replica.id == state.leader_id:
        return Life(alive=True, sign=LifeSign.LEADS, answers=answers, reason="leads")
    age_ms = _fetch_age_ms(replica, state)
    if age_ms is not None and age_ms > alive_within_ms:
        return Life(alive=False, sign=None, answers=answers, reason=f"last fetched {age_ms} ms before")
    if age_ms is None and answers is False:
        reason = "does not answer, and the leader does not show a fetch of it"
        return Life(alive=False, sign=None, answers=False, reason=reason)
    if node is not None and is_itself(node, state.cluster_id) and replica.log_end_offset is not None:
        reason = (
            "answers at its endpoint, and fetches" if age_ms is None else f"answers, and fetched {age_ms} ms before"
        )
        return Life(alive=True, sign=LifeSign.ANSWERS, answers=True, reason=reason)
    return Life(alive=None, sign=None, answers=answers, reason="was not seen to advance in one look")


def _life(replica: Replica, samples: Sequence[Sample], answered: Sequence[bool]) -> Life:
    answers = answered[-1] if answered else None
    state = samples[-1].state
    watched_ms = round(samples[-1].at_ms - samples[0].at_ms)
    if replica.id == state.leader_id:
        leads = len(samples) > 1
        return Life(alive=True if leads else None, sign=LifeSign.LEADS, answers=answers, reason="leads")
    if answers is False and True in answered:
        return Life(alive=False, sign=None, answers=False, reason="answered at first and no longer does")
    seen_ms = _last_advance_ms(replica.key, samples)
    if seen_ms is not None and samples[-1].at_ms - seen_ms <= FRESH_MS:
        return Life(alive=True, sign=LifeSign.FETCHES, answers=answers, reason=_fetching(replica, samples, answers))
    reason = f"did not advance in {watched_ms} ms{_last_fetch(replica, state)}"
    if answers is False:
        reason = f"{reason}, and does not answer at its endpoint"
    age_ms = _fetch_age_ms(replica, state)
    if answers:
        reason = f"{reason}, although it answers at its endpoint"
        is_dead = age_ms is not None and age_ms > ALIVE_WITHIN_MS
        return Life(alive=False if is_dead else None, sign=LifeSign.ANSWERS, answers=True, reason=reason)
    return Life(alive=False if watched_ms >= _ENOUGH_MS else None, sign=None, answers=answers, reason=reason)


def _elsewhere(life: Life, key: ReplicaKey) -> Life:
    reason = f"does not fetch with this directory: the node runs on directory {key.directory_id}"
    return Life(alive=False, sign=None, answers=life.answers, reason=reason)


def _last_advance_ms(key: ReplicaKey, samples: Sequence[Sample]) -> float | None:
    """Return the local time at which the replica was last observed to advance; None if it was not."""
    grew = _has_grown(samples)
    began_ms = _clock(samples[0].state)
    found: float | None = None
    for earlier, later in pairwise(samples):
        old, new = _find(earlier.state, key), _find(later.state, key)
        if new is None:
            continue
        follows = _is_more(None if old is None else old.log_end_offset, new.log_end_offset)
        if follows or (not grew and _is_new_fetch(old, new, began_ms)):
            found = later.at_ms
    return found


def _is_new_fetch(old: Replica | None, new: Replica, began_ms: int | None) -> bool:
    """Return True if the time of the last fetch grew to one that no fetch parked at the beginning could have."""
    time_ms = new.last_fetch_timestamp_ms
    if time_ms is None or began_ms is None or time_ms <= began_ms + FETCH_WAIT_MS:
        return False
    return _is_more(None if old is None else old.last_fetch_timestamp_ms, time_ms)


def _has_grown(samples: Sequence[Sample]) -> bool:
    """Return True if the leader's log grew: a replica that does not follow then acknowledges nothing."""
    return _is_more(_end(samples[0].state), _end(samples[-1].state))


def _own_answers(node_id: int, observation: Observation) -> list[bool]:
    facts = [observation.before.get(node_id), *(sample.state.nodes.get(node_id) for sample in observation.samples)]
    return [fact.answers for fact in facts if fact is not None and fact.answers is not None]


def _fetching(replica: Replica, samples: Sequence[Sample], answers: bool | None) -> str:
    first = _find(samples[0].state, replica.key)
    before = None if first is None else first.log_end_offset
    moved = f" (log end {before} to {replica.log_end_offset})" if before != replica.log_end_offset else ""
    where = ", although it does not answer at its endpoint from here" if answers is False else ""
    return f"fetches from the leader{moved}{where}"


def _last_fetch(replica: Replica, state: QuorumState) -> str:
    age_ms = _fetch_age_ms(replica, state)
    return ", and never fetched from this leader" if age_ms is None else f"; its last fetch was {age_ms} ms before"


def _with_life(replica: Replica, life: Life) -> Replica:
    return changed(replica, alive=life.alive, evidence=life.reason)


def _is_settled(observation: Observation, needed: frozenset[ReplicaKey], *, is_over: bool) -> bool:
    """Return True if the observation is complete: live replicas just advanced, others had enough time."""
    samples = _of_one_leader(observation.samples)
    state = samples[-1].state
    is_moving = len(samples) > 1 and state.high_watermark is not None
    if not is_over and (not is_moving or progress(samples[0].state, state) is Progress.STUCK):
        return False
    return all(_is_decided(key, samples, observation, is_over=is_over) for key in sorted(state.voter_keys | needed))


def _is_decided(key: ReplicaKey, samples: Sequence[Sample], observation: Observation, *, is_over: bool) -> bool:
    replica = _find(samples[-1].state, key)
    if replica is None:
        return is_over
    answered = _own_answers(replica.id, observation)
    life = _life(replica, samples, answered)
    if life.alive or (True in answered and answered[-1] is False):
        return True
    if _last_advance_ms(key, samples) is not None:
        return False  # it advances: wait for the next time
    age_ms = _fetch_age_ms(replica, samples[-1].state)
    long_gone = age_ms is not None and age_ms > ALIVE_WITHIN_MS
    return is_over or (long_gone and samples[-1].at_ms - samples[0].at_ms >= _ENOUGH_MS)


def _of_one_leader(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Return the newest samples that are of the same leader, epoch and voter set as the last one."""
    last = samples[-1].state
    start = len(samples)
    while start > 0 and is_same_quorum(samples[start - 1].state, last):
        start -= 1
    return tuple(samples[start:])


def _find(state: QuorumState, key: ReplicaKey) -> Replica | None:
    return next((replica for replica in state.replicas if replica.key == key), None)


def _end(state: QuorumState) -> int | None:
    return None if state.leader is None else state.leader.log_end_offset


def _clock(state: QuorumState) -> int | None:
    """Return the leader's clock in its answer: its own fetch time, or the latest of all while it is being removed."""
    own = None if state.leader is None else state.leader.last_fetch_timestamp_ms
    if own is not None:
        return own
    return max(
        (time for replica in state.replicas if (time := replica.last_fetch_timestamp_ms) is not None), default=None
    )


def _fetch_age_ms(replica: Replica, state: QuorumState) -> int | None:
    now_ms = _clock(state)
    if now_ms is None or replica.last_fetch_timestamp_ms is None:
        return None
    return max(0, now_ms - replica.last_fetch_timestamp_ms)


def _is_more(old: int | None, new: int | None) -> bool:
    """Return True if a number grew, or is known only now."""
    return new is not None and (old is None or new > old)
