"""Requests and responses against two other implementations, byte by byte: kafka-python and kio.

Each message is written by us, read by the other, written again by the other, and must come out the same: framed and
with its header where kafka-python is asked, the bare body where kio is. Both were made by others from Kafka's
definitions, so they share no code with ours. kio is stricter in two things that are left out: it knows no error code
that Kafka has not, and no time span longer than Python's.
"""

from __future__ import annotations

import importlib
import io
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kafkactl.protocol.codec import TAGS, encode_message
from kafkactl.protocol.framing import Framing
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import MessageSpec
from tests.protocol.random_messages import random_message

NAMES = (
    "AddRaftVoter", "AlterPartitionReassignments", "ApiVersions", "BeginQuorumEpoch", "BrokerRegistration",
    "ControllerRegistration", "DescribeCluster", "DescribeConfigs", "DescribeQuorum", "ElectLeaders", "EndQuorumEpoch",
    "Fetch", "FetchSnapshot", "IncrementalAlterConfigs", "ListPartitionReassignments", "Metadata", "RemoveRaftVoter",
    "SaslAuthenticate", "SaslHandshake", "UnregisterBroker", "UpdateFeatures", "UpdateRaftVoter", "Vote",
)  # fmt: skip
# Those of them that kafka-python has.
IN_KAFKA_PYTHON = (
    "AlterPartitionReassignments", "ApiVersions", "DescribeCluster", "DescribeConfigs", "DescribeQuorum",
    "ElectLeaders", "Fetch", "IncrementalAlterConfigs", "ListPartitionReassignments", "Metadata", "SaslAuthenticate",
    "SaslHandshake", "UpdateFeatures",
)  # fmt: skip
ROUNDS = 10


def values(spec: MessageSpec, version: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(f"{spec.name} {version}")
    for _ in range(ROUNDS):
        value = _plausible(random_message(rng, spec, version))
        assert isinstance(value, dict)
        yield value


def _plausible(value: Any) -> Any:
    """Remove unknown tags, which both drop, and replace error codes and time spans that kio lacks."""
    if isinstance(value, list):
        return [_plausible(part) for part in value]
    if not isinstance(value, dict):
        return value
    changed = {key: _plausible(part) for key, part in value.items() if key != TAGS}
    if changed.get("ErrorCode"):
        changed["ErrorCode"] = (7, 35, 41, 95)[changed["ErrorCode"] % 4]
    if "SessionLifetimeMs" in changed:
        changed["SessionLifetimeMs"] %= 10**12
    return changed


@pytest.mark.parametrize("name", IN_KAFKA_PYTHON)
def test_kafka_python_reads_and_writes_the_same_requests(name: str) -> None:
    spec, theirs = message(f"{name}Request"), _kafka_python(f"{name}Request")
    for version in _versions(spec, theirs):
        for body in values(spec, version):
            wire = Framing(client_id="me").send(name, version, body)
            again = theirs.decode(wire, version=version, header=True, framed=True)
            assert again.encode(version=version, header=True, framed=True) == wire, (version, body)


@pytest.mark.parametrize("name", IN_KAFKA_PYTHON)
def test_kafka_python_reads_and_writes_the_same_responses(name: str) -> None:
    spec, theirs = message(f"{name}Response"), _kafka_python(f"{name}Response")
    for version in _versions(spec, theirs):
        for body in values(spec, version):
            if name == "ApiVersions":
                body["ErrorCode"] = 0  # kafka-python reads the rest of an answer with an error as version 0
            data = encode_message(spec, version, body)
            again = theirs.decode(data, version=version)
            again._header = None
            assert again.encode(version=version) == data, (version, body)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["request", "response"])
@pytest.mark.parametrize("name", NAMES)
def test_kio_reads_and_writes_the_same_bodies(name: str, kind: str) -> None:
    from kio.serial import entity_reader, entity_writer

    spec = message(name + kind.title())
    compared = 0
    for version in spec.valid_versions:
        if (theirs := _kio(name, kind, version)) is None:
            continue
        read, write = entity_reader(theirs), entity_writer(theirs)
        for body in values(spec, version):
            data = encode_message(spec, version, body)
            again = io.BytesIO()
            write(again, read(data, 0)[0])
            assert again.getvalue() == data, (version, body)
            compared += 1
    assert compared >= ROUNDS, "kio knows at least one version of each"


def test_kafka_python_reads_a_request_as_it_was_meant() -> None:
    # By name, not only by bytes: two that swap the same two fields would agree on those.
    update = {"Feature": "metadata.version", "MaxVersionLevel": 21, "UpgradeType": 3}
    body = {"timeoutMs": 77, "FeatureUpdates": [update], "ValidateOnly": True}
    wire = Framing(client_id="me").send("UpdateFeatures", 1, body)
    theirs = _kafka_python("UpdateFeaturesRequest").decode(wire, version=1, header=True, framed=True)
    assert (theirs.timeout_ms, theirs.validate_only) == (77, True)
    (feature,) = theirs.feature_updates
    assert (feature.feature, feature.max_version_level, feature.upgrade_type) == ("metadata.version", 21, 3)


def _kafka_python(name: str) -> Any:
    for module in ("admin", "metadata", "sasl", "consumer"):
        if found := getattr(importlib.import_module(f"kafka.protocol.{module}"), name, None):
            return found
    raise AssertionError(f"kafka-python has no {name}")


def _versions(spec: MessageSpec, theirs: Any) -> list[int]:
    """Return the versions that both know."""
    found = [valid_version for valid_version in spec.valid_versions if valid_version <= theirs.max_version]
    assert found
    return found


def _kio(name: str, kind: str, version: int) -> Any:
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    try:
        module = importlib.import_module(f"kio.schema.{snake}.v{version}.{kind}")
    except ImportError:
        return None
    return getattr(module, name + kind.title())
