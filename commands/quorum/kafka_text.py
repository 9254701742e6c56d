"""A quorum in the words and columns of `kafka-metadata-quorum.sh describe` (`MetadataQuorumCommand`, 3.9 to 4.4).

Up to 3.8 Kafka's tool shows bare ids and no directories; here it is the newer form for every release. What is not
known is -1, as there; a directory id that is unknown is left out of the list of voters (as from 4.1 on) and is zero
in the table. In a static quorum no directory id is shown, because none is used there. Without a leader Kafka's tool
fails; here the leader is -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkactl.cluster.quorum.state import QuorumState, Replica

COLUMNS = ("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status")
_LABEL_WIDTH = 24
_UNKNOWN = -1
_NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"


def status_lines(state: QuorumState) -> list[str]:
    """Return the lines of `describe --status`."""
    lag, lag_time_ms = _most_behind(state)
    rows: list[tuple[str, object]] = [
        ("ClusterId", state.cluster_id or ""),
        ("LeaderId", state.leader_id),
        ("LeaderEpoch", _number(state.leader_epoch)),
        ("HighWatermark", _number(state.high_watermark)),
        ("MaxFollowerLag", lag),
        ("MaxFollowerLagTimeMs", lag_time_ms),
        ("CurrentVoters", _list(state.voters)),
        ("CurrentObservers", _list(state.observers)),
    ]
    return [f"{label + ':':<{_LABEL_WIDTH}}{value}" for label, value in rows]


def replication_lines(state: QuorumState, *, now_ms: int | None = None) -> list[str]:
    """Return the table of `describe --replication`; with `now_ms` (since the epoch) ages in place of times."""
    leader = state.leader_id
    roles = [(replica, "Leader") for replica in state.replicas if replica.id == leader][:1]
    roles += [(voter, "Follower") for voter in state.voters if voter.id != leader]
    roles += [(observer, "Observer") for observer in state.observers if observer.id != leader]
    rows = [COLUMNS, *(_row(replica, role, now_ms) for replica, role in roles)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    return ["".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)) for row in rows]


def _row(replica: Replica, role: str, now_ms: int | None) -> tuple[str, ...]:
    return (
        str(replica.id),
        str(replica.directory_id or _NO_DIRECTORY),
        str(_number(replica.log_end_offset)),
        str(_number(replica.lag)),
        _time(replica.last_fetch_timestamp_ms, now_ms),
        _time(replica.last_caught_up_timestamp_ms, now_ms),
        role,
    )


def _time(timestamp_ms: int | None, now_ms: int | None) -> str:
    if timestamp_ms is None or now_ms is None:
        return str(_number(timestamp_ms))
    return f"{max(0, now_ms - timestamp_ms)} ms ago"


def _most_behind(state: QuorumState) -> tuple[int, int]:
    """Return the lag in records and in time of the voter that is furthest behind; -1 if the leader does not know it."""
    leader = state.voter(state.leader_id)
    if leader is None:
        return _UNKNOWN, _UNKNOWN
    last = min(state.voters, key=lambda voter: _number(voter.log_end_offset))
    lag = _number(leader.log_end_offset) - _number(last.log_end_offset)
    if last is leader:
        return lag, 0
    own, others = leader.last_caught_up_timestamp_ms, last.last_caught_up_timestamp_ms
    return lag, _UNKNOWN if own is None or others is None else own - others


def _list(replicas: Sequence[Replica]) -> str:
    return "[" + ", ".join(_entry(replica) for replica in replicas) + "]"


def _entry(replica: Replica) -> str:
    parts = [f'"id": {replica.id}']
    if replica.directory_id is not None:
        parts.append(f'"directoryId": "{replica.directory_id}"')
    if replica.endpoints:
        texts = ", ".join(f'"{endpoint}"' for endpoint in replica.endpoints)
        parts.append(f'"endpoints": [{texts}]')
    return "{" + ", ".join(parts) + "}"


def _number(value: int | None) -> int:
    return _UNKNOWN if value is None else value
