"""`quorum describe` on clusters of released Kafka: against Kafka's own tool, without a leader, and from disks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.conftest import Run
from tests.lab.harness import releases
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.storage_tool import StorageToolServer

Kafkactl = Callable[..., Run]
TOOL = "org.apache.kafka.tools.MetadataQuorumCommand"
EVERY = [
    pytest.param(version, marks=() if version == "4.3.1" else pytest.mark.campaign)
    for version in ("3.9.2", "4.0.2", "4.3.1", "4.4.0")
]
MOVING = ("HighWatermark", "MaxFollowerLag", "MaxFollowerLagTimeMs")


def tool_of(release: str) -> str:
    """Return the release whose tool is used: of the newest no tools are published."""
    return release if "kafka-tools" in releases.release(release).tools else releases.NEWEST_WITH_TOOLS


def bootstraps(cluster: KafkaCluster) -> list[tuple[str, str]]:
    return [
        ("--bootstrap-controller", cluster.bootstrap_controller),
        ("--bootstrap-server", cluster.bootstrap_server),
    ]


def status_of(text: str) -> dict[str, str]:
    """Return label and value of each line, without the blanks between them."""
    return {line.partition(":")[0]: line.partition(":")[2].strip() for line in text.strip().splitlines()}


def table_of(text: str) -> list[dict[str, str]]:
    header, *rows = [[cell.strip() for cell in line.split("\t")] for line in text.strip("\n").splitlines()]
    return [dict(zip(header, row, strict=True)) for row in rows]


@pytest.mark.parametrize("release", EVERY)
def test_description_is_equal_to_that_of_kafkas_tool(
    release: str, cluster_of: ClusterOf, storage_tool: StorageToolServer, kafkactl: Kafkactl
) -> None:
    cluster = cluster_of(release, controllers=3, brokers=1)
    for option, addresses in bootstraps(cluster):
        connection = [option, addresses, "describe"]
        before = kafkactl("quorum", *connection, "-o", "json")
        theirs = storage_tool.run_tool(tool_of(release), TOOL, [*connection, "--status"])
        ours = kafkactl("quorum", *connection, "--status")
        assert (before.code, theirs.exit_code, ours.code) == (0, 0, 0), (before, theirs, ours)
        mine, kafkas = status_of(ours.stdout), status_of(theirs.stdout)
        assert list(mine) == list(kafkas)
        assert re.findall(r"^\S+ +", ours.stdout, re.M) == re.findall(r"^\S+ +", theirs.stdout, re.M)
        fixed = [label for label in mine if label not in MOVING]
        assert [mine[label] for label in fixed] == [kafkas[label] for label in fixed]
        seen = before.json["high_watermark"], int(kafkas["HighWatermark"]), int(mine["HighWatermark"])
        assert list(seen) == sorted(seen)

        theirs = storage_tool.run_tool(tool_of(release), TOOL, [*connection, "--replication"])
        ours = kafkactl("quorum", *connection, "--replication")
        mine_rows, their_rows = table_of(ours.stdout), table_of(theirs.stdout)
        assert [list(row) for row in mine_rows] == [list(row) for row in their_rows]
        for column in ("NodeId", "DirectoryId", "Status"):
            assert [row[column] for row in mine_rows] == [row[column] for row in their_rows], column
        assert all(
            int(mine["LogEndOffset"]) >= int(row["LogEndOffset"])
            for mine, row in zip(mine_rows, their_rows, strict=True)
        )
        human = kafkactl("quorum", *connection, "--replication", "--human-readable").stdout
        assert all(row["LastFetchTimestamp"].endswith(" ms ago") for row in table_of(human))


@pytest.mark.parametrize("release", ["3.6.2", pytest.param("3.3.2", marks=pytest.mark.campaign)])
def test_static_quorum_of_an_old_release_is_described_as_by_its_tool(
    release: str, cluster_of: ClusterOf, storage_tool: StorageToolServer, kafkactl: Kafkactl
) -> None:
    cluster = cluster_of(release, controllers=3, brokers=1, dynamic=False)
    connection = ["--bootstrap-server", cluster.bootstrap_server]
    theirs = storage_tool.run_tool(release, tool_class(release), [*connection, "describe", "--status"])
    run = kafkactl("quorum", "describe", *connection, "-o", "json")
    assert (run.code, theirs.exit_code) == (0, 0), (run, theirs)
    answer, kafkas = run.json, status_of(theirs.stdout)
    assert (answer["mode"], answer["kraft_version"], answer["majority"], answer["tolerates"]) == ("static", 0, 2, 1)
    assert (answer["cluster_id"], answer["leader_id"], answer["leader_epoch"]) == (
        kafkas["ClusterId"], int(kafkas["LeaderId"]), int(kafkas["LeaderEpoch"]),
    )  # fmt: skip
    for group, label in (("voters", "CurrentVoters"), ("observers", "CurrentObservers")):
        assert [replica["id"] for replica in answer[group]] == sorted(json.loads(kafkas[label]))
        assert {replica["directory_id"] for replica in answer[group]} == {None}
    # Controllers answer us though Kafka's own tools cannot ask them before 3.7.
    direct = kafkactl("quorum", "describe", "--bootstrap-controller", cluster.bootstrap_controller, "-o", "json")
    assert (direct.code, direct.json["leader_id"], direct.json["mode"]) == (0, answer["leader_id"], "static")


def tool_class(release: str) -> str:
    return "kafka.admin.MetadataQuorumCommand" if release < "3.6" else TOOL


@pytest.mark.campaign
@pytest.mark.parametrize("release", ("4.0.2", "4.3.1", "4.4.0"))
def test_directory_ids_of_a_static_quorum_are_never_shown(
    release: str, new_cluster: ClusterOf, kafkactl: Kafkactl
) -> None:
    cluster = new_cluster(release, controllers=1, brokers=0, dynamic=False).start()
    answer = kafkactl("quorum", "describe", "--bootstrap-controller", cluster.bootstrap_controller, "-o", "json").json
    assert (answer["mode"], [voter["directory_id"] for voter in answer["voters"]]) == ("static", [None])


@pytest.mark.parametrize(
    "release",
    ["4.3.1", *(pytest.param(version, marks=pytest.mark.campaign) for version in ("3.9.2", "4.0.2", "4.4.0"))],
)
def test_quorum_without_a_leader_is_described_from_controllers_and_disks(
    release: str, cluster_of: ClusterOf, kafkactl: Kafkactl
) -> None:
    cluster = cluster_of(release, controllers=3, brokers=1)
    healthy = cluster.quorum()
    lost = [controller_id for controller_id in cluster.controller_ids if controller_id != healthy["LeaderId"]]
    left = healthy["LeaderId"]
    cluster.kill(lost[0])
    cluster.pause(lost[1])
    connection = ["--bootstrap-controller", cluster.bootstrap_controller, "-o", "json"]
    run = cluster.wait_for(lambda: _leaderless(kafkactl("quorum", "describe", *connection)), "lost its leader")
    answer = run.json
    assert (answer["cluster_id"], answer["mode"], answer["high_watermark"]) == (cluster.cluster_id, "dynamic", None)
    assert (answer["voters"], answer["majority"], answer["tolerates"]) == ([], None, None)
    assert answer["leader_epoch"] >= healthy["LeaderEpoch"]
    assert {node["id"]: node["answers"] for node in answer["nodes"]} == {left: True} | dict.fromkeys(lost, False)
    assert {"no-quorum-leader", "voters-not-known"} <= {finding["id"] for finding in answer["findings"]}

    disks = [
        word for controller_id in cluster.controller_ids for word in ("--log-dir", _log_dir(cluster, controller_id))
    ]
    answer = kafkactl("quorum", "describe", *connection, *disks).json
    assert {voter["id"]: voter["alive"] for voter in answer["voters"]} == {left: True} | dict.fromkeys(lost, False)
    assert (answer["leader_id"], answer["majority"], answer["tolerates"]) == (-1, 2, -1)
    assert {voter["id"]: voter["directory_id"] for voter in answer["voters"]} == {
        controller_id: cluster.directory_id(controller_id) for controller_id in cluster.controller_ids
    }
    _check_disks(cluster, answer, healthy)

    # A broker knows no leader either and keeps the question; its configuration leads to the controllers.
    through_broker = kafkactl("quorum", "describe", "--bootstrap-server", cluster.bootstrap_server, "-o", "json")
    assert (through_broker.code, through_broker.json["leader_id"]) == (7, -1), through_broker
    assert {
        node["id"] for node in through_broker.json["nodes"] if node["answers"] and node["role"] == "controller"
    } == {left}

    alone = kafkactl("quorum", "describe", *disks, "-o", "json")
    assert (alone.code, alone.json["leader_id"], alone.json["tolerates"]) == (7, -1, None)
    assert {voter["alive"] for voter in alone.json["voters"]} == {None}
    _check_disks(cluster, alone.json, healthy)


def _leaderless(run: Run) -> Run | None:
    if run.code != 7 or run.json["leader_id"] != -1:
        return None
    return run


def _log_dir(cluster: KafkaCluster, node_id: int) -> str:
    return cluster.node(node_id).config["log.dirs"]


def _check_disks(cluster: KafkaCluster, answer: Mapping[str, Any], healthy: Mapping[str, Any]) -> None:
    disks = {disk["node_id"]: disk for disk in answer["disks"]}
    assert set(disks) == set(cluster.controller_ids)
    for node_id, disk in disks.items():
        assert (disk["cluster_id"], disk["directory_id"], disk["kraft_version"]) == (
            cluster.cluster_id, cluster.directory_id(node_id), 1,
        )  # fmt: skip
        assert disk["leader_epoch"] >= disk["last_epoch"] >= healthy["LeaderEpoch"]
        assert disk["log_end_offset"] >= healthy["HighWatermark"]


def test_static_quorum_has_no_directory_ids_and_is_read_from_its_disks(
    new_cluster: ClusterOf, kafkactl: Kafkactl
) -> None:
    cluster = new_cluster("3.9.2", controllers=3, brokers=0, dynamic=False).start()
    answer = kafkactl("quorum", "describe", "--bootstrap-controller", cluster.bootstrap_controller, "-o", "json").json
    assert (answer["mode"], {voter["directory_id"] for voter in answer["voters"]}) == ("static", {None})
    healthy = cluster.quorum()
    cluster.kill(1, 2, 3)
    disks = [
        word for controller_id in cluster.controller_ids for word in ("--log-dir", _log_dir(cluster, controller_id))
    ]
    run = kafkactl("quorum", "describe", *disks, "-o", "json")
    assert (run.code, run.json["mode"]) == (7, None)
    # A controller that is killed later may have begun an election in between.
    assert run.json["leader_epoch"] >= healthy["LeaderEpoch"]
    assert [voter["id"] for voter in run.json["voters"]] == [1, 2, 3]
    assert max(disk["log_end_offset"] for disk in run.json["disks"]) >= healthy["HighWatermark"]
