"""The fold of metadata records: what each type does, what a contradiction does, transactions."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import DecodeError
from kafkactl.core.findings import Severity
from kafkactl.metadata.image.model import EMPTY, Image, LogRecord, Partition
from kafkactl.metadata.replay.reference import RULES, Replaying, replay
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.schema.definitions import message, metadata_record_names
from tests.metadata.goldens import BATCH_FILES, golden
from tests.metadata.records import (
    TOPIC,
    VERSION,
    broker,
    change,
    partition,
    placed,
    record,
    records_of,
    uuid,
)

BEGIN, END, ABORT = record("BeginTransaction", Name="copy"), record("EndTransaction"), record("AbortTransaction")


def image_of(*records: MetadataRecord) -> Image:
    """Return the image, when there is nothing to say of the records."""
    found = replay(placed(VERSION, *records))
    assert found.findings == ()
    return found.image


def ids_of(*records: MetadataRecord) -> list[str]:
    return [finding.id for finding in replay(placed(VERSION, *records)).findings]


def foo(*records: MetadataRecord) -> Partition:
    return image_of(TOPIC, partition(), *records).topics[uuid(7)].partitions[0]


def test_every_record_type_has_a_rule_or_a_reason():
    without = {name for name in metadata_record_names() if message(name).api_key not in RULES}
    transactions = {"BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"}
    assert without == transactions | {"AccessControlRecord"}


@pytest.mark.parametrize("name", BATCH_FILES)
def test_golden_log_replays_without_findings(name):
    found = replay(records_of(golden(name)), snapshot=".checkpoint." in name)
    assert found.findings == ()
    assert bool(found.image.features) == ("first-3.9" not in name and "first-4.3" not in name)


def test_partition_is_what_its_record_says():
    assert foo() == Partition(
        replicas=(1, 2, 3),
        isr=(1, 2, 3),
        removing_replicas=(),
        adding_replicas=(),
        leader=1,
        leader_recovery_state=0,
        leader_epoch=3,
        partition_epoch=7,
        directories=(uuid(101), uuid(102), uuid(103)),
        eligible_leader_replicas=(),
        last_known_elr=(),
    )


@pytest.mark.parametrize(
    ("fields", "changed"),
    [
        ({}, {}),
        ({"Isr": [2, 3]}, {"isr": (2, 3)}),
        ({"Isr": []}, {"isr": ()}),
        ({"Leader": 2}, {"leader": 2, "leader_epoch": 4}),
        ({"Leader": 1}, {"leader": 1, "leader_epoch": 4}),
        ({"Leader": -1}, {"leader": -1, "leader_epoch": 4}),
        ({"LeaderRecoveryState": 1}, {"leader_recovery_state": 1}),
        ({"RemovingReplicas": [3], "AddingReplicas": [4]}, {"removing_replicas": (3,), "adding_replicas": (4,)}),
        ({"EligibleLeaderReplicas": [3]}, {"eligible_leader_replicas": (3,)}),
        ({"LastKnownElr": [1]}, {"last_known_elr": (1,)}),
        ({"Replicas": [3, 2, 1]}, {"replicas": (3, 2, 1)}),
        (
            {"Replicas": [1, 2], "Directories": [uuid(1), uuid(2)]},
            {"replicas": (1, 2), "directories": (uuid(1), uuid(2))},
        ),
        ({"Directories": [uuid(0)] * 2}, {"directories": (uuid(0),) * 3}),
    ],
)
def test_change_changes_what_it_names(fields, changed):
    assert foo(change(**fields)) == foo()._replace(partition_epoch=8, **changed)


def test_partition_without_directories_gets_unknown_ones():
    made = image_of(TOPIC, partition(Directories=[])).topics[uuid(7)].partitions[0]
    assert made.directories == (uuid(0),) * 3
    grown = image_of(TOPIC, partition(Directories=[]), change(Replicas=[1, 2, 3, 4])).topics[uuid(7)].partitions[0]
    assert grown.directories == (uuid(0),) * 4


def test_equal_lists_are_held_once():
    states = image_of(TOPIC, partition(0), partition(1)).topics[uuid(7)].partitions.states
    assert states[0][0] is states[1][0]
    assert states[0][8] is states[1][8]


@pytest.mark.parametrize("name", ["foo", ""])
def test_clearing_elr_touches_only_partitions_that_have_one(name):
    with_elr = partition(1, EligibleLeaderReplicas=[1], LastKnownElr=[2])
    cleared = image_of(TOPIC, partition(0), with_elr, record("ClearElr", TopicName=name)).topics[uuid(7)].partitions
    assert cleared[0].partition_epoch == 7
    assert cleared[1].partition_epoch == 8
    assert cleared[1].eligible_leader_replicas == cleared[1].last_known_elr == ()


def test_removed_topic_takes_its_configs_with_it():
    configs = [
        record("Config", ResourceType=kind, ResourceName="foo", Name="retention.ms", Value="1") for kind in (2, 4)
    ]
    image = image_of(TOPIC, partition(), *configs, record("RemoveTopic", TopicId=uuid(7)))
    assert not image.topics
    assert not image.topic_ids
    assert image.configs == {(4, "foo"): {"retention.ms": "1"}}


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        (record("UnfenceBroker", Id=1, Epoch=1), "fenced", False),
        (record("FenceBroker", Id=1, Epoch=1), "fenced", True),
        (record("BrokerRegistrationChange", BrokerId=1, BrokerEpoch=1, Fenced=-1), "fenced", False),
        (record("BrokerRegistrationChange", BrokerId=1, BrokerEpoch=1, Fenced=1), "fenced", True),
        (record("BrokerRegistrationChange", BrokerId=1, BrokerEpoch=1), "fenced", True),
        (
            record("BrokerRegistrationChange", BrokerId=1, BrokerEpoch=1, InControlledShutdown=1),
            "in_controlled_shutdown",
            True,
        ),
        (record("BrokerRegistrationChange", BrokerId=1, BrokerEpoch=1), "directories", (uuid(8), uuid(9))),
        (
            record("BrokerRegistrationChange", BrokerId=1, BrokerEpoch=1, LogDirs=[uuid(5)]),
            "directories",
            (uuid(5),),
        ),
        (record("BrokerRegistrationChange", BrokerId=1, BrokerEpoch=1, CordonedLogDirs=[]), "cordoned", ()),
    ],
)
def test_registration_changes_as_the_record_says(changed, field, value):
    registered = broker(1, 1, LogDirs=[uuid(9), uuid(8)], CordonedLogDirs=[uuid(9)])
    assert getattr(image_of(registered, changed).brokers[1], field) == value


def test_flag_of_a_controlled_shutdown_stays_until_the_broker_registers_again():
    leaving = record("BrokerRegistrationChange", BrokerId=1, BrokerEpoch=1, InControlledShutdown=1)
    staying = record("BrokerRegistrationChange", BrokerId=1, BrokerEpoch=1, Fenced=1)
    assert image_of(broker(1, 1), leaving, staying).brokers[1].in_controlled_shutdown
    assert not image_of(broker(1, 1), leaving, broker(1, 3)).brokers[1].in_controlled_shutdown


def test_registrations_are_removed():
    gone = [
        record("UnregisterBroker", BrokerId=1, BrokerEpoch=1),
        record("UnregisterController", ControllerId=3000),
    ]
    image = image_of(broker(1, 1), record("RegisterController", ControllerId=3000), *gone)
    assert image.brokers == image.controllers == {}


def test_entity_set_to_null_is_removed():
    quota = {"Entity": [{"EntityType": "user", "EntityName": None}], "Key": "producer_byte_rate"}
    image = image_of(
        record("FeatureLevel", Name="group.version", FeatureLevel=1),
        record("FeatureLevel", Name="group.version", FeatureLevel=0),
        record("Config", ResourceType=2, ResourceName="foo", Name="a", Value="1"),
        record("Config", ResourceType=2, ResourceName="foo", Name="a", Value=None),
        record("Config", ResourceType=2, ResourceName="never", Name="a", Value=None),
        record("ClientQuota", **quota, Value=1.5),
        record("ClientQuota", **quota, Remove=True),
        record("AccessControlEntry", Id=uuid(1)),
        record("RemoveAccessControlEntry", Id=uuid(1)),
        record("UserScramCredential", Name="alice", Mechanism=1),
        record("RemoveUserScramCredential", Name="alice", Mechanism=1),
        record("DelegationToken", TokenId="t"),
        record("RemoveDelegationToken", TokenId="t"),
    )
    assert image == Image(features={"metadata.version": 25})


def test_entity_of_a_quota_is_a_set():
    user, client = {"EntityType": "user", "EntityName": "alice"}, {"EntityType": "client-id", "EntityName": None}
    image = image_of(
        record("ClientQuota", Entity=[user, client], Key="a", Value=1.0),
        record("ClientQuota", Entity=[client, user], Key="b", Value=2.0),
    )
    assert image.client_quotas == {(("client-id", None), ("user", "alice")): {"a": 1.0, "b": 2.0}}


UNKNOWN_BROKER = [
    record("UnregisterBroker", BrokerId=1),
    record("FenceBroker", Id=1),
    record("UnfenceBroker", Id=1),
    record("BrokerRegistrationChange", BrokerId=1),
]


@pytest.mark.parametrize(
    ("wrong", "id"),
    [
        (partition(), "unknown-topic-in-record"),
        (change(), "unknown-topic-in-record"),
        (record("RemoveTopic", TopicId=uuid(7)), "unknown-topic-in-record"),
        (record("ClearElr", TopicName="foo"), "unknown-topic-in-record"),
        *((entry, "unknown-broker-in-record") for entry in UNKNOWN_BROKER),
        (record("UnregisterController", ControllerId=1), "unknown-controller-in-record"),
        (record("RemoveAccessControlEntry", Id=uuid(1)), "unknown-acl-in-record"),
        (record("RemoveUserScramCredential", Name="a", Mechanism=1), "unknown-scram-user-in-record"),
        (record("UserScramCredential", Name="a", Mechanism=3), "unknown-value-in-record"),
        (record("FeatureLevel", Name="metadata.version", FeatureLevel=0), "unknown-value-in-record"),
        (record("AccessControl"), "obsolete-record-type"),
        (END, "transaction-not-open"),
        (ABORT, "transaction-not-open"),
    ],
)
def test_record_that_contradicts_has_no_effect_and_is_reported(wrong, id):
    assert ids_of(wrong) == [id]
    assert replay(placed(VERSION, wrong)).image == replay(placed(VERSION)).image


@pytest.mark.parametrize(
    ("wrong", "id"),
    [
        (change(5), "unknown-partition-in-record"),
        (change(Replicas=[1, 2]), "directories-do-not-match-replicas"),
        (change(Directories=[uuid(101)]), "directories-do-not-match-replicas"),
        (change(LeaderRecoveryState=2), "unknown-value-in-record"),
        (partition(1, Directories=[uuid(101)]), "directories-do-not-match-replicas"),
        (partition(1, LeaderRecoveryState=-1), "unknown-value-in-record"),
        (record("FenceBroker", Id=1, Epoch=9), "broker-epoch-mismatch"),
        (record("BrokerRegistrationChange", BrokerId=1, BrokerEpoch=1, Fenced=3), "unknown-value-in-record"),
    ],
)
def test_wrong_change_leaves_things_as_they_were(wrong, id):
    before = (broker(1, 1), TOPIC, partition())
    assert ids_of(*before, wrong) == [id]
    assert replay(placed(VERSION, *before, wrong)).image == image_of(*before)


@pytest.mark.parametrize(
    ("records", "id"),
    [
        ((TOPIC, TOPIC), "duplicate-topic"),
        ((TOPIC, record("Topic", Name="foo", TopicId=uuid(8))), "duplicate-topic"),
        ((broker(1, 1), record("UnregisterBroker", BrokerId=1, BrokerEpoch=5)), "broker-epoch-mismatch"),
        ((broker(1, 9),), "broker-epoch-beyond-offset"),
        ((record("ProducerIds", NextProducerId=9), record("ProducerIds", NextProducerId=9)), "producer-id-regression"),
        ((BEGIN, BEGIN), "transaction-inside-transaction"),
        ((BEGIN, TOPIC, ABORT), "aborted-transaction"),
    ],
)
def test_invalid_record_that_kafka_accepts_is_reported(records, id):
    assert ids_of(*records) == [id]


def test_record_that_cannot_be_read_is_reported():
    error = DecodeError("no record type has the api key 99", id="unknown-record-type", offset=0, path="frame")
    found = replay([LogRecord(4, 1, 0, error)])
    assert [finding.id for finding in found.findings] == ["undecodable-record"]
    assert found.findings[0].evidence == {"offset": 4}
    assert "unknown-record-type" in found.findings[0].message
    assert found.counts == {"undecodable": 1}


def test_log_that_is_wrong_throughout_says_so_in_few_findings():
    found = replay(placed(VERSION, *[change()] * 1000))
    assert len(found.findings) == 21
    assert found.findings[-1].evidence == {"count": 1000}
    assert found.findings[-1].severity is Severity.BLOCKER


def test_records_of_a_transaction_count_when_it_ends():
    open_one = replay(placed(VERSION, BEGIN, TOPIC))
    assert not open_one.image.topics
    assert open_one.image.transaction is not None
    assert open_one.image.transaction.begin_offset == 1
    ended = image_of(BEGIN, TOPIC, END)
    assert ended == image_of(TOPIC)


def test_records_of_an_aborted_transaction_do_not_count():
    assert replay(placed(VERSION, BEGIN, TOPIC, ABORT)).image == image_of()


def test_transaction_is_resumed():
    first = replay(placed(VERSION, BEGIN, TOPIC)).image
    second = replay(placed(partition(), END, first=3), first)
    assert second.image == image_of(TOPIC, partition())


def test_image_does_not_change_when_the_replay_goes_on():
    replaying = Replaying()
    for entry in placed(VERSION, TOPIC, partition(), broker(1, 1)):
        replaying.take(*entry)
    before = replaying.image()
    for entry in placed(change(Leader=2), partition(1), record("FenceBroker", Id=1, Epoch=1), first=9):
        replaying.take(*entry)
    assert before == image_of(TOPIC, partition(), broker(1, 1))
    assert replaying.image().topics[uuid(7)].partitions[0].leader == 2
    assert before.topics[uuid(7)].partitions[0].leader == 1


def test_nothing_is_the_empty_image():
    found = replay([])
    assert found.image == EMPTY == Image()
    assert found.position is None
