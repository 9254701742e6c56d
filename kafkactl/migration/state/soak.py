"""Time that a migration has spent in M8 and elections of its quorum meanwhile: the basis for `finalize`.

Everything is dated by the quorum's own log, never by a journal or the observer's clock: the first registration of each
broker on KRaft, and the elections after the last of these. What a snapshot replaces is as old as the snapshot at
least.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.core.wording import counted
from kafkactl.migration.observed.log_facts import LogFacts
from kafkactl.migration.state.evidence import Evidence, cluster_time_ms

_HOUR_MS = 3_600_000
_UNITS = ((86_400_000, "d"), (_HOUR_MS, "h"), (60_000, "min"), (1_000, "s"))


@frozen
class Soak:
    """M8 so far. `since_ms` is when its last broker came onto KRaft, `lasted_ms` how long ago that was, at least;
    `elections` of a controller since, and how long ago the last of them was, None if there was none.
    """

    since_ms: int
    lasted_ms: int
    elections: int
    last_election_ago_ms: int | None

    @property
    def words(self) -> str:
        """Return the soak for people: `3 h 12 min, with 1 election of a controller, the last 20 min ago`."""
        if not self.elections:
            return f"{span(self.lasted_ms)}, without an election of a controller"
        return (
            f"{span(self.lasted_ms)}, with {counted(self.elections, 'election')} of a controller, the last "
            f"{span(self.last_election_ago_ms or 0)} ago"
        )


def soak_of(e: Evidence) -> Soak | None:
    """Return the soak; None outside of M8, and if the log does not date it."""
    log = e.log
    if (
        log is None
        or e.kraft_state != ZkMigrationState.MIGRATION
        or not e.brokers
        or any(not broker.on_kraft for broker in e.brokers)
    ):
        return None
    arrivals = [_arrival(log, broker.id) for broker in e.brokers]
    known = [arrival for arrival in arrivals if arrival is not None]
    if len(known) < len(arrivals):
        return None
    offset, since_ms = max(known)
    now_ms = cluster_time_ms(e.observation, log)
    elections = [change.at_ms for change in log.leader_changes if change.offset > offset and change.at_ms is not None]
    return Soak(
        since_ms=since_ms,
        lasted_ms=max(now_ms - since_ms, 0),
        elections=len(elections),
        last_election_ago_ms=max(now_ms - elections[-1], 0) if elections else None,
    )


def soak_findings(soak: Soak | None, *, wanted_hours: float) -> Iterator[Finding]:
    """Yield the reasons for a later end, if the inventory requires some hours in M8 first."""
    if not wanted_hours:
        return
    step = f"Wait; the inventory asks for {wanted_hours:g} hours (soak_hours)."
    if soak is None:
        text = "how long every broker has been on KRaft is not known: the log of a controller was not observed"
        yield warning("soak-too-short", "migration", text, step)
    elif soak.lasted_ms < wanted_hours * _HOUR_MS:
        text = f"every broker has been on KRaft for {soak.words}"
        yield warning("soak-too-short", "migration", text, step, lasted_ms=soak.lasted_ms)


def election_between(earlier: Evidence, now: Evidence) -> Iterator[Finding]:
    """Yield a finding if the quorum elected a leader between two observations.

    Leadership does not last, and the leader is restarted last.
    """
    if earlier.log_epoch is not None and now.log_epoch is not None and now.log_epoch > earlier.log_epoch:
        yield warning(
            "election-between-observations",
            "controllers",
            f"the controllers went from epoch {earlier.log_epoch} to {now.log_epoch} between two observations",
            epochs=[earlier.log_epoch, now.log_epoch],
        )


def _arrival(log: LogFacts, broker_id: int) -> tuple[int, int] | None:
    """Return offset and time of a broker's first registration on KRaft after its last one in migration mode."""
    found: tuple[int, int] | None = None
    for event in log.registration_events:
        if event.id != broker_id or event.what != "register" or event.at_ms is None:
            continue
        if event.migrating:
            found = None
        elif found is None:
            found = (event.offset, event.at_ms)
    return found


def span(duration_ms: int) -> str:
    """Return the two largest units of a time: `7 d 3 h`, `40 s`."""
    parts: list[str] = []
    for size, unit in _UNITS:
        count, duration_ms = divmod(duration_ms, size)
        if count or parts:
            parts.append(f"{count} {unit}")
        if len(parts) == 2:
            break
    return " ".join(parts) or "0 s"
