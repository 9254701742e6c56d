"""A scripted cluster of brokers and controllers for what looks at feature levels."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from kafkactl.commands.demo.bodies import (
    broker_registration,
    cluster_body,
    controller_registration,
    quorum_body,
    voter_node,
)
from kafkactl.commands.demo.broker import Action, Asked, FakeBroker, Reply
from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.retries import Backoff
from kafkactl.net.transport import Address
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import metadata_record

LIMITS = Limits(timeout_ms=1500, request_timeout_ms=500, backoff=Backoff(first_ms=1, rounds=2))
VERSIONS_OF_CONTROLLER = {52: (0, 2), 70: (0, 0)}
RANGES = {"metadata.version": (7, 30), "group.version": (0, 1), "kraft.version": (0, 1)}
LEVELS = {"metadata.version": 25, "group.version": 1}
DENIED = 31
DEFAULTS = {"min.insync.replicas": "1", "num.partitions": "1", "unclean.leader.election.enable": "false"}


class FakeNode(FakeBroker):
    """Node in one role, a member of a `FakeCluster`."""

    def __init__(self, cluster: FakeCluster, node_id: int, role: Role, **more: Any) -> None:
        self.cluster, self.node_id, self.role = cluster, node_id, role
        self.answers: dict[str, Action] = {}
        versions = VERSIONS_OF_CONTROLLER if role is Role.CONTROLLER else {}
        super().__init__(self._answer, versions=versions, supported=more.pop("supported", RANGES), **more)
        self.finalized = cluster.levels

    def self_description(self, version: int) -> dict[str, Any]:
        return super().self_description(version) | {"FinalizedFeaturesEpoch": self.cluster.epoch}

    def _answer(self, asked: Asked) -> Action | None:
        if asked.name in self.answers:
            return self.answers[asked.name]
        return self.cluster.answer(asked, self)


class FakeCluster:
    """Controllers 1 (which leads), 2 and brokers 11, 12; the log holds what `records` says.

    `limits` are the client's: short, so that nodes which hang are not waited for.
    """

    limits = LIMITS

    def __init__(self, *, controllers: tuple[int, ...] = (1, 2), brokers: tuple[int, ...] = (11, 12)) -> None:
        self.levels: dict[str, int] = dict(LEVELS)
        self.epoch = 40
        self.cluster_id = "fake"
        self.denied: set[str] = set()
        self.leader_id = controllers[0]
        self.nodes = {id: FakeNode(self, id, Role.CONTROLLER) for id in controllers}
        self.nodes |= {id: FakeNode(self, id, Role.BROKER) for id in brokers}
        self.registered: dict[int, Mapping[str, tuple[int, int]]] = dict.fromkeys(self.nodes, RANGES)
        self.gone: dict[int, Role] = {}
        self.migration: ZkMigrationState | None = None
        self.dead_port = 1
        self.updates: list[dict[str, Any]] = []
        self.looks = 0
        self.stuck: set[int] = set()  # nodes that fetch no longer
        self.fetching: set[int] = set()  # nodes that fetch in addition to those that run
        # Settings: of files by node id, of the whole cluster (""), of single brokers; and the topics' own.
        self.files: dict[int, dict[str, str]] = {}
        self.dynamic: dict[str, dict[str, str]] = {}
        self.topics: dict[str, dict[str, str]] = {}

    def of(self, role: Role) -> list[FakeNode]:
        return [node for node in self.nodes.values() if node.role is role]

    @contextlib.contextmanager
    def client(self, role: Role) -> Iterator[Client]:
        with contextlib.ExitStack() as stack:
            for node in self.nodes.values():
                stack.enter_context(node)
            addresses = [node.address for node in self.of(role)]
            yield stack.enter_context(Client(addresses, role, limits=self.limits, randomness=lambda: 0.5))

    def answer(self, asked: Asked, node: FakeNode) -> Action | None:
        if asked.name in self.denied:
            return Reply(body={"ErrorCode": DENIED})
        leads = node.role is Role.BROKER or node.node_id == self.leader_id
        if asked.name == "DescribeQuorum":
            return Reply(body=self._quorum() if leads else quorum_body({"ErrorCode": 6}))
        if asked.name == "DescribeCluster":
            return Reply(body=self._described(node.role))
        if asked.name == "Fetch":
            return Reply(body={"Responses": [{"Partitions": [self._log() if leads else {"ErrorCode": 6}]}]})
        if asked.name == "DescribeConfigs":
            return Reply(body={"Results": [self._configs(resource, node) for resource in asked.body["Resources"]]})
        if asked.name == "Metadata":
            return Reply(body={"Topics": [{"Name": name, "Partitions": []} for name in self.topics]})
        if asked.name == "UpdateFeatures":
            return self.update(asked) if leads else Reply(body={"ErrorCode": 41})
        return None

    def update(self, asked: Asked) -> Action:
        """Accept it, and do it unless it is only to be validated."""
        self.updates.append(asked.body)
        if not asked.body["ValidateOnly"]:
            for feature in asked.body["FeatureUpdates"]:
                self.levels[feature["Feature"]] = feature["MaxVersionLevel"]
        asked_updates = asked.body["FeatureUpdates"] if asked.version < 2 else []
        return Reply(body={"ErrorCode": 0, "Results": [{"Feature": result["Feature"]} for result in asked_updates]})

    def _configs(self, resource: Mapping[str, Any], node: FakeNode) -> dict[str, Any]:
        """Describe a node, which describes itself alone, and say where each value comes from, as Kafka does."""
        name, keys = resource["ResourceName"], resource["ConfigurationKeys"] or ()
        is_topic = resource["ResourceType"] == 2
        if not is_topic and name != str(node.node_id):
            return {"ErrorCode": 42, "ErrorMessage": f"Unexpected broker id, expected {node.node_id} or empty string"}
        layers = [(1, self.topics.get(name, {}))] if is_topic else []
        layers += [(2, self.dynamic.get(str(node.node_id), {})), (3, self.dynamic.get("", {}))]
        layers += [(4, self.files.get(node.node_id, {})), (5, DEFAULTS)]
        configs = []
        for key in keys:
            found = [{"Name": key, "Value": held[key], "Source": source} for source, held in layers if key in held]
            if found:
                first = found[0]
                configs.append(
                    {"Name": key, "Value": first["Value"], "ConfigSource": first["Source"], "Synonyms": found}
                )
        return {"ErrorCode": 0, "ResourceType": resource["ResourceType"], "ResourceName": name, "Configs": configs}

    def _quorum(self) -> dict[str, Any]:
        voters = self.of(Role.CONTROLLER)
        self.looks += 1  # a second passes between two looks, in which who follows fetches
        replicas = [self._replica(voter.node_id) for voter in voters]
        brokers = [node.node_id for node in self.of(Role.BROKER)]
        others = [
            broker for broker in (*brokers, *sorted(self.fetching)) if broker not in {voter.node_id for voter in voters}
        ]
        partition = {
            "LeaderId": self.leader_id,
            "LeaderEpoch": 3,
            "HighWatermark": len(self._records()),
            "CurrentVoters": replicas,
            "Observers": [self._replica(other) for other in others],
        }
        return quorum_body(partition, [voter_node(voter.node_id, voter.address) for voter in voters])

    def _replica(self, node_id: int) -> dict[str, Any]:
        looks = 0 if node_id in self.stuck else self.looks
        return {"ReplicaId": node_id, "LogEndOffset": 9, "LastFetchTimestamp": 5 + 1000 * looks}

    def _described(self, role: Role) -> dict[str, Any]:
        nodes = {node.node_id: node.address for node in self.of(role)}
        return cluster_body(self.cluster_id, self.leader_id, nodes, role.endpoint_type)

    def _log(self) -> dict[str, Any]:
        values = [(None, value) for value in self._records()]
        data = encode_batch(values, base_offset=0, timestamp_ms=1, partition_leader_epoch=3)
        return {"HighWatermark": len(values), "Records": data}

    def _records(self) -> list[bytes]:
        state = [] if self.migration is None else [{"ZkMigrationState": self.migration}]
        records = [encode_record(metadata_record(21), 0, data) for data in state]
        return records + [self._registration(id, ranges) for id, ranges in self.registered.items()]

    def _registration(self, id: int, ranges: Mapping[str, tuple[int, int]]) -> bytes:
        node = self.nodes.get(id)
        role = node.role if node is not None else self.gone[id]
        port = node.address.port if node is not None else self.dead_port
        address = Address("127.0.0.1", port)
        if role is Role.BROKER:
            return broker_registration(id, address, ranges, fenced=node is None)
        return controller_registration(id, address, ranges)
