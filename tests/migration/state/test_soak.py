"""Duration of M8: by the quorum's own times, from the last broker's first registration on KRaft."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafkactl.core.frozen import changed
from kafkactl.migration.observed.log_facts import LeaderChange, RegistrationEvent
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.evidence import cluster_time_ms, evidence_of
from kafkactl.migration.state.soak import Soak, election_between, soak_findings, soak_of, span
from tests.migration.observations import TIME_MS
from tests.migration.state.states_seen import HEALTHY

HOUR_MS = 3_600_000
_NOW = TIME_MS


def registered(offset: int, id: int, ago_ms: int, *, migrating: bool = False) -> RegistrationEvent:
    return RegistrationEvent(
        offset=offset, id=id, what="register", epoch=offset, migrating=migrating, at_ms=_NOW - ago_ms
    )


def elected(offset: int, ago_ms: int) -> LeaderChange:
    return LeaderChange(offset=offset, epoch=offset, leader_id=3001, at_ms=_NOW - ago_ms)


_ARRIVALS = (
    *(registered(10 + id, id, 9 * HOUR_MS, migrating=True) for id in (1, 2, 3)),
    *(registered(100 + id, id, (5 - id) * HOUR_MS) for id in (1, 2, 3)),
)


def in_m8(events: Sequence[RegistrationEvent] = _ARRIVALS, leaders: Sequence[LeaderChange] = ()) -> Observation:
    seen = HEALTHY["M8"].observation()
    logs = {
        id: changed(log, registration_events=tuple(events), leader_changes=tuple(leaders), last_ms=_NOW)
        for id, log in seen.logs.items()
    }
    return changed(seen, time_ms=_NOW + 7 * HOUR_MS, logs=logs)  # whose clock is ahead


def soak(observation: Observation) -> Soak | None:
    return soak_of(evidence_of(observation))


def test_soak_begins_with_the_last_brokers_registration() -> None:
    found = soak(in_m8(leaders=[elected(50, 6 * HOUR_MS)]))
    assert found == Soak(since_ms=_NOW - 2 * HOUR_MS, lasted_ms=2 * HOUR_MS, elections=0, last_election_ago_ms=None)
    assert found.words == "2 h 0 min, without an election of a controller"


def test_restart_in_m8_does_not_start_it_again() -> None:
    assert soak(in_m8([*_ARRIVALS, registered(300, 2, 60_000)])) == soak(in_m8())


def test_broker_that_went_back_and_came_again_does() -> None:
    again = [registered(300, 2, HOUR_MS, migrating=True), registered(310, 2, 90_000)]
    found = soak(in_m8([*_ARRIVALS, *again]))
    assert found is not None and found.lasted_ms == 90_000


def test_elections_since_then_are_counted() -> None:
    leaders = [elected(50, 6 * HOUR_MS), elected(200, HOUR_MS), elected(210, 25_000)]
    found = soak(in_m8(leaders=leaders))
    assert found is not None and (found.elections, found.last_election_ago_ms) == (2, 25_000)
    assert found.words == "2 h 0 min, with 2 elections of a controller, the last 25 s ago"


@pytest.mark.parametrize("state", ["M0", "M4L", "M6", "M7", "M11"])
def test_outside_of_m8_there_is_none(state: str) -> None:
    assert soak(HEALTHY[state].observation()) is None


def test_soak_is_unknown_without_a_log_that_dates_it() -> None:
    assert soak(HEALTHY["M8"].observation()) is None
    assert soak(changed(in_m8(), logs={})) is None
    assert soak(in_m8(_ARRIVALS[:-1])) is None


@pytest.mark.parametrize(("hours", "ids"), [(0, []), (2, []), (2.5, ["soak-too-short"]), (168, ["soak-too-short"])])
def test_inventorys_hours_have_to_pass(hours: float, ids: list[str]) -> None:
    assert [finding.id for finding in soak_findings(soak(in_m8()), wanted_hours=hours)] == ids


def test_unknown_soak_is_too_short() -> None:
    (found,) = soak_findings(None, wanted_hours=1)
    assert found.id == "soak-too-short" and "not known" in found.message


def test_election_between_observations_is_reported() -> None:
    before, after = (evidence_of(HEALTHY["M8"].but(epoch=epoch).observation()) for epoch in (3, 4))
    assert [finding.id for finding in election_between(before, after)] == ["election-between-observations"]
    assert not list(election_between(before, before))


@pytest.mark.parametrize(
    ("ms", "words"),
    [(0, "0 s"), (999, "0 s"), (61_000, "1 min 1 s"), (3_600_000, "1 h 0 min"), (8 * 86_400_000 + 1, "8 d 0 h")],
)
def test_duration_is_written_as_text(ms: int, words: str) -> None:
    assert span(ms) == words


def test_clusters_time_is_that_of_the_leaders_answer_not_that_of_a_log_that_was_read_later() -> None:
    # Between them a broker may have hung for ten seconds.
    seen = in_m8()
    evidence = evidence_of(seen)
    assert cluster_time_ms(seen, evidence.log) == _NOW
    leader = seen.controllers[0]
    assert leader.quorum is not None
    reported = tuple(
        changed(voter, last_caught_up_timestamp_ms=_NOW - 12_000) if voter.id == leader.id else voter
        for voter in leader.quorum.voters
    )
    answered = changed(leader, quorum=changed(leader.quorum, voters=reported))
    later = changed(seen, nodes=tuple(answered if node is leader else node for node in seen.nodes))
    assert cluster_time_ms(later, evidence_of(later).log) == _NOW - 12_000
