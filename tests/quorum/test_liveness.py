"""Liveness by offsets that advanced: nodes that run, are gone, hang, or are unreachable from here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.cluster.quorum.liveness import (
    FETCH_WAIT_MS,
    FRESH_MS,
    LifeSign,
    Observation,
    Sample,
    lives,
    watch,
    with_lives,
)
from kafkactl.cluster.quorum.state import Replica
from kafkactl.core.frozen import changed
from tests.fakes.living_quorum import Event, LivingQuorum
from tests.quorum.worlds import directory, key
from tests.sampling import one_in

AGO = [0.0, 100.0, 500.0, 1_000.0, 1_500.0, 2_000.0, 3_000.0, 5_000.0]


def _watched(quorum, ago_ms=0.0, needed=()):
    """Observe, as a command does that starts so long after the events at 0."""
    quorum.sleep_ms(ago_ms)
    seen = quorum.observe()
    found = watch(quorum, seen.nodes, needed=needed)
    assert found is not None, "no leader"
    return found


def _alive(observation):
    return {key.node_id: life.alive for key, life in lives(observation).items()}


@pytest.mark.parametrize("ago_ms", [*AGO, 40.0, 170.0, 333.0])
@pytest.mark.parametrize("no_ops", [True, False])
def test_healthy_quorum_is_alive_within_an_interval_of_its_no_ops(ago_ms, no_ops):
    quorum = LivingQuorum(observers=(4,), no_ops=no_ops)
    found = _watched(quorum, ago_ms, needed=[key(4)])
    assert _alive(found) == {1: True, 2: True, 3: True, 4: True}
    assert found.last.at_ms - found.first.at_ms <= (750 if no_ops else 1_300)
    assert {life.sign for life in lives(found).values()} == {LifeSign.LEADS, LifeSign.FETCHES}


@pytest.mark.parametrize("what", ["kill", "pause", "isolate"])
@pytest.mark.parametrize("ago_ms", one_in(4, AGO))
@pytest.mark.parametrize("no_ops", [True, False])
@pytest.mark.parametrize("out_of_reach", [True, False])
def test_voter_that_stopped_fetching_is_not_alive(what, ago_ms, no_ops, out_of_reach):
    quorum = LivingQuorum(events=[Event(0, what, 3)], no_ops=no_ops, out_of_reach=out_of_reach)
    found = _alive(_watched(quorum, ago_ms))
    assert found.pop(3) is not True
    assert found == {1: True, 2: True}


def test_parked_fetch_that_is_completed_is_not_a_sign_of_life():
    # The leader sets the time of the last fetch when an append completes it, though the follower is gone.
    quorum = LivingQuorum(events=[Event(0, "kill", 3)])
    found = _watched(quorum)
    times = [sample.state.voter(3).last_fetch_timestamp_ms for sample in found.samples]
    assert times[-1] > times[0], "the fetch time advanced"
    life = lives(found)[key(3)]
    assert life.alive is False
    assert "did not advance" in life.reason


@pytest.mark.parametrize("during_ms", [1.0, 100.0, 300.0, 500.0, 600.0])
@pytest.mark.parametrize("what", ["kill", "pause"])
def test_voter_that_stops_answering_is_not_alive(what, during_ms):
    quorum = LivingQuorum(events=[Event(during_ms, what, 3)], phase_ms=700.0)
    found = _watched(quorum)
    if found.last.at_ms > during_ms:
        assert _alive(found) == {1: True, 2: True, 3: False}


def test_unreachable_voter_that_fetches_is_alive_with_the_reason():
    quorum = LivingQuorum(events=[Event(0, "cut", 3)])
    life = lives(_watched(quorum))[key(3)]
    assert (life.alive, life.sign, life.answers) == (True, LifeSign.FETCHES, False)
    assert "does not answer at its endpoint from here" in life.reason


@pytest.mark.parametrize("ago_ms", AGO)
def test_after_an_election_only_what_the_new_leader_saw_counts(ago_ms):
    quorum = LivingQuorum(events=[Event(0, "elect", 2), Event(0, "kill", 3)])
    quorum.sleep_ms(ago_ms)
    found = watch(quorum, {})
    if ago_ms < 300:
        assert found is None, "nobody leads in the middle of an election"
        return
    assert found is not None
    assert _alive(found) == {1: True, 2: True, 3: False}


def test_election_during_the_observation_begins_it_again():
    before, other = LivingQuorum(), LivingQuorum(events=[Event(0, "elect", 2)])
    other.sleep_ms(310)
    samples = (Sample(at_ms=0.0, state=before.observe()), Sample(at_ms=310.0, state=other.observe()))
    found = lives(Observation(samples=samples, before={}))  # what was seen of the old leader says nothing now
    assert {contents.node_id: life.alive for contents, life in found.items()} == {1: None, 2: None, 3: None}


def test_parts_of_a_sight_go_into_the_whole_state():
    quorum = LivingQuorum(events=[Event(0, "kill", 3)])
    state = quorum.observe()
    assert state.voter(3).alive is not True, "a single look proves nothing of a node that does not answer"
    found = watch(quorum, state.nodes)
    judged = with_lives(state, found)
    assert [voter.alive for voter in judged.voters] == [True, True, False]
    assert judged.registrations == state.registrations
    assert judged.tolerates == 0


def test_watch_ends_when_time_is_over():
    quorum = LivingQuorum(events=[Event(0, "kill", 3)])
    began = quorum.now_ms()
    assert watch(quorum, {}) is not None
    assert quorum.now_ms() - began <= 3_200 + FETCH_WAIT_MS


def test_progress_of_a_fetching_voter_is_reported():
    quorum = LivingQuorum()
    found = _watched(quorum)
    life = lives(found)[key(3)]
    first, last = (sample.state.voter(3).log_end_offset for sample in (found.first, found.last))
    assert first != last
    assert life.reason.startswith(f"fetches from the leader (log end {first} to {last})")


@pytest.mark.parametrize(
    ("after_ms", "grows", "alive"),
    [(FETCH_WAIT_MS, False, False), (FETCH_WAIT_MS + 1, False, True), (900, True, False)],
)
def test_only_a_fetch_that_was_not_parked_before_is_a_sign_of_life(after_ms, grows, alive):
    # Ignore a parked fetch: if the log grows, an append completes one of a follower that is gone.
    quorum = LivingQuorum(events=[Event(0, "kill", 3)], no_ops=False)
    found = _watched(quorum)
    began_ms = found.first.state.leader.last_fetch_timestamp_ms
    last = found.last

    def moved(replica):
        if replica.id == 3:
            return changed(replica, last_fetch_timestamp_ms=began_ms + after_ms)
        return changed(replica, log_end_offset=replica.log_end_offset + 1) if grows else replica

    voters = tuple(map(moved, last.state.voters))
    found = changed(found, samples=(*found.samples[:-1], changed(last, state=changed(last.state, voters=voters))))
    assert (_alive(found)[3] is True) is alive


def test_two_processes_under_one_id_are_both_alive():
    # A broker with a follower's id fetches, too: the voter follows the leader all the same.
    twin = Replica(id=3, directory_id=directory("z"), log_end_offset=1_000)
    found = _watched(LivingQuorum())
    samples = tuple(
        replace(
            sample,
            state=replace(sample.state, observers=(replace(twin, log_end_offset=1_000 + 10 * at),)),
        )
        for at, sample in enumerate(found.samples)
    )
    judged = lives(Observation(samples=samples, before=found.before))
    assert judged[key(3)].alive is True
    assert judged[twin.key].alive is True


def _last_seen(observation, advanced_ms, after_ms):
    """Return the observation with voter 3 last advancing in a sample, and one more sample `after_ms` later."""
    last = observation.last

    def at(sample, time_ms):
        voters = tuple(
            changed(voter, last_fetch_timestamp_ms=advanced_ms) if voter.id == 3 else voter
            for voter in sample.state.voters
        )
        return changed(sample, at_ms=time_ms, state=changed(last.state, voters=voters))

    return changed(observation, samples=(*observation.samples, at(last, last.at_ms), at(last, last.at_ms + after_ms)))


@pytest.mark.parametrize(("after_ms", "alive"), [(FRESH_MS, True), (FRESH_MS + 1, False)])
def test_advance_counts_for_so_long_only_and_is_not_seen_again_in_a_later_sample(after_ms, alive):
    assert FRESH_MS < FETCH_WAIT_MS, "a node that stopped after its last fetch is not counted for a whole wait"
    quorum = LivingQuorum(events=[Event(0, "kill", 3)], no_ops=False)
    found = _watched(quorum)
    began_ms = found.first.state.leader.last_fetch_timestamp_ms
    assert (_alive(_last_seen(found, began_ms + FETCH_WAIT_MS + 1, after_ms))[3] is True) is alive
