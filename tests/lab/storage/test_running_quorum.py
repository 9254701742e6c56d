"""A controller whose volume was recreated is not formatted while its quorum runs, and the printed remedies work."""

from __future__ import annotations

from collections.abc import Callable
from shutil import rmtree

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf

Kafkactl = Callable[..., Run]


def refused(run: Run) -> bool:
    found = {finding["id"] for finding in run.json["findings"] if finding["severity"] == "blocker"}
    return (run.code, found) == (3, {"quorum-already-runs"})


def voter_list(cluster: KafkaCluster) -> str:
    return ",".join(
        f"{number}@{cluster.controller_address(number)}:{cluster.directory_id(number)}"
        for number in cluster.controller_ids
    )


@pytest.mark.parametrize(
    ("release", "dynamic"),
    [
        ("4.3.1", True),
        *(pytest.param(*case, marks=pytest.mark.campaign) for case in (("4.3.1", False), ("3.9.2", False))),
    ],
)
def test_recreated_volume_of_a_running_quorum_is_reported(
    kafkactl: Kafkactl, new_cluster: ClusterOf, release: str, dynamic: bool
) -> None:
    cluster = new_cluster(release, controllers=3, brokers=0, dynamic=dynamic)
    cluster.start()
    lost = next(number for number in cluster.controller_ids if number != cluster.leader())
    voters, directory = voter_list(cluster), cluster.directory_id(lost)
    cluster.kill(lost)
    rmtree(cluster.disks.log_dir(lost))
    words = ("-t", cluster.cluster_id, "-c", cluster.config_file(lost), "--kafka-version", release, "-o", "json")
    first = ("--initial-controllers", voters) if dynamic else ()
    for verb in ("ensure", "format"):
        assert refused(kafkactl("storage", verb, *words, *first))
    if dynamic:
        assert refused(kafkactl("storage", "ensure", *words, "--standalone"))
        assert kafkactl("storage", "ensure", *words, "--no-initial-controllers").code == 0
        cluster.node(lost).start().wait_ready()
        ids = ",".join(map(str, cluster.controller_ids))
        where = ("--bootstrap-controller", cluster.bootstrap_controller)
        changed = kafkactl("quorum", "reassign", "--target", ids, "--yes", *where, "-o", "json")
        assert changed.code == 0, changed.stdout
        assert cluster.voters()[lost] not in (directory, None)
    else:
        confirmed = ("--replace-lost-metadata-disk", "--verified-quorum")
        assert kafkactl("storage", "ensure", *words, *confirmed).code == 0
        cluster.node(lost).start().wait_ready()
    cluster.wait_for(
        lambda: (cluster.disks.metadata_log(lost) / "00000000000000000000.log").stat().st_size > 0, "a log"
    )


def test_voter_that_was_never_started_is_formatted_while_the_others_lead(
    kafkactl: Kafkactl, new_cluster: ClusterOf
) -> None:
    # An entry point formats each controller when its own volume comes, and two of three elect a leader before.
    cluster = new_cluster("4.3.1", controllers=3, brokers=0, dynamic=True)
    voters = voter_list(cluster)
    late = cluster.controller_ids[-1]
    rmtree(cluster.disks.log_dir(late))
    for number in cluster.controller_ids[:-1]:
        cluster.node(number).start()
    cluster.wait_for(lambda: cluster.leader_now() > 0, "a leader")
    words = ("-t", cluster.cluster_id, "-c", cluster.config_file(late), "--kafka-version", "4.3.1", "-o", "json")
    run = kafkactl("storage", "ensure", *words, "--initial-controllers", voters)
    assert (run.code, run.json["outcome"]) == (0, "done"), run.stdout
    cluster.node(late).start().wait_ready()
