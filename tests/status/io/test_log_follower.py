"""The log of a live cluster, continued: equal to a log read from its start, and read again if it does not continue."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkactl.cluster.io.leader_source import describe_quorum
from kafkactl.commands.demo.quorum import RANGES, FakeQuorum
from kafkactl.commands.demo.topics import cluster_records
from kafkactl.kafka.client import Client
from kafkactl.kafka.cluster_view import Role
from kafkactl.metadata.api import load_image
from kafkactl.status.io.log_follower import LogFollower
from kafkactl.status.registrations import registrations_of

LEVEL = 30


@pytest.fixture
def quorum() -> Iterator[FakeQuorum]:
    with FakeQuorum(metadata_version=LEVEL) as quorum:
        yield quorum


@pytest.fixture
def client(quorum: FakeQuorum) -> Iterator[Client]:
    with Client([quorum.address(1)], Role.CONTROLLER) as client:
        yield client


def test_second_observation_reads_only_what_is_new(quorum: FakeQuorum, client: Client):
    follower = LogFollower(client, lambda: describe_quorum(client))
    before = follower.image()
    assert before.partition_count() == 0
    quorum._append(list(cluster_records(LEVEL, RANGES)))
    after = follower.image()
    assert after.partition_count() == 11 and set(after.brokers) == {4, 5, 6}
    assert after == load_image(client).image
    fetched = [asked.body["Topics"][0]["Partitions"][0]["FetchOffset"] for asked in quorum.nodes[1].asked
               if asked.name == "Fetch"]  # fmt: skip
    assert fetched[-1] == 0 and fetched.count(0) == 2, "only the first observation and load_image begin at 0"


def test_idle_log_leaves_the_same_image(quorum: FakeQuorum, client: Client):
    follower = LogFollower(client, lambda: describe_quorum(client))
    image = follower.image()
    quorum._append_no_op()
    assert follower.image() is image


def test_log_that_became_shorter_is_read_again(quorum: FakeQuorum, client: Client):
    follower = LogFollower(client, lambda: describe_quorum(client))
    quorum._append(list(cluster_records(LEVEL, RANGES)))
    assert follower.image().partition_count() == 11
    with FakeQuorum(metadata_version=LEVEL) as other, Client([other.address(1)], Role.CONTROLLER) as another:
        follower._client, follower._quorum = another, lambda: describe_quorum(another)
        assert follower.image().partition_count() == 0


def test_registrations_are_those_that_the_log_has(quorum: FakeQuorum, client: Client):
    from kafkactl.cluster.io.fetched_registrations import fetch_registrations

    quorum._append(list(cluster_records(LEVEL, RANGES)))
    found, expected = (
        registrations_of(LogFollower(client, lambda: describe_quorum(client)).image()),
        fetch_registrations(client),
    )
    assert (found.brokers, found.controllers) == (expected.brokers, expected.controllers)
    assert (found.levels, found.kraft_version, found.voters) == (
        expected.levels,
        expected.kraft_version,
        expected.voters,
    )
