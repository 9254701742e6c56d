"""The lab's clusters are what their shape says, and what is done to their nodes happens."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafkactl.core.errors import KafkactlError
from kafkactl.core.values import Role
from tests.lab.harness.cluster_disks import shape_of
from tests.lab.harness.cluster_fixtures import SHARED, ClusterOf, SharedClusters, pytest_runtest_teardown

ZERO = "AAAAAAAAAAAAAAAAAAAAAA"


def test_dynamic_cluster_is_complete_once_started_and_takes_new_controllers_and_disks(new_cluster: ClusterOf) -> None:
    cluster = new_cluster("4.3.1", controllers=2, brokers=1, voters=(1,))
    cluster.start()
    assert cluster.voters() == {1: cluster.directory_id(1)}
    joined = cluster.add_controller()
    cluster.wait_complete()
    observers = {
        observer["ReplicaId"]: str(observer["ReplicaDirectoryId"]) for observer in cluster.quorum()["Observers"]
    }
    assert {node: observers[node] for node in (2, joined)} == {node: cluster.directory_id(node) for node in (2, joined)}
    lost = cluster.directory_id(joined)
    assert cluster.replace_disk(joined) == cluster.directory_id(joined) != lost
    cluster.wait_complete()
    assert cluster.levels(1)["metadata.version"] == cluster.levels(11)["metadata.version"] == 30


def test_shared_clusters_end_after_the_last_test_that_uses_them() -> None:
    closed: list[Any] = []
    session = SimpleNamespace(stash=pytest.Stash())
    user, other = (
        SimpleNamespace(fixturenames=names, session=session) for names in (("kafkactl", "cluster_of"), ("kafkactl",))
    )
    pytest_runtest_teardown(user, None)  # the fixture has not begun
    session.stash[SHARED] = SimpleNamespace(close=lambda: closed.append(session))
    pytest_runtest_teardown(user, user)
    assert not closed
    pytest_runtest_teardown(user, other)
    pytest_runtest_teardown(user, None)
    assert len(closed) == 2


@pytest.mark.campaign
def test_static_cluster_survives_what_is_done_to_its_nodes(new_cluster: ClusterOf) -> None:
    cluster = new_cluster("3.9.2", controllers=3, brokers=1, dynamic=False, metadata_version="3.8")
    cluster.start()
    assert (cluster.levels(11)["metadata.version"], cluster.voters()) == (20, dict.fromkeys((1, 2, 3), ZERO))
    led = cluster.leader()
    cluster.pause(led)
    assert cluster.wait_for(lambda: cluster.leader_now() not in (-1, led), "another leader")
    cluster.resume(led)
    cluster.kill(led)
    with pytest.raises(KafkactlError):
        cluster.quorum(led)
    cluster.start()
    with cluster.client(Role.BROKER) as client:
        assert client.cluster().cluster_id == cluster.cluster_id


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["3.9.2", "4.0.2", "4.4.0"])
def test_nodes_of_another_release_take_part(release: str, new_cluster: ClusterOf) -> None:
    cluster = new_cluster("4.3.1", controllers=1, combined=True, brokers=1, releases={11: release})
    cluster.start()
    assert cluster.node(11).release == release
    cluster.change_release(11, "4.3.1")
    cluster.wait_complete()


@pytest.mark.campaign
def test_clusters_are_shared_by_shape_and_found_whole(
    lab_pool: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    clusters = SharedClusters(tmp_path_factory.mktemp("shared"), kept=1)
    try:
        first = clusters.get("4.4.0", controllers=1, brokers=0)
        first.kill(1)
        assert clusters.get("4.4.0", brokers=0, controllers=1) is first
        assert first.node(1).alive
        first.pause(1)
        assert clusters.get("4.4.0", brokers=0, controllers=1).leader() == 1
        second = clusters.get("4.4.0", controllers=1, brokers=0, settings={"log.segment.bytes": "1048576"})
        assert (first.running, len(second.running)) == ([], 1)
    finally:
        clusters.close()
    assert shape_of("4.3.1", {"combined": True}).broker_ids == (1, 2, 3)
