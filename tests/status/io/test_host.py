"""Nodes of this host: their next start, and what this user may not read is unknown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.status.io import host
from kafkactl.status.io.host import observe_host
from tests.conftest import Run

CLUSTER_ID = "ZmFrZS1xdW9ydW0tMTIzNA"


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "server.properties"
    file.write_text(
        "process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
        "controller.listener.names=CONTROLLER\ncontroller.quorum.voters=1@127.0.0.1:9093\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
        f"log.dirs={tmp_path / 'disk'}\n"
    )
    return str(file)


def test_blank_disk_of_a_node_would_not_start(config: str):
    (found,) = observe_host([config])
    assert (found.runs, found.will_start, found.node_id) == (False, False, 1)


@pytest.fixture
def formatted(config: str, kafkactl: Callable[..., Run]) -> str:
    run = kafkactl("storage", "format", "-t", CLUSTER_ID, "-c", config, "--kafka-version", "4.3.1")
    assert run.code == 0, run
    return config


def test_formatted_node_that_does_not_run_would_start(formatted: str):
    (found,) = observe_host([formatted])
    assert (found.runs, found.will_start, found.cluster_id) == (False, True, CLUSTER_ID)


def test_directory_of_another_user_leaves_the_node_unknown(formatted: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(host.os, "access", lambda path, mode: False)
    (found,) = observe_host([formatted])
    assert (found.runs, found.will_start) == (None, None)
    assert found.findings[0].advice.startswith("Run the command as the user of Kafka: sudo -u ")


def test_file_that_is_not_there_is_unknown(tmp_path: Path):
    (found,) = observe_host([str(tmp_path / "none")])
    assert (found.runs, found.will_start, found.findings[0].id) == (None, None, "status-not-known")


def test_broker_in_zookeeper_mode_is_unknown_not_stopped(tmp_path: Path):
    file = tmp_path / "server.properties"
    file.write_text(f"broker.id=1\nzookeeper.connect=localhost:2181\nlog.dirs={tmp_path / 'disk'}\n")
    (found,) = observe_host([str(file)])
    assert (found.runs, found.will_start) == (None, None)
    assert "zookeeper-mode-not-verified" in {finding.id for finding in found.findings}
