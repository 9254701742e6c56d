"""Key of a record, and the search for a key through the ids that represent it."""

from __future__ import annotations

import random

import pytest

from kafkactl.core.values import Uuid
from kafkactl.metadata.log.keys import _FIELDS, Key, KeyFilter, identities
from kafkactl.protocol.log.frame import MetadataRecord, decode_record, encode_record
from kafkactl.protocol.schema.definitions import message, metadata_record_names
from tests.protocol.random_messages import random_message

ID, OTHER = Uuid(bytes(15) + b"\1"), Uuid(bytes(15) + b"\2")


def made(name: str, **data: object) -> tuple[bytes, MetadataRecord]:
    value = encode_record(message(name), message(name).valid_versions.highest, data)
    return value, decode_record(value)


def found(key: Key, *records: tuple[bytes, MetadataRecord]) -> list[int]:
    """Return which of the records are about the key, by both tests."""
    key_filter = KeyFilter(key)
    offsets = []
    for at, (value, record) in enumerate(records):
        may = key_filter.may_match(value)
        if key_filter.matches(record):
            assert may
            offsets.append(at)
    return offsets


def test_table_names_fields_that_there_are():
    for name, fields in _FIELDS.items():
        assert set(fields) <= {field.name for field in message(name).fields}


@pytest.mark.parametrize("seed", range(5))
def test_quick_look_at_the_bytes_never_misses_a_record(seed: int):
    rng = random.Random(seed)
    seen = 0
    for _ in range(600):
        spec = message(rng.choice(metadata_record_names()))
        version = rng.choice(list(spec.valid_versions))
        value = encode_record(spec, version, random_message(rng, spec, version))
        for sort, name in identities(decode_record(value)):
            seen += 1
            key_filter = KeyFilter(Key(sorts=frozenset({sort}), name=name))
            assert key_filter.may_match(value), (sort, name, spec.name)
    assert seen > 200


def test_topic_is_followed_through_its_id():
    records = (
        made("PartitionRecord", TopicId=OTHER, PartitionId=0),
        made("TopicRecord", Name="a", TopicId=ID),
        made("PartitionRecord", TopicId=ID, PartitionId=0),
        made("PartitionChangeRecord", TopicId=ID, PartitionId=1),
        made("ConfigRecord", ResourceType=2, ResourceName="a", Name="k", Value="v"),
        made("ConfigRecord", ResourceType=4, ResourceName="a", Name="k", Value="v"),
        made("ClearElrRecord", TopicName=""),
        made("ClearElrRecord", TopicName="b"),
        made("RemoveTopicRecord", TopicId=ID),
    )
    topic = frozenset({"topic", "topic-id"})
    assert found(Key(sorts=topic, name="a"), *records) == [1, 2, 3, 4, 6, 8]
    assert found(Key(sorts=topic, name="a", partition=1), *records) == [1, 3, 4, 6, 8]
    assert found(Key(sorts=topic, name=str(ID)), *records) == [1, 2, 3, 6, 8]
    assert found(Key(sorts=frozenset({"config"}), name="topic:a"), *records) == [4, 8]
    assert found(Key(sorts=frozenset({"config"}), name="broker:a:k"), *records) == [5]
    assert found(Key(sorts=None, name="a"), *records) == [1, 2, 3, 4, 5, 8]


def test_records_of_users_and_brokers_are_found_by_key():
    records = (
        made("UserScramCredentialRecord", Name="eve"),
        made("AccessControlEntryRecord", Id=ID, Principal="User:eve", ResourceName="r"),
        made("RemoveAccessControlEntryRecord", Id=ID),
        made("RemoveAccessControlEntryRecord", Id=OTHER),
        made("ClientQuotaRecord", Entity=[{"EntityType": "user", "EntityName": "eve"}], Key="k"),
        made("ClientQuotaRecord", Entity=[{"EntityType": "client-id", "EntityName": "eve"}], Key="k"),
        made("DelegationTokenRecord", Owner="User:eve", TokenId="t"),
        made("RegisterBrokerRecord", BrokerId=7),
        made("ConfigRecord", ResourceType=4, ResourceName="7", Name="k", Value=None),
        made("RegisterControllerRecord", ControllerId=7),
    )
    assert found(Key(sorts=frozenset({"user"}), name="eve"), *records) == [0, 1, 2, 4, 6]
    assert found(Key(sorts=frozenset({"broker"}), name="7"), *records) == [7, 8]
    assert found(Key(sorts=frozenset({"controller"}), name="7"), *records) == [9]
