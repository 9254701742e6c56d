"""Scripted controllers and brokers that tell of one quorum, well or badly, on real sockets."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafkactl.commands.demo import bodies
from kafkactl.commands.demo.bodies import cluster_body, voter_node
from kafkactl.commands.demo.broker import Action, Asked, FakeBroker, Reply
from kafkactl.core.values import ZERO_UUID, Role, Uuid
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.retries import Backoff
from kafkactl.net.transport import Address

CLUSTER_ID = "qcW5mzVjTpOjVnxJ0WmYIg"
NOW_MS = 1_700_000_000_000
VOTE, FETCH = 52, 1
SUPPORTED = {"metadata.version": (7, 33), "kraft.version": (0, 1)}
NOT_LEADER, DENIED, INVALID_REQUEST = 6, 31, 42


def directory(node_id: int) -> Uuid:
    """Return the directory id of a node."""
    return Uuid(b"\x10" + bytes(14) + bytes([node_id]))


@dataclass(kw_only=True)
class Quorum:
    """Answers of all nodes, unless `overrides` has another answer for (node id, request).

    `late_s`: how long a node takes to tell of the quorum.
    """

    ids: tuple[int, ...] = (1, 2, 3)
    leader_id: int = 2
    epoch: int = 7
    kraft_version: int = 1
    ages_ms: Mapping[int, int] = field(default_factory=dict)
    observers: tuple[int, ...] = ()
    endpoints: dict[int, Address] = field(default_factory=dict)
    registered: dict[int, Address] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    cluster_id: str = CLUSTER_ID
    overrides: dict[tuple[int, str], Action | Callable[[Asked], Action | None]] = field(default_factory=dict)
    version: int = 2
    late_s: dict[int, float] = field(default_factory=dict)
    controllers: dict[int, FakeBroker] = field(default_factory=dict)
    brokers: dict[int, FakeBroker] = field(default_factory=dict)

    def client(self, *ids: int, role: Role = Role.CONTROLLER, timeout_ms: float = 5_000) -> Client:
        """Return a client that starts at these nodes, at all controllers if none is named."""
        nodes = self.controllers if role is Role.CONTROLLER else self.brokers
        return client_at(*(nodes[id].address for id in ids or nodes), role=role, timeout_ms=timeout_ms)

    def script(self, node_id: int, role: Role) -> Callable[[Asked], Action | None]:
        """Return what the node with that id answers."""

        def answer(asked: Asked) -> Action | None:
            override = self.overrides.get((node_id, asked.name))
            if override is not None:
                return override(asked) if callable(override) else override
            usual = {
                "DescribeQuorum": self._quorum,
                "DescribeCluster": self._cluster,
                "DescribeConfigs": self._configs,
                "Fetch": self._fetch,
            }.get(asked.name)
            return None if usual is None else Reply(body=usual(node_id, role, asked))

        return answer

    def _quorum(self, node_id: int, role: Role, asked: Asked) -> Mapping[str, Any]:
        time.sleep(self.late_s.get(node_id, 0))
        if role is Role.CONTROLLER and node_id != self.leader_id:
            return quorum_body(error=NOT_LEADER)
        replicas = {id: self._replica(id, asked.version) for id in (*self.ids, *self.observers)}
        nodes = [voter_node(id, at) for id, at in self.endpoints.items()]
        return quorum_body(
            leader=self.leader_id,
            epoch=self.epoch,
            voters=[replicas[id] for id in self.ids],
            observers=[replicas[id] for id in self.observers],
            nodes=nodes if asked.version >= 2 else (),
        )

    def _replica(self, node_id: int, version: int) -> dict[str, Any]:
        age_ms = self.ages_ms.get(node_id, 0 if node_id == self.leader_id else 100)
        knows_directory = version >= 2 and self.kraft_version
        return {
            "ReplicaId": node_id,
            "ReplicaDirectoryId": directory(node_id) if knows_directory else ZERO_UUID,
            "LogEndOffset": 1_000,
            "LastFetchTimestamp": NOW_MS - age_ms,
            "LastCaughtUpTimestamp": NOW_MS - age_ms,
        }

    def _cluster(self, node_id: int, role: Role, asked: Asked) -> Mapping[str, Any]:
        nodes = (
            self.registered if role is Role.CONTROLLER else {id: broker.address for id, broker in self.brokers.items()}
        )
        return cluster_body(self.cluster_id, self.leader_id, nodes, role.endpoint_type if asked.version >= 1 else 1)

    def _configs(self, node_id: int, role: Role, asked: Asked) -> Mapping[str, Any]:
        name = asked.body["Resources"][0]["ResourceName"]
        result: dict[str, Any] = {"ResourceType": 4, "ResourceName": name}
        if name != str(node_id):
            words = f"Unexpected broker id, expected {node_id} or empty string, but received {name}"
            return {"Results": [result | {"ErrorCode": INVALID_REQUEST, "ErrorMessage": words}]}
        settings = {"node.id": str(node_id)} | self.settings
        return {"Results": [result | {"Configs": [{"Name": key, "Value": value} for key, value in settings.items()]}]}

    def _fetch(self, node_id: int, role: Role, asked: Asked) -> Mapping[str, Any]:
        partition = {
            "PartitionIndex": 0,
            "ErrorCode": NOT_LEADER,
            "HighWatermark": -1,
            "CurrentLeader": {"LeaderId": self.leader_id, "LeaderEpoch": self.epoch},
        }
        return {"Responses": [{"Partitions": [partition]}]}


def client_at(*addresses: Address, role: Role = Role.CONTROLLER, timeout_ms: float = 5_000) -> Client:
    """Return a client that gives up soon."""
    return Client(addresses, role, limits=Limits(timeout_ms=timeout_ms, backoff=Backoff(first_ms=1, most_ms=2)))


def quorum_body(
    *, error: int = 0, top: int = 0, leader: int = 0, epoch: int = 0, high_watermark: int = 995,
    voters: Any = (), observers: Any = (), nodes: Any = (),
) -> dict[str, Any]:  # fmt: skip
    """Return the body of a DescribeQuorum answer."""
    partition = {
        "ErrorCode": error,
        "LeaderId": leader,
        "LeaderEpoch": epoch,
        "HighWatermark": high_watermark if voters else 0,
        "CurrentVoters": list(voters),
        "Observers": list(observers),
    }
    if top:
        return {"ErrorCode": top, "Topics": [], "Nodes": list(nodes)}
    return bodies.quorum_body(partition, nodes)


@contextlib.contextmanager
def running(quorum: Quorum, *, brokers: tuple[int, ...] = (), down: tuple[int, ...] = ()) -> Iterator[Quorum]:
    """Yield the quorum with a listener for each of its nodes; nodes that are `down` have an address without a
    listener."""
    level = {"metadata.version": 33} | ({"kraft.version": 1} if quorum.kraft_version else {})
    with contextlib.ExitStack() as stack:
        for id in (*quorum.ids, *(observer for observer in quorum.observers if observer < 10)):
            quorum.controllers[id] = stack.enter_context(
                FakeBroker(
                    quorum.script(id, Role.CONTROLLER),
                    versions={VOTE: (0, 2), 55: (0, quorum.version), FETCH: (4, 17)},
                    supported=SUPPORTED,
                    finalized=level,
                    epoch=11,
                )
            )
        for id in brokers:
            quorum.brokers[id] = stack.enter_context(
                FakeBroker(
                    quorum.script(id, Role.BROKER),
                    versions={55: (0, quorum.version)},
                    supported=SUPPORTED,
                    finalized=level,
                    epoch=40,
                )
            )
        addresses = {id: broker.address for id, broker in quorum.controllers.items()}
        quorum.endpoints = {id: addresses[id] for id in quorum.ids} | quorum.endpoints
        quorum.registered = addresses | quorum.registered
        for id in down:
            quorum.controllers[id].__exit__(None, None, None)
        yield quorum
