"""Configurations to start from, and how to read or refuse one."""

from __future__ import annotations

import pytest

from kafkactl.core.findings import Severity
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.config.node_config import ConfigError, NodeConfig, read_node_config

COMBINED = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@localhost:9093",
    "log.dirs": "/data/a",
}
BROKER = COMBINED | {"process.roles": "broker", "node.id": "2", "listeners": "PLAINTEXT://localhost:9092"}
CONTROLLER = COMBINED | {"process.roles": "controller", "listeners": "CONTROLLER://localhost:9093"}


def text(base: dict[str, str], **changes: str | None) -> bytes:
    settings = base | {key.replace("_", "."): value for key, value in changes.items()}
    return "".join(f"{key}={value}\n" for key, value in settings.items() if value is not None).encode()


def read(data: bytes, release: str = "4.3", resolve=None) -> NodeConfig:
    return read_node_config(data, file="server.properties", release=find_release(release), resolve=resolve)


def refused(data: bytes, release: str = "4.3", resolve=None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read(data, release, resolve)
    error = caught.value
    assert error.exit_code == 2
    assert error.id == error.findings[0].id
    assert error.findings[0].message in error.message
    assert "server.properties" in error.message
    assert error.advice
    weights = [finding.severity for finding in error.findings]
    assert weights == sorted(weights, key=[Severity.BLOCKER, Severity.WARNING].index)
    assert all(finding.advice for finding in error.findings)
    return error
