"""A message as Kafka's tools print it."""

from __future__ import annotations

import json
import random

from kafkactl.core.values import ZERO_UUID
from kafkactl.protocol.json_form import json_named, to_json
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import json_name
from tests.protocol.random_messages import every_version, random_message


def test_names_bytes_uuids_and_tagged_defaults_are_written():
    spec = message("PartitionChangeRecord")
    value = {
        "PartitionId": 1, "TopicId": ZERO_UUID, "Isr": [1], "Leader": -2, "Replicas": None, "RemovingReplicas": None,
        "AddingReplicas": [], "LeaderRecoveryState": -1, "EligibleLeaderReplicas": None, "LastKnownElr": None,
        "Directories": None,
    }  # fmt: skip
    assert to_json(spec, 0, value) == {
        "partitionId": 1,
        "topicId": "AAAAAAAAAAAAAAAAAAAAAA",
        "isr": [1],
        "addingReplicas": [],
    }
    scram = {"Name": "a", "Mechanism": 1, "Salt": b"\xff\xfe", "StoredKey": b"", "ServerKey": b"k", "Iterations": 1}
    assert to_json(message("UserScramCredentialRecord"), 0, scram)["salt"] == "//4="


def test_structs_and_nulls_are_written():
    spec = message("ConfigRecord")
    value = {"ResourceType": 2, "ResourceName": "t", "Name": "n", "Value": None}
    assert to_json(spec, 0, value) == {"resourceType": 2, "resourceName": "t", "name": "n", "value": None}
    assert json_name("KRaftVersionFeature") == "kRaftVersionFeature"


def test_numbers_that_json_does_not_have_are_texts():
    spec = message("ClientQuotaRecord")
    quota = {"Entity": [], "Key": "producer_byte_rate", "Remove": False}
    values = [float("inf"), float("-inf"), float("nan"), 1.5]
    shown = [to_json(spec, 0, quota | {"Value": value})["value"] for value in values]
    assert shown == ["Infinity", "-Infinity", "NaN", 1.5]


def test_every_version_of_every_message_is_json():
    for spec, version in every_version():
        json.dumps(to_json(spec, version, random_message(random.Random(7), spec, version)), allow_nan=False)


def test_value_of_a_message_gets_the_names_of_json_at_every_depth():
    value = {"TopicName": "Orders", "IsrNodes": (1, 2), "Parts": [{"LeaderEpoch": None}, "Text"]}
    assert json_named(value) == {"topicName": "Orders", "isrNodes": [1, 2], "parts": [{"leaderEpoch": None}, "Text"]}
    assert json_named("Orders") == "Orders"
