"""Predictions of `kafkactl dryrun` against live clusters: predicted from the log on disk, then done, then compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kafkactl.core.errors import KafkactlError
from tests.lab.dryrun.commit import cut_off
from tests.lab.dryrun.experiments import FEW, MORE, Experiment
from tests.lab.dryrun.growth import CLEANED, GROWTH, KEPT
from tests.lab.dryrun.growth import SETTINGS as OFTEN
from tests.lab.dryrun.hazards import HAZARDS
from tests.lab.dryrun.levels import features_of, forget_users, prove_voters
from tests.lab.dryrun.proof import Row, write_section
from tests.lab.dryrun.returns import CLEAN_RETURNS, RETURNS, SAMPLE
from tests.lab.dryrun.stage import SETTINGS, Stage
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.errors import LabError
from tests.lab.harness.storage_tool import StorageToolServer

ELR_OFF = {"features": {"eligible.leader.replicas.version": 0}}
ELR_ON = {"features": {"eligible.leader.replicas.version": 1}}


def stage_of(new_cluster: ClusterOf, tool: StorageToolServer, release: str, **shape: Any) -> Stage:
    cluster = new_cluster(release, controllers=1, brokers=3, combined=True, settings=SETTINGS, **shape)
    cluster.start()
    stage = Stage(cluster, tool)
    stage.make_topics()
    return stage


def carried_out(stage: Stage, title: str, experiments: Sequence[Experiment]) -> tuple[list[str], list[Row]]:
    """Return what each came to; a wrong prediction is reported, and the next starts from what is there."""
    wrong, rows = [], []
    for name, experiment in experiments:
        begun = time.monotonic()
        try:
            experiment(stage)
            right = True
        except (AssertionError, KafkactlError, LabError) as error:
            wrong.append(f"{name}: {error}")
            right = False
        rows.append(Row(name, right, time.monotonic() - begun))
        print(f"{title} | {name} | {'as predicted' if right else 'NOT as predicted'}", flush=True)
    return wrong, rows


def proved(title: str, experiment: Callable[[], Sequence[tuple[str, bool]]]) -> None:
    """Run what says of each of its experiments whether it was right; all are recorded, then checked."""
    begun = time.monotonic()
    found = experiment()
    each = (time.monotonic() - begun) / len(found)
    write_section(title, [Row(name, right, each) for name, right in found])
    assert [name for name, right in found if not right] == []


@pytest.mark.parametrize(
    "release, count", [("4.3.1", len(SAMPLE)), pytest.param("3.9.2", 3, marks=pytest.mark.campaign)]
)
def test_predictions_of_few_experiments_are_true(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, release: str, count: int
) -> None:
    stage = stage_of(new_cluster, storage_tool, release)
    for _name, experiment in SAMPLE[:count]:
        experiment(stage)
    assert stage.checked == count


@pytest.mark.campaign
@pytest.mark.timeout(5_400)
@pytest.mark.parametrize(
    "title, release, shape",
    [
        ("3.9.2", "3.9.2", {}),
        ("4.0.2", "4.0.2", {}),
        ("4.0.2 with ELR", "4.0.2", ELR_ON),
        ("4.3.1", "4.3.1", {}),
        ("4.3.1 without ELR", "4.3.1", ELR_OFF),
        ("4.4.0", "4.4.0", {}),
    ],
    ids=["3.9.2", "4.0.2", "4.0.2-with-elr", "4.3.1", "4.3.1-without-elr", "4.4.0"],
)
def test_predictions_of_all_experiments_are_true(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, title: str, release: str, shape: dict[str, Any]
) -> None:
    # Every experiment is run.
    stage = stage_of(new_cluster, storage_tool, release, **shape)
    wrong, rows = carried_out(stage, title, (*FEW, *MORE))
    write_section(title, rows)
    assert not wrong, "\n\n".join(wrong)
    assert stage.checked == len(FEW) + len(MORE)


@pytest.mark.campaign
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("release", ["3.9.2", "4.0.2", "4.3.1", "4.4.0"])
def test_predictions_of_hazards_are_true(new_cluster: ClusterOf, storage_tool: StorageToolServer, release: str) -> None:
    # The worst set, the wrong order, the zombie, the stranded partition, and what a restart brings back.
    stage = stage_of(new_cluster, storage_tool, release)
    wrong, rows = carried_out(stage, release, HAZARDS)
    write_section(f"{release}, hazards", rows)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.campaign
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(
    "title, release, shape",
    [
        ("3.9.2, returns", "3.9.2", {}),
        ("4.0.2 with ELR, returns", "4.0.2", ELR_ON),
        ("4.3.1, returns", "4.3.1", {}),
        ("4.3.1 without ELR, returns", "4.3.1", ELR_OFF),
    ],
    ids=["3.9.2", "4.0.2-with-elr", "4.3.1", "4.3.1-without-elr"],
)
def test_predictions_of_returns_are_true(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, title: str, release: str, shape: dict[str, Any]
) -> None:
    # Brokers that return together, again and again; brokers that are not registered; a cancelled reassignment.
    stage = stage_of(new_cluster, storage_tool, release, **shape)
    wrong, rows = carried_out(stage, title, RETURNS)
    write_section(title, rows)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.campaign
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("release", ["4.0.2", "4.3.1"])
def test_predictions_of_clean_returns_are_true(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, release: str
) -> None:
    # All that hold a partition are shut down cleanly and return together; with eligible leader replicas.
    stage = stage_of(new_cluster, storage_tool, release, **ELR_ON)
    wrong, rows = carried_out(stage, release, CLEAN_RETURNS)
    write_section(f"{release}, clean returns", rows)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["3.9.2", "4.4.0"])
def test_predictions_of_growth_are_true(new_cluster: ClusterOf, storage_tool: StorageToolServer, release: str) -> None:
    # The scenario `growth`, by the settings of the controller's own file.
    cluster = new_cluster(release, controllers=1, combined=True, settings=OFTEN)
    cluster.start()
    stage = Stage(cluster, storage_tool)
    stage.make_topic("one", "1", {})
    wrong, rows = carried_out(stage, release, GROWTH)
    cluster.close()
    cluster = new_cluster(release, controllers=1, combined=True, settings=OFTEN | KEPT)
    cluster.start()
    cleaned = carried_out(Stage(cluster, storage_tool), release, CLEANED)
    wrong, rows = wrong + cleaned[0], rows + cleaned[1]
    write_section(f"{release}, growth", rows)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.campaign
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(
    "release, level",
    [("3.9.2", "3.7-IV4"), ("4.0.2", "3.9-IV0"), ("4.3.1", "3.9-IV0"), ("4.4.0", "3.9-IV0")],
)
def test_predictions_of_levels_are_true(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, release: str, level: str
) -> None:
    # Every change of feature levels: answer, text, records and the levels afterwards.
    stage = stage_of(new_cluster, storage_tool, release, metadata_version=level)
    title = f"{release}, feature levels"
    wrong, rows = carried_out(stage, title, features_of(release))
    write_section(title, rows)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["3.9.2", "4.3.1", "4.4.0"])
def test_predictions_of_voters_are_true(new_cluster: ClusterOf, storage_tool: StorageToolServer, release: str) -> None:
    # The scenario `controllers`, up to a quorum that never commits again.
    cluster = new_cluster(release, controllers=3, brokers=1)
    cluster.start()
    proved(f"{release}, voters", lambda: prove_voters(Stage(cluster, storage_tool)))


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["3.9.2", "4.4.0"])
def test_committed_records_of_real_voters_are_proved(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, release: str
) -> None:
    # The commit bound of three voters' folders, with a leader that went on alone for a while.
    cluster = new_cluster(release, controllers=3, brokers=1)
    cluster.start()
    proved(f"{release}, commit bound", lambda: cut_off(Stage(cluster, storage_tool)))


@pytest.mark.campaign
@pytest.mark.parametrize("gone", ["alice", "bob@x.com", "carol"])
@pytest.mark.parametrize("release", ["3.9.2", "4.3.1", "4.4.0"])
def test_forgotten_users_of_a_restart_are_predicted(
    new_cluster: ClusterOf, storage_tool: StorageToolServer, release: str, gone: str
) -> None:
    # The scenario `restart`: which SCRAM users are there after every node was killed and started.
    cluster = new_cluster(release, controllers=1, brokers=1, combined=True)
    cluster.start()
    begun = time.monotonic()
    before, lost, after = forget_users(Stage(cluster, storage_tool), gone)
    said = {name for name in before if any(name in subject for subject in lost)}
    right = before - said == after
    what = f"{gone} removed, all restarted: {', '.join(sorted(said)) or 'nobody'} forgotten"
    write_section(f"{release}, restart ({gone})", [Row(what, right, time.monotonic() - begun)])
    assert right, f"there were {before}, {said} were to be lost, {after} are there"
