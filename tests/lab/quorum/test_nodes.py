"""`kafkactl nodes` at released Kafka: who is there, and what becomes of a node that is unregistered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf

Kafkactl = Callable[..., Run]


def nodes(kafkactl: Kafkactl, cluster: KafkaCluster, *, by: str = "server") -> dict[int, dict[str, Any]]:
    where = cluster.bootstrap_server if by == "server" else cluster.bootstrap_controller
    run = kafkactl("nodes", f"--bootstrap-{by}", where, "list", "-o", "json")
    assert run.code == 0, run.stderr
    assert run.json["cluster_id"] == cluster.cluster_id
    return {node["id"]: node for node in run.json["nodes"]}


def unregister(kafkactl: Kafkactl, cluster: KafkaCluster, node_id: int, *words: object, by: str = "server") -> Run:
    where = cluster.bootstrap_server if by == "server" else cluster.bootstrap_controller
    return kafkactl("nodes", "unregister", "--id", node_id, f"--bootstrap-{by}", where, *words, "-o", "json")


def ids(run: Run) -> list[str]:
    return [finding["id"] for finding in run.json["findings"]]


def wait_until_fenced(kafkactl: Kafkactl, cluster: KafkaCluster, node_id: int) -> None:
    def fenced() -> bool:
        node = nodes(kafkactl, cluster).get(node_id)
        return node is not None and node["fenced"] is True

    cluster.wait_for(fenced, f"broker {node_id} fenced")


CAMPAIGN = [
    pytest.param(version, marks=pytest.mark.campaign)
    for version in ("3.3.2", "3.6.2", "3.7.2", "3.9.2", "4.0.2", "4.3.1")
]


@pytest.mark.parametrize("release", ["4.4.0", *CAMPAIGN])
def test_broker_is_listed_alive_dead_and_unregistered(kafkactl: Kafkactl, cluster_of: ClusterOf, release: str) -> None:
    cluster = cluster_of(release, controllers=1, brokers=2, dynamic=False)
    _a_list_of_the_living(kafkactl, cluster)

    refused = unregister(kafkactl, cluster, 12, "--yes")
    assert (refused.code, refused.json["outcome"], ids(refused)) == (3, "refused", ["broker-alive"])
    assert nodes(kafkactl, cluster)[12]["registered"] is True

    cluster.kill(12)
    wait_until_fenced(kafkactl, cluster, 12)
    dead = nodes(kafkactl, cluster)[12]
    assert (dead["answers"], dead["stale"], dead["features"] != {}) == (False, True, True)

    planned = unregister(kafkactl, cluster, 12, "--dry-run")
    assert (planned.code, planned.json["outcome"], planned.json["role"]) == (0, "planned", "broker")
    done = unregister(kafkactl, cluster, 12, "--yes")
    assert (done.code, done.json["outcome"]) == (0, "done"), done.stdout
    assert 12 not in nodes(kafkactl, cluster)
    assert unregister(kafkactl, cluster, 12, "--yes").json["outcome"] == "nothing-to-do"

    cluster.start(12)  # it registers again, as any new broker does
    assert nodes(kafkactl, cluster)[12]["fenced"] is False


def _a_list_of_the_living(kafkactl: Kafkactl, cluster: KafkaCluster) -> None:
    by_server, by_controller = nodes(kafkactl, cluster), nodes(kafkactl, cluster, by="controller")
    assert list(by_server) == list(by_controller) == [1, 11, 12]
    for rows in (by_server, by_controller):
        assert [(row["answers"], row["stale"]) for row in rows.values()] == [(True, False)] * 3
        assert [row["roles"] for row in rows.values()] == [["controller"], ["broker"], ["broker"]]
        assert [row["fenced"] for row in rows.values()] == [None, False, False]
        for row in rows.values():
            assert cluster.shape.release.startswith(f"{row['kafka_version']}.")


@pytest.mark.parametrize("by", ["server", "controller"])
def test_context_guards_its_cluster(
    kafkactl: Kafkactl, cluster_of: ClusterOf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, by: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    cluster = cluster_of("4.4.0", controllers=1, brokers=2, dynamic=False)
    where = cluster.bootstrap_server if by == "server" else cluster.bootstrap_controller
    another = "MkU3OEVBNTcwNTJENDM2Qg"
    assert kafkactl("config", "set", "lab", f"--bootstrap-{by}", where, "--cluster-id", another).code == 0
    assert kafkactl("config", "use", "lab").code == 0
    assert kafkactl("nodes", "list", "-o", "json").json["cluster_id"] == cluster.cluster_id
    for more in ([], ["--context", "lab", "--bootstrap-server", cluster.bootstrap_server]):
        run = kafkactl("nodes", "unregister", "--id", 99, "--yes", *more, "-o", "json")
        assert (run.code, run.error["id"]) == (3, "cluster-id-mismatch")
    kafkactl("config", "set", "lab", "--cluster-id", cluster.cluster_id)
    assert kafkactl("nodes", "unregister", "--id", 99, "--yes", "-o", "json").json["outcome"] == "nothing-to-do"


@pytest.mark.campaign
def test_broker_that_hangs_is_not_unregistered(kafkactl: Kafkactl, cluster_of: ClusterOf) -> None:
    # A paused process answers nothing and is fenced in the end, as a dead one; but it would come back as a zombie.
    cluster = cluster_of("4.4.0", controllers=1, brokers=2, dynamic=False)
    cluster.pause(12)
    try:
        assert ids(unregister(kafkactl, cluster, 12, "--yes", by="controller")) == ["broker-alive"]
        wait_until_fenced(kafkactl, cluster, 12)
        run = unregister(kafkactl, cluster, 12, "--yes", by="controller")
        assert (run.code, run.json["outcome"], ids(run)) == (3, "refused", ["node-port-open"])
    finally:
        cluster.resume(12)
    cluster.wait_complete()


class TestControllers:
    @pytest.fixture
    def cluster(self, new_cluster: ClusterOf) -> KafkaCluster:
        """Yield a cluster in which controller 2 is a registered observer, at a level that unregisters controllers."""
        cluster = new_cluster("4.4.0", controllers=1, brokers=1, metadata_version="4.4-IV2")
        cluster.start()
        cluster.add_controller(2)
        cluster.wait_complete()
        return cluster

    def test_only_a_stopped_controller_is_unregistered(self, kafkactl: Kafkactl, cluster: KafkaCluster) -> None:
        assert ids(unregister(kafkactl, cluster, 1, "--yes")) == ["controller-is-voter", "controller-alive"]
        assert ids(unregister(kafkactl, cluster, 2, "--yes")) == ["controller-alive"]
        cluster.kill(2)
        run = cluster.wait_for(
            lambda: (
                (run := unregister(kafkactl, cluster, 2, "--yes")).code not in (3, 4)  # refused, or late
                and run
            ),
            "controller 2 out of the observers",
            timeout_s=120,
        )
        assert (run.code, run.json["outcome"], run.json["role"]) == (0, "done", "controller")
        assert 2 not in nodes(kafkactl, cluster)
        cluster.node(2).start().wait_ready()
        cluster.wait_complete()
        assert nodes(kafkactl, cluster)[2]["registered"] is True


@pytest.mark.parametrize("release", ["3.9.2"])
def test_controller_below_4_4_stays(kafkactl: Kafkactl, new_cluster: ClusterOf, release: str) -> None:
    cluster = new_cluster(release, controllers=1, brokers=1)
    cluster.start()
    cluster.add_controller(2)
    cluster.wait_complete()
    cluster.kill(2)
    run = unregister(kafkactl, cluster, 2, "--yes")
    assert run.code == 3
    assert "controllers-cannot-be-unregistered" in ids(run)
    assert (
        "node id 2"
        in next(finding for finding in run.json["findings"] if finding["id"].endswith("unregistered"))["next_step"]
    )
