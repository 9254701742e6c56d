"""Leaders of a new cluster that no majority followed leave an uncommitted tail from offset 0 on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.node import read_config, write_config
from tests.lab.harness.ports import HOST, free_port
from tests.lab.quorum.disks.ports import forwarded
from tests.lab.quorum.disks.test_two_foundings import ids

Cli = Callable[..., Run]
LEADERS = 2


@pytest.mark.parametrize("release", ["4.3.1", pytest.param("3.9.2", marks=pytest.mark.campaign)])
def test_first_leaders_without_a_majority_found_nothing(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], release: str
) -> None:
    cluster = new_cluster(release, controllers=3, brokers=0)
    moved = {}
    for id in cluster.controller_ids:
        old, new = cluster.disks.controller_ports[id], free_port()
        moved[old] = new
        changes = {
            "listeners": f"CONTROLLER://{HOST}:{new}",
            "advertised.listeners": f"CONTROLLER://{HOST}:{old}",
        }
        write_config(cluster.config_file(id), read_config(cluster.config_file(id)) | changes)
    with forwarded(moved) as ports:
        ports.fetch = False
        for id in (1, 2):
            cluster.node(id).start()
        logs = {id: cluster.disks.metadata_log(id) for id in cluster.controller_ids}

        def terms() -> int:
            """Return how many leaders wrote: each resigns when no follower has fetched for a while."""
            return sum(
                kafkactl("log", "dump", logs[id]).stdout.count("LeaderChange") for id in (1, 2) if logs[id].exists()
            )

        cluster.wait_for(lambda: terms() >= LEADERS, "two leaders without followers", 120)
        cluster.kill(1, 2)
        begun = {id: kafkactl("log", "dump", logs[id]).stdout for id in (1, 2)}
        led = [id for id in (1, 2) if "LeaderChange" in begun[id]]
        assert led, begun
        assert "FeatureLevelRecord" not in str(begun)  # no leader became the active controller
        ports.fetch = True
        others = [id for id in cluster.controller_ids if id != led[0]]
        for id in others:
            cluster.node(id).start()
        cluster.wait_for(lambda: cluster.leader_now() in others, "a leader of the others", 120)
        cluster.wait_for(
            lambda: "FeatureLevelRecord" in kafkactl("log", "dump", logs[others[0]]).stdout, "founded", 120
        )
        cluster.kill(*others)
    run = kafkactl("log", "verify", *(logs[id] for id in (led[0], *others)), "-o", "json")
    assert (run.code, ids(run)) == (0, {"uncommitted-tail"}), run.stdout
