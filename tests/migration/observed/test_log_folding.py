"""Facts about a migration in a metadata log, in addition to its image."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.metadata.image.snapshot_writer import snapshot_name
from kafkactl.metadata.io.source import open_source
from kafkactl.migration.copy.records import copy_batches
from kafkactl.migration.copy.rules import copy_rules
from kafkactl.migration.io.saved_observation import log_facts_of
from kafkactl.protocol.catalog.releases import KafkaVersion
from tests.metadata.snapshots import encode_snapshot
from tests.migration.migration_logs import (
    TIME_MS,
    LogWriter,
    bootstrap,
    broker,
    controller,
    copy,
    framed,
    record,
    unfence,
    uuid,
)
from tests.migration.zk_trees import parsed


def _batches(*, transactions: bool = True):
    rules = copy_rules(KafkaVersion(3, 9, 2))
    return list(copy_batches(parsed(), rules, acl_id=uuid, transactions=transactions))


def _facts(log: LogWriter, tmp_path: Path):
    log.write(tmp_path)
    return log_facts_of(open_source(str(tmp_path)))


def test_waiting_quorum_is_recognised(tmp_path: Path):
    log = LogWriter()
    bootstrap(log)
    facts = _facts(log, tmp_path)
    assert facts.migration_states == ((3, 2),)
    assert facts.migration_state == 2
    assert (facts.first_offset, facts.last_offset, facts.end_offset, facts.epoch) == (0, 5, 6, 1)
    assert (facts.copy_begin, facts.copy_end, facts.copy_records) == (None, None, ())
    assert facts.controllers[3001].zk_migration_ready
    assert [
        (leader_change.epoch, leader_change.leader_id, leader_change.at_ms) for leader_change in facts.leader_changes
    ] == [(1, 3001, TIME_MS)]
    assert facts.high_watermark is None


def test_broker_that_entered_and_left_again_is_still_registered(tmp_path: Path):
    # zk-migration-measured 2.1.
    log = LogWriter()
    bootstrap(log)
    epoch = broker(log, 1)
    unfence(log, 1, epoch)
    again = broker(log, 2)
    unfence(log, 2, again)
    unfence(log, 2, again, fenced=1)
    facts = _facts(log, tmp_path)
    first, second = facts.registrations[1], facts.registrations[2]
    assert (first.offset, first.epoch, first.migrating, first.fenced) == (epoch, epoch, True, False)
    assert second.fenced
    assert first.directories == (uuid(101),)
    assert {event.at_ms for event in facts.registration_events} == {TIME_MS}
    assert [(event.id, event.what) for event in facts.registration_events] == [
        (1, "register"),
        (1, "unfence"),
        (2, "register"),
        (2, "unfence"),
        (2, "fence"),
    ]


def test_broker_on_kraft_was_migrating_once(tmp_path: Path):
    log = LogWriter()
    bootstrap(log)
    broker(log, 1)
    broker(log, 1, migrating=False)
    broker(log, 2)
    log.batch(record("UnregisterBrokerRecord", BrokerId=2, BrokerEpoch=log.offset - 1))
    facts = _facts(log, tmp_path)
    assert list(facts.registrations) == [1]
    assert not facts.registrations[1].migrating
    assert facts.registrations[1].ever_migrating


def test_copy_and_what_came_after(tmp_path: Path):
    log = LogWriter()
    bootstrap(log)
    batches = _batches()
    begin, end = copy(log, batches)
    log.batch(record("NoOpRecord"))
    removal = log.batch(record("RemoveUserScramCredentialRecord", Name="alice", Mechanism=1))
    facts = _facts(log, tmp_path)
    assert (facts.copy_begin, facts.copy_end) == (begin, end)
    between = [entry for batch in batches for entry in batch][1:-1]
    assert [framed(entry) for entry in facts.copy_records] == [framed(entry) for entry in between]
    assert facts.migration_states == ((3, 2), (end - 1, 1))
    assert [fact.record.type for fact in facts.since_copy] == ["RemoveUserScramCredentialRecord"]
    assert [(fact.offset, fact.user, fact.mechanism) for fact in facts.scram_removed_since_snapshot] == [
        (removal, "alice", 1)
    ]
    assert facts.image.zk_migration_state == 1


def test_copy_that_was_aborted_and_made_again(tmp_path: Path):
    log = LogWriter()
    bootstrap(log)
    batches = _batches()
    log.batch(*batches[0])
    log.batch(*batches[1])
    log.leader(3002, epoch=2)
    abort = log.batch(record("AbortTransactionRecord", Reason="Controller failover"))
    first = _facts(log, tmp_path)
    assert first.copy_begin is None
    begin, end = copy(log, batches)
    facts = _facts(log, tmp_path)
    assert (facts.copy_begin, facts.copy_end) == (begin, end)
    (aborted,) = facts.aborted_copies
    assert (aborted.abort, aborted.records, aborted.reason) == (abort, len(batches[1]), "Controller failover")
    assert [state for _, state in facts.migration_states] == [2, 1]
    assert facts.epoch == 2


def test_copy_that_is_under_way(tmp_path: Path):
    log = LogWriter()
    bootstrap(log)
    batches = _batches()
    begin = log.batch(*batches[0])
    log.batch(*batches[1])
    facts = _facts(log, tmp_path)
    assert (facts.copy_begin, facts.copy_end) == (begin, None)
    assert [framed(copy_record) for copy_record in facts.copy_records] == [framed(batch) for batch in batches[1]]
    assert facts.migration_state == 2


def test_copy_without_a_transaction_is_recognised(tmp_path: Path):
    # Below metadata.version 3.6-IV1; registrations before and after it are none of it.
    log = LogWriter()
    bootstrap(log, level=11)
    broker(log, 1)
    begin, last = copy(log, _batches(transactions=False))
    broker(log, 1, migrating=False)
    facts = _facts(log, tmp_path)
    assert (facts.copy_begin, facts.copy_end) == (begin, last)
    assert facts.copy_records[-1].type == "ZkMigrationStateRecord"
    assert facts.copy_records[0].type == "TopicRecord"


def test_log_that_begins_with_a_snapshot(tmp_path: Path):
    log = LogWriter()
    bootstrap(log)
    epoch = broker(log, 1)
    copy(log, _batches())
    log.batch(record("RemoveUserScramCredentialRecord", Name="alice", Mechanism=1))
    image = _facts(log, tmp_path / "whole").image
    place = tmp_path / "cut"
    rest = LogWriter(log.offset)
    broker(rest, 2)
    removal = rest.batch(record("RemoveUserScramCredentialRecord", Name="bob@x.com", Mechanism=2))
    folder = rest.write(place)
    snapshot = encode_snapshot(image, epoch=1, last_contained_log_timestamp_ms=TIME_MS, now_ms=TIME_MS)
    (folder / snapshot_name(log.offset, 1)).write_bytes(snapshot)
    facts = log_facts_of(open_source(str(place)))
    assert facts.snapshot_end_offset == log.offset
    assert facts.first_offset == log.offset
    assert facts.migration_states == ((log.offset - 1, 1),)
    assert facts.registrations[1].offset == epoch
    assert facts.registrations[1].migrating
    assert set(facts.registrations) == {1, 2}
    assert [removal.offset for removal in facts.scram_removed_since_snapshot] == [removal]
    assert (facts.copy_begin, facts.copy_end) == (None, None)


@pytest.mark.parametrize("ready", [True, False])
def test_last_word_of_a_controller_counts(tmp_path: Path, ready: bool):
    log = LogWriter()
    bootstrap(log)
    log.batch(controller(3001, ready=ready))
    assert _facts(log, tmp_path).controllers[3001].zk_migration_ready is ready


_BROKER = st.integers(1, 3)
_EVENTS = st.one_of(
    st.tuples(st.just("register"), _BROKER, st.booleans()),
    st.tuples(st.sampled_from(["fence", "unfence", "change", "leave", "unregister"]), _BROKER, st.booleans()),
    st.tuples(st.sampled_from(["begin", "end", "abort", "state", "noop"]), _BROKER, st.booleans()),
)


@given(events=st.lists(_EVENTS, max_size=25), batch_size=st.integers(1, 4))
def test_folded_facts_agree_with_the_image(events, batch_size: int, tmp_path_factory: pytest.TempPathFactory):
    # Whatever the records are, in transactions or not: two folds over one log, one answer.
    log = LogWriter()
    bootstrap(log)
    epochs: dict[int, int] = {}
    records = []
    for at, (what, id, flag) in enumerate(events):
        offset = log.offset + at
        epoch = epochs.get(id, 0) + (0 if flag else 1)  # a change with another epoch than the registration's
        if what == "register":
            epochs[id] = offset
            records.append(
                record("RegisterBrokerRecord", 3, BrokerId=id, BrokerEpoch=offset, IsMigratingZkBroker=flag,
                       IncarnationId=uuid(id), EndPoints=[], Features=[], LogDirs=[uuid(100 + id)], Rack=None)
            )  # fmt: skip
        else:
            records.append(
                {
                    "fence": record("FenceBrokerRecord", Id=id, Epoch=epoch),
                    "unfence": record("UnfenceBrokerRecord", Id=id, Epoch=epoch),
                    "change": record("BrokerRegistrationChangeRecord", 2, BrokerId=id, BrokerEpoch=epoch, Fenced=-1),
                    "leave": record(
                        "BrokerRegistrationChangeRecord", 2, BrokerId=id, BrokerEpoch=epoch, InControlledShutdown=1
                    ),
                    "unregister": record("UnregisterBrokerRecord", BrokerId=id, BrokerEpoch=epoch),
                    "begin": record("BeginTransactionRecord", Name="ZK Migration" if flag else None),
                    "end": record("EndTransactionRecord"),
                    "abort": record("AbortTransactionRecord", Reason="x"),
                    "state": record("ZkMigrationStateRecord", ZkMigrationState=id),
                    "noop": record("NoOpRecord"),
                }[what]
            )
    for at in range(0, len(records), batch_size):
        log.batch(*records[at : at + batch_size])
    facts = _facts(log, tmp_path_factory.mktemp("log"))
    expected = {
        id: (registration.epoch, registration.migrating, registration.fenced, registration.in_controlled_shutdown)
        for id, registration in facts.registrations.items()
    }
    assert expected == {
        id: (registered.epoch, registered.is_migrating_zk_broker, registered.fenced, registered.in_controlled_shutdown)
        for id, registered in facts.image.brokers.items()
    }
    assert facts.migration_state == facts.image.zk_migration_state
