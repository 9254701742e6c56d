"""Questions through brokers while a former leader hangs: brokers hold those that only the leader answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster_fixtures import ClusterOf

LIMIT = "20s"  # log lint took 31 s on an idle machine, the others all of the time of a call
COMMANDS = (
    ("quorum", "describe"),
    ("nodes", "list"),
    ("nodes", "verify"),
    ("features", "describe"),
    ("log", "lint", "--from-cluster"),
)


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["3.9.2", "4.3.1", "4.4.0"])
def test_questions_through_brokers_are_answered_while_a_former_leader_hangs(
    new_cluster: ClusterOf, kafkactl: Callable[..., Run], release: str
) -> None:
    cluster = new_cluster(release, controllers=3, brokers=2).start()
    former = cluster.leader()
    rest = [id for id in cluster.controller_ids if id != former]
    cluster.pause(former)
    try:
        cluster.wait_for(lambda: cluster.leader_now() in rest, "another leader")
        for words in COMMANDS:
            run = kafkactl(*words, "--bootstrap-server", cluster.bootstrap_server, "--timeout", LIMIT, "-o", "json")
            assert run.code == 0, (words, run)
    finally:
        cluster.resume(former)
