"""Predictions of `kafkactl dryrun` against live clusters: predicted from the log on disk, then done, then compared."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kafkactl.errors import KafkactlError
from tests.lab.cluster_fixtures import ClusterOf
from tests.lab.dryrun_experiments import FEW, MORE
from tests.lab.dryrun_stage import SETTINGS, Stage
from tests.lab.errors import LabError
from tests.lab.storage_tool import StorageToolServer

ELR_OFF = {"features": {"eligible.leader.replicas.version": 0}}


def stage_of(new_cluster: ClusterOf, tool: StorageToolServer, release: str, **shape: Any) -> Stage:
    cluster = new_cluster(release, controllers=1, brokers=3, combined=True, settings=SETTINGS, **shape)
    cluster.start()
    stage = Stage(cluster, tool)
    stage.make_topics()
    return stage


@pytest.mark.timeout(900)
def test_a_few_experiments(new_cluster: ClusterOf, storage_tool: StorageToolServer) -> None:
    stage = stage_of(new_cluster, storage_tool, "4.3.1")
    for _name, play in FEW:
        play(stage)
    assert stage.checked == len(FEW)


@pytest.mark.campaign
@pytest.mark.timeout(5_400)
@pytest.mark.parametrize(
    "release, shape",
    [("4.3.1", {}), ("4.3.1", ELR_OFF), ("3.9.2", {})],
    ids=["4.3.1", "4.3.1-without-elr", "3.9.2"],
)
def test_the_campaign(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, release: str, shape: dict[str, Any]
) -> None:
    """Every experiment is played; one whose prediction was wrong is told, and the next goes on from what is there."""
    stage = stage_of(new_cluster, storage_tool, release, **shape)
    wrong = []
    for name, play in (*FEW, *MORE):
        begun = time.monotonic()
        try:
            play(stage)
            verdict = "as predicted"
        except (AssertionError, KafkactlError, LabError) as error:
            wrong.append(f"{name}: {error}")
            verdict = "NOT as predicted"
        print(f"{release} | {name} | {verdict} | {time.monotonic() - begun:.0f} s", flush=True)
    assert not wrong, "\n\n".join(wrong)
    assert stage.checked == len(FEW) + len(MORE)
