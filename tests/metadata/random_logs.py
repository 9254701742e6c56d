"""Random logs: records of all types about a small world, most of which make sense."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from kafkactl.core.values import Uuid
from kafkactl.protocol.log.frame import MetadataRecord
from tests.metadata.records import record, uuid

BROKERS = (1, 2, 3, 4)


def random_log(rng: random.Random, count: int, level: int = 30) -> list[MetadataRecord]:
    """Return a FeatureLevelRecord of metadata.version, then `count` others."""
    world = _World(rng)
    made = [record("FeatureLevel", Name="metadata.version", FeatureLevel=level)]
    while len(made) <= count:
        made.extend(rng.choice(_MAKERS)(world))
    return made[: count + 1]


class _World:
    """State of what the log has said, as far as it takes to go on."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.topics: dict[Uuid, tuple[str, int]] = {}
        self.epochs: dict[int, int] = {}
        self.acls: list[Uuid] = []
        self.next = 100
        self.in_transaction = False

    def some(self, ids: tuple[int, ...] = BROKERS) -> list[int]:
        return self.rng.sample(ids, self.rng.randint(0, len(ids)))

    def fresh(self) -> int:
        self.next += 1
        return self.next

    def uuids(self) -> list[Uuid]:
        return [uuid(self.rng.randint(0, 120)) for _ in range(self.rng.randint(0, 2))]

    def maybe(self, value: Any) -> Any:
        return value if self.rng.random() < 0.4 else None


def _topic(world: _World) -> Iterator[MetadataRecord]:
    id, partitions = uuid(world.fresh()), world.rng.randint(0, 4)
    name = f"topic-{world.rng.randint(0, 12)}"
    world.topics[id] = name, partitions
    yield record("Topic", Name=name, TopicId=id)
    for number in range(partitions):
        yield _partition(world, id, number)


def _partition(world: _World, id: Uuid, number: int) -> MetadataRecord:
    replicas = world.some()
    directories = world.rng.choice([[], [uuid(0)] * len(replicas), [uuid(101 + replica) for replica in replicas]])
    return record(
        "Partition",
        PartitionId=number,
        TopicId=id,
        Replicas=replicas,
        Isr=world.some(),
        RemovingReplicas=world.some((4,)),
        AddingReplicas=world.some((1,)),
        Leader=world.rng.choice((*BROKERS, -1)),
        LeaderRecoveryState=world.rng.randint(0, 1),
        LeaderEpoch=world.rng.randint(0, 3),
        PartitionEpoch=world.rng.randint(0, 400),
        Directories=directories,
        EligibleLeaderReplicas=world.maybe(world.some()),
        LastKnownElr=world.maybe(world.some()),
    )


def _change(world: _World) -> Iterator[MetadataRecord]:
    for id, (_, partitions) in list(world.topics.items())[-3:]:
        yield record(
            "PartitionChange",
            PartitionId=world.rng.randint(0, partitions),
            TopicId=id,
            Isr=world.maybe(world.some()),
            Leader=world.rng.choice((-2, -1, *BROKERS)),
            Replicas=world.maybe(world.some()) if world.rng.random() < 0.1 else None,
            RemovingReplicas=world.maybe(world.some()),
            LeaderRecoveryState=world.rng.choice((-1, -1, 0, 1)),
            Directories=world.maybe(world.uuids()) if world.rng.random() < 0.1 else None,
            EligibleLeaderReplicas=world.maybe(world.some()),
            LastKnownElr=world.maybe([]),
        )


def _remove_topic(world: _World) -> Iterator[MetadataRecord]:
    if world.topics and world.rng.random() < 0.3:
        id = world.rng.choice(list(world.topics))
        del world.topics[id]
        yield record("RemoveTopic", TopicId=id)


def _clear_elr(world: _World) -> Iterator[MetadataRecord]:
    yield record("ClearElr", TopicName=world.rng.choice(["", "topic-1", "topic-2"]))


def _broker(world: _World) -> Iterator[MetadataRecord]:
    id = world.rng.choice(BROKERS)
    world.epochs[id] = epoch = world.fresh()
    yield record(
        "RegisterBroker",
        BrokerId=id,
        BrokerEpoch=epoch,
        IncarnationId=uuid(world.fresh()),
        EndPoints=[
            {"Name": name, "Host": "h", "Port": 9092, "SecurityProtocol": 0} for name in world.rng.sample("AB", 2)
        ],
        Features=[{"Name": "metadata.version", "MinSupportedVersion": 7, "MaxSupportedVersion": 30}],
        Rack=world.maybe("rack"),
        Fenced=world.rng.random() < 0.5,
        LogDirs=world.uuids(),
        CordonedLogDirs=world.maybe(world.uuids()),
    )


