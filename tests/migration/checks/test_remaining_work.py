"""Remaining work after the end of a migration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.core.findings import Severity
from kafkactl.migration.checks.remaining_work import afterwards
from tests.migration.observations import world


def notes_by_subject(observation) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for finding in afterwards(observation):
        found.setdefault(finding.id, []).append(finding.subject)
    return found


def test_next_steps_of_a_finalized_cluster_are_reported():
    found = afterwards(world("M11").observation())
    ids = [finding.id for finding in found]
    assert ids[-2:] == ["binaries-can-be-upgraded", "zookeeper-no-longer-used"]
    assert not [finding for finding in found if finding.severity is Severity.BLOCKER]
    assert "/migration" in found[-1].evidence["left_behind"]


def test_unknown_facts_cause_no_note():
    seen = world("M11").but(has_tree=False, state=None, versions=dict.fromkeys((1, 2, 3, 3001)), files={})
    assert notes_by_subject(seen.observation()) == {}


@pytest.mark.parametrize(("level", "can_rise"), [(20, True), (21, False)])
def test_note_of_a_higher_level_depends_on_the_level(level: int, can_rise: bool):
    image = replace(world("M11").image, features={"metadata.version": level})
    found = notes_by_subject(world("M11").logged(image=image).observation())
    assert ("metadata-version-can-be-raised" in found) is can_rise


@pytest.mark.parametrize("key", ["zookeeper.connect", "inter.broker.protocol.version", "control.plane.listener.name"])
def test_settings_of_zookeeper_mode_are_reported(key: str):
    observation = world("M11").file(1, key, "x").observation()
    assert notes_by_subject(observation)["zookeeper-settings-left"] == ["broker 1"]


def test_settings_that_controllers_decide_differently_are_reported_at_the_end_too():
    cluster = world("M11")
    for id in (1, 2):
        cluster.file(id, "min.insync.replicas", "2").file(id, "default.replication.factor", "3")
    assert notes_by_subject(cluster.observation())["controller-setting-differs"] == [
        "default.replication.factor",
        "min.insync.replicas",
    ]


@pytest.mark.parametrize("version", ["3.9.0", "3.9.2", "3.8.1", "3.7.2"])
def test_nodes_on_kraft_go_straight_to_4(version: str):
    # 3.9 is the bridge for clusters on ZooKeeper; all nodes of one on KRaft went from 3.7.2 to 4.0.2 (measured).
    cluster = world("M11")
    cluster.but(versions=dict.fromkeys((1, 2, 3, 3001), version))
    (found,) = [finding for finding in afterwards(cluster.observation()) if finding.id == "binaries-can-be-upgraded"]
    assert found.next_step.startswith("Take controllers")
    assert "first" not in found.next_step
    assert version in found.message
