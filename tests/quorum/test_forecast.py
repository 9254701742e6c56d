"""What is foretold: who may not fail, which zone matters, when there is an election."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafkactl.quorum.forecast import forecast, forecast_now
from kafkactl.quorum.majority import tolerates
from kafkactl.quorum.plan import plan_reassignment
from kafkactl.quorum.target import parse_target
from tests.quorum.worlds import World, key, world

ZONES = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}


def _words(told):
    return " | ".join(told.sentences)


def test_a_healthy_quorum_of_three_has_nothing_to_say():
    told = forecast_now(world("1 2 3").observe())
    assert (told.tolerates, told.critical, told.sentences) == (1, (), ())


def test_with_one_of_three_down_every_other_one_is_critical():
    told = forecast_now(world("1 2 3", dead="3").observe())
    assert told.critical == (1, 2)
    assert "any one of {1,2} stops" in _words(told)


def test_two_voters_name_the_seconds_and_count_on_nothing():
    told = forecast_now(world("1 2").observe())
    assert "3000 ms" in _words(told) and "a plan cannot count on that" in _words(told)
    assert "2 voters survive no more failures than 1" in _words(told)


def test_without_a_majority_it_says_what_waits():
    told = forecast_now(world("1 2 3", dead="2 3").observe())
    assert told.tolerates == -1
    assert "1 of the voters that are down must come back" in _words(told)
    assert "produce and fetch continue" in _words(told)


def test_the_removal_of_the_leader_brings_an_election():
    state = world("1 2 3", observers="4", leader=2).observe()
    told = forecast(plan_reassignment(state, parse_target("1,3,4")).steps)
    assert [prediction.election for prediction in told] == [False, True]
    assert "one election" in _words(told[-1])
    assert [prediction.number for prediction in told] == [2, 3]


def test_the_zone_that_matters_is_named():
    told = forecast_now(world("1 2 3").observe(), ZONES)
    assert (told.worst_zone, told.survives_worst_zone) == ("a", False)
    assert "the loss of zone a stops" in _words(told)
    assert forecast_now(world("1 3 5").observe(), ZONES).survives_worst_zone is True
    assert forecast_now(world("1 3 5").observe()).worst_zone is None


@given(st.frozensets(st.integers(1, 5), min_size=1), st.frozensets(st.integers(1, 5)))
def test_what_it_counts_is_what_losing_them_shows(voters, alive):
    here = World(voters=frozenset(map(key, voters)), alive=frozenset(map(key, alive)))
    told = forecast_now(here.observe(), ZONES)
    assert told.tolerates == tolerates(voters, alive)
    stops = [voter for voter in voters & alive if told.tolerates >= 0 and tolerates(voters, alive - {voter}) < 0]
    assert sorted(stops) == list(told.critical)
    lost = min(
        (
            tolerates(voters, {replica for replica in alive if ZONES[replica] != zone})
            for zone in {ZONES[voter] for voter in voters}
        ),
    )
    assert told.survives_worst_zone == (lost >= 0)
    assert told.to_dict()["critical"] == sorted(stops)
