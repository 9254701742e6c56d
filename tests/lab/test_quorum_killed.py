"""A reassignment of a real quorum, killed at its actions one after the other: the next run reaches the target."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.cluster import KafkaCluster
from tests.lab.cluster_fixtures import ClusterOf

ROOT = Path(__file__).parents[2]
THINNED = 7


def _run(cluster: KafkaCluster, target: str, journal: Path, at: int) -> subprocess.CompletedProcess[str]:
    words = ["-m", "tests.lab.killed_change", cluster.bootstrap_controller, target, str(journal), str(at)]
    return subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("every", [THINNED, pytest.param(1, marks=pytest.mark.campaign)])
def test_killed_at_an_action_the_next_run_reaches_the_target(
    every: int, new_cluster: ClusterOf, tmp_path: Path
) -> None:
    cluster = new_cluster("4.3.1", controllers=4, brokers=0, voters=(1, 2, 3))
    cluster.start()
    targets = ["1,2,4", "1,2,3"]
    whole = _run(cluster, targets[0], tmp_path / "whole", 0)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    actions = int(whole.stdout.split()[0])
    assert actions > 20
    targets.reverse()
    for at in range(1, actions + 1, every):
        journal = tmp_path / f"killed-{at}"
        killed = _run(cluster, targets[0], journal, at)
        if killed.returncode == 0:
            break  # this way took fewer looks
        assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
        again = _run(cluster, targets[0], journal, 0)
        assert again.returncode == 0, (at, again.stdout + again.stderr)
        assert sorted(cluster.voters()) == [int(one) for one in targets[0].split(",")], at
        targets.reverse()
