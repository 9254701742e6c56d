"""The quorum as its leader, every controller and metadata log directories show it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from kafkactl.cluster.io.quorum_assembly import assembled
from kafkactl.cluster.io.quorum_view import QuorumObserver
from kafkactl.cluster.quorum.liveness import WATCH_MS, is_same_quorum, watch, with_lives
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.core.answers import by_fields, json_of, read_fields
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import CONTROLLER_NOT_ASKED, LEADER_NOT_REACHED, Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.quorum.differences import quorum_differences
from kafkactl.quorum.health import check_health, is_broken

if TYPE_CHECKING:
    from types import TracebackType

    from kafkactl.cluster.io.quorum_visit import Visit
    from kafkactl.cluster.quorum.observation import DiskSeen
    from kafkactl.kafka.client import Client
    from kafkactl.quorum.io.disks import DiskReading

LEAST_NODE_TIMEOUT_MS: Final = 1_200.0
_APART_S: Final = 0.7  # an idle leader writes a no-op every half second


@frozen
class AskedNode:
    """Answer of one address."""

    id: int | None
    address: str
    role: Literal["broker", "controller"] | None
    answers: bool | None
    """None: a node responds, but refuses the connection."""
    leader_id: int | None
    """Leader that the node follows; None if the node was not asked."""
    leader_epoch: int | None
    error: str | None

    to_dict = by_fields


@frozen
class ReadDisk:
    """Content of one metadata directory (`--log-dir`)."""

    path: str
    cluster_id: str | None
    node_id: int | None
    directory_id: Uuid | None
    leader_id: int | None
    """Leader in quorum-state, possibly outdated; -1: none."""
    leader_epoch: int | None
    last_epoch: int | None
    """Epoch of the last record; None for an empty log."""
    log_end_offset: int
    kraft_version: int | None

    to_dict = by_fields


@frozen
class QuorumDescription:
    """An observation: the state, what each node and each disk said, and what is wrong."""

    state: QuorumState
    nodes: tuple[AskedNode, ...]
    disks: tuple[ReadDisk, ...]
    findings: tuple[Finding, ...]
    time_ms: int

    @property
    def is_broken(self) -> bool:
        """Return True if the quorum does not do its work: no node leads, nothing commits, or no majority is alive."""
        return is_broken(self.state, self.findings)

    to_dict = json_of("**state", "time_ms", "nodes", "disks", "findings", kind="quorum.describe")

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> QuorumDescription:
        """Return a saved answer. Of the state it has what is shown. Raises ValueError if it has another shape."""
        return read_fields(cls, {**saved, "state": {**saved, "nodes": {}, "findings": []}})


def check_leader_reached(found: QuorumDescription) -> None:
    """Raise UnreachableError with the reason if no leader answered, and a controller that was not asked may lead."""
    ids = {LEADER_NOT_REACHED} if not found.state.leader_out_of_reach else {LEADER_NOT_REACHED, CONTROLLER_NOT_ASKED}
    reasons = [finding for finding in found.findings if finding.id in ids]
    if reasons and not found.state.has_leader:
        raise UnreachableError(reasons[-1].message, id=reasons[-1].id, next_step=reasons[0].advice)


def differences(before: QuorumDescription, after: QuorumDescription) -> tuple[str, ...]:
    """Return the changes from one observation to a later one, a line each: leader, voters, nodes that are alive."""
    return quorum_differences(before.state, after.state)


class QuorumWatch:
    """A quorum that can be observed again and again; use it as a context manager.

    `client` is a live cluster, `log_dirs` are metadata log directories of its controllers; at least one of the two.
    One silent node costs `node_timeout_ms`, and voters of which one answer proves nothing are watched for `watch_ms`.
    """

    def __init__(
        self,
        client: Client | None,
        log_dirs: Iterable[str | os.PathLike[str]] = (),
        *,
        node_timeout_ms: float = LEAST_NODE_TIMEOUT_MS,
        watch_ms: float = WATCH_MS,
    ) -> None:
        self._watch_ms = watch_ms
        self._log_dirs = tuple(os.fspath(path) for path in log_dirs)
        self._client = client
        self._histories: tuple[Finding, ...] | None = None
        self._earlier: tuple[float, QuorumState] | None = None
        self._observer = (
            None if client is None else QuorumObserver(client, node_timeout_ms=node_timeout_ms, watches_followers=True)
        )

    def __enter__(self) -> QuorumWatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._observer is not None:
            self._observer.close()

    def observe(self) -> QuorumDescription:
        """Return one observation. Raise UnreachableError if no node answers, InputError for a directory without
        a log."""
        readings = self._readings()
        disks = [reading.seen for reading in readings]
        visits: Sequence[Visit] = ()
        if self._observer is None:
            state = assembled((), disks=disks)
            findings: tuple[Finding, ...] = (*state.findings, _only_disks())
        else:
            state = _with_lives(self._observer, self._observer.observe(disks=disks), self._watch_ms)
            visits = self._observer.visits
            findings = tuple(check_health(state, self._observation_before(state)))
        if disks:
            findings = self._with_histories(findings, state, disks)
        return QuorumDescription(
            state=state,
            nodes=tuple(map(_node, sorted(visits, key=lambda visit: (visit.id is None, visit.id or 0, visit.address)))),
            disks=tuple(map(_disk, readings)),
            findings=(*findings, *(finding for reading in readings for finding in reading.findings)),
            time_ms=int(time.time() * 1000),
        )

    def _with_histories(
        self, findings: tuple[Finding, ...], state: QuorumState, disks: Sequence[DiskSeen]
    ) -> tuple[Finding, ...]:
        """Add the findings about disks with another history, which are read once because reading a log is slow."""
        from kafkactl.quorum.api.histories import check_histories, without_return

        if self._histories is None:
            self._histories = check_histories(state, disks, self._client)
        return tuple(without_return((*findings, *self._histories), disks))

    def _observation_before(self, state: QuorumState) -> QuorumState | None:
        """Return the last observation that is old enough to show if records were committed since; None if none is."""
        now = time.monotonic()
        at, earlier = self._earlier or (now, state)
        if self._earlier is None or now - at >= _APART_S:
            self._earlier = (now, state)
            return earlier
        return None

    def _readings(self) -> tuple[DiskReading, ...]:
        if not self._log_dirs:
            return ()
        from kafkactl.quorum.io.disks import read_disks

        return read_disks(self._log_dirs)


def describe(
    client: Client | None = None,
    *,
    log_dirs: Iterable[str | os.PathLike[str]] = (),
    node_timeout_ms: float = LEAST_NODE_TIMEOUT_MS,
) -> QuorumDescription:
    """Return the leader, the voters, the observers and the number of failures that the quorum still survives.

    `client` is a live cluster; `log_dirs` are metadata log directories, which are read in addition, or alone. One
    silent node costs `node_timeout_ms`. Raises as `QuorumWatch.observe`.
    """
    with QuorumWatch(client, log_dirs, node_timeout_ms=node_timeout_ms) as quorum:
        return quorum.observe()


def _with_lives(observer: QuorumObserver, state: QuorumState, watch_ms: float) -> QuorumState:
    """Return the state.

    If a single observation leaves it open who is alive, with what about half a second more shows.
    """
    if not state.has_leader or all(voter.alive is not None for voter in state.voters):
        return state
    found = watch(observer, state.nodes, watch_ms=watch_ms)
    if found is None or not is_same_quorum(state, found.last.state):
        return state
    return with_lives(state, found)


def _only_disks() -> Finding:
    return Finding(
        id="only-disks-read",
        severity=Severity.INFO,
        subject="quorum",
        message="no node was asked: the leader and the nodes that are alive are unknown",
        next_step="Add --bootstrap-controller HOST:PORT to ask those that run.",
    )


def _node(visit: Visit) -> AskedNode:
    return AskedNode(
        id=visit.id,
        address=str(visit.address),
        role=None if visit.role is None else visit.role.word,
        answers=visit.answers,
        leader_id=visit.leader_id,
        leader_epoch=visit.leader_epoch,
        error=None if visit.error is None else visit.error.message,
    )


def _disk(reading: DiskReading) -> ReadDisk:
    seen = reading.seen
    return ReadDisk(
        path=seen.path,
        cluster_id=seen.cluster_id,
        node_id=seen.node_id,
        directory_id=seen.directory_id,
        leader_id=seen.leader_id,
        leader_epoch=seen.leader_epoch,
        last_epoch=None if seen.last_epoch < 0 else seen.last_epoch,
        log_end_offset=seen.log_end_offset,
        kraft_version=seen.kraft_version,
    )
