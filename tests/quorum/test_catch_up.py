"""The gate before an addition: three good looks over five seconds under one leader."""

from __future__ import annotations

from dataclasses import replace

from kafkactl.quorum.catch_up import CatchUpSample, catch_up, sample_of
from tests.quorum.worlds import NOW_MS, key, world

GOOD = CatchUpSample(
    at_ms=0, leader_epoch=5, lag=3, log_end_offset=998, fetch_age_ms=200, caught_up_age_ms=300, directories=1
)


def _samples(*changes):
    return [replace(GOOD, at_ms=2_500 * number, **change) for number, change in enumerate(changes)]


def test_gate_is_open_after_three_good_samples_over_five_seconds():
    assert catch_up(_samples({}, {}, {})).ready
    assert catch_up(_samples({}, {})).reasons == ("level in 2 of 3 looks",)
    close = [replace(GOOD, at_ms=at) for at in (0, 1_000, 2_000)]
    assert catch_up(close).reasons == ("level for 2000 of 5000 ms",)


def test_one_bad_observation_starts_the_count_again():
    assert catch_up(_samples({}, {}, {"lag": 5_000}, {}, {})).reasons == ("level in 2 of 3 looks",)
    assert catch_up(_samples({"lag": 5_000}, {}, {}, {})).ready


def test_another_leader_starts_the_count_again():
    samples = _samples({}, {}, {"leader_epoch": 6}, {"leader_epoch": 6})
    assert not catch_up(samples).ready
    assert catch_up([*samples, replace(GOOD, at_ms=10_000, leader_epoch=6)]).ready


def test_every_reason_is_reported():
    bad = {"lag": 2_000_000, "fetch_age_ms": 60_000, "caught_up_age_ms": None, "directories": 2}
    reasons = catch_up(_samples(bad)).reasons
    assert reasons == (
        "2 directories of this node fetch",
        "2000000 records behind",
        "last fetch 60000 ms ago",
        "last level with the leader an unknown number of ms ago",
    )


def test_catch_up_estimate_is_from_the_last_two_samples():
    gate = catch_up(_samples({"lag": 90_000}, {"lag": 50_000}, {"lag": 25_000}))
    assert (gate.lag, gate.rate_per_s, gate.estimate_ms) == (25_000, 10_000.0, 2_500)
    falling_behind = catch_up(_samples({"lag": 50_000}, {"lag": 60_000}))
    assert falling_behind.estimate_ms is None
    assert catch_up(_samples({"lag": 0}, {"lag": 0})).estimate_ms == 0


def test_unobserved_candidate_is_not_ready():
    assert catch_up([]).reasons == ("it does not fetch",)


def test_samples_are_taken_by_the_leaders_clock():
    state = world("1 2 3", observers="4").observe()
    sample = sample_of(state, key(4), at_ms=77)
    assert sample == CatchUpSample(
        at_ms=77, leader_epoch=5, lag=0, log_end_offset=1_001, fetch_age_ms=0, caught_up_age_ms=0
    )
    assert state.leader.last_fetch_timestamp_ms == NOW_MS
    assert sample_of(state, key(9), at_ms=77) is None
    assert sample_of(world("1 2 3", dead="2 3", observers="4").observe(), key(4), at_ms=77) is None


def test_gate_is_closed_while_two_directories_are_live():
    state = world("1 2 3", observers="4 4b").observe()
    assert sample_of(state, key(4), at_ms=0).directories == 2
