"""A removed controller that stays registered blocks a level until it was started once as the new release."""

from __future__ import annotations

from collections.abc import Callable

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.quorum.disks.test_two_foundings import ids

Cli = Callable[..., Run]
OLD, NEW, LEVEL = "3.9.2", "4.3.1", "4.3"


def test_removed_controller_registers_again_and_the_level_is_raised(
    kafkactl: Cli, new_cluster: Callable[..., KafkaCluster]
) -> None:
    cluster = new_cluster(OLD, controllers=2, brokers=0).start()
    kept = cluster.leader()
    (removed,) = (id for id in cluster.controller_ids if id != kept)
    where = ("--bootstrap-controller", cluster.controller_address(kept))
    words = ("quorum", "reassign", "--target", kept, *where, "--allow-size", "--accept-zero-tolerance", "-o", "json")
    assert "registration-stays" in ids(kafkactl(*words, "--dry-run"))
    run = kafkactl(*words, "--yes")
    assert run.code == 0, run.stdout + run.stderr
    cluster.stop(removed)
    cluster.change_release(kept, NEW)
    cluster.wait_complete()

    def upgrade(*more: str) -> Run:
        return kafkactl("features", "upgrade", "--metadata", LEVEL, *where, *more, "-o", "json")

    refused = upgrade()
    assert refused.code == 3
    assert "stale-controller-registration" in ids(refused), refused.stdout
    cluster.change_release(removed, NEW)
    cluster.wait_complete()
    raised = upgrade()
    assert raised.code == 0, raised.stdout + raised.stderr
    assert list(cluster.voters()) == [kept]
    cluster.stop(removed)
    assert cluster.settled_level("metadata.version") == 30
