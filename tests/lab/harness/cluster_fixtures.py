"""Clusters for tests: one that many tests share, or one of a test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_disks import Shape, shape_of
from tests.lab.harness.pool import Pool

KEPT = 2  # clusters that stay up between tests; idle nodes cost processor time too

ClusterOf = Callable[..., KafkaCluster]


class SharedClusters:
    """Running clusters by shape; the one that was not asked for the longest makes room for another."""

    def __init__(self, root: Path, kept: int = KEPT) -> None:
        self._root = root
        self._kept = kept
        self._running: dict[Shape, KafkaCluster] = {}
        self._started = 0

    def get(self, release: str, **shape: Any) -> KafkaCluster:
        """Return a complete cluster of that shape: nodes that a test left paused or dead are brought back first."""
        wanted = shape_of(release, shape)
        cluster = self._running.pop(wanted, None)
        if cluster is None:
            while len(self._running) >= self._kept:
                self._running.pop(next(iter(self._running))).close()
            self._started += 1
            cluster = KafkaCluster(wanted, self._root / f"cluster-{self._started}")
        self._running[wanted] = cluster
        cluster.resume(*(int(node.config["node.id"]) for node in cluster.running))
        cluster.start()
        return cluster

    def close(self) -> None:
        """Kill all of them."""
        while self._running:
            self._running.popitem()[1].close()


SHARED = pytest.StashKey[SharedClusters]()


@pytest.fixture(scope="session")
def cluster_of(
    lab_pool: Pool, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[ClusterOf]:
    """Yield `cluster_of("4.3.1", controllers=3, …)`: a running cluster that other tests use as well.

    Leave it as it was: kill and pause what you like (the next test finds it complete again), but put levels and
    voters back, or take `new_cluster`.
    """
    clusters = SharedClusters(tmp_path_factory.mktemp("clusters"))
    request.session.stash[SHARED] = clusters
    yield clusters.get
    clusters.close()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the shared clusters after the last test that uses them: an idle node takes 3 % of a core."""
    clusters = item.session.stash.get(SHARED, None)
    if clusters is not None and not shares_clusters(nextitem):
        clusters.close()


def shares_clusters(item: pytest.Item | None) -> bool:
    """Return True for a test that uses a shared cluster."""
    return "cluster_of" in getattr(item, "fixturenames", ())


@pytest.fixture
def new_cluster(lab_pool: Pool, tmp_path: Path) -> Iterator[ClusterOf]:
    """Yield `new_cluster("4.3.1", controllers=3, …)`: a cluster of this test's own, not yet started; killed at its
    end."""
    made: list[KafkaCluster] = []

    def make(release: str, **shape: Any) -> KafkaCluster:
        made.append(KafkaCluster(release, tmp_path / f"cluster-{len(made) + 1}", **shape))
        return made[-1]

    yield make
    for cluster in made:
        cluster.close()
