"""A reassignment of a real quorum, killed at its actions one after the other: the next run reaches the target."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf

ROOT = Path(__file__).parents[3]
THINNED = 20
PROOF = ROOT / "docs" / "proof" / "interruptions.md"


def _run(cluster: KafkaCluster, target: str, journal: Path, at: int) -> subprocess.CompletedProcess[str]:
    words = ["-m", "tests.lab.quorum.killed_change", cluster.bootstrap_controller, target, str(journal), str(at)]
    return subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.timeout(3600)
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
    killed_at = []
    for at in range(1, actions + 1, every):
        journal = tmp_path / f"killed-{at}"
        killed = _run(cluster, targets[0], journal, at)
        if killed.returncode == 0:
            break  # this way took fewer looks
        assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
        again = _run(cluster, targets[0], journal, 0)
        assert again.returncode == 0, (at, again.stdout + again.stderr)
        assert sorted(cluster.voters()) == [int(part) for part in targets[0].split(",")], at
        targets.reverse()
        killed_at.append(at)
    if every == 1:
        PROOF.write_text(_proof(cluster, actions, killed_at), encoding="utf-8")


def _proof(cluster: KafkaCluster, actions: int, killed_at: list[int]) -> str:
    """Return what is recorded of the whole campaign."""
    return "\n".join(
        [
            "# A reassignment, killed at every action",
            "",
            "Written by the run of `make lab` (tests/lab/quorum/test_killed.py).",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}, Kafka {cluster.shape.release}: one voter of three is replaced (a wait, an "
            f"addition, a removal), {actions} actions in a run that nobody disturbs: looks, requests, entries of the "
            "journal, each before and after. SIGKILL at one action, then the same command again:",
            "",
            f"- {len(killed_at)} runs were killed, at the actions {killed_at[0]} to {killed_at[-1]};",
            f"- {len(killed_at)} second runs reached the target and ended with exit code 0.",
            "",
            "The same on a played quorum, for four journeys and three kinds of answers, is part of `make test` "
            "(tests/quorum/change/test_run.py).",
            "",
        ]
    )


@pytest.mark.parametrize("after", [pytest.param("", marks=pytest.mark.campaign), "add 4: done"])
def test_ctrl_c_ends_it_cleanly_and_the_next_run_goes_on(after: str, new_cluster: ClusterOf, tmp_path: Path) -> None:
    # While the gate of the first new voter is watched, and that of the second.
    cluster = new_cluster("4.3.1", controllers=5, brokers=0, voters=(1, 2, 3))
    cluster.start()
    words = ["--bootstrap-controller", cluster.bootstrap_controller, "--journal", str(tmp_path / "journal"), "--yes"]
    command = [sys.executable, "-m", "kafkactl", "quorum", "reassign", "--target", "1,2,3,4,5", *words, "-o", "json"]
    with subprocess.Popen(
        [*command, "--watch"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None and run.stdout is not None
        is_past = not after
        for line in run.stderr:
            is_past = is_past or line.strip() == after
            if is_past and line.startswith("waiting: controller "):
                break
        run.send_signal(signal.SIGINT)
        printed, errors = run.stdout.read(), run.stderr.read()
        assert run.wait(60) == 130, errors
    assert sorted(cluster.voters()) == ([1, 2, 3, 4] if after else [1, 2, 3])
    if after:
        answer = json.loads(printed)
        assert (answer["outcome"], answer["interrupted"], answer["voters_after"]) == ("partial", True, [1, 2, 3, 4])
    else:
        assert '"id": "interrupted"' in errors
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (again.returncode, json.loads(again.stdout)["outcome"]) == (0, "done"), again.stderr
    assert sorted(cluster.voters()) == [1, 2, 3, 4, 5]
