from __future__ import annotations

from typing import Any

import pytest

from kafkactl.cluster.quorum.voter_sets import Voter, voters_data
from kafkactl.cluster.registrations import READ_KEYS, RegistrationLog, Registrations
from kafkactl.core.values import Endpoint, Uuid
from kafkactl.protocol.control_records import ControlRecord, ControlType
from kafkactl.protocol.log.frame import decode_record, encode_record
from kafkactl.protocol.schema.definitions import metadata_record
from kafkactl.protocol.schema.spec import Versions

ID = Uuid(b"\1" * 16)
TOPIC = Uuid(b"\2" * 16)
OTHER = Uuid(b"\3" * 16)


def record(api_key: int, version: int | None = None, **data: Any) -> Any:
    spec = metadata_record(api_key)
    return decode_record(encode_record(spec, spec.valid_versions.highest if version is None else version, data))


def broker(broker_id: int, low: int = 7, high: int = 25, *, fenced: bool = True, **more: Any) -> Any:
    endpoint = {"Name": "PLAINTEXT", "Host": "b", "Port": 9092, "SecurityProtocol": 0}
    feature = {"Name": "metadata.version", "MinSupportedVersion": low, "MaxSupportedVersion": high}
    return record(
        0, BrokerId=broker_id, IncarnationId=ID, BrokerEpoch=40, EndPoints=[endpoint], Features=[feature], Rack=None,
        Fenced=fenced, **more,
    )  # fmt: skip


def controller(controller_id: int, high: int = 25, incarnation: Uuid = ID) -> Any:
    feature = {"Name": "metadata.version", "MinSupportedVersion": 7, "MaxSupportedVersion": high}
    return record(
        27, ControllerId=controller_id, IncarnationId=incarnation, ZkMigrationReady=False, EndPoints=[],
        Features=[feature],
    )  # fmt: skip


def read(*records: Any) -> Registrations:
    log = RegistrationLog()
    for entry in records:
        log.add(entry)
    return log.registrations()


def test_broker_is_what_it_said_and_what_was_said_of_it_later() -> None:
    registered = read(
        broker(4, LogDirs=[ID]),
        record(17, BrokerId=4, BrokerEpoch=40, Fenced=-1),
        record(17, BrokerId=4, BrokerEpoch=40, InControlledShutdown=1),
        record(17, BrokerId=4, BrokerEpoch=40, CordonedLogDirs=[ID]),
    ).brokers[4]
    assert (registered.fenced, registered.in_controlled_shutdown, registered.epoch) == (False, True, 40)
    assert registered.features == {"metadata.version": Versions(7, 25)}
    assert registered.endpoints == (Endpoint(listener="PLAINTEXT", host="b", port=9092),)
    assert registered.directory_ids == registered.cordoned == (ID,)


@pytest.mark.parametrize(("api_key", "fenced"), [(7, True), (8, False)])
def test_fencing_records_of_old_levels_are_applied(api_key: int, fenced: bool) -> None:
    assert read(broker(4, fenced=not fenced), record(api_key, Id=4, Epoch=40)).brokers[4].fenced is fenced


def test_unregistered_nodes_are_gone() -> None:
    found = read(
        broker(4), controller(1), controller(9), record(1, BrokerId=4, BrokerEpoch=40), record(29, ControllerId=9)
    )
    assert dict(found.brokers) == {}
    assert list(found.controllers) == [1]


def test_controller_that_registers_again_replaces_its_range() -> None:
    assert read(controller(9, 25), controller(9, 30)).controllers[9].features["metadata.version"] == Versions(7, 30)


def test_level_zero_removes_a_feature() -> None:
    levels = read(
        record(12, Name="group.version", FeatureLevel=1),
        record(12, Name="metadata.version", FeatureLevel=25),
        record(12, Name="group.version", FeatureLevel=0),
    ).levels
    assert levels == {"metadata.version": 25}


def test_replicas_are_counted_where_they_stand_now() -> None:
    found = read(
        record(3, TopicId=TOPIC, PartitionId=0, Replicas=[1, 2], Isr=[1], Leader=1),
        record(3, TopicId=TOPIC, PartitionId=1, Replicas=[2], Isr=[2], Leader=2),
        record(5, TopicId=TOPIC, PartitionId=0, Replicas=[1, 3]),
        record(5, TopicId=TOPIC, PartitionId=1, Leader=-1),
    )
    assert found.hosted == {1: 1, 2: 1, 3: 1}
    assert found.leaderless == {2: 1}
    assert read(record(3, TopicId=TOPIC, PartitionId=0, Replicas=[1]), record(9, TopicId=TOPIC)).hosted == {}


def test_transaction_counts_when_it_ends() -> None:
    inside = [record(23, Name="t"), broker(4)]
    assert read(*inside).brokers == {}
    assert read(*inside, record(25, Reason="no"), broker(5)).brokers.keys() == {5}
    assert read(*inside, record(24)).brokers.keys() == {4}


def test_control_records_tell_of_the_quorum() -> None:
    log = RegistrationLog()
    voter = Voter(node_id=1, directory_id=ID, endpoints=())
    log.add_control(ControlRecord(type=ControlType.KRAFT_VERSION, data={"Version": 0, "KRaftVersion": 1}), 0)
    log.add_control(ControlRecord(type=ControlType.KRAFT_VOTERS, data=voters_data([voter])), 1)
    log.add_control(ControlRecord(type=ControlType.LEADER_CHANGE, data={"Version": 0, "LeaderId": 1}), 2)
    assert log.registrations().kraft_version == 1
    assert log.registrations().voters == (voter,)
    assert log.registrations().voters_at == 1
    log.add_control(ControlRecord(type=ControlType.KRAFT_VOTERS, data=voters_data([voter])), None)
    assert log.registrations().voters_at is None


def test_controller_led_until_another_one_does_or_it_starts_again() -> None:
    log = RegistrationLog()
    log.add(controller(1))
    log.add(controller(2))
    for offset, leader in ((10, 1), (20, 1), (30, 2), (40, 3)):
        log.add_control(ControlRecord(type=ControlType.LEADER_CHANGE, data={"Version": 0, "LeaderId": leader}), offset)
    log.add(controller(1))
    assert log.registrations().led_until == {1: 30, 2: 40}
    log.add_control(ControlRecord(type=ControlType.LEADER_CHANGE, data={"Version": 0, "LeaderId": 1}), 50)
    log.add(controller(3))  # its first registration: it may have run, and led, before it could register
    assert log.registrations().led_until == {1: 30, 2: 40, 3: 50}
    log.add(controller(2, incarnation=OTHER))
    assert log.registrations().led_until == {1: 30, 3: 50}


def test_state_of_the_migration_is_the_last_recorded() -> None:
    assert read().zk_migration_state is None
    assert read(record(21, ZkMigrationState=1), record(21, ZkMigrationState=2)).zk_migration_state == 2


def test_records_that_do_not_matter_are_ignored() -> None:
    assert read(record(20)) == read()
    assert 20 not in READ_KEYS
    assert {0, 12, 23, 27, 29} <= READ_KEYS
