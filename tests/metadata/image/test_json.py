"""The canonical form of an image: equal states have equal bytes, and nothing is missing from it."""

from __future__ import annotations

import json
import random
from dataclasses import fields, replace

import pytest

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.values import Endpoint
from kafkactl.metadata.image.json import PART_NAMES, image_json, image_text
from kafkactl.metadata.image.model import EMPTY, Image, Partitions, Topic
from kafkactl.metadata.replay.reference import replay
from tests.metadata.records import TOPIC, VERSION, broker, partition, placed, record, uuid


def full() -> Image:
    """Return an image with something in every part."""
    user = [{"EntityType": "user", "EntityName": None}]
    found = replay(
        placed(
            VERSION,
            record("ZkMigrationState", ZkMigrationState=3),
            broker(1, 1, LogDirs=[uuid(101)], CordonedLogDirs=[], Rack="r"),
            record("RegisterController", ControllerId=3000),
            TOPIC,
            partition(0, EligibleLeaderReplicas=[1], LastKnownElr=[2]),
            partition(1, AddingReplicas=[3], RemovingReplicas=[2], Directories=[]),
            record("Config", ResourceType=2, ResourceName="foo", Name="retention.ms", Value="1"),
            record("ClientQuota", Entity=user, Key="producer_byte_rate", Value=1.5),
            record("ClientQuota", Entity=user, Key="strange", Value=float("nan")),
            record("ProducerIds", NextProducerId=1000),
            record("AccessControlEntry", Id=uuid(5), ResourceName="foo", Principal="User:ä"),
            record("UserScramCredential", Name="alice", Mechanism=1, Salt=b"s", StoredKey=b"k", ServerKey=b"v"),
            record("DelegationToken", TokenId="t", Renewers=["User:a"]),
            record("BeginTransaction", Name="copy"),
        )
    )
    assert found.findings == ()
    endpoint = Endpoint(listener="C", host="h", port=9093)
    voter = Voter(node_id=1, directory_id=uuid(1), endpoints=(endpoint,))
    return replace(found.image, kraft_version=1, voters=(voter,))


def test_text_is_the_object():
    image = full()
    assert json.loads("".join(image_text(image))) == image_json(image)
    text = json.dumps(image_json(image), separators=(",", ":"), ensure_ascii=False)
    assert text == "".join(image_text(image))


def test_every_part_is_in_it():
    shown = {"producer_ids": "next_producer_id"}
    parts = {shown.get(name, name) for name in PART_NAMES}
    assert parts == {field.name for field in fields(Image)} - {"topic_ids"}
    empty, there = image_json(EMPTY), image_json(full())
    assert [name for name in PART_NAMES if there[name] == empty[name]] == []


def test_partitions_have_kafkas_names():
    assert image_json(full())["topics"][0]["partitions"][0] == {
        "partitionId": 0,
        "replicas": [1, 2, 3],
        "isr": [1, 2, 3],
        "removingReplicas": [],
        "addingReplicas": [],
        "leader": 1,
        "leaderRecoveryState": 0,
        "leaderEpoch": 3,
        "partitionEpoch": 7,
        "directories": [str(uuid(101)), str(uuid(102)), str(uuid(103))],
        "eligibleLeaderReplicas": [1],
        "lastKnownElr": [2],
    }


@pytest.mark.parametrize("seed", range(5))
def test_order_in_which_things_came_does_not_show(seed):
    rng = random.Random(seed)
    names = [f"topic-{number}" for number in range(20)]
    topics = [record("Topic", Name=name, TopicId=uuid(number)) for number, name in enumerate(names)]
    rest = [record("Config", ResourceType=2, ResourceName=name, Name=key, Value="1") for name in names for key in "ba"]
    rest += [record("Partition", TopicId=uuid(at), PartitionId=number) for at in range(20) for number in range(3)]
    rest += [record("UserScramCredential", Name=name, Mechanism=kind) for name in names for kind in (1, 2)]
    texts = set()
    for _ in range(3):
        rng.shuffle(topics)
        rng.shuffle(rest)
        texts.add("".join(image_text(replay(placed(VERSION, *topics, *rest)).image)))
    assert len(texts) == 1


@pytest.mark.slow
def test_large_topics_come_in_pieces():
    states = dict.fromkeys(range(10_000), full().topics[uuid(7)].partitions.states[0])
    topics = {uuid(at): Topic(name=f"t{at}", id=uuid(at), partitions=Partitions(states)) for at in range(3)}
    image = replace(EMPTY, topics=topics)
    pieces = list(image_text(image))
    assert len(pieces) > len(list(image_text(EMPTY)))
    assert json.loads("".join(pieces)) == image_json(image)
