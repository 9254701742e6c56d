"""Checkpoints: Kafka's own, read whole and written again to the byte; and damaged ones."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.cluster.quorum.voter_sets import Voter, voters_data, voters_of
from kafkactl.core.errors import DecodeError, EncodeError
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.metadata.log.checkpoint import (
    Checkpoint,
    decode_checkpoint,
    encode_bootstrap_checkpoint,
    encode_first_checkpoint,
)
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.log.frame import MetadataRecord, encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.record_size import record_size
from kafkactl.protocol.schema.definitions import message
from tests.metadata.goldens import BATCH_FILES, CHECKPOINTS, at_time, golden, rewritten
from tests.protocol.random_messages import mutated

NOW_MS = 1_795_170_456_931
HEADER = encode_control_record(ControlType.SNAPSHOT_HEADER, {"LastContainedLogTimestamp": 5})
FOOTER = encode_control_record(ControlType.SNAPSHOT_FOOTER, {})


def feature(name: str, level: int) -> MetadataRecord:
    data = {"Name": name, "FeatureLevel": level}
    return MetadataRecord(type="FeatureLevelRecord", api_key=12, version=0, data=data)


def len_of_feature(name_bytes: int) -> int:
    """Return the size of a framed FeatureLevelRecord with a name of so many bytes."""
    return len(encode_record(message("FeatureLevelRecord"), 0, {"Name": "n" * name_bytes, "FeatureLevel": 1}))


def records_of(checkpoint: Checkpoint) -> list[MetadataRecord]:
    return [record for _, record in checkpoint.records]


def ids(data: bytes) -> list[str]:
    return [problem.id for problem in decode_checkpoint(data).problems]


class TestGoldens:
    @pytest.mark.parametrize("name", BATCH_FILES)
    def test_every_file_is_written_again_byte_for_byte(self, name: str):
        assert rewritten(golden(name)) == golden(name)

    @pytest.mark.parametrize("name", CHECKPOINTS)
    def test_every_checkpoint_is_complete(self, name: str):
        found = decode_checkpoint(golden(name), file=name)
        assert found.problems == ()
        assert found.is_complete
        assert found.footer
        assert found.epoch == (1 if name.startswith("snapshot") else 0)

    @pytest.mark.parametrize("name", [name for name in CHECKPOINTS if name.startswith("bootstrap")])
    def test_bootstrap_checkpoints_are_made_alike(self, name: str):
        found = decode_checkpoint(golden(name))
        assert encode_bootstrap_checkpoint(records_of(found), NOW_MS) == at_time(golden(name), NOW_MS)

    @pytest.mark.parametrize("name", [name for name in CHECKPOINTS if name.startswith("first")])
    def test_first_checkpoints_are_made_alike(self, name: str):
        found = decode_checkpoint(golden(name))
        made = encode_first_checkpoint(
            now_ms=NOW_MS, kraft_version=found.kraft_version, voters=found.voters, records=records_of(found)
        )
        assert made == at_time(golden(name), NOW_MS)

    def test_vector_b_says_what_it_was_made_from(self):
        found = decode_checkpoint(golden("first-3.9-two-voters.checkpoint.bin"))
        assert found.kraft_version == 1
        assert found.records == ()
        assert found.voters == (
            Voter(
                node_id=0,
                directory_id=Uuid.parse("JEXY6aqzQY-32P5TStzaFg"),
                endpoints=(Endpoint(listener="CONTROLLER", host="example.com", port=8082),),
            ),
            Voter(
                node_id=1,
                directory_id=Uuid.parse("MvDxzVmcRsaTz33bUuRU6A"),
                endpoints=(Endpoint(listener="CONTROLLER", host="0:0:0:0:0:0:0:1", port=8083),),
            ),
        )

    def test_vector_c_says_what_it_was_made_from(self):
        found = decode_checkpoint(golden("first-4.4-static.checkpoint.bin"))
        assert (found.kraft_version, found.voters) == (None, None)
        assert [(offset, record.data["Name"], record.data["FeatureLevel"]) for offset, record in found.records] == [
            (1, "metadata.version", 30),
            (2, "eligible.leader.replicas.version", 1),
            (3, "group.version", 1),
            (4, "share.version", 1),
            (5, "streams.version", 1),
            (6, "transaction.version", 2),
        ]

    def test_snapshot_of_a_running_node_is_decoded(self):
        found = decode_checkpoint(golden("snapshot-3.9.2-standalone.checkpoint.bin"))
        types = [record.type for record in records_of(found)]
        assert types[:2] == ["FeatureLevelRecord", "ZkMigrationStateRecord"]
        assert {"RegisterBrokerRecord", "RegisterControllerRecord"} <= set(types)
        assert found.header is not None
        assert found.header.last_contained_log_timestamp_ms > 1_700_000_000_000


class TestWriting:
    def test_bootstrap_header_has_no_time_and_the_first_has(self):
        records = [feature("metadata.version", 21)]
        bootstrap = decode_checkpoint(encode_bootstrap_checkpoint(records, NOW_MS))
        first = decode_checkpoint(encode_first_checkpoint(now_ms=NOW_MS, records=records))
        assert bootstrap.header is not None and bootstrap.header.last_contained_log_timestamp_ms == 0
        assert first.header is not None and first.header.last_contained_log_timestamp_ms == NOW_MS
        assert {batch.max_timestamp_ms for batch in (*bootstrap.batches, *first.batches)} == {NOW_MS}

    def test_no_records_means_no_data_batch(self):
        found = decode_checkpoint(encode_first_checkpoint(now_ms=1, kraft_version=1, voters=[]))
        assert [batch.is_control for batch in found.batches] == [True, True]
        assert (found.kraft_version, found.voters) == (1, ())

    def test_kraft_version_0_is_not_written(self):
        assert decode_checkpoint(encode_first_checkpoint(now_ms=1, kraft_version=0)).kraft_version is None

    def test_records_beyond_8_mib_take_another_batch(self):
        records = [feature("n" * 30_000, level % 100) for level in range(600)]
        found = decode_checkpoint(encode_bootstrap_checkpoint(records, NOW_MS))
        assert found.is_complete
        assert records_of(found) == records
        data_batches = [batch for batch in found.batches if not batch.is_control]
        assert [batch.size_bytes <= 8 * 1024 * 1024 for batch in data_batches] == [True] * 3
        assert data_batches[0].size_bytes > 8 * 1024 * 1024 - 31_000

    @pytest.mark.slow
    def test_batch_of_exactly_8_mib_is_still_one(self):
        # As in Kafka 4.3.1 and 4.4.0, tried with the byte less and the byte more.
        records = [feature("n" * 30_000, 1) for _ in range(279)]
        (_, data, _) = decode_checkpoint(encode_bootstrap_checkpoint(records, 1)).batches
        room = 8 * 1024 * 1024 - data.size_bytes
        last = next(size for size in range(room) if record_size(279, None, bytes(len_of_feature(size))) == room)
        full = decode_checkpoint(encode_first_checkpoint(now_ms=1, records=[*records, feature("n" * last, 1)]))
        assert [batch.size_bytes for batch in full.batches[1:-1]] == [8 * 1024 * 1024]
        over = decode_checkpoint(encode_bootstrap_checkpoint([*records, feature("n" * (last + 1), 1)], 1))
        assert [batch.record_count for batch in over.batches] == [1, 279, 1, 1]

    def test_first_checkpoint_has_room_for_one_batch_as_in_kafka(self):
        records = [feature("n" * 30_000, level % 100) for level in range(280)]
        assert decode_checkpoint(encode_first_checkpoint(now_ms=1, records=records[:279])).is_complete
        with pytest.raises(EncodeError) as caught:
            encode_first_checkpoint(now_ms=1, records=records)
        assert caught.value.id == "records-too-large"

    def test_voters_round_trip(self):
        voter = Voter(
            node_id=7,
            directory_id=Uuid(bytes(16)),
            endpoints=(Endpoint(listener="A", host="h", port=1), Endpoint(listener="B", host="h", port=65535)),
            min_kraft_version=1,
            max_kraft_version=2,
        )
        assert voters_of(voters_data([voter])) == (voter,)


class TestDamage:
    GOOD = golden("first-4.4.0-standalone.checkpoint.bin")

    def test_empty_file_is_reported(self):
        found = decode_checkpoint(b"", file="f")
        assert [problem.id for problem in found.problems] == ["no-snapshot-header", "no-snapshot-footer"]
        assert (found.header, found.epoch, found.batches) == (None, None, ())

    def test_cut_inside_the_first_batch_is_reported(self):
        assert ids(self.GOOD[:50]) == ["truncated-batch", "no-snapshot-header", "no-snapshot-footer"]

    def test_cut_inside_the_footer_keeps_the_records(self):
        found = decode_checkpoint(self.GOOD[:-3])
        assert [problem.id for problem in found.problems] == ["truncated-batch", "no-snapshot-footer"]
        assert len(found.records) == 7
        assert not found.footer

    @pytest.mark.parametrize("size", range(0, 601, 13))
    def test_any_cut_is_a_problem(self, size: int):
        found = decode_checkpoint(self.GOOD[:size])
        assert found.is_complete == (size >= len(self.GOOD))

    def test_wrong_crc_is_reported_and_the_records_are_read(self):
        found = decode_checkpoint(self.GOOD[:17] + bytes(4) + self.GOOD[21:])
        assert [problem.id for problem in found.problems] == ["crc-mismatch"]
        assert found.kraft_version == 1
        assert len(found.records) == 7

    def test_one_bad_record_does_not_hide_the_others(self):
        good = encode_bootstrap_checkpoint([feature("a", 1)], 0)
        values = [b"\x01\x0c\x00\x02a\x00\x01\x00", b"\x01\x7e\x00", b"\x01\x0c\x00\x02b\x00\x02\x00"]
        data = good[:83] + encode_batch([(None, value) for value in values], base_offset=1, timestamp_ms=0)
        found = decode_checkpoint(data + encode_batch([FOOTER], base_offset=4, timestamp_ms=0, is_control=True))
        assert [problem.id for problem in found.problems] == ["unknown-record-type"]
        assert [record.data["Name"] for record in records_of(found)] == ["a", "b"]

    def test_misplaced_control_records_are_reported(self):
        def control(*records: tuple[bytes, bytes], offset: int) -> bytes:
            return encode_batch(records, base_offset=offset, timestamp_ms=0, is_control=True)

        voters = encode_control_record(ControlType.KRAFT_VOTERS, voters_data([]))
        data = encode_batch([(None, b"\x01\x14\x00\x00")], base_offset=1, timestamp_ms=0)
        keyed = encode_batch([(b"k", b"\x01\x14\x00\x00")], base_offset=1, timestamp_ms=0)
        head, foot = control(HEADER, offset=0), control(FOOTER, offset=2)
        assert ids(head + data + foot) == []
        assert ids(head + keyed + foot) == ["not-a-metadata-record"]
        assert ids(head + foot) == ["offset-gap"]
        assert ids(head + data + foot + control(FOOTER, offset=3)) == ["data-after-footer"]
        assert ids(head + control(HEADER, offset=1) + foot) == ["misplaced-control-record"]
        assert ids(control(FOOTER, offset=0)) == ["misplaced-control-record", "no-snapshot-header"]
        assert ids(control(HEADER, voters, offset=0) + foot) == ["voters-without-kraft-version"]
        assert ids(control(voters, HEADER, offset=0) + foot) == [
            "misplaced-control-record", "misplaced-control-record", "voters-without-kraft-version",
        ]  # fmt: skip
        assert ids(control((b"\0\0\0\x63", b""), offset=0) + foot) == [
            "unknown-control-record",
            "offset-gap",
            "no-snapshot-header",
        ]

    def test_positions_and_file_are_reported(self):
        found = decode_checkpoint(self.GOOD[:-3], file="0-0.checkpoint")
        assert [(error.file, error.offset) for error in found.problems] == [
            ("0-0.checkpoint", len(self.GOOD) - 75 + 8),
            ("0-0.checkpoint", len(self.GOOD) - 3),
        ]

    @given(st.sampled_from(CHECKPOINTS), st.randoms(use_true_random=False))
    def test_damaged_checkpoints_give_a_checkpoint(self, name: str, rng: random.Random):
        found = decode_checkpoint(mutated(rng, golden(name)))
        assert all(isinstance(problem, DecodeError) for problem in found.problems)

    @given(st.binary(max_size=300))
    def test_any_bytes_give_a_checkpoint_with_problems(self, data: bytes):
        assert not decode_checkpoint(data).is_complete
