"""Requests to a real controller on a generated log: answers and records at sizes that no lab cluster reaches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from kafkactl.core.frozen import changed
from kafkactl.dryrun.by_name import run
from kafkactl.dryrun.prediction import Verdict
from kafkactl.metadata.image.model import Image
from tests.dryrun.clusters import cluster
from tests.lab.dryrun.setting_requests import REQUESTS
from tests.lab.dryrun.stage import Stage
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.generated import GENERATED, write_image
from tests.lab.harness.storage_tool import StorageToolServer

RELEASES = ("3.9.2", "4.3.1")
ONE = ["4.3.1", pytest.param("3.9.2", marks=pytest.mark.campaign)]


def stage_of(
    new_cluster: ClusterOf,
    tool: StorageToolServer,
    release: str,
    image: Image,
    settings: Mapping[str, str] | None = None,
) -> Stage:
    made = new_cluster(release, **{**GENERATED, "settings": {**GENERATED["settings"], **(settings or {})}})
    write_image(made, image)
    return Stage(made.start(), tool)


# Settings that a controller stores and no broker uses: what brokers refuse is judged by Kafka's own class elsewhere.
OF_BROKERS = [
    ("1", "log.dirs", "/data"),
    ("1", "ssl.keystore.location", "/data/keys"),
    ("", "listener.security.protocol.map", "A:SSL"),
    ("1", "follower.replication.throttled.rate", "10MB"),
]


def set_to(key: str, value: str) -> dict[str, object]:
    return {"Name": key, "ConfigOperation": 0, "Value": value}


def alter(topic: str, key: str, value: str) -> dict[str, object]:
    resource = {"ResourceType": 2, "ResourceName": topic, "Configs": [set_to(key, value)]}
    return {"Resources": [resource], "ValidateOnly": False}


@pytest.mark.parametrize("release", ONE)
def test_unclean_elections_follow_a_setting(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, release: str
) -> None:
    image, _ = cluster(f"kafka {release[:3]}\nbrokers 1 2\nbroker 1 fenced\ntopic lost\n" + "  - | 1 2 | 1\n" * 800)
    period = {"unclean.leader.election.interval.ms": "1000"}
    stage = stage_of(new_cluster, storage_tool, release, image, period)
    before = stage.world()
    asked = {"entity": "topic:lost", "set": {"unclean.leader.election.enable": "true"}}
    found = run("alter-config", before, asked)
    assert (found.verdict, len(found.changes)) == (Verdict.DEGRADED, 800)
    stage.ask("IncrementalAlterConfigs", alter("lost", "unclean.leader.election.enable", "true"))
    stage.settle(
        lambda image: all(
            state[4] == 2 for topic in image.topics.values() for state in topic.partitions.states.values()
        )
    )
    stage.compare(found, before, exact=True)


@pytest.mark.parametrize("release", ONE)
def test_unregistration_of_a_broker_in_10_000_isrs_is_refused_until_it_is_fenced(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, release: str
) -> None:
    # The way out is carried out as well: fencing writes the same changes without a limit. (A 3.9.2 controller that no
    # broker ever sent a heartbeat to fences none.)
    image, _ = cluster(f"kafka {release[:3]}\nbrokers 1 2\ntopic wide\n" + "  2 | 1 2 | 1 2\n" * 10_000)
    stage = stage_of(new_cluster, storage_tool, release, image, {"broker.session.timeout.ms": "15000"})
    found = run("unregister-broker", stage.world(), {"broker": 1})
    answer = stage.ask("UnregisterBroker", {"BrokerId": 1})
    error = found.effects["server_error"]
    assert (found.verdict, error.code if error else 0) == (Verdict.REFUSED, answer["ErrorCode"])
    if release == "3.9.2":
        return
    world = stage.settle(lambda image: image.brokers[1].fenced)
    small = run("unregister-broker", world, {"broker": 1})
    assert small.appended is not None
    assert small.appended.by_type == {"UnregisterBrokerRecord": 1}
    assert stage.ask("UnregisterBroker", {"BrokerId": 1})["ErrorCode"] == 0
    stage.settle(lambda image: 1 not in image.brokers)
    assert Counter(record.type for record in stage.written(world.loaded.last_offset)) == Counter(small.appended.by_type)


TIERED = {
    "remote.log.storage.system.enable": "true",
    "remote.log.storage.manager.class.name": "x.Y",
    "remote.log.storage.manager.class.path": "/tmp",
    "remote.log.metadata.manager.listener.name": "CONTROLLER",
}


@pytest.mark.parametrize("settings", [{}, TIERED], ids=["local", "tiered"])
@pytest.mark.parametrize("release", RELEASES)
def test_settings_of_topics_are_accepted_and_refused_as_predicted(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, release: str, settings: Mapping[str, str]
) -> None:
    topics = [
        f"topic t{at} {' '.join(f'{key}={value}' for key, value in stored.items())}\n  1 | 1 | 1"
        for at, (stored, _) in enumerate(REQUESTS)
    ]
    image, _ = cluster("\n".join([f"kafka {release[:3]}", "brokers 1", *topics]))
    stage = stage_of(new_cluster, storage_tool, release, image, settings)
    world = stage.world()
    world = changed(world, facts=changed(world.facts, static={**world.facts.static, **settings}, static_known=True))
    wrong = []
    for at, (_, wanted) in enumerate(REQUESTS):
        configs = [
            {"Name": key, "ConfigOperation": int(value is None), "Value": value} for key, value in wanted.items()
        ]
        resource = {"ResourceType": 2, "ResourceName": f"t{at}", "Configs": configs}
        answer = stage.ask("IncrementalAlterConfigs", {"Resources": [resource], "ValidateOnly": True})["Responses"][0]
        asked = {
            "entity": f"topic:t{at}",
            "set": {key: value for key, value in wanted.items() if value is not None},
            "delete": [key for key, value in wanted.items() if value is None],
        }
        error = run("alter-config", world, asked).effects.get("server_error")
        if (error.code if error else 0) != answer["ErrorCode"]:
            wrong.append((REQUESTS[at], error, answer["ErrorCode"], answer["ErrorMessage"]))
    for name, key, value in OF_BROKERS:
        resource = {"ResourceType": 4, "ResourceName": name, "Configs": [set_to(key, value)]}
        answer = stage.ask("IncrementalAlterConfigs", {"Resources": [resource], "ValidateOnly": True})["Responses"][0]
        found = run("alter-config", world, {"entity": f"broker:{name}" if name else "cluster", "set": {key: value}})
        if (found.verdict, answer["ErrorCode"]) != (Verdict.DEGRADED, 0):
            wrong.append((key, found, answer["ErrorCode"], answer["ErrorMessage"]))
    assert not wrong
