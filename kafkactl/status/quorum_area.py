"""The area `quorum`: leader, voters, and the failures that the quorum still survives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.cluster.node import NotAsked
from kafkactl.cluster.quorum.state import ALIVE_WITHIN_MS, VOTERS_ELSEWHERE, QuorumState, Replica
from kafkactl.core.findings import LEADER_NOT_REACHED, Finding, Severity, warning
from kafkactl.core.wording import age_text
from kafkactl.status.answer import AreaStatus, StatusVerdict
from kafkactl.status.next_command import Target
from kafkactl.status.observation import Observation, ObservedQuorum
from kafkactl.status.parts import area_of, heavier, ids_text, joined, unknown_area

AREA: Final = "quorum"
# The leader shows its followers; a login that controllers refuse is not evidence about their health.
_ACCESS: Final = frozenset({"controller-not-asked", "question-denied"})
COUNTS: Final = ("leader_id", "voters", "alive", "survives")


def quorum_area(observation: Observation, target: Target) -> AreaStatus:
    """Return the status of the quorum."""
    command = target.command(["quorum", "describe"])
    found = observation.quorum
    if isinstance(found, NotAsked):
        return unknown_area(AREA, found, COUNTS, command)
    state = found.state
    findings = (*found.findings, *_lagging(state))
    verdict = heavier(_verdict(found), (finding for finding in findings if finding.id not in _ACCESS))
    if verdict in (StatusVerdict.OK, StatusVerdict.WATCH) and state.tolerates is None:
        verdict = StatusVerdict.UNKNOWN
    return area_of(
        AREA,
        verdict,
        joined((_leader_text(found), _voters_text(state), *_absent(state), _survival_text(state))),
        headlines=_headlines(found),
        counts={
            "leader_id": None if state.leader_out_of_reach else state.leader_id,
            "voters": len(state.voters) or None,
            "alive": _alive_count(state),
            "survives": state.tolerates,
        },
        findings=findings,
        command=command,
    )


def _verdict(found: ObservedQuorum) -> StatusVerdict:
    state = found.state
    if state.leader_out_of_reach and not _is_moved(found):
        return StatusVerdict.UNKNOWN
    if not state.has_leader or found.is_broken:
        return StatusVerdict.PROBLEM
    is_weak = state.tolerates is not None and state.tolerates < 1 < len(state.voters)
    is_proven = all(voter.alive for voter in state.voters)
    return StatusVerdict.OK if is_proven and not is_weak else StatusVerdict.WATCH


def _is_moved(found: ObservedQuorum) -> bool:
    """Return True if voters answer at other addresses than the voter set has, so that they elect no leader."""
    return any(finding.id == VOTERS_ELSEWHERE and finding.severity is Severity.BLOCKER for finding in found.findings)


def _unreached(found: ObservedQuorum) -> Finding | None:
    """Return the finding that a followed controller was not reached: with it the absence of a leader is not known."""
    return next((finding for finding in found.findings if finding.id == LEADER_NOT_REACHED), None)


def _headlines(found: ObservedQuorum) -> Iterator[str]:
    state = found.state
    if not state.has_leader:
        unreached = _unreached(found)
        if state.leader_out_of_reach and not _is_moved(found):
            yield "the leader of the quorum was not reached" + (f": {unreached.subject}" if unreached else "")
        elif unreached is None or _is_moved(found):
            yield "no controller leads the quorum"
        else:
            yield f"{unreached.subject}, which others follow, does not answer here: it has ended, or leads out of reach"
    elif found.is_broken:
        yield f"controller {state.leader_id} leads, but the quorum does not work"
    dead, rest = _dead(state), _survival_words(state)
    if dead:
        verb = "is" if len(dead) == 1 else "are"
        yield f"{len(dead)} of {len(state.voters)} controllers {verb} down: {rest}"
    for voter in state.voters:
        if _lags(voter, state):
            yield f"controller {voter.id} lags behind the leader: {rest}"
    if state.tolerates is None:
        yield "it is not known which voters follow the leader"
    doubted = [voter.id for voter in state.voters if voter.alive is None]
    if doubted:
        yield f"it is not known if controller {ids_text(doubted)} follows the leader: {rest}"
    if state.tolerates == 0 and len(state.voters) > 1:
        yield rest
    for finding in found.findings:
        yield finding.message


def _survival_words(state: QuorumState) -> str:
    survives = state.tolerates
    if survives is None:
        return "how many failures the quorum survives is not known"
    if survives < 0:
        return "no majority of the voters is alive"
    number = {0: "no other failure", 1: "one more failure"}.get(survives, f"{survives} more failures")
    return f"the quorum survives {number}"


def _leader_text(found: ObservedQuorum) -> str:
    if found.state.has_leader:
        return f"{found.state.leader_id} leads"
    is_open = found.state.leader_out_of_reach or _unreached(found) is not None
    return "leader not reached" if is_open else "no leader"


def _voters_text(state: QuorumState) -> str:
    if not state.voters:
        return "voters not known"
    ids = {voter.id for voter in state.voters}
    return f"{ids_text(ids)} {'votes' if len(ids) == 1 else 'vote'}"


def _absent(state: QuorumState) -> Iterator[str]:
    for voter in state.voters[:9]:
        if voter.alive is False:
            age_ms = _age_ms(voter.last_fetch_timestamp_ms, state)
            yield f"{voter.id} down" + ("" if age_ms is None else f" for {age_text(age_ms)}")
        elif voter.alive is None:
            yield f"{voter.id} not proven alive"
        elif _lags(voter, state):
            yield f"{voter.id} lags by {voter.lag}"


def _survival_text(state: QuorumState) -> str:
    survives = state.tolerates
    if survives is None:
        return "failures that it survives not known"
    return "no majority" if survives < 0 else f"survives {survives}"


def _dead(state: QuorumState) -> list[Replica]:
    return [voter for voter in state.voters if voter.alive is False]


def _alive_count(state: QuorumState) -> int | None:
    if not state.voters or any(voter.alive is None for voter in state.voters):
        return None
    return sum(voter.alive is True for voter in state.voters)


def _lagging(state: QuorumState) -> Iterator[Finding]:
    for voter in state.voters:
        if _lags(voter, state):
            yield warning(
                "voter-lags",
                f"controller {voter.id}",
                f"controller {voter.id} fetches and is {voter.lag} records behind the leader",
                "Wait, or find out on its host why it is slow.",
                lag=voter.lag,
            )


def _lags(voter: Replica, state: QuorumState) -> bool:
    """Return True if a live voter has not caught up with the leader for longer than a follower may be silent."""
    age_ms = _age_ms(voter.last_caught_up_timestamp_ms, state)
    return bool(
        state.has_leader
        and voter.alive
        and voter.lag
        and voter.id != state.leader_id
        and (age_ms is None or age_ms > ALIVE_WITHIN_MS)
        and voter.last_fetch_timestamp_ms is not None
    )


def _age_ms(time_ms: int | None, state: QuorumState) -> int | None:
    """Return the age of a time by the clock of the leader, which sets all times of its answer."""
    now_ms = None if state.leader is None else state.leader.last_fetch_timestamp_ms
    return None if time_ms is None or now_ms is None else max(0, now_ms - time_ms)
