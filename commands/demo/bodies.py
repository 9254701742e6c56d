"""Answers and records of an imitated node: the shapes that every fake of the demo and of the tests shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafkactl.core.kafka_names import METADATA_TOPIC
from kafkactl.core.values import Uuid
from kafkactl.net.transport import Address
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.schema.definitions import metadata_record

Ranges = Mapping[str, tuple[int, int]]
_REGISTER_BROKER, _REGISTER_CONTROLLER = 0, 27
_INCARNATION = Uuid(bytes(15) + b"\7")


def quorum_body(partition: Mapping[str, Any], nodes: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the body of a DescribeQuorum answer with this partition of the metadata topic."""
    topic = {"TopicName": METADATA_TOPIC, "Partitions": [{"PartitionIndex": 0, **partition}]}
    return {"Topics": [topic], "Nodes": list(nodes)}


def voter_node(node_id: int, address: Address) -> dict[str, Any]:
    """Return the addresses of a voter as DescribeQuorum has them."""
    return {"NodeId": node_id, "Listeners": [listener("CONTROLLER", address)]}


def listener(name: str, address: Address) -> dict[str, Any]:
    """Return the fields of a listener that answers and records share."""
    return {"Name": name, "Host": address.host, "Port": address.port}


def cluster_body(
    cluster_id: str, controller_id: int, nodes: Mapping[int, Address], endpoint_type: int
) -> dict[str, Any]:
    """Return the body of a DescribeCluster answer; `endpoint_type` is 1 for brokers and 2 for controllers."""
    return {
        "EndpointType": endpoint_type,
        "ClusterId": cluster_id,
        "ControllerId": controller_id,
        "Brokers": [{"BrokerId": id, "Host": at.host, "Port": at.port} for id, at in nodes.items()],
    }


def feature_ranges(ranges: Ranges) -> list[dict[str, Any]]:
    """Return the supported levels of features as registrations have them."""
    return [
        {"Name": name, "MinSupportedVersion": low, "MaxSupportedVersion": high} for name, (low, high) in ranges.items()
    ]


def controller_registration(node_id: int, address: Address, ranges: Ranges) -> bytes:
    """Return the framed record that registers a controller."""
    fields = {"ControllerId": node_id} | _registered("CONTROLLER", address, ranges)
    return encode_record(metadata_record(_REGISTER_CONTROLLER), 0, fields)


def broker_registration(node_id: int, address: Address, ranges: Ranges, *, fenced: bool) -> bytes:
    """Return the framed record that registers a broker."""
    fields = {"BrokerId": node_id, "BrokerEpoch": 1, "Fenced": fenced} | _registered("PLAINTEXT", address, ranges)
    return encode_record(metadata_record(_REGISTER_BROKER), 1, fields)


def _registered(name: str, address: Address, ranges: Ranges) -> dict[str, Any]:
    endpoint = listener(name, address) | {"SecurityProtocol": 0}
    return {"IncarnationId": _INCARNATION, "Features": feature_ranges(ranges), "EndPoints": [endpoint]}
