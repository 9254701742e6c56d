"""Owner of each setting under KRaft: the table schemas/node_settings.toml, on released Kafka.

The files of controllers and brokers differ; and what enabling eligible leader replicas does is foretold and done.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from kafkactl.cluster.node_settings import node_settings
from kafkactl.core.values import Role
from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.node import read_config, write_config
from tests.lab.harness.storage_tool import StorageToolServer

Kafkactl = Callable[..., Run]
CONTROLLERS = {
    "num.partitions": "3", "default.replication.factor": "1", "unclean.leader.election.enable": "true",
    "delete.topic.enable": "true", "auto.create.topics.enable": "false", "broker.session.timeout.ms": "3000",
    "auto.leader.rebalance.enable": "true", "leader.imbalance.check.interval.seconds": "1",
    "remote.log.storage.system.enable": "true",
}  # fmt: skip
BROKERS = {
    "num.partitions": "2", "default.replication.factor": "2", "unclean.leader.election.enable": "false",
    "delete.topic.enable": "false", "auto.create.topics.enable": "true", "broker.session.timeout.ms": "90000",
    "auto.leader.rebalance.enable": "false", "leader.imbalance.check.interval.seconds": "300",
    "min.insync.replicas": "2", "create.topic.policy.class.name": "java.lang.String",
}  # fmt: skip
ELR = "eligible.leader.replicas.version"
CAMPAIGN = [pytest.param(version, marks=pytest.mark.campaign) for version in ("3.9.2", "3.7.2", "4.0.2", "4.4.0")]


def differing(
    new_cluster: ClusterOf, release: str, brokers: dict[str, str], controllers: dict[str, str]
) -> KafkaCluster:
    level = "4.0" if release.startswith("4") else None
    cluster = new_cluster(release, controllers=1, brokers=2, dynamic=False, metadata_version=level)
    for ids, given in ((cluster.broker_ids, brokers), (cluster.controller_ids, controllers)):
        for id in ids:
            file = cluster.config_file(id)
            write_config(file, read_config(file) | given)
    return cluster.start()


def topics(cluster: KafkaCluster, tool: StorageToolServer, *words: str) -> tuple[int | None, str]:
    release = "4.3.1" if cluster.shape.release == "4.4.0" else cluster.shape.release
    made = tool.run_tool(
        release, "org.apache.kafka.tools.TopicCommand", ["--bootstrap-server", cluster.bootstrap_server, *words]
    )
    return made.exit_code, made.stdout + made.stderr


def partitions(cluster: KafkaCluster, name: str) -> dict[int, dict[str, Any]]:
    """Return the partitions of a topic; asking for one that is not there makes brokers create it, where they do so."""
    with cluster.client(Role.BROKER) as client:
        body = {"Topics": [{"Name": name}], "AllowAutoTopicCreation": True}
        (topic,) = client.ask_any("Metadata", body).body["Topics"]
    return {partition["PartitionIndex"]: partition for partition in topic["Partitions"]}


def shape(cluster: KafkaCluster, name: str) -> tuple[int, int]:
    found = cluster.wait_for(lambda: partitions(cluster, name), f"topic {name}")
    return len(found), len(found[0]["ReplicaNodes"])


def leaders(cluster: KafkaCluster, name: str) -> set[int]:
    return {partition["LeaderId"] for partition in partitions(cluster, name).values()}


@pytest.mark.parametrize("release", ["4.3.1", *CAMPAIGN])
def test_deciding_role_is_that_of_the_table(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, kafkactl: Kafkactl, release: str
) -> None:
    cluster = differing(new_cluster, release, BROKERS, CONTROLLERS)
    seen: dict[str, set[str]] = {}
    assert topics(cluster, storage_tool, "--create", "--topic", "made")[0] == 0  # and the brokers' policy is not loaded
    assert shape(cluster, "made") == (3, 1)
    assert shape(cluster, "automatic") == (2, 2)
    seen["num.partitions"] = seen["default.replication.factor"] = {"controller", "broker"}
    seen["auto.create.topics.enable"] = {"broker"}
    assert topics(cluster, storage_tool, "--delete", "--topic", "made")[0] == 0
    remote = topics(cluster, storage_tool, "--create", "--topic", "remote", "--config", "remote.storage.enable=true")
    assert remote[0] == 0, remote[1]
    seen |= {"delete.topic.enable": {"controller"}, "create.topic.policy.class.name": {"controller"}}
    assert topics(cluster, storage_tool, "--create", "--topic", "two", "--replica-assignment", "11:12,12:11")[0] == 0

    cluster.kill(12)  # fenced by the controllers' 3 seconds, not the brokers' 90
    cluster.wait_for(lambda: leaders(cluster, "two") == {11}, "one leader", 120)
    cluster.kill(11)
    time.sleep(4)
    cluster.node(12).start().wait_ready()
    elected = {12} if release > "3.9" else {-1}  # no release before 3.9 reads it (KAFKA-12670)
    cluster.wait_for(lambda: leaders(cluster, "two") == elected, "an unclean leader where it is allowed", 120)
    cluster.node(11).start().wait_ready()
    cluster.wait_for(lambda: leaders(cluster, "two") == {11, 12}, "preferred leaders again", 120)
    controllers = (
        "broker.session.timeout.ms", "unclean.leader.election.enable", "auto.leader.rebalance.enable",
        "leader.imbalance.check.interval.seconds",
    )  # fmt: skip
    seen |= {key: {"controller"} for key in controllers}
    assert {row.key: set(row.decides) for row in node_settings() if row.key in seen} == seen

    run = kafkactl("nodes", "verify", "--bootstrap-server", cluster.bootstrap_server, "-o", "json")
    assert (run.code, run.json["complete"]) == (7, True)
    found = {setting["key"] for setting in run.json["settings"]}
    since = {row.key: row.since for row in node_settings()}
    read = {key for key in seen if since[key] <= tuple(map(int, release.split(".")[:2]))}
    assert (read | {"min.insync.replicas"}) <= found


@pytest.mark.parametrize("release", ["4.3.1", pytest.param("3.9.2", marks=pytest.mark.campaign)])
def test_defaults_of_the_table_are_kafkas(cluster_of: ClusterOf, release: str) -> None:
    cluster = cluster_of(release, controllers=1, brokers=2)
    rows = {row.key: row for row in node_settings() if not row.unseen}
    body = {
        "Resources": [{"ResourceType": 4, "ResourceName": "1", "ConfigurationKeys": list(rows)}],
        "IncludeSynonyms": True,
    }
    with cluster.client() as client:
        (result,) = client.ask_node(cluster.controller_address(1), "DescribeConfigs", body).body["Results"]
    settings_shown = {
        config["Name"]: next((s["Value"] for s in config["Synonyms"] if s["Source"] == 5), None)
        for config in result["Configs"]
    }
    line = tuple(map(int, release.split(".")[:2]))
    assert {key for key, row in rows.items() if row.decides and row.since <= line} <= set(settings_shown)
    wrong = {
        key: (value, rows[key].default)
        for key, value in settings_shown.items()
        if value not in (None, "") and not rows[key].synonyms and rows[key].canonical(value) != rows[key].default
    }
    assert wrong == {}


def in_force(cluster: KafkaCluster, topic: str) -> set[tuple[str, int]]:
    """Return the value of min.insync.replicas and its source, on each broker."""
    resource = {"ResourceType": 2, "ResourceName": topic, "ConfigurationKeys": ["min.insync.replicas"]}
    found = set()
    with cluster.client(Role.BROKER) as client:
        for id in cluster.broker_ids:
            answer = client.ask_node(cluster.broker_address(id), "DescribeConfigs", {"Resources": [resource]})
            ((config,),) = (result["Configs"] for result in answer.body["Results"])
            found.add((config["Value"], config["ConfigSource"]))
    return found


def test_enabling_elr_is_refused_then_does_what_was_foretold(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, kafkactl: Kafkactl
) -> None:
    cluster = differing(new_cluster, "4.3.1", {"min.insync.replicas": "2"}, {"min.insync.replicas": "1"})
    for name, more in (("plain", ()), ("other", ()), ("own", ("--config", "min.insync.replicas=2"))):
        assert topics(cluster, storage_tool, "--create", "--topic", name, "--replication-factor", "2", *more)[0] == 0
    where = ("--bootstrap-server", cluster.bootstrap_server, "-o", "json")
    verified = kafkactl("nodes", "verify", *where)
    assert (verified.code, [setting["key"] for setting in verified.json["settings"]]) == (7, ["min.insync.replicas"])

    for words in (("plan",), ("upgrade",)):
        for what in (("--feature", f"{ELR}=1"), ("--release-version", "4.3")):
            refused = kafkactl("features", *words, *what, *where)
            assert (refused.code, refused.json["outcome"]) == (3, "refused")
            (finding,) = [finding for finding in refused.json["findings"] if finding["severity"] == "blocker"]
            assert finding["id"] == "elr-changes-min-insync"
            assert "2 -> 1 on broker 11, 12, for 2 topics" in finding["message"]
    assert in_force(cluster, "plain") == {("2", 4)}

    wrong = kafkactl("features", "upgrade", "--feature", f"{ELR}=1", "--accept-min-insync-replicas", "2", *where)
    assert (wrong.code, wrong.json["findings"][0]["id"]) == (3, "elr-min-insync-not-accepted")
    done = kafkactl("features", "upgrade", "--feature", f"{ELR}=1", "--accept-min-insync-replicas", "1", *where)
    assert (done.code, done.json["outcome"]) == (0, "done"), done.stdout
    foretold = next(finding for finding in done.json["findings"] if finding["id"] == "elr-changes-min-insync")[
        "evidence"
    ]
    after = {(foretold["cluster_value_after"], 3)}
    cluster.wait_for(lambda: in_force(cluster, "plain") == after, "the cluster's value")
    assert (in_force(cluster, "other"), in_force(cluster, "own")) == (after, {("2", 1)})
    assert (foretold["topics"], foretold["topics_with_own_value"]) == (2, 1)

    overridden = kafkactl("nodes", "verify", *where)
    assert (overridden.code, [finding["id"] for finding in overridden.json["findings"]]) == (7, ["setting-overridden"])
