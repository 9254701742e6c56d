"""A controller that is gone from a static quorum registers again with its id in its own file only."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkactl.cluster.io.fetched_registrations import fetch_registrations
from kafkactl.core.values import Role
from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.node import read_config, write_config
from tests.lab.harness.ports import HOST

Cli = Callable[..., Run]
GHOST = 9


def registered(cluster: KafkaCluster) -> set[int]:
    with cluster.client(Role.CONTROLLER) as client:
        return set(fetch_registrations(client).controllers)


@pytest.mark.parametrize("controllers", [1, pytest.param(3, marks=pytest.mark.campaign)])
def test_ghost_controller_registers_with_its_id_in_its_own_file(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster], controllers: int
) -> None:
    cluster = new_cluster("4.3.1", controllers=controllers, brokers=0, dynamic=False)
    cluster.start()
    before = cluster.quorum()
    cluster.add_controller(GHOST, start=False)
    file = cluster.config_file(GHOST)
    own = read_config(file)
    own.pop("controller.quorum.bootstrap.servers", None)
    voters = read_config(cluster.config_file(1))["controller.quorum.voters"]
    own["controller.quorum.voters"] = f"{voters},{GHOST}@{HOST}:{cluster.disks.controller_ports[GHOST]}"
    write_config(file, own)
    cluster.node(GHOST).config.update(own)
    cluster.node(GHOST).start()
    cluster.wait_for(lambda: GHOST in registered(cluster), "the controller registers", 120)
    after = cluster.quorum()
    assert (after["LeaderId"], after["LeaderEpoch"]) == (before["LeaderId"], before["LeaderEpoch"])
    assert sorted(voter["ReplicaId"] for voter in after["CurrentVoters"]) == list(range(1, controllers + 1))
    assert GHOST in [observer["ReplicaId"] for observer in after["Observers"]]
    cluster.kill(GHOST)
    run = kafkactl("nodes", "unregister", "--id", GHOST, "--role", "controller", "--bootstrap-controller",
                   cluster.bootstrap_controller, "--dry-run", "-o", "json")  # fmt: skip
    (found,) = [each for each in run.json["findings"] if each["id"] == "controllers-cannot-be-unregistered"]
    assert f"{GHOST}@HOST:PORT added to controller.quorum.voters in its own file only" in found["next_step"]