def _broker_change(world: _World) -> Iterator[MetadataRecord]:
    for id, epoch in world.epochs.items():
        kind = world.rng.choice(["FenceBroker", "UnfenceBroker", "BrokerRegistrationChange", "UnregisterBroker", ""])
        if kind == "UnregisterBroker":
            yield record(kind, BrokerId=id, BrokerEpoch=epoch)
        elif kind == "BrokerRegistrationChange":
            yield record(
                kind,
                BrokerId=id,
                BrokerEpoch=epoch,
                Fenced=world.rng.randint(-1, 1),
                InControlledShutdown=world.rng.randint(0, 1),
                LogDirs=world.uuids(),
                CordonedLogDirs=world.maybe(world.uuids()),
            )
        elif kind:
            yield record(kind, Id=id, Epoch=epoch)


def _controller(world: _World) -> Iterator[MetadataRecord]:
    id = world.rng.choice((3000, 3001))
    yield record("RegisterController", ControllerId=id, IncarnationId=uuid(world.fresh()))
    if world.rng.random() < 0.3:
        yield record("UnregisterController", ControllerId=id)


def _settings(world: _World) -> Iterator[MetadataRecord]:
    rng = world.rng
    yield record(
        "FeatureLevel",
        Name=rng.choice(["group.version", "eligible.leader.replicas.version"]),
        FeatureLevel=rng.randint(0, 1),
    )
    yield record("ProducerIds", BrokerId=1, NextProducerId=world.fresh() * 1000)
    for _ in range(3):
        value = world.maybe(str(rng.randint(0, 9)))
        name = rng.choice(["a", "b", "c"])
        yield record(
            "Config", ResourceType=rng.choice((2, 4)), ResourceName=f"topic-{rng.randint(0, 5)}", Name=name, Value=value
        )


def _quota(world: _World) -> Iterator[MetadataRecord]:
    rng = world.rng
    entity = [
        {"EntityType": kind, "EntityName": world.maybe("x")}
        for kind in rng.sample(["user", "client-id"], rng.randint(1, 2))
    ]
    yield record("ClientQuota", Entity=entity, Key=rng.choice("kl"), Value=rng.random(), Remove=rng.random() < 0.4)


def _access(world: _World) -> Iterator[MetadataRecord]:
    rng = world.rng
    world.acls.append(uuid(world.fresh()))
    yield record(
        "AccessControlEntry", Id=world.acls[-1], ResourceType=2, ResourceName="t", Principal="User:a", Host="*"
    )
    yield record(
        "UserScramCredential", Name=rng.choice("ab"), Mechanism=rng.randint(1, 2), Salt=bytes([rng.randint(0, 9)])
    )
    yield record("DelegationToken", TokenId=rng.choice("tu"), Renewers=["User:a"] * rng.randint(0, 1), IssueTimestamp=5)
    if rng.random() < 0.4:
        yield record("RemoveAccessControlEntry", Id=rng.choice(world.acls))
        yield record("RemoveUserScramCredential", Name=rng.choice("ab"), Mechanism=rng.randint(1, 2))
        yield record("RemoveDelegationToken", TokenId=rng.choice("tu"))


def _transaction(world: _World) -> Iterator[MetadataRecord]:
    if world.in_transaction:
        world.in_transaction = False
        yield record(world.rng.choice(["EndTransaction", "EndTransaction", "AbortTransaction"]))
    elif world.rng.random() < 0.5:
        world.in_transaction = True
        yield record("BeginTransaction", Name=world.maybe("t"))


def _others(world: _World) -> Iterator[MetadataRecord]:
    yield record("NoOp")
    yield record("ZkMigrationState", ZkMigrationState=world.rng.randint(0, 3))


_MAKERS: tuple[Callable[[_World], Iterator[MetadataRecord]], ...] = (
    _topic,
    _topic,
    _change,
    _change,
    _change,
    _remove_topic,
    _clear_elr,
    _broker,
    _broker_change,
    _controller,
    _settings,
    _quota,
    _access,
    _transaction,
    _others,
)
