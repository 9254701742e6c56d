"""The fold: what is dropped, what harms brokers, what cannot be read, and records in several metadata partitions."""

from __future__ import annotations

import gzip

import pytest

from kafkactl.core.values import Uuid
from kafkactl.tiered.ledger import LogFacts, MetadataLog, fold
from kafkactl.tiered.ledger_bytes import packed, take_facts, unpacked
from kafkactl.tiered.reading import read_fast, read_records
from tests.protocol.batches import batch, record
from tests.tiered.logs import DELETED, DELETING, FINISHED, STARTED, LogOf, Topic, folded, segment_uuid

TOPIC = Topic("orders", 1)
KEY = TOPIC.key(0)


def test_illegal_transitions_and_updates_without_base_are_dropped_and_noted():
    log = LogOf(0).add(
        TOPIC.copied(0, "a", 0, 9),
        TOPIC.started(0, "a", 0, 9),
        TOPIC.update(0, "a", DELETED),
        TOPIC.update(0, "unknown", FINISHED),
    )
    partition = folded(log).partitions[KEY]
    assert [(drop.why, drop.offset, drop.before, drop.after) for drop in partition.drops] == [
        ("illegal-transition", 2, FINISHED, STARTED),
        ("illegal-transition", 3, FINISHED, DELETED),
        ("update-without-base", 4, None, FINISHED),
    ]
    assert partition.table[segment_uuid("a").raw].records == 2


def test_same_state_again_is_not_dropped_and_takes_its_fields():
    log = LogOf(0).add(
        TOPIC.copied(0, "a", 0, 9),
        TOPIC.update(0, "a", DELETING, custom=b"x"),
        TOPIC.update(0, "a", DELETING, broker=3, at=7),
    )
    segment = folded(log).partitions[KEY].table[segment_uuid("a").raw]
    assert (segment.delete_starts, segment.broker_id, segment.custom_metadata, segment.records) == (2, 3, None, 4)


def test_first_delete_of_a_new_leader_is_not_a_refusal():
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 9))
    refused = []
    for broker in (1, 2, 1, 1, 1):
        log.add(TOPIC.update(0, "a", DELETING, broker=broker))
        segment = folded(log).partitions[KEY].table[segment_uuid("a").raw]
        refused.append((segment.delete_starts, segment.refused_deletes))
    assert refused == [(1, 0), (2, 0), (3, 0), (4, 1), (5, 2)]


def test_id_that_was_deleted_is_forgotten():
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 9), TOPIC.deleted(0, "a"), TOPIC.update(0, "a", DELETED))
    ledger = folded(log, keep_deleted=True)
    assert not ledger.partitions[KEY].table
    assert list(ledger.partitions[KEY].deleted or {}) == [segment_uuid("a").raw]
    assert ledger.partitions[KEY].drops[0].why == "update-without-base"


def test_poison_of_each_kind_is_found():
    log = LogOf(0).add(
        b"\1\x63\0",
        None,
        TOPIC.started(0, "b", 0, 9, state=FINISHED),
        TOPIC.started(0, "a", 0, 9),
        TOPIC.update(0, "a", STARTED),
        TOPIC.partition_delete(0),
        TOPIC.started(0, "c", 10, 19),
    )
    ledger = folded(log)
    assert [(poison.why, poison.offset) for poison in ledger.poison] == [
        ("undecodable", 0),
        ("undecodable", 1),
        ("base-record-not-started", 2),
        ("update-to-copy-started", 4),
        ("after-partition-delete", 6),
    ]
    (record_of_delete,) = ledger.partition_deletes
    assert (record_of_delete.offset, record_of_delete.segments) == (5, 1)
    assert [segment.forgotten_by for segment in ledger.partitions[KEY].forgotten] == ["partition-delete-record"]


def test_partition_delete_that_is_not_finished_changes_nothing():
    log = LogOf(0).add(TOPIC.partition_delete(0, 0), TOPIC.partition_delete(0, 1), TOPIC.copied(0, "a", 0, 9))
    ledger = folded(log)
    assert not ledger.partition_deletes
    assert not ledger.poison
    assert len(ledger.partitions[KEY].table) == 1


def test_batches_of_several_records_and_control_batches_are_read():
    log = LogOf(0).batch([*TOPIC.copied(0, "a", 0, 9), *TOPIC.copied(0, "b", 10, 19)]).control()
    ledger = folded(log)
    assert len(ledger.partitions[KEY].table) == 2
    facts = ledger.logs[0]
    assert (facts.records, facts.end_offset, facts.is_complete) == (4, 5, True)


