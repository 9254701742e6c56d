"""Forecast of each step: effect of a node failure at that moment, next leader, and requests that wait.

Rule: a forecast states what is known and how sure it is; it never promises to be in time. A quorum without commits
stops the metadata only: produce and fetch continue at the present leaders, but ISRs, registrations, elections, topics
and configurations wait.
Sources: KIP-595 (check-quorum, resigning leader), `QuorumConfig` defaults; times measured on 3.9.2 and 4.x.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kafkactl.cluster.quorum.majority import critical, majority, shown, tolerates
from kafkactl.cluster.quorum.state import CHECK_QUORUM_MS, QuorumState, ids_of
from kafkactl.core.answers import by_fields
from kafkactl.core.frozen import frozen
from kafkactl.quorum.order import VoterKeys
from kafkactl.quorum.step import Action, Step

WITHOUT_COMMITS = (
    "while the quorum commits nothing, produce and fetch continue at the partition leaders there are; ISR changes, "
    "registrations, elections, topics and configurations wait"
)


@frozen
class Forecast:
    """Forecast after one step, or now (number 0)."""

    number: int
    voters: tuple[int, ...]
    majority: int
    alive: tuple[int, ...]
    tolerates: int
    critical: tuple[int, ...]
    """The voters of which no single one may fail."""
    election: bool
    worst_zone: str | None
    """The zone whose loss leaves the least; None without `--zone`."""
    survives_worst_zone: bool | None
    sentences: tuple[str, ...]

    to_dict = by_fields


def forecast_now(state: QuorumState, zones: Mapping[int, str] | None = None) -> Forecast:
    """Return the forecast for the present quorum. `zones`: node id -> zone."""
    return _forecast(0, state.voter_keys, state.alive_keys, zones or {}, election=False)


def forecast(steps: Sequence[Step], zones: Mapping[int, str] | None = None) -> tuple[Forecast, ...]:
    """Return the forecast after every step that changes the voters."""
    return tuple(
        _forecast(step.number, step.voters_after, step.alive, zones or {}, election=step.leader_leaves)
        for step in steps
        if step.action in (Action.ADD, Action.REMOVE)
    )


def _forecast(
    number: int, voters: VoterKeys, alive: VoterKeys, zones: Mapping[int, str], *, election: bool
) -> Forecast:
    worst = _worst_zone(voters, alive, zones)
    left = tolerates(voters, alive)
    return Forecast(
        number=number,
        voters=tuple(ids_of(voters)),
        majority=majority(len(voters)),
        alive=tuple(ids_of(voters & alive)),
        tolerates=left,
        critical=tuple(ids_of(voters & alive)) if critical(voters, alive) else (),
        election=election,
        worst_zone=None if worst is None else worst[0],
        survives_worst_zone=None if worst is None else worst[1] >= 0,
        sentences=tuple(_sentences(voters, alive, left, worst, election=election)),
    )


def _worst_zone(voters: VoterKeys, alive: VoterKeys, zones: Mapping[int, str]) -> tuple[str, int] | None:
    """Return the zone whose loss leaves the least, and what the quorum tolerates then; the first by name of equals."""
    found = [
        (tolerates(voters, frozenset(key for key in alive if zones.get(key.node_id) != zone)), zone)
        for zone in sorted({zones[key.node_id] for key in voters if key.node_id in zones})
    ]
    if not found:
        return None
    left, zone = min(found)
    return zone, left


def _sentences(
    voters: VoterKeys, alive: VoterKeys, left: int, worst: tuple[str, int] | None, *, election: bool
) -> Iterator[str]:
    living = ids_of(voters & alive)
    if left < 0:
        yield f"no majority: {-left} of the voters that are down must come back with their disks"
        yield WITHOUT_COMMITS
    elif left == 0 and len(voters) == 1:
        yield f"the failure of controller {living[0]} stops the metadata quorum"
    elif left == 0:
        yield f"the failure of any one of {shown(living)} stops the metadata quorum"
    if left == 0 and len(voters) == 2:
        yield (
            f"a leader that loses the other voter stays active for up to {CHECK_QUORUM_MS} ms, in which a change "
            "may still rescue the quorum; a plan cannot count on that"
        )
    if len(voters) % 2 == 0 and voters:
        yield f"{len(voters)} voters survive no more failures than {len(voters) - 1}"
    if worst is not None and worst[1] < 0 <= left:
        yield f"the loss of zone {worst[0]} stops the metadata quorum"
    if election:
        yield "the leader resigns once this is committed: one election, usually within a second or two"
