"""The metadata log from a live controller, by Fetch and FetchSnapshot (KIP-595, KIP-630).

All data returned was committed, is complete, and follows the data returned before. The log is fetched with replica id
-1, because any other id would appear as an observer in DescribeQuorum, and from the active controller alone, with
exactly its epoch. A leader also returns records that are not committed yet, so the log is cut at the high watermark of
the first response; reading a growing log therefore ends. Every batch is checked (size, CRC, offsets without a gap,
epochs that never decrease) before it is returned; a response that fails a check is `invalid-fetch-response`. If the
leader changes meanwhile, reading continues with the new leader, because committed records do not change.

Memory: one response at a time. What is kept of a snapshot (at most `MOST_SNAPSHOT_BYTES`) or of a log
(`MOST_LOG_BYTES`) is in a file (`spool`).
Sources: `KafkaRaftClient` (handleFetchRequest, handleFetchSnapshotRequest), `ReplicatedLog.validateOffsetAndEpoch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from kafkactl.change.clock import Deadline
from kafkactl.cluster.io.controllers import controllers_of
from kafkactl.cluster.io.fetched_batches import FetchedPiece, SoundBatches, unsound
from kafkactl.cluster.io.leader_source import describe_quorum
from kafkactl.cluster.quorum.observation import QuorumAnswer
from kafkactl.core.errors import UnreachableError
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_TOPIC
from kafkactl.core.values import METADATA_TOPIC_ID
from kafkactl.files.spool import Spool
from kafkactl.kafka.client import Client
from kafkactl.kafka.cluster_view import NOT_THE_LEADER, error_codes_in
from kafkactl.kafka.other_login import add_login_step
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.protocol.schema.rights import CLUSTER_DENIED, Login, not_authorised

PIECE_BYTES = 8 * 1024 * 1024
MOST_SNAPSHOT_BYTES = 4 * 1024**3
MOST_LOG_BYTES = 16 * 1024**3  # a controller makes a snapshot every 20 MiB, and keeps 100 MiB (the defaults)
_WAIT_MS = 200
_RETRY_MS = 15_000.0  # how long a leader may have no high watermark: an election, and its first commit
_PAUSE_MS = 100.0
_EPOCHS_TRIED = 64
_EPOCH_PLACE = slice(12, 16)  # of the first batch of an answer
_FENCED_EPOCH, _UNKNOWN_EPOCH, _SNAPSHOT_NOT_FOUND = 74, 75, 98
_LEADER_MOVED = NOT_THE_LEADER | {_FENCED_EPOCH, _UNKNOWN_EPOCH}


@frozen
class SnapshotId:
    """The id of a snapshot: it covers all records below `end_offset`; `epoch` is that of the last of them."""

    end_offset: int
    epoch: int

    def __str__(self) -> str:
        """Return the file name of the snapshot, without its suffix."""
        return f"{self.end_offset:020}-{self.epoch:010}"


@frozen
class FetchedSnapshot:
    """A snapshot; `pieces` gives its bytes, which are those of the `.checkpoint` file."""

    end_offset: int
    epoch: int
    pieces: Callable[[], Iterable[bytes]] = field(repr=False)


@frozen
class FetchedLog:
    """Committed part of a metadata log: a snapshot if the leader offers one, and the records after it.

    `pieces` gives the bytes of what follows; `first_offset` is None if nothing does.
    """

    leader_id: int
    leader_epoch: int
    high_watermark: int
    snapshot: FetchedSnapshot | None
    first_offset: int | None
    pieces: Callable[[], Iterable[bytes]] = field(repr=False)


def fetch_metadata_log(client: Client) -> FetchedLog:
    """Return the committed log as one value.

    Raises as `iterate_metadata_log` does, and FailedError if it is not kept.
    """
    with _controllers(client) as controllers:
        walk = _LogWalk(controllers)
        snapshot: FetchedSnapshot | None = None
        log, first_offset = Spool(), None
        for part in walk.parts(None, None):
            if isinstance(part, FetchedSnapshot):
                snapshot, log, first_offset = part, Spool(), None
            else:
                first_offset = part.base_offset if first_offset is None else first_offset
                log.add(part.data)
        return FetchedLog(
            leader_id=walk.leader_id,
            leader_epoch=walk.epoch,
            high_watermark=walk.end if snapshot is None else max(walk.end, snapshot.end_offset),
            snapshot=snapshot,
            first_offset=first_offset,
            pieces=log.pieces,
        )


def iterate_metadata_log(
    client: Client,
    *,
    from_offset: int | None = None,
    up_to: int | None = None,
    whole: bool = False,
    cluster_id: str | None = None,
    quorum: QuorumAnswer | None = None,
) -> Iterator[FetchedSnapshot | FetchedPiece]:
    """Yield the committed log from an offset on (default: its start), up to the high watermark, or to `up_to` if it is
    lower.

    Begins with a snapshot if the leader no longer has that offset, and always if the start is requested and there is a
    snapshot (3.7 on). The first piece may begin below `from_offset`, and one that `up_to` falls into the middle of a
    batch of ends above it: batches are never cut. Close the iterator if you do not read to its end.

    With `whole` the snapshot is followed by all that the leader's log still has, and not by what follows it only. A
    leader with a snapshot does not return offset 0 (LeaderChange, 3.7 on): the log then begins at 1.

    A controller of another cluster than `cluster_id` refuses (KIP-595); None: whichever answers is read. `quorum` is
    the newest answer of the leader: the log is read up to its high watermark, and the leader is not asked again.

    Raises UnreachableError: `not-authorised` (CLUSTER_ACTION is needed), `controllers-not-known`,
    `no-active-controller`, `high-watermark-unknown`, `metadata-log-not-given`, `invalid-fetch-response`,
    `snapshot-too-large`, `metadata-log-too-large`, or why a node could not be reached; and FailedError
    `fetched-log-not-written`.
    """
    with _controllers(client, quorum) as controllers:
        yield from _LogWalk(controllers, cluster_id, quorum).parts(from_offset, up_to, whole=whole)


def fetch_snapshot(client: Client, snapshot_id: SnapshotId, *, leader_epoch: int) -> FetchedSnapshot | None:
    """Fetch a snapshot from the active controller of a client of controllers; None if the controller deleted it.

    Raises UnreachableError as `iterate_metadata_log` does; `no-active-controller` also if the epoch has ended.
    """
    kept = Spool()
    size: int | None = None
    while size is None or kept.size_bytes < size:
        at = kept.size_bytes
        answer = _partition(client, "FetchSnapshot", _snapshot_request(snapshot_id, leader_epoch, at))
        if answer["ErrorCode"] == _SNAPSHOT_NOT_FOUND:
            return None
        _check_error(answer["ErrorCode"], "FetchSnapshot", client.login)
        found = SnapshotId(end_offset=answer["SnapshotId"]["EndOffset"], epoch=answer["SnapshotId"]["Epoch"])
        piece = answer["UnalignedRecords"] or b""
        if found != snapshot_id or answer["Position"] != at or (size is not None and answer["Size"] != size):
            raise unsound(f"snapshot {snapshot_id} was asked for at byte {at}, another place was answered")
        size = answer["Size"]
        if size > MOST_SNAPSHOT_BYTES:
            raise _too_large(snapshot_id, size)
        if size < 0 or at + len(piece) > size or (not piece and at < size):
            raise unsound(f"snapshot {snapshot_id} has {size} bytes, and {len(piece)} came at byte {at}")
        kept.add(piece)
    return FetchedSnapshot(end_offset=snapshot_id.end_offset, epoch=snapshot_id.epoch, pieces=kept.pieces)


class _MovedError(UnreachableError):
    """Change of the leader: another controller leads now, or this one in another epoch."""


class _LogWalk:
    """A walk through the log: the leader, the end, and the next expected offset."""

    def __init__(self, controllers: Client, cluster_id: str | None = None, quorum: QuorumAnswer | None = None) -> None:
        self._controllers, self._cluster_id = controllers, cluster_id
        self._retry_until = Deadline.after(_RETRY_MS, controllers.clock)
        self.leader_id = self.epoch = self.end = -1
        if quorum is not None and quorum.high_watermark >= 0:
            self.leader_id, self.epoch, self.end = quorum.leader_id, quorum.leader_epoch, quorum.high_watermark
        self._log_start = 0
        self._fetched_bytes = 0

    def parts(
        self, from_offset: int | None, up_to: int | None, *, whole: bool = False
    ) -> Iterator[FetchedSnapshot | FetchedPiece]:
        if self.end < 0:
            self._meet_leader()
            self.end = self._high_watermark()
        end = self.end if up_to is None else min(self.end, up_to)
        # The leader's own epoch is valid at any offset: the leader checks only that this epoch reaches the offset.
        batches = SoundBatches(from_offset or 0, last_epoch=None if from_offset else 0)
        goes_back = False
        while goes_back or batches.next_offset < end:
            try:
                if goes_back:
                    batches, goes_back = self._at_log_start(from_offset or 0), False
                    continue
                part = self._next(batches, end)
            except _MovedError:
                self._wait("the active controller changes again and again", "no-active-controller")
                self._meet_leader()
                continue
            if part is None:
                self._wait("the active controller gives nothing of what it has", "metadata-log-not-given")
                continue
            self._retry_until = Deadline.after(_RETRY_MS, self._controllers.clock)
            if not isinstance(part, FetchedSnapshot):
                self._fetched_bytes += len(part.data)
                if self._fetched_bytes > MOST_LOG_BYTES:
                    raise _log_too_large()
            yield part
            goes_back = whole and isinstance(part, FetchedSnapshot)
            whole = whole and not goes_back

    def _at_log_start(self, wanted: int) -> SoundBatches:
        """Return an empty run of batches at the start of the leader's log, or at `wanted` if that is later.

        A fetch at the start has to name the epoch of the snapshot that ends there. No request returns that epoch, so
        the leader's epoch and those before it are tried.
        """
        start = max(self._log_start, 0)
        if wanted > start:
            return SoundBatches(wanted, last_epoch=None)
        for epoch in range(self.epoch, max(self.epoch - _EPOCHS_TRIED, -1), -1) if start else ():
            answer = _partition(self._controllers, "Fetch", self._request(start, epoch))
            _check_error(answer["ErrorCode"], "Fetch", self._controllers.login)
            found = int.from_bytes((answer["Records"] or b"")[_EPOCH_PLACE], "big")
            if answer["SnapshotId"]["EndOffset"] < 0 and answer["DivergingEpoch"]["EndOffset"] < 0 and epoch <= found:
                return SoundBatches(start, last_epoch=epoch)
        return SoundBatches(start + 1, last_epoch=None)

    def _next(self, batches: SoundBatches, end: int) -> FetchedSnapshot | FetchedPiece | None:
        """Return the next snapshot or piece; None if the answer contained none."""
        last_epoch = self.epoch if batches.last_epoch is None else batches.last_epoch
        answer = _partition(self._controllers, "Fetch", self._request(batches.next_offset, last_epoch))
        _check_error(answer["ErrorCode"], "Fetch", self._controllers.login)
        offered = SnapshotId(end_offset=answer["SnapshotId"]["EndOffset"], epoch=answer["SnapshotId"]["Epoch"])
        if offered.end_offset >= 0:
            self._log_start = answer["LogStartOffset"]
            return self._snapshot(offered, batches)
        diverging = answer["DivergingEpoch"]
        if diverging["EndOffset"] >= 0:
            raise unsound(
                f"epoch {diverging['Epoch']} ends at offset {diverging['EndOffset']}, and the log was committed up to "
                f"{batches.next_offset} in epoch {last_epoch}"
            )
        return batches.take(answer["Records"] or b"", end=end, committed=self.end, leader_epoch=self.epoch)

    def _request(self, offset: int, last_epoch: int) -> dict[str, Any]:
        return _fetch_request(offset, last_epoch, self.epoch, self._cluster_id)

    def _snapshot(self, offered: SnapshotId, batches: SoundBatches) -> FetchedSnapshot | None:
        if offered.end_offset <= batches.next_offset and batches.last_epoch is not None and batches.next_offset:
            raise unsound(f"snapshot {offered} is offered to one who has read up to {batches.next_offset}")
        found = fetch_snapshot(self._controllers, offered, leader_epoch=self.epoch)
        if found is not None:
            batches.jump(found.end_offset, found.epoch)
        return found

    def _meet_leader(self) -> None:
        quorum = describe_quorum(self._controllers)
        self.leader_id, self.epoch = quorum.leader_id, quorum.leader_epoch

    def _high_watermark(self) -> int:
        """Return the leader's high watermark; a new leader has none until it has committed a record of its own."""
        while True:
            quorum = describe_quorum(self._controllers)
            if quorum.high_watermark >= 0:
                self.leader_id, self.epoch = quorum.leader_id, quorum.leader_epoch
                return quorum.high_watermark
            self._wait("the active controller has not committed anything in its epoch", "high-watermark-unknown")

    def _wait(self, what: str, error_id: str) -> None:
        if self._retry_until.passed:
            raise UnreachableError(what, id=error_id, next_step="See `kafkactl quorum describe`: a majority must run.")
        self._retry_until.clock.sleep_ms(_PAUSE_MS)


