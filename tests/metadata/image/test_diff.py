"""Differences between images: each by its key, with the fields that differ and no others."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.metadata.image.diff import Change, Difference, diff
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.json import PART_NAMES, image_json
from kafkactl.metadata.image.model import EMPTY
from kafkactl.metadata.replay.reference import replay
from tests.metadata.image.test_json import full
from tests.metadata.random_logs import random_log
from tests.metadata.records import TOPIC, VERSION, change, partition, placed, record, uuid


def image_of(*records):
    return replay(placed(VERSION, *records)).image


def test_equal_images_do_not_differ():
    assert diff(full(), replace(full(), client_quotas=full().client_quotas)) == ()


def test_partition_differs_in_what_changed():
    before, after = image_of(TOPIC, partition()), image_of(TOPIC, partition(), change(Leader=2, Isr=[2, 3]))
    assert diff(before, after) == (
        Difference(
            part="partitions",
            key="foo-0",
            change=Change.CHANGED,
            record="PartitionRecord",
            before={"isr": [1, 2, 3], "leader": 1, "leaderEpoch": 3, "partitionEpoch": 7},
            after={"isr": [2, 3], "leader": 2, "leaderEpoch": 4, "partitionEpoch": 8},
        ),
    )


def test_topic_of_the_same_name_is_another_topic():
    again = record("Topic", Name="foo", TopicId=uuid(8))
    found = diff(image_of(TOPIC, partition()), image_of(again))
    assert [(difference.part, difference.key, difference.change) for difference in found] == [
        ("topics", f"foo {uuid(7)}", Change.REMOVED),
        ("partitions", "foo-0", Change.REMOVED),
        ("topics", f"foo {uuid(8)}", Change.ADDED),
    ]


@pytest.mark.parametrize("part", [name for name in PART_NAMES if name != "topics"])
def test_every_part_is_compared(part):
    there, gone = diff(EMPTY, full()), diff(full(), EMPTY)
    assert [difference.change for difference in there if difference.part == part and difference.key] != []
    expected = Change.CHANGED if part == "zk_migration_state" else Change.REMOVED
    assert {difference.change for difference in gone if difference.part == part} == {expected}


@given(seed=st.integers(min_value=0, max_value=2**32), cut=st.integers(min_value=0, max_value=80))
def test_images_differ_where_their_digests_do(seed, cut):
    log = placed(*random_log(random.Random(seed), 80))
    before, after = replay(log[:cut]).image, replay(log).image
    found = diff(before, after)
    assert (found == ()) == (image_sha256(before) == image_sha256(after))
    backwards = diff(after, before)
    assert [(difference.part, difference.key, difference.before, difference.after) for difference in found] == [
        (difference.part, difference.key, difference.after, difference.before) for difference in backwards
    ]


def test_added_entity_has_all_its_fields():
    found = diff(EMPTY, full())
    acl = next(difference for difference in found if difference.part == "acls")
    assert acl.after == image_json(full())["acls"][0]
    assert acl.before == {}