def test_compressed_batches_are_read():
    values = TOPIC.copied(0, "a", 0, 9)
    body = b"".join(record(None, value, delta=at) for at, value in enumerate(values))
    data = batch(gzip.compress(body), count=2, attributes=1)
    log = MetadataLog(partition=0, paths=(), log_start=0, read=lambda: read_records([data], file="m0"))
    assert len(fold([log]).partitions[KEY].table) == 1


def test_codec_that_is_not_there_is_never_poison(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    data = batch(b"anything", count=1, attributes=4)
    log = MetadataLog(partition=0, paths=(), log_start=0, read=lambda: read_records([data], file="m0"))
    ledger = fold([log])
    assert not ledger.poison
    assert not ledger.logs[0].is_complete
    assert ledger.logs[0].unread[0].error.id == "unsupported-compression"


def test_damage_in_the_middle_and_a_cut_end_are_reported():
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 9))
    cut = len(log.data)
    log.add(TOPIC.copied(0, "b", 10, 19))
    damaged = bytearray(log.data)
    damaged[cut + 80] ^= 0xFF
    for data, is_tail in ((bytes(damaged), False), (log.data[:-10], True)):
        read = MetadataLog(partition=0, paths=(), log_start=0, read=lambda data=data: read_records([data], file="m0"))
        facts = fold([read]).logs[0]
        assert [part.is_tail for part in facts.unread] == [is_tail]
        assert facts.is_complete is is_tail


def test_missing_piece_of_the_log_is_noted():
    first, second = LogOf(0).add(TOPIC.copied(0, "a", 0, 9)), LogOf(0, 7).add(TOPIC.copied(0, "b", 10, 19))
    log = MetadataLog(
        partition=0, paths=(), log_start=0, read=lambda: read_records([first.data + second.data], file="m0")
    )
    facts = fold([log]).logs[0]
    assert (facts.missing, facts.is_complete) == ([(2, 7)], False)


@pytest.mark.parametrize("is_fast", [False, True])
@pytest.mark.parametrize("empty", [b"", batch(b"", count=0, base_offset=4, last_delta=0)])
def test_records_that_the_log_cleaner_removed_are_noted(is_fast: bool, empty: bytes):
    # Neither a whole log nor a missing file: offsets lack in one file, and perhaps an empty batch is left of them.
    kept = LogOf(0, 5).add(TOPIC.copied(0, "b", 10, 19), TOPIC.copied(0, "c", 20, 29))
    make = read_fast if is_fast else read_records
    log = MetadataLog(partition=0, paths=(), log_start=0, read=lambda: make([empty + kept.data], file="m0"))
    facts = fold([log]).logs[0]
    assert (facts.removed_to, facts.missing, facts.is_complete) == (5, [(0, 5)], False)
    again = LogFacts(log)
    take_facts(again, unpacked(packed(fold([log]), facts)).facts)
    assert again.removed_to == 5


def test_records_in_two_metadata_partitions_are_merged_by_time():
    # The number of metadata partitions was changed: the delete lies in a partition that is read first.
    old, new = LogOf(3).add(TOPIC.copied(0, "a", 0, 9), TOPIC.copied(0, "b", 10, 19)), LogOf(1)
    new.clock_ms = old.clock_ms
    new.add(TOPIC.deleted(0, "a"), TOPIC.copied(0, "c", 20, 29))
    ledger = folded(new, old)
    partition = ledger.partitions[KEY]
    assert {str(Uuid(raw)) for raw in partition.table} == {str(segment_uuid("b")), str(segment_uuid("c"))}
    assert not partition.drops
    assert partition.records_in == {3: 4, 1: 4}


def test_segment_below_the_log_start_is_marked():
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 9), TOPIC.copied(0, "b", 10, 19))
    ledger = fold([log.log(log_start=2)])
    table = ledger.partitions[KEY].table
    assert table[segment_uuid("a").raw].forgotten_by == "metadata-log-start"
    assert table[segment_uuid("b").raw].forgotten_by is None


def test_watched_ids_are_remembered():
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 9), TOPIC.copied(0, "b", 0, 9), TOPIC.deleted(0, "b"))
    watched = frozenset(segment_uuid(name).raw for name in "abz")
    ledger = folded(log, watched=watched)
    assert ledger.named == {segment_uuid("a").raw, segment_uuid("b").raw}
    assert list(ledger.deleted_at) == [segment_uuid("b").raw]