@contextmanager
def _controllers(client: Client, quorum: QuorumAnswer | None = None) -> Iterator[Client]:
    controllers = controllers_of(client, quorum)
    try:
        yield controllers
    except UnreachableError as error:
        add_login_step(error, controllers, named=client.role)
        raise
    finally:
        if controllers is not client:
            controllers.close()


def _fetch_request(offset: int, last_epoch: int, leader_epoch: int, cluster_id: str | None) -> dict[str, Any]:
    partition = {
        "Partition": 0,
        "CurrentLeaderEpoch": leader_epoch,
        "FetchOffset": offset,
        "LastFetchedEpoch": last_epoch,
        "PartitionMaxBytes": PIECE_BYTES,
    }
    topics = [{"Topic": METADATA_TOPIC, "TopicId": METADATA_TOPIC_ID, "Partitions": [partition]}]
    named = {} if cluster_id is None else {"ClusterId": cluster_id}
    return {**named, "MaxWaitMs": _WAIT_MS, "MinBytes": 1, "MaxBytes": PIECE_BYTES, "Topics": topics}


def _snapshot_request(snapshot_id: SnapshotId, leader_epoch: int, position: int) -> dict[str, Any]:
    partition = {
        "Partition": 0,
        "CurrentLeaderEpoch": leader_epoch,
        "SnapshotId": {"EndOffset": snapshot_id.end_offset, "Epoch": snapshot_id.epoch},
        "Position": position,
    }
    return {"MaxBytes": PIECE_BYTES, "Topics": [{"Name": METADATA_TOPIC, "Partitions": [partition]}]}


