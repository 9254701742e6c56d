"""The gate before a voter is added: it must have caught up, and stay so, watched several times.

Rule: a voter counts in the majority from the moment it is added. The leader's own check passes a node that was level
within the last hour (`LeaderState.isReplicaCaughtUp`); this gate asks for now. Samples of another leader epoch prove
nothing: a new leader forgets how far its followers were.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafkactl.cluster.quorum.state import ALIVE_WITHIN_MS, QuorumState, Replica
from kafkactl.core.frozen import frozen
from kafkactl.core.values import ReplicaKey


@frozen
class CatchUpLimits:
    """Conditions of a caught-up node: `samples` good ones in a row, over at least `span_ms`, each with at most
    `max_lag` records behind, level with the leader within `caught_up_within_ms`, and a fetch within
    `fetched_within_ms`."""

    samples: int = 3
    span_ms: int = 5_000
    max_lag: int = 1_000
    caught_up_within_ms: int = 5_000
    fetched_within_ms: int = ALIVE_WITHIN_MS


@frozen
class CatchUpSample:
    """A replica at one moment. `at_ms` is our own steady clock, ages are by the leader's; None is unknown."""

    at_ms: int
    leader_epoch: int
    lag: int | None
    log_end_offset: int | None
    fetch_age_ms: int | None
    caught_up_age_ms: int | None
    directories: int = 1


@frozen
class CatchUp:
    """Result of the samples. `estimate_ms`: time until the node is level at the present rate; None if the lag does not
    shrink."""

    ready: bool
    lag: int | None
    rate_per_s: float | None
    estimate_ms: int | None
    reasons: tuple[str, ...]


def sample_of(state: QuorumState, key: ReplicaKey, *, at_ms: int) -> CatchUpSample | None:
    """Return the sample of a replica in a state; None if no node leads or the leader does not list it."""
    replica = next((replica for replica in state.replicas if replica.key == key), None)
    leader = state.leader
    if not state.has_leader or replica is None or state.leader_epoch is None:
        return None
    now_ms = None if leader is None else leader.last_fetch_timestamp_ms
    return CatchUpSample(
        at_ms=at_ms,
        leader_epoch=state.leader_epoch,
        lag=replica.lag,
        log_end_offset=replica.log_end_offset,
        fetch_age_ms=_age(now_ms, replica.last_fetch_timestamp_ms),
        caught_up_age_ms=_age(now_ms, replica.last_caught_up_timestamp_ms),
        directories=len(_not_dead(state, key.node_id)),
    )


def catch_up(samples: Sequence[CatchUpSample], limits: CatchUpLimits | None = None) -> CatchUp:
    """Decide by the samples, oldest first, if the node may be added now; report every reason against it."""
    bounds = limits or CatchUpLimits()
    if not samples:
        return CatchUp(ready=False, lag=None, rate_per_s=None, estimate_ms=None, reasons=("it does not fetch",))
    epoch = samples[-1].leader_epoch
    counted = _run(samples, epoch, bounds)
    rate = _rate(samples, epoch)
    reasons = _reasons(samples[-1], bounds)
    if not reasons and len(counted) < bounds.samples:
        reasons = (f"level in {len(counted)} of {bounds.samples} looks",)
    elif not reasons and counted[-1].at_ms - counted[0].at_ms < bounds.span_ms:
        reasons = (f"level for {counted[-1].at_ms - counted[0].at_ms} of {bounds.span_ms} ms",)
    return CatchUp(
        ready=not reasons,
        lag=samples[-1].lag,
        rate_per_s=rate,
        estimate_ms=_estimate(samples[-1].lag, rate),
        reasons=reasons,
    )


def _run(samples: Sequence[CatchUpSample], epoch: int, limits: CatchUpLimits) -> list[CatchUpSample]:
    """Return the good samples of this epoch since the last that was not."""
    run: list[CatchUpSample] = []
    for sample in samples:
        good = sample.leader_epoch == epoch and not _reasons(sample, limits)
        run = [*run, sample] if good else []
    return run


def _reasons(sample: CatchUpSample, limits: CatchUpLimits) -> tuple[str, ...]:
    checks = (
        (sample.directories != 1, f"{sample.directories} directories of this node fetch"),
        (sample.lag is None or sample.lag > limits.max_lag, f"{_number(sample.lag)} records behind"),
        (_older(sample.fetch_age_ms, limits.fetched_within_ms), f"last fetch {_number(sample.fetch_age_ms)} ms ago"),
        (
            _older(sample.caught_up_age_ms, limits.caught_up_within_ms),
            f"last level with the leader {_number(sample.caught_up_age_ms)} ms ago",
        ),
    )
    return tuple(words for bad, words in checks if bad)


def _rate(samples: Sequence[CatchUpSample], epoch: int) -> float | None:
    """Return the records a second by which the lag shrinks, from the last two samples of this epoch."""
    recent = [sample for sample in samples if sample.leader_epoch == epoch and sample.lag is not None][-2:]
    if len(recent) < 2 or recent[1].at_ms <= recent[0].at_ms:
        return None
    gained = (recent[0].lag or 0) - (recent[1].lag or 0)
    return gained * 1000 / (recent[1].at_ms - recent[0].at_ms)


def _estimate(lag: int | None, rate: float | None) -> int | None:
    if lag == 0:
        return 0
    return round(lag * 1000 / rate) if lag is not None and rate is not None and rate > 0 else None


def _not_dead(state: QuorumState, node_id: int) -> list[Replica]:
    return [replica for replica in state.directories_of(node_id) if replica.alive is not False]


def _age(now_ms: int | None, then_ms: int | None) -> int | None:
    return None if now_ms is None or then_ms is None else max(0, now_ms - then_ms)


def _older(age_ms: int | None, limit_ms: int) -> bool:
    return age_ms is None or age_ms > limit_ms


def _number(number: int | None) -> str:
    return "an unknown number of" if number is None else str(number)
