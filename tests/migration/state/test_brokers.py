"""Settings of a migration in a broker's file."""

from __future__ import annotations

import pytest

from kafkactl.core.frozen import changed
from kafkactl.migration.observed.observation import Mode
from kafkactl.migration.state.brokers import file_mode, is_plain
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.state.unknown import what_is_left_over
from tests.migration.state.states_seen import HEALTHY

PLAIN = {"broker.id": "2", "zookeeper.connect": "zk:2181/kafka"}


@pytest.mark.parametrize(
    ("more", "mode", "plain"),
    [
        ({}, Mode.ZK, True),
        ({"controller.quorum.voters": "3001@c1:9093"}, Mode.ZK, False),
        ({"controller.quorum.bootstrap.servers": "c1:9093"}, Mode.ZK, False),
        ({"controller.listener.names": "CONTROLLER"}, Mode.ZK, False),
        ({"controller.quorum.voters": " "}, Mode.ZK, True),
        ({"zookeeper.metadata.migration.enable": "true"}, Mode.MIGRATING, False),
        ({"zookeeper.metadata.migration.enable": "false"}, Mode.ZK, True),
        ({"process.roles": "broker"}, Mode.KRAFT, False),
    ],
)
def test_mode_of_a_file_follows_from_its_migration_settings(more: dict[str, str], mode: Mode, plain: bool) -> None:
    config = {**PLAIN, **more}
    assert (file_mode(config), is_plain(config)) == (mode, plain)


@pytest.mark.parametrize("key", ["controller.quorum.voters", "controller.listener.names"])
def test_single_line_of_the_migration_is_reported_as_left_over(key: str) -> None:
    observation = HEALTHY["M0"].observation()
    nodes = (
        changed(node, config={**(node.config or {}), key: "x"}) if node.id == 2 else node for node in observation.nodes
    )
    left = what_is_left_over(evidence_of(changed(observation, nodes=tuple(nodes))))
    assert [(finding.id, finding.subject) for finding in left] == [("broker-file-left-over", "broker 2")]