def _partition(client: Client, name: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the one partition of an answer; an error at its top is raised."""
    response = client.ask_active_controller(name, body)
    _check_error(response.body["ErrorCode"], name, client.login)
    topics: Iterable[Mapping[str, Any]] = response.body["Responses" if name == "Fetch" else "Topics"]
    partitions = [partition for topic in topics for partition in topic["Partitions"]]
    if len(partitions) != 1:
        codes = set(error_codes_in(response.body))
        raise unsound(f"{name} was answered for {len(partitions)} partitions, 1 was asked for ({codes or 'no error'})")
    found: Mapping[str, Any] = partitions[0]
    return found


def _check_error(code: int, name: str, login: Login) -> None:
    if not code:
        return
    word = error_code(code).name
    if code in _LEADER_MOVED:
        raise _MovedError(f"{name}: {word}", id="no-active-controller", next_step="Ask again in a moment.")
    if code == CLUSTER_DENIED:
        raise not_authorised(name, "the active controller", login)
    raise UnreachableError(
        f"the active controller does not give its metadata log: {word} to {name}", id="metadata-log-not-given"
    )


def _log_too_large() -> UnreachableError:
    return UnreachableError(
        f"the active controller gives more than the {MOST_LOG_BYTES} bytes that are taken of a log",
        id="metadata-log-too-large",
    )


def _too_large(snapshot_id: SnapshotId, size: int) -> UnreachableError:
    return UnreachableError(
        f"snapshot {snapshot_id} is said to have {size} bytes; at most {MOST_SNAPSHOT_BYTES} are taken",
        id="snapshot-too-large",
    )
