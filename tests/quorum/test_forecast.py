"""Forecasts: nodes that must not fail, the zone that matters, and the time of an election."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafkactl.cluster.quorum.majority import tolerates
from kafkactl.quorum.forecast import forecast, forecast_now
from kafkactl.quorum.plan import plan_reassignment
from kafkactl.quorum.target import parse_target
from tests.quorum.worlds import World, key, world

ZONES = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}


def _words(forecasted):
    return " | ".join(forecasted.sentences)


def test_forecast_of_a_healthy_quorum_of_three_is_empty():
    forecasted = forecast_now(world("1 2 3").observe())
    assert (forecasted.tolerates, forecasted.critical, forecasted.sentences) == (1, (), ())


def test_with_one_of_three_down_every_other_one_is_critical():
    forecasted = forecast_now(world("1 2 3", dead="3").observe())
    assert forecasted.critical == (1, 2)
    assert "any one of {1,2} stops" in _words(forecasted)


def test_forecast_of_two_voters_names_the_seconds():
    forecasted = forecast_now(world("1 2").observe())
    assert "3000 ms" in _words(forecasted) and "a plan cannot count on that" in _words(forecasted)
    assert "2 voters survive no more failures than 1" in _words(forecasted)


def test_forecast_without_a_majority_names_the_requests_that_wait():
    forecasted = forecast_now(world("1 2 3", dead="2 3").observe())
    assert forecasted.tolerates == -1
    assert "1 of the voters that are down must come back" in _words(forecasted)
    assert "produce and fetch continue" in _words(forecasted)


def test_removal_of_the_leader_brings_an_election():
    state = world("1 2 3", observers="4", leader=2).observe()
    forecasted = forecast(plan_reassignment(state, parse_target("1,3,4")).steps)
    assert [prediction.election for prediction in forecasted] == [False, True]
    assert "one election" in _words(forecasted[-1])
    assert [prediction.number for prediction in forecasted] == [2, 3]


def test_zone_that_matters_is_named():
    forecasted = forecast_now(world("1 2 3").observe(), ZONES)
    assert (forecasted.worst_zone, forecasted.survives_worst_zone) == ("a", False)
    assert "the loss of zone a stops" in _words(forecasted)
    assert forecast_now(world("1 3 5").observe(), ZONES).survives_worst_zone is True
    assert forecast_now(world("1 3 5").observe()).worst_zone is None


@given(st.frozensets(st.integers(1, 5), min_size=1), st.frozensets(st.integers(1, 5)))
def test_forecast_is_equal_to_a_simulated_loss(voters, alive):
    here = World(voters=frozenset(map(key, voters)), alive=frozenset(map(key, alive)))
    forecasted = forecast_now(here.observe(), ZONES)
    assert forecasted.tolerates == tolerates(voters, alive)
    stops = [voter for voter in voters & alive if forecasted.tolerates >= 0 and tolerates(voters, alive - {voter}) < 0]
    assert sorted(stops) == list(forecasted.critical)
    lost = min(
        (
            tolerates(voters, {replica for replica in alive if ZONES[replica] != zone})
            for zone in {ZONES[voter] for voter in voters}
        ),
    )
    assert forecasted.survives_worst_zone == (lost >= 0)
    assert forecasted.to_dict()["critical"] == sorted(stops)
