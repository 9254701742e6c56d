"""The metadata log over the network, from a controller that behaves and from ones that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkactl.cluster.io import metadata_fetch
from kafkactl.cluster.io.leader_source import describe_quorum
from kafkactl.cluster.io.metadata_fetch import FetchedSnapshot, fetch_metadata_log, iterate_metadata_log
from kafkactl.commands.demo.broker import Action, Asked, FakeBroker, Reply
from kafkactl.core.errors import UnreachableError
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.retries import Backoff
from kafkactl.protocol.record_batch import decode_header, encode_batch

LIMITS = Limits(timeout_ms=3000, request_timeout_ms=1000, backoff=Backoff(first_ms=1, rounds=2))
SNAPSHOT = b"the bytes of a snapshot " * 40


def batch(offset: int, count: int = 1, epoch: int = 3) -> bytes:
    values = [(None, b"\x01\x0c\x00%d" % index) for index in range(count)]
    return encode_batch(values, base_offset=offset, timestamp_ms=1, partition_leader_epoch=epoch)


class Leader(FakeBroker):
    """A controller with a log of batches and perhaps a snapshot; `spoil` may change a partition of an answer."""

    def __init__(self, batches: list[bytes], *, snapshot: tuple[int, int] | None = None, start: int = 0) -> None:
        self.batches, self.snapshot, self.start = batches, snapshot, start
        self.high_watermark = max((decode_header(piece, 0).last_offset + 1 for piece in batches), default=start)
        self.start_epoch: int | None = None  # of the oldest snapshot, which ends where the log begins
        self.epochs = [3]
        self.spoil: Callable[[str, dict[str, Any]], None] = lambda name, partition: None
        self.top_error = 0
        super().__init__(self._answer, versions={52: (0, 2), 70: (0, 0)})

    def _answer(self, asked: Asked) -> Action | None:
        if asked.name == "DescribeQuorum":
            return self._reply("Topics", asked.name, self._quorum())
        if asked.name == "Fetch":
            assert asked.body["ReplicaId" if asked.version < 15 else "ReplicaState"] in (
                -1,
                {"ReplicaId": -1, "ReplicaEpoch": -1},
            )
            return self._reply("Responses", asked.name, self._fetched(asked.body["Topics"][0]["Partitions"][0]))
        if asked.name == "FetchSnapshot":
            return self._reply("Topics", asked.name, self._piece(asked.body["Topics"][0]["Partitions"][0]))
        return None

    def _reply(self, field: str, name: str, partition: dict[str, Any]) -> Reply:
        self.spoil(name, partition)
        return Reply(body={"ErrorCode": self.top_error if name == "Fetch" else 0, field: [{"Partitions": [partition]}]})

    @property
    def epoch(self) -> int:
        return self.epochs[0]

    def _quorum(self) -> dict[str, Any]:
        return {"LeaderId": 1, "LeaderEpoch": self.epoch, "HighWatermark": self.high_watermark}

    def _fetched(self, wish: dict[str, Any]) -> dict[str, Any]:
        if len(self.epochs) > 1:
            self.epochs.pop(0)
        if wish["CurrentLeaderEpoch"] != self.epoch:
            return {"ErrorCode": 74}
        offset = wish["FetchOffset"]
        at_start = (
            self.start_epoch is not None and offset == self.start and wish["LastFetchedEpoch"] != self.start_epoch
        )
        if self.snapshot and (offset < self.start or offset == 0 or at_start):
            return {
                "SnapshotId": {"EndOffset": self.snapshot[0], "Epoch": self.snapshot[1]},
                "LogStartOffset": self.start,
            }
        wanted = [piece for piece in self.batches if decode_header(piece, 0).last_offset >= offset]
        return {"HighWatermark": self.high_watermark, "Records": b"".join(wanted[:2])}

    def _piece(self, wish: dict[str, Any]) -> dict[str, Any]:
        position = wish["Position"]
        part = SNAPSHOT[position : position + 100]
        return {
            "SnapshotId": wish["SnapshotId"],
            "Size": len(SNAPSHOT),
            "Position": position,
            "UnalignedRecords": part,
        }


def log_of(leader: Leader) -> metadata_fetch.FetchedLog:
    with leader, Client([leader.address], Role.CONTROLLER, limits=LIMITS) as client:
        return fetch_metadata_log(client)


def refused(leader: Leader, **how: Any) -> UnreachableError:
    with (
        leader,
        Client([leader.address], Role.CONTROLLER, limits=LIMITS) as client,
        pytest.raises(UnreachableError) as caught,
    ):
        list(iterate_metadata_log(client, **how))
    return caught.value


class TestALog:
    def test_fetched_log_is_the_bytes_of_its_batches(self) -> None:
        batches = [batch(0, 2), batch(2), batch(3, 4), batch(7)]
        log = log_of(Leader(batches))
        assert b"".join(log.pieces()) == b"".join(log.pieces()) == b"".join(batches)
        assert log.first_offset == 0
        assert (log.leader_id, log.leader_epoch, log.high_watermark, log.snapshot) == (1, 3, 8, None)

    def test_uncommitted_records_are_not_fetched(self) -> None:
        leader = Leader([batch(0, 2), batch(2), batch(3)])
        leader.high_watermark = 2
        assert b"".join(log_of(leader).pieces()) == batch(0, 2)

    def test_snapshot_comes_first_and_piece_by_piece(self) -> None:
        leader = Leader([batch(10), batch(11)], snapshot=(10, 2), start=10)
        log = log_of(leader)
        assert log.snapshot is not None
        assert (log.snapshot.end_offset, log.snapshot.epoch, log.first_offset) == (10, 2, 10)
        assert b"".join(log.snapshot.pieces()) == SNAPSHOT
        assert b"".join(log.pieces()) == batch(10) + batch(11)
        assert leader.names().count("FetchSnapshot") == 10

    @pytest.mark.parametrize(("start_epoch", "first"), [(1, 10), (None, 10), (-1, 11)])
    def test_all_that_the_leader_has_comes_behind_its_newest_snapshot(
        self, start_epoch: int | None, first: int
    ) -> None:
        # A leader of epoch 3 with a log from 10 on and a newer snapshot; an epoch that is not found costs a batch.
        batches = [batch(10, epoch=1), batch(11), batch(12), batch(13), batch(14)]
        leader = Leader(batches, snapshot=(13, 3), start=10)
        leader.start_epoch = start_epoch
        with leader, Client([leader.address], Role.CONTROLLER, limits=LIMITS) as client:
            snapshot, *pieces = iterate_metadata_log(client, whole=True)
            assert isinstance(snapshot, FetchedSnapshot)
            data = b"".join(piece.data for piece in pieces)
            assert data == b"".join(batches[first - 10 :])
            _, *pieces = iterate_metadata_log(client, from_offset=5, whole=True, up_to=12)
            assert b"".join(piece.data for piece in pieces) == b"".join(batches[first - 10 : 2])

    def test_log_from_offset_0_with_a_snapshot_is_given_from_1(self) -> None:
        leader = Leader([batch(0), batch(1), batch(2)], snapshot=(3, 3))
        with leader, Client([leader.address], Role.CONTROLLER, limits=LIMITS) as client:
            _, piece = iterate_metadata_log(client, whole=True)
            assert piece.data == batch(1) + batch(2)

    def test_part_of_a_log_is_fetched_by_offsets(self) -> None:
        leader = Leader([batch(0, 2), batch(2, 3), batch(5), batch(6)])
        with leader, Client([leader.address], Role.CONTROLLER, limits=LIMITS) as client:
            (part,) = iterate_metadata_log(client, from_offset=3, up_to=6)
            assert isinstance(part, metadata_fetch.FetchedPiece)
            assert (part.base_offset, part.end_offset, part.data) == (2, 6, batch(2, 3) + batch(5))
            assert list(iterate_metadata_log(client, from_offset=7)) == []

    def test_leader_that_was_asked_just_now_is_not_asked_again(self) -> None:
        leader = Leader([batch(0, 2), batch(2), batch(3)])
        with leader, Client([leader.address], Role.CONTROLLER, limits=LIMITS) as client:
            known = describe_quorum(client)
            assert known.high_watermark == 4
            leader.high_watermark = 2
            before = leader.names().count("DescribeQuorum")
            parts = list(iterate_metadata_log(client, quorum=known))
            assert b"".join(part.data for part in parts) == batch(0, 2) + batch(2) + batch(3)
            assert leader.names().count("DescribeQuorum") == before

    def test_change_of_leader_does_not_stop_the_fetch(self) -> None:
        leader = Leader([batch(0, 1, 3), batch(1, 1, 3), batch(2, 1, 5), batch(3, 1, 5)])
        leader.epochs = [5, 5, 6, 6]
        assert log_of(leader).leader_epoch == 6

    def test_cut_batch_at_the_end_of_an_answer_is_asked_for_again(self) -> None:
        leader = Leader([batch(0), batch(1), batch(2)])

        def cut(name: str, partition: dict[str, Any]) -> None:
            if name == "Fetch" and partition["Records"].startswith(batch(0)):
                partition["Records"] = partition["Records"][:-5]

        leader.spoil = cut
        with leader, Client([leader.address], Role.CONTROLLER, limits=LIMITS) as client:
            parts = list(iterate_metadata_log(client))
        assert [part.end_offset for part in parts] == [1, 3]

    def test_fetch_is_refused_while_nothing_is_committed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(metadata_fetch, "_RETRY_MS", 150.0)
        leader = Leader([])
        leader.high_watermark = -1
        assert refused(leader).id == "high-watermark-unknown"
        leader = Leader([])
        leader.high_watermark = 2**60
        assert refused(leader).id == "metadata-log-not-given"


def records(data: bytes) -> Callable[[str, dict[str, Any]], None]:
    def spoil(name: str, partition: dict[str, Any]) -> None:
        if name == "Fetch":
            partition["Records"] = data

    return spoil


def changed(**values: Any) -> Callable[[str, dict[str, Any]], None]:
    def spoil(name: str, partition: dict[str, Any]) -> None:
        if name == ("Fetch" if "DivergingEpoch" in values else "FetchSnapshot"):
            partition.update(values)

    return spoil


class TestHostileAnswers:
    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (batch(1), "offset 0 is next"),
            (batch(0) + batch(2), "offset 1 is next"),
            (batch(0)[:-1] + b"!", "CRC"),
            (batch(0)[:-1], "cut short"),
            (b"nonsense", "cut short"),
            (bytes(80), "length"),
            (batch(0, 1, 4), "epoch 4"),
            (batch(0, 1, 3) + batch(1, 1, 2), "behind epoch 3"),
            (batch(0, 9), "committed up to 3"),
            (b"\xff" * 200, "cut short"),
        ],
    )
    def test_impossible_batches_are_refused(self, data: bytes, words: str) -> None:
        leader = Leader([batch(0), batch(1), batch(2)])
        leader.spoil = records(data)
        error = refused(leader)
        assert error.id == "invalid-fetch-response"
        assert words.lower() in error.message.lower()

    @pytest.mark.parametrize(
        "values",
        [
            {"Position": 7},
            {"SnapshotId": {"EndOffset": 11, "Epoch": 2}},
            {"Size": -1},
            {"Size": 50},
            {"UnalignedRecords": b""},
            {"DivergingEpoch": {"Epoch": 1, "EndOffset": 4}, "SnapshotId": {}},
        ],
    )
    def test_impossible_snapshots_are_refused(self, values: dict[str, Any]) -> None:
        leader = Leader([batch(10)], snapshot=(10, 2), start=10)
        leader.spoil = changed(**values)
        assert refused(leader).id == "invalid-fetch-response"

    def test_snapshot_that_is_too_large_is_not_begun(self) -> None:
        leader = Leader([batch(10)], snapshot=(10, 2), start=10)
        leader.spoil = changed(Size=2**62)
        assert refused(leader).id == "snapshot-too-large"
        assert leader.names().count("FetchSnapshot") == 1

    def test_log_that_has_no_end_is_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(metadata_fetch, "MOST_LOG_BYTES", 1000)
        leader = Leader([batch(offset) for offset in range(100)])
        error = refused(leader)
        assert error.id == "metadata-log-too-large"
        assert "1000 bytes" in error.message
        assert leader.names().count("Fetch") < 50

    def test_deleted_snapshot_is_replaced_by_the_newer_one(self) -> None:
        leader = Leader([batch(10), batch(11)], snapshot=(10, 2), start=10)

        def gone(name: str, partition: dict[str, Any]) -> None:
            if name == "FetchSnapshot" and leader.snapshot == (10, 2):
                partition.update(ErrorCode=98)
                leader.snapshot, leader.start = (11, 3), 11

        leader.spoil = gone
        log = log_of(leader)
        assert log.snapshot is not None
        assert (log.snapshot.end_offset, b"".join(log.pieces())) == (11, batch(11))

    def test_fetch_is_refused_without_permission(self) -> None:
        leader = Leader([batch(0)])
        leader.top_error = 31
        error = refused(leader)
        assert (error.id, error.exit_code) == ("not-authorised", 4)
