"""The leaders of partitions, asked about their logs; what is not answered is left out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from kafkactl.core.errors import KafkactlError, UnreachableError
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import REMOTE_LOG_METADATA
from kafkactl.core.values import Uuid
from kafkactl.files.spool import Spool
from kafkactl.kafka.client import Client
from kafkactl.net.transport import Address
from kafkactl.protocol.record_batch import decode_batches
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.protocol.schema.rights import TOPIC_DENIED, topic_not_authorised

EARLIEST, LATEST, EARLIEST_LOCAL, LATEST_TIERED, PENDING_UPLOAD = -2, -1, -4, -5, -6  # ListOffsetsRequest.java
# The ListOffsets version that gave a timestamp its meaning (`ListOffsetsRequest.json`: KIP-405, KIP-1005, KIP-1023). A
# broker that is asked in an older one takes the number for a time, and answers with the first record since 1970.
_MEANT_SINCE: Final = {EARLIEST_LOCAL: 8, LATEST_TIERED: 9, PENDING_UPLOAD: 11}
MOST_LOG_BYTES: Final = 16 * 1024**3
ALL_TOPICS: Final = {"Topics": None, "AllowAutoTopicCreation": False}
_AT_ONCE: Final = 1000
_PIECE_BYTES: Final = 8 * 1024 * 1024
_WAIT_MS: Final = 200
_ASKED_MS: Final = 10_000
_TOPIC_FIELD: Final = {"ListOffsets": "Name", "OffsetForLeaderEpoch": "Topic"}
_EMPTY_ANSWERS: Final = 50  # after which a leader is taken to give nothing
_MOST_MOVES: Final = 20  # of the leader of a metadata partition while it is fetched
_MOST_EPOCHS: Final = 100_000
_NOT_SUPPORTED: Final = "request-not-supported"
# LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH: another broker leads now.
_MOVED: Final = frozenset({5, 6, 74, 75})
_NO_LEADER: Final = 5
PartitionName: TypeAlias = tuple[str, int]
Lineages: TypeAlias = dict[PartitionName, tuple[tuple[int, int], ...]]


class AnsweredOffset(NamedTuple):
    """Answer of a leader to ListOffsets; the leader epoch is None if the answer has none."""

    offset: int
    leader_epoch: int | None


@frozen
class FetchedMetadataLog:
    """A metadata partition from `base_offset` up to `end_offset`; `pieces` gives its batches as they are on disk."""

    partition: int
    base_offset: int
    end_offset: int
    pieces: Callable[[], Iterable[bytes]]


class Leaders:
    """Client of the leaders of partitions. A broker that did not answer once is not asked again."""

    def __init__(self, client: Client, metadata: Mapping[str, Any]) -> None:
        """Read the leaders from `metadata`, an answer to Metadata for all topics."""
        self._client = client
        self._silent: set[int] = set()
        self._take(metadata)

    def _take(self, metadata: Mapping[str, Any]) -> None:
        self.brokers = {broker["NodeId"]: Address(broker["Host"], broker["Port"]) for broker in metadata["Brokers"]}
        self.metadata = metadata
        self.led = {
            (topic["Name"], partition["PartitionIndex"]): partition["LeaderId"]
            for topic in metadata["Topics"]
            for partition in topic["Partitions"]
        }

    def refresh(self) -> Mapping[str, Any]:
        """Ask who leads now; the answer to Metadata. Raises UnreachableError."""
        self._take(self._client.ask_any("Metadata", ALL_TOPICS).body)
        return self.metadata

    def _by_leader(self, keys: Iterable[PartitionName]) -> Iterator[tuple[int, list[PartitionName]]]:
        led = {key: self.led.get(key, -1) for key in keys}
        ordered = sorted(led, key=lambda key: (led[key], key))
        for leader, group in itertools.groupby(ordered, key=lambda key: led[key]):
            if leader in self.brokers:
                for part in batched(list(group)):
                    yield leader, part

    def _asked(
        self,
        name: str,
        leader: int,
        asked: Mapping[PartitionName, Mapping[str, Any]],
        *,
        since: int = 0,
        **body: Any,
    ) -> Iterator[tuple[PartitionName, Mapping[str, Any]]]:
        """Yield the successful answers of a leader about many partitions; none if it fails or lacks version `since`."""
        if leader in self._silent:
            return
        field = _TOPIC_FIELD[name]
        topics = [
            {field: topic, "Partitions": [asked[key] for key in group]}
            for topic, group in itertools.groupby(sorted(asked), key=lambda key: key[0])
        ]
        try:
            answer = self._client.ask_node(self.brokers[leader], name, {**body, "Topics": topics})
        except KafkactlError as error:
            if error.id != _NOT_SUPPORTED:
                self._silent.add(leader)
            return
        if answer.version < since:
            return
        for topic in answer.body["Topics"]:
            for partition in topic["Partitions"]:
                if not partition["ErrorCode"]:
                    number = partition["PartitionIndex" if "PartitionIndex" in partition else "Partition"]
                    yield (topic[field], number), partition

    def offsets(self, keys: Iterable[PartitionName], timestamp: int) -> dict[PartitionName, AnsweredOffset]:
        """Return the offset that each leader answers for a timestamp; those that do not answer are left out."""
        found: dict[PartitionName, AnsweredOffset] = {}
        for leader, part in self._by_leader(keys):
            asked = {key: {"PartitionIndex": key[1], "Timestamp": timestamp} for key in part}
            answers = self._asked(
                "ListOffsets",
                leader,
                asked,
                since=_MEANT_SINCE.get(timestamp, 0),
                ReplicaId=-1,
                IsolationLevel=0,
                TimeoutMs=_ASKED_MS,
            )
            for key, answer in answers:
                epoch = answer.get("LeaderEpoch", -1)
                found[key] = AnsweredOffset(answer["Offset"], epoch if epoch >= 0 else None)
        return found

    def lineages(self, logs: Mapping[PartitionName, tuple[int, int]]) -> Lineages:
        """Return the leader epochs of each log with their first offsets, found from the newest backwards.

        `logs` has each partition's leader epoch and log start. A leader answers for an epoch that it knows
        with the start of the next one, for an epoch below its first with the start of that: the walk ends where the
        offset does not change any more. Epoch 0 cannot be asked for by the one before it: it begins with the log.
        """
        wanted = {key: epoch for key, (epoch, _) in logs.items()}
        starts: dict[PartitionName, dict[int, int]] = {key: {} for key in logs}
        ends: dict[PartitionName, int] = {}
        for _ in range(_MOST_EPOCHS):
            for key in [key for key, epoch in wanted.items() if epoch <= 0]:
                del wanted[key]
                if logs[key][1] < ends.get(key, logs[key][1] + 1):
                    starts[key][0] = logs[key][1]
            if not wanted:
                break
            following: dict[PartitionName, int] = {}
            for leader, part in self._by_leader(wanted):
                asked = {key: {"Partition": key[1], "LeaderEpoch": wanted[key] - 1} for key in part}
                answers = self._asked("OffsetForLeaderEpoch", leader, asked, ReplicaId=-1)
                for key, answer in answers:
                    if _walked(starts[key], ends, key, wanted[key], answer):
                        following[key] = answer["LeaderEpoch"]
            wanted = following
        return {key: tuple(sorted(found.items())) for key, found in starts.items() if found}

    def fetch(self, topic_id: Uuid, partition: int, start: int, end: int) -> FetchedMetadataLog:
        """Return the batches of a metadata partition between two offsets, from the next leader if the leader moves.

        Raises UnreachableError `metadata-partition-not-given`, `metadata-log-too-large`.
        """
        kept, position, base, silent, moves = Spool(), start, start, 0, 0
        while position < end:
            leader = self.led.get((REMOTE_LOG_METADATA, partition), -1)
            code, data = self._fetched(leader, topic_id, partition, position)
            if code in _MOVED and moves < _MOST_MOVES:
                moves += 1
                self._client.clock.sleep_ms(_WAIT_MS)
                self.refresh()
                continue
            if code == TOPIC_DENIED:
                raise topic_not_authorised("Fetch", REMOTE_LOG_METADATA, ("Read",), self._client.login)
            if code or silent > _EMPTY_ANSWERS:
                why = error_code(code).name if code else "no records"
                giver = f"broker {leader} does not give" if leader >= 0 else "no leader gives"
                raise UnreachableError(
                    f"{giver} metadata partition {partition} at offset {position}: {why}",
                    id="metadata-partition-not-given",
                )
            silent = 0 if data else silent + 1
            for batch in decode_batches(data, file=f"cluster:{REMOTE_LOG_METADATA}-{partition}"):
                if batch.header.last_offset < position:
                    continue
                if not kept.size_bytes:
                    base = min(start, batch.header.base_offset)
                begin = batch.header.position
                kept.add(data[begin : begin + batch.header.size_bytes])
                position = batch.header.last_offset + 1
            if kept.size_bytes > MOST_LOG_BYTES:
                raise UnreachableError(
                    f"metadata partition {partition} has more than the {MOST_LOG_BYTES} bytes that are taken",
                    id="metadata-log-too-large",
                    next_step="Give the log directory of a broker that has a replica as the source.",
                )
        return FetchedMetadataLog(partition=partition, base_offset=base, end_offset=position, pieces=kept.pieces)

    def _fetched(self, leader: int, topic_id: Uuid, partition: int, position: int) -> tuple[int, bytes]:
        """Return the error of one Fetch, 0 for none, and the whole batches that came."""
        if leader not in self.brokers:
            return _NO_LEADER, b""
        answer = self._client.ask_node(self.brokers[leader], "Fetch", _fetch_body(topic_id, partition, position)).body
        found = [part for topic in answer["Responses"] for part in topic["Partitions"]]
        code: int = answer["ErrorCode"] or (found[0]["ErrorCode"] if found else 0)
        return code, whole_batches((found[0]["Records"] if found else None) or b"")


def _walked(
    starts: dict[int, int], ends: dict[PartitionName, int], key: PartitionName, epoch: int, answer: Mapping[str, Any]
) -> bool:
    """Record where `epoch` starts, from the answer for the epoch before it. Whether that epoch is to be asked next."""
    start: int = answer["EndOffset"]
    before: int = answer["LeaderEpoch"]
    if start < 0 or ends.get(key) == start:
        return False
    starts[epoch] = ends[key] = start
    return before >= 0


def whole_batches(data: bytes) -> bytes:
    """Return the whole batches of an answer, without a truncated last one."""
    position = 0
    while position + 12 <= len(data):
        size = 12 + int.from_bytes(data[position + 8 : position + 12], "big")
        if position + size > len(data):
            break
        position += size
    return data[:position]


def _fetch_body(topic_id: Uuid, partition: int, offset: int) -> dict[str, Any]:
    asked = {"Partition": partition, "FetchOffset": offset, "PartitionMaxBytes": _PIECE_BYTES}
    topics = [{"Topic": REMOTE_LOG_METADATA, "TopicId": topic_id, "Partitions": [asked]}]
    return {"MaxWaitMs": _WAIT_MS, "MinBytes": 1, "MaxBytes": _PIECE_BYTES, "Topics": topics}


def batched(names: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the parts that fit into one request."""
    for at in range(0, len(names), _AT_ONCE):
        yield list(names[at : at + _AT_ONCE])
