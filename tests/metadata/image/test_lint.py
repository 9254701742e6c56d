"""Lint: each trouble by the smallest state that has it, and nothing to say of a sound one."""

from __future__ import annotations

import pytest

from kafkactl.core.findings import Severity
from kafkactl.metadata.image.lint import SHOWN, lint
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.replay.reference import replay
from tests.metadata.goldens import BATCH_FILES, golden
from tests.metadata.records import TOPIC, VERSION, broker, partition, placed, record, records_of, uuid

ELR = record("FeatureLevel", Name="eligible.leader.replicas.version", FeatureLevel=1)
BROKERS = [broker(id, 0, Fenced=False, LogDirs=[uuid(100 + id)]) for id in (1, 2, 3)]


def image_of(*records) -> Image:
    return replay(placed(VERSION, *BROKERS, *records)).image


def test_there_is_nothing_to_say_of_a_sound_state():
    assert (
        lint(image_of(ELR, TOPIC, partition(0), partition(1, EligibleLeaderReplicas=[1], Isr=[2, 3], Leader=2))) == ()
    )


@pytest.mark.parametrize(
    ("fields", "id"),
    [
        ({"Isr": [1, 4]}, "isr-not-in-replicas"),
        ({"AddingReplicas": [3], "Replicas": [1, 2], "Isr": [1, 2]}, "reassignment-not-in-replicas"),
        ({"RemovingReplicas": [4]}, "reassignment-not-in-replicas"),
        ({"Replicas": [1, 2, 2], "Isr": [1, 2]}, "duplicate-replica"),
        ({"Leader": 3, "Isr": [1, 2]}, "leader-not-in-isr"),
        ({"Leader": -1, "Isr": []}, "stranded-partition"),
        ({"Leader": -1, "Isr": [1]}, "live-replica-not-elected"),
        ({"Leader": -1, "Isr": [], "EligibleLeaderReplicas": [1]}, "live-replica-not-elected"),
        ({"Leader": -1, "Isr": [], "LastKnownElr": [1]}, "live-replica-not-elected"),
        ({"Leader": -1, "Isr": [], "LastKnownElr": [1, 2]}, "leaderless-partition"),
        ({"Leader": -1, "Isr": [3], "Directories": [uuid(101), uuid(102), uuid(2)]}, "last-copy-in-lost-directory"),
        ({"Leader": -1, "Isr": [1], "Directories": [uuid(101), uuid(102), uuid(2)]}, "live-replica-not-elected"),
        ({"LeaderRecoveryState": 1}, "recovering-with-isr"),
        ({"EligibleLeaderReplicas": [1]}, "elr-overlaps-isr"),
        ({"Directories": [uuid(101), uuid(102), uuid(2)]}, "replica-in-lost-directory"),
        ({"Directories": [uuid(101), uuid(102), uuid(101)]}, "replica-in-lost-directory"),
    ],
)
def test_problem_of_a_partition_is_reported(fields, id):
    directories = [uuid(100 + field) for field in fields.get("Replicas", [1, 2, 3])]
    found = lint(image_of(ELR, TOPIC, partition(0, **{"Directories": directories, **fields})))
    assert [finding.id for finding in found] == [id]
    assert found[0].subject == "partition foo-0"
    assert found[0].evidence == {"count": 1, "subjects": ["partition foo-0"]}


@pytest.mark.parametrize("number", [0, 1])
def test_directories_that_are_not_known_are_not_lost(number):
    assert lint(image_of(TOPIC, partition(0, Directories=[uuid(number)] * 3))) == ()


OTHERS = [
    ([TOPIC], "topic-without-partitions", "topic foo"),
    ([TOPIC, partition(1)], "partition-numbers-with-gaps", "topic foo"),
    ([TOPIC, partition(0, LastKnownElr=[3])], "elr-without-feature", "partition foo-0"),
    (
        [record("Config", ResourceType=2, ResourceName="gone", Name="a", Value="1")],
        "config-of-missing-topic",
        "topic gone",
    ),
    ([record("AccessControlEntry", Id=uuid(id)) for id in (1, 2)], "duplicate-acl", f"ACL {uuid(2)}"),
    (
        [record("FeatureLevel", Name="kraft.version", FeatureLevel=1)],
        "kraft-version-as-feature",
        "feature kraft.version",
    ),
    ([record("ZkMigrationState", ZkMigrationState=1)], "zk-migration-not-finished", "ZooKeeper migration"),
    ([record("BeginTransaction")], "open-transaction", "metadata transaction"),
    (
        [TOPIC, partition(0), record("UnregisterBroker", BrokerId=3, BrokerEpoch=0)],
        "replica-on-unregistered-broker",
        "partition foo-0",
    ),
    (
        [TOPIC, partition(0, AddingReplicas=[3]), record("FenceBroker", Id=3)],
        "reassignment-waits-for-lost-broker",
        "partition foo-0",
    ),
]


@pytest.mark.parametrize(("records", "id", "subject"), OTHERS, ids=[id for _, id, _ in OTHERS])
def test_problem_of_another_entity_is_reported(records, id, subject):
    found = lint(image_of(*records))
    assert [(finding.id, finding.subject) for finding in found] == [(id, subject)]


@pytest.mark.parametrize("waiting", [{"Isr": [3]}, {"Isr": [], "EligibleLeaderReplicas": [3]}])
def test_partition_whose_eligible_broker_is_fenced_has_no_leader_and_no_other_flaw(waiting):
    state = image_of(ELR, TOPIC, partition(0, Leader=-1, **waiting), record("FenceBroker", Id=3))
    assert [finding.id for finding in lint(state)] == ["leaderless-partition"]


def test_problem_of_many_partitions_is_reported_once():
    down = [record("FenceBroker", Id=broker) for broker in (1, 2, 3)]
    found = lint(image_of(TOPIC, *(partition(number, Leader=-1) for number in range(1000)), *down))
    assert [finding.id for finding in found] == ["leaderless-partition"]
    assert found[0].evidence["count"] == 1000
    assert len(found[0].evidence["subjects"]) == SHOWN
    assert found[0].message.endswith("; 999 more like it")
    assert found[0].severity is Severity.WARNING


@pytest.mark.parametrize("name", [file for file in BATCH_FILES if "segment" in file or "snapshot" in file])
def test_young_clusters_are_sound(name):
    assert lint(replay(records_of(golden(name))).image) == ()
