"""Remedies of findings about a living cluster, carried out on real Kafka in the state in which they are shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import Run
from tests.lab.harness import releases
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.node import read_config, write_config
from tests.lab.harness.storage_tool import StorageToolServer

RELEASE, BROKER, OTHER = "4.3.1", 11, 12
Kafkactl = Callable[..., Run]


def findings(run: Run, wanted: str) -> list[dict[str, Any]]:
    """Return the findings of one id."""
    return [found for found in run.json["findings"] if found["id"] == wanted]


def throttles(kafkactl: Kafkactl, cluster: KafkaCluster) -> list[dict[str, Any]]:
    """Return the throttles that `log lint` reports of the metadata log on the broker's disk."""
    disk = read_config(cluster.config_file(BROKER))["log.dirs"]
    return findings(kafkactl("log", "lint", f"{disk}/__cluster_metadata-0", "-o", "json"), "replication-throttle-left")


def test_throttle_that_a_reassignment_left_is_removed_as_the_remedy_says(
    new_cluster: ClusterOf, kafkactl: Kafkactl, storage_tool: StorageToolServer, tmp_path: Path
) -> None:
    cluster = new_cluster(RELEASE, controllers=1, brokers=2).start()
    where = ["--bootstrap-server", str(cluster.broker_address(BROKER))]

    def tool(name: str, *words: str | Path) -> None:
        run = storage_tool.run_tool(releases.NEWEST_WITH_TOOLS, name, [*where, *map(str, words)])
        assert run.exit_code == 0, run.stdout + run.stderr

    def subjects() -> set[str]:
        return {subject for found in throttles(kafkactl, cluster) for subject in found["evidence"]["subjects"]}

    reassign = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"

    def move(to: int) -> Path:
        """Move the partition with a throttle; without --verify the throttle stays."""
        plan = tmp_path / f"to-{to}.json"
        moves = [{"topic": "orders", "partition": 0, "replicas": [to]}]
        plan.write_text(json.dumps({"version": 1, "partitions": moves}))
        tool(reassign, "--reassignment-json-file", plan, "--execute", "--throttle", "5000000")
        return plan

    tool("org.apache.kafka.tools.TopicCommand", "--create", "--topic", "orders", "--replica-assignment", str(BROKER))
    plan = move(OTHER)
    both = {f"broker {BROKER}", f"broker {OTHER}", "topic orders"}
    cluster.wait_for(lambda: subjects() == both, "the throttles are in the log")

    def is_verified() -> bool:
        """Verify, which removes the throttles if the replica was moved, and return True after they are removed."""
        tool(reassign, "--reassignment-json-file", plan, "--verify")
        return not throttles(kafkactl, cluster)

    cluster.wait_for(is_verified, "--verify removed the throttles")

    move(BROKER)
    cluster.wait_for(lambda: subjects() == both, "the throttles are in the log again")
    rates = "leader.replication.throttled.rate,follower.replication.throttled.rate"
    lists = "leader.replication.throttled.replicas,follower.replication.throttled.replicas"
    delete = ["kafka.admin.ConfigCommand", "--alter", "--entity-type"]
    for broker in (BROKER, OTHER):
        tool(*delete, "brokers", "--entity-name", str(broker), "--delete-config", rates)
    tool(*delete, "topics", "--entity-name", "orders", "--delete-config", lists)
    cluster.wait_for(lambda: not throttles(kafkactl, cluster), "the settings were deleted")


def test_controllers_with_different_voters_agree_after_the_remedy(new_cluster: ClusterOf, kafkactl: Kafkactl) -> None:
    cluster = new_cluster(RELEASE, controllers=3, brokers=0, dynamic=False)
    file = cluster.config_file(3)
    own = read_config(file)
    right = own["controller.quorum.voters"]
    wrong = ",".join(voter for voter in right.split(",") if not voter.startswith("2@"))
    _configure(cluster, own | {"controller.quorum.voters": wrong})
    cluster.start(1, 2)
    cluster.node(3).start()

    def differs() -> list[dict[str, Any]]:
        run = kafkactl("quorum", "describe", "--bootstrap-controller", cluster.bootstrap_controller, "-o", "json")
        return findings(run, "configured-voters-differ") if run.code in (0, 7) else []

    (found,) = cluster.wait_for(differs, "the differing voters are reported", 120)
    assert found["evidence"]["voters"] == {"1": ["1", "2", "3"], "2": ["1", "2", "3"], "3": ["1", "3"]}
    cluster.stop(3)
    _configure(cluster, own)
    cluster.node(3).start()

    def settled() -> bool:
        run = kafkactl("quorum", "describe", "--bootstrap-controller", cluster.bootstrap_controller, "-o", "json")
        return run.code == 0 and run.json["tolerates"] == 1 and not findings(run, "configured-voters-differ")

    cluster.wait_for(settled, "all voters are alive and agree", 120)


def _configure(cluster: KafkaCluster, config: dict[str, str]) -> None:
    write_config(cluster.config_file(3), config)
    cluster.node(3).config.clear()
    cluster.node(3).config.update(config)
