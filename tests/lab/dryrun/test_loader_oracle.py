"""State of a starting node: our simulation of Kafka's loader against the loader, on logs full of its traps."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkactl.dryrun.engine.loader import started
from kafkactl.metadata.image.diff import diff
from kafkactl.metadata.io.source import open_source
from kafkactl.metadata.replay.reference import replay
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.protocol.catalog.start_rules import start_rules
from kafkactl.protocol.log.frame import MetadataRecord, encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message
from tests.lab.oracles.images import ImageOracle
from tests.metadata.records import record, uuid

LOGS = 300
USERS = ("alice", "bob", "bob@x.com", "carol", "dave", "Äther", "user-17")
TOPICS = ("foo", "bar", "baz")
LEVELS = {"3.6.2": 14, "3.7.2": 19, "3.8.1": 20, "3.9.2": 21, "4.0.2": 25, "4.4.0": 30}


@pytest.fixture(
    scope="module",
    params=["4.4.0", *(pytest.param(level, marks=pytest.mark.campaign) for level in LEVELS if level != "4.4.0")],
)
def oracle(request: pytest.FixtureRequest) -> Iterator[ImageOracle]:
    with ImageOracle(request.param) as running:
        yield running


class _Log:
    """A log that a controller could have written: what is removed is there."""

    def __init__(self, seed: int, level: int) -> None:
        self.rng = random.Random(seed)
        self.batches: list[list[MetadataRecord]] = [
            [record("FeatureLevel", Name="metadata.version", FeatureLevel=level)]
        ]
        self.users: set[tuple[int, str]] = set()
        self.topics: dict[str, int] = {}
        self.next_id = 100

    def operation(self, *, removes_topics: bool = True) -> list[MetadataRecord]:
        makers = [self.add_user, self.add_user, self.remove_user, self.topic, self.config]
        return self.rng.choice([*makers, self.remove] if removes_topics else makers)()

    def add_user(self) -> list[MetadataRecord]:
        key = self.rng.randint(1, 2), self.rng.choice(USERS)
        self.users.add(key)
        return [record("UserScramCredential", Name=key[1], Mechanism=key[0], Salt=b"s", Iterations=4096)]

    def remove_user(self) -> list[MetadataRecord]:
        if not self.users:
            return []
        key = self.rng.choice(sorted(self.users))
        self.users.discard(key)
        return [record("RemoveUserScramCredential", Name=key[1], Mechanism=key[0])]

    def topic(self) -> list[MetadataRecord]:
        name = self.rng.choice(TOPICS)
        if name in self.topics:
            return []
        self.next_id += 1
        self.topics[name] = self.next_id
        return [record("Topic", Name=name, TopicId=uuid(self.next_id)), *self.config(name)]

    def remove(self) -> list[MetadataRecord]:
        if not self.topics:
            return []
        name = self.rng.choice(sorted(self.topics))
        return [record("RemoveTopic", TopicId=uuid(self.topics.pop(name)))]

    def config(self, name: str = "") -> list[MetadataRecord]:
        name = name or (self.rng.choice(sorted(self.topics)) if self.topics else "")
        if not name:
            return []
        value = self.rng.choice(["1", "2", None])
        key = self.rng.choice(["retention.ms", "segment.ms"])
        return [record("Config", ResourceType=2, ResourceName=name, Name=key, Value=value)]

    def transaction(self) -> None:
        """Add a transaction over one batch or several, ended or aborted; an aborted one has no effect.

        No topic is removed in one that is aborted: where Kafka keeps that, the removal proper fails, and the node ends.
        """
        ends = self.rng.random() < 0.5
        before = set(self.users), dict(self.topics)
        operations = [self.operation(removes_topics=ends) for _ in range(3)]
        records = [record("BeginTransaction"), *(made_record for made in operations for made_record in made)]
        records.append(record("EndTransaction" if ends else "AbortTransaction"))
        if not ends:
            self.users, self.topics = before
        while records:
            count = self.rng.randint(1, len(records))
            self.batches.append(records[:count])
            records = records[count:]
        if self.rng.random() < 0.5:
            self.batches.append([record("NoOp")])

    def data(self) -> bytes:
        for _ in range(self.rng.randint(1, 12)):
            if self.rng.random() < 0.2:
                self.transaction()
            elif made := [made_record for _ in range(self.rng.randint(1, 3)) for made_record in self.operation()]:
                self.batches.append(made)
        offset, content = 0, b""
        for batch in self.batches:
            values = [(None, encode_record(message(made.type), made.version, made.data)) for made in batch]
            content += encode_batch(values, base_offset=offset, timestamp_ms=1, partition_leader_epoch=1)
            offset += len(batch)
        return content


def test_starting_node_believes_what_we_say(oracle: ImageOracle, tmp_path: Path):
    file = tmp_path / f"{0:020}.log"
    keeps_configs = start_rules(find_release(oracle.release)).keeps_orphaned_configs
    surprises = 0
    for seed in range(LOGS):
        file.write_bytes(_Log(seed, LEVELS[oracle.release]).data())
        source = open_source(str(file))
        ours = started(source.segments, source.checkpoints, keeps_configs=keeps_configs).image
        kafkas = replay(oracle.records_read([file], tmp_path), snapshot=True).image
        assert diff(ours, kafkas) == (), f"seed {seed}"
        kept = replay(oracle.records_of_image([file], tmp_path), snapshot=True).image
        surprises += bool(diff(kept, kafkas))
    assert surprises > LOGS / 20  # logs in which a start does make a difference
