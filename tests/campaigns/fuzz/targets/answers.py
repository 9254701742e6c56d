"""Targets: answers of nodes, decoded into values for commands, with any body that the wire can carry."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from kafkactl.change.clock import Deadline
from kafkactl.cluster.api.completion import feature_words, node_words, topic_words
from kafkactl.cluster.io.completion_facts import gather
from kafkactl.cluster.io.quorum_assembly import assembled
from kafkactl.cluster.io.quorum_view import expected_places
from kafkactl.cluster.io.quorum_visit import Visit, believed_leader, visit_node
from kafkactl.core.errors import UnreachableError
from kafkactl.core.values import Role, Uuid
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.client import Client
from kafkactl.kafka.cluster_view import ClusterView, cluster_view
from kafkactl.kafka.connection import Connection
from kafkactl.net.transport import Address
from kafkactl.protocol.api_versions import NodeVersions, node_versions, usable_version
from kafkactl.protocol.codec import decode_message, default_value, encode_message
from kafkactl.protocol.form import Form
from kafkactl.protocol.framing import Response
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.rights import Login
from kafkactl.protocol.schema.spec import FieldSpec, MessageSpec
from tests.campaigns.fuzz.target import Feed, Target, document_of
from tests.protocol.random_messages import RANGES

Made = tuple[Feed, Sequence[bytes]]
MOST_NODES = 4
_KEYS = ("DescribeCluster", "DescribeQuorum", "DescribeConfigs", "Fetch", "Metadata")


def fitted(spec: MessageSpec, version: int, document: Any) -> dict[str, Any]:
    """Return a value of this message: what `document`, a JSON value, has of it if it fits, else the defaults."""
    return _struct(spec.fields, Form(version, spec.is_flexible(version)), document)


def _struct(fields: Iterable[FieldSpec], form: Form, document: Any) -> dict[str, Any]:
    given = document if isinstance(document, dict) else {}
    return {
        field.name: _field(field, form, given[field.name])
        if field.name in given and form.has(field)
        else _without(field, form)
        for field in fields
    }


def _field(field: FieldSpec, form: Form, document: Any) -> Any:
    if document is None:
        return None if form.allows_null(field) else _without(field, form)
    if not field.is_array:
        return _one(field, form, document)
    return [_one(field, form, each) for each in document] if isinstance(document, list) else _without(field, form)


def _without(field: FieldSpec, form: Form) -> Any:
    return _one(field, form, None) if field.kind == "struct" and not field.is_array else default_value(field)


def _one(field: FieldSpec, form: Form, document: Any) -> Any:
    match field.kind:
        case "struct":
            return _struct(field.fields, form, document)
        case "bool":
            return document is True
        case "float64":
            return float(document) if type(document) is float else 0.0
        case "uuid":
            return Uuid((document if type(document) is int else 0).to_bytes(32, "big", signed=True)[-16:])
        case "string":
            return document.encode("utf-8", "replace").decode() if isinstance(document, str) else ""
        case kind if kind in RANGES:
            low, high = RANGES[kind]
            return document if type(document) is int and low <= document <= high else 0
    return b""


class _Node:
    """Substitute of a connection: each answer is encoded and decoded once before it is returned."""

    def __init__(self, at: int, document: Mapping[str, Any]) -> None:
        self.address = Address(f"h{at}", 9092)
        self.login = Login()
        self._document = document
        version = document.get("version")
        self.versions: NodeVersions = node_versions(
            version if type(version) is int and 0 <= version <= 4 else 4, self._body("ApiVersions", 4)
        )

    def _body(self, name: str, version: int) -> dict[str, Any]:
        spec = message(f"{name}Response")
        data = encode_message(spec, version, fitted(spec, version, self._document.get(name)))
        return decode_message(spec, version, data)[0]

    def ask(self, name: str, body: Mapping[str, Any], *, version: int | None = None, **_: Any) -> Response:
        if version is None:
            version = usable_version(message(f"{name}Request"), self.versions, peer=str(self.address))
        return Response(name=name, version=version, correlation_id=1, body=self._body(name, version))


class _Client:
    """Stands where a client of this node stands, for completion."""

    def __init__(self, node: _Node, role: Role) -> None:
        self._node, self.role, self.bootstrap, self.login = node, role, (node.address,), node.login
        self.left_ms, self.clock = 1000.0, SystemClock()

    def cluster(self) -> ClusterView:
        response = self._node.ask("DescribeCluster", {})
        return cluster_view(response.body, role=self.role, version=response.version)

    def sibling(self, role: Role, _: Sequence[Address]) -> _Client:
        return _Client(self._node, role)

    def close(self) -> None:
        """Do nothing: the node has no connection."""

    def is_silent(self, _: Address) -> bool:
        return False

    def versions(self, addresses: Iterable[Address], **_: Any) -> dict[Address, NodeVersions]:
        return dict.fromkeys(addresses, self._node.versions)

    def ask_any(self, name: str, body: Mapping[str, Any], **_: Any) -> Response:
        return self._node.ask(name, body)

    def ask_node(self, _: Address, name: str, body: Mapping[str, Any]) -> Response:
        return self._node.ask(name, body)

    ask_active_controller = ask_any


def _views() -> Made:
    """Return visits of up to four nodes, the state of the quorum that they add up to, and what completion takes from
    each."""
    deadline = Deadline.after(1000, SystemClock())

    def feed(data: bytes) -> object:
        documents = document_of(data)
        if not isinstance(documents, list):
            return None
        nodes = [
            _Node(at, document) for at, document in enumerate(documents[:MOST_NODES]) if isinstance(document, dict)
        ]
        visits: list[Visit] = []
        for at, node in enumerate(nodes):
            connection = cast(Connection, node)
            seen = visit_node(connection, expected_id=at or None, identify=True, deadline=deadline)
            visits.append(believed_leader(connection, seen, deadline))
        for node in nodes:
            for role in Role:
                facts = gather(cast(Client, _Client(node, role)))
                feature_words(facts), topic_words(facts), node_words(facts, "brokers", "controllers")
        state = assembled(visits)
        return expected_places(visits), [finding.to_dict() for finding in state.findings]

    return feed, [
        json.dumps(documents).encode() for documents in ([_described(1), _described(2)], [_described(3, error=6)], [{}])
    ]


def _described(node_id: int, *, error: int = 0) -> dict[str, Any]:
    """Return what a sound node of a quorum of three says; with `error` it does not describe the quorum."""
    keys = [message(f"{name}Request").api_key for name in _KEYS]
    listener = [{"Name": "CONTROLLER", "Host": "h1", "Port": 9092}]
    replicas = [{"ReplicaId": id, "ReplicaDirectoryId": id, "LogEndOffset": 9, "LastFetchTimestamp": 5,
                 "LastCaughtUpTimestamp": 5} for id in (1, 2, 3)]  # fmt: skip
    partition = {"ErrorCode": error, "LeaderId": 1, "LeaderEpoch": 4, "HighWatermark": 9, "CurrentVoters": replicas}
    return {
        "ApiVersions": {
            "ApiKeys": [{"ApiKey": key, "MinVersion": 0, "MaxVersion": 13} for key in keys],
            "SupportedFeatures": [{"Name": "metadata.version", "MinVersion": 1, "MaxVersion": 29}],
            "FinalizedFeatures": [{"Name": "metadata.version", "MinVersionLevel": 1, "MaxVersionLevel": 25}],
            "FinalizedFeaturesEpoch": 3,
        },
        "DescribeCluster": {
            "ClusterId": "q1Sh-9_ISia_zwGINzRvyQ", "ControllerId": 1,
            "Brokers": [{"BrokerId": id, "Host": f"h{id}", "Port": 9092, "Rack": None} for id in (1, 2)],
        },
        "DescribeQuorum": {
            "Topics": [{"TopicName": "__cluster_metadata", "Partitions": [partition]}],
            "Nodes": [{"NodeId": id, "Listeners": listener} for id in (1, 2, 3)],
        },
        "DescribeConfigs": {"Results": [{
            "ErrorCode": 0, "ErrorMessage": None, "ResourceName": str(node_id),
            "Configs": [{"Name": "controller.quorum.voters", "Value": "1@h1:9092,2@h2:9092", "ConfigSource": 4},
                        {"Name": "controller.quorum.auto.join.enable", "Value": "true", "ConfigSource": 4}],
        }]},
        "Fetch": {"Responses": [{"Partitions": [{"CurrentLeader": {"LeaderId": 1, "LeaderEpoch": 4}}]}]},
        "Metadata": {"Topics": [{"ErrorCode": 0, "Name": "orders"}, {"ErrorCode": 3, "Name": None}]},
    }  # fmt: skip


TARGETS = (
    Target(
        name="client-views", make=_views, is_json=True, declared=(UnreachableError,), most_bytes=16384,
        reads=("cluster.io.quorum_visit", "cluster.io.quorum_view", "kafka.cluster_view",
               "cluster.io.completion_facts", "cluster.quorum.observation", "protocol.api_versions"),
    ),
)  # fmt: skip
