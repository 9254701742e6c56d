"""The lost metadata disk of a controller of a live quorum: its replacement is refused while the quorum needs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness import config
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf

Kafkactl = Callable[..., Run]
CONFIRMED = ("-g", "--replace-lost-metadata-disk", "--verified-quorum", "--dry-run")
SHARED = ("4.3.1", True)  # its cluster is one that other tests use as well


def lost_node(cluster: KafkaCluster, node_id: int, folder: Path) -> Path:
    """Return the configuration of a node of that id whose metadata directory is blank next to a formatted one."""
    ports = cluster.disks.controller_ports
    quorum = config.dynamic_quorum(list(ports.values())) if cluster.shape.dynamic else config.static_quorum(ports)
    folders = [folder / "blank", folder / "formatted"]
    settings = config.controller(node_id=node_id, log_dirs=folders, port=ports[node_id], quorum=quorum)
    folders[1].mkdir(exist_ok=True)
    meta = f"version=1\ncluster.id={cluster.cluster_id}\nnode.id={node_id}\n"
    (folders[1] / "meta.properties").write_text(meta, encoding="utf-8")
    file = folder / f"{node_id}.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
    return file


def found(run: Run) -> tuple[str, set[str]]:
    """Return the outcome, and the blockers; that the quorum could not be observed is none, and is shown as well."""
    shown = {finding["id"] for finding in run.json["findings"] if finding["severity"] == "blocker"}
    shown |= {finding["id"] for finding in run.json["findings"]} & {"quorum-not-observed"}
    return run.json["outcome"], shown


@pytest.mark.parametrize(
    ("release", "dynamic"),
    [
        SHARED,
        *(
            pytest.param(release, dynamic, marks=pytest.mark.campaign)
            for release in ("3.9.2", "4.3.1", "4.4.0")
            for dynamic in (True, False)
            if (release, dynamic) != SHARED
        ),
    ],
)
def test_disk_is_replaced_only_where_the_quorum_does_without_it(
    kafkactl: Kafkactl, cluster_of: ClusterOf, new_cluster: ClusterOf, tmp_path: Path, release: str, dynamic: bool
) -> None:
    if (release, dynamic) == SHARED:
        cluster = cluster_of(release, controllers=3, brokers=1)
    else:
        cluster = new_cluster(release, controllers=3, brokers=0, dynamic=dynamic)
        cluster.start()
    lost, other = (controller_id for controller_id in cluster.controller_ids if controller_id != cluster.leader())
    file = lost_node(cluster, lost, tmp_path)
    how = ("--no-initial-controllers",) if dynamic else ()

    def ask() -> tuple[str, set[str]]:
        words = ("-t", cluster.cluster_id, "-c", file, "--kafka-version", release, *how, *CONFIRMED, "-o", "json")
        return found(kafkactl("storage", "format", *words))

    assert ask() == ("refused", {"controller-runs-elsewhere"})
    cluster.kill(lost)
    cluster.wait_for(lambda: cluster.leader_now() > 0, "a leader")
    assert ask() == ("planned", set())
    cluster.kill(other)
    outcome, blockers = ask()
    assert (outcome, bool(blockers & {"majority-not-proven", "no-quorum-leader"})) == ("refused", True), blockers
