"""Changes of real quorums while a voter is killed or paused: no request may leave a set without a live majority."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.quorum.liveness_proof import Row, write_section

RELEASES = ["3.9.2", "4.3.1", "4.4.0"]
SHARED = "4.3.1"  # its cluster of three controllers is one that other tests use as well
BEFORE_S = (0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
DURING_S = (0.3, 0.6, 0.9)
_EXIT_S = 0.25  # from the last observation to the end of the process
REFUSED, PLANNED, DONE = "refused, 3", "planned, 0", "done, 0"


class _Asked(NamedTuple):
    """A command and its result."""

    found: str
    seconds: float
    findings: frozenset[str]


class Quorum:
    """Three voters of a cluster, their leader and followers now, and commands against them."""

    def __init__(self, cluster: KafkaCluster, journal: Path) -> None:
        self.cluster, self.journal = cluster, journal

    @property
    def followers(self) -> list[int]:
        """Return the voters that do not lead."""
        return sorted(set(self.cluster.voters()) - {self.cluster.leader()})

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start `kafkactl quorum …` in a process of its own."""
        connection = ["--bootstrap-controller", self.cluster.bootstrap_controller]
        command = [sys.executable, "-m", "kafkactl", "quorum", *connection, *words, "-o", "json"]
        journal = ["--journal", str(self.journal)]
        return subprocess.Popen([*command, *journal], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def removal(self, node_id: int, *words: str, directory_id: str | None = None) -> list[str]:
        """Return the words that remove a voter."""
        return [
            "remove-controller",
            "-i",
            str(node_id),
            "-d",
            directory_id or self.cluster.directory_id(node_id),
            *words,
        ]

    def ask(self, words: list[str], during: Callable[[], None] = lambda: None) -> _Asked:
        """Run a command to its end; `during` is called while it runs."""
        began = time.monotonic()
        process = self.start(*words)
        during()
        stdout, stderr = process.communicate(timeout=120)
        seconds = time.monotonic() - began
        answer = json.loads(stdout) if stdout.strip() else {"outcome": stderr.strip()[-200:], "findings": []}
        found = f"{answer['outcome']}, {process.returncode}"
        return _Asked(found, seconds, frozenset(finding["id"] for finding in answer["findings"]))

    def restore(self, node_id: int) -> None:
        """Start the node again, and wait until every voter fetches."""
        self.cluster.resume(node_id)
        self.cluster.start(node_id)
        self.cluster.wait_complete()
        time.sleep(1.0)


def _strike(cluster: KafkaCluster, event: str, node_id: int) -> None:
    {"SIGKILL": cluster.kill, "SIGSTOP": cluster.pause}[event](node_id)


def _row(
    quorum: Quorum, event: str, gone: int, delay_s: float, command: list[str], words: str, *, during: bool = False
) -> Row:
    """Strike a node before a command or during it; the command must be refused."""

    def later() -> None:
        time.sleep(delay_s)
        _strike(quorum.cluster, event, gone)

    role = "the leader" if gone == quorum.cluster.leader() else "a follower" if gone in quorum.followers else "observer"
    if not during:
        _strike(quorum.cluster, event, gone)
        time.sleep(delay_s)
    asked = quorum.ask(command, later if during else lambda: None)
    commits = quorum.cluster.commits()
    quorum.restore(gone)
    # Who had answered, and printed it, before the strike could not know of it.
    was_first = during and asked.found == PLANNED and asked.seconds <= delay_s + _EXIT_S
    return Row(
        event=f"{event} of {role}",
        seconds_before=f"{delay_s:g} during" if during else f"{delay_s:g}",
        command=words,
        expected=PLANNED if was_first else REFUSED,
        found=asked.found,
        seconds=asked.seconds,
        commits_after=commits,
    )


def _one(quorum: Quorum, event: str, delay_s: float, words: tuple[str, ...], *, during: bool = False) -> Row:
    """Strike one follower and ask for the removal of the other."""
    gone, healthy = quorum.followers
    label = " ".join(("remove-controller (the other follower)", *words))
    return _row(quorum, event, gone, delay_s, quorum.removal(healthy, *words), label, during=during)


def _leader(quorum: Quorum, delay_s: float) -> Row:
    """Strike the leader and ask for the removal of a follower: in the middle of the election, and after it."""
    gone, healthy = quorum.cluster.leader(), quorum.followers[0]
    return _row(quorum, "SIGKILL", gone, delay_s, quorum.removal(healthy), "remove-controller (a follower)")


def _reassign(quorum: Quorum, event: str, delay_s: float) -> Row:
    """Strike one follower and ask for a target without the other."""
    gone, healthy = quorum.followers
    target = ",".join(str(voter) for voter in sorted(quorum.cluster.voters()) if voter != healthy)
    command = ["reassign", "--target", target, "--allow-size", "--accept-zero-tolerance", "--yes"]
    return _row(quorum, event, gone, delay_s, command, "reassign --target (without the other follower)")


@pytest.mark.parametrize(
    "release", [SHARED, *(pytest.param(release, marks=pytest.mark.campaign) for release in ("3.9.2", "4.4.0"))]
)
def test_healthy_voter_is_not_removed_while_another_was_just_killed(
    release: str, cluster_of: ClusterOf, new_cluster: ClusterOf, tmp_path: Path
) -> None:
    # Nothing is removed here, so the cluster may be one that other tests share.
    if release == SHARED:
        cluster = cluster_of(release, controllers=3, brokers=1)
    else:
        cluster = new_cluster(release, controllers=3, brokers=0)
        cluster.start()
    quorum = Quorum(cluster, tmp_path / "journal")
    gone, healthy = quorum.followers
    assert quorum.ask(quorum.removal(healthy, "--dry-run")).found == PLANNED
    cluster.pause(gone)
    assert quorum.ask(quorum.removal(healthy, "--dry-run")).found == REFUSED
    quorum.restore(gone)
    gone, healthy = quorum.followers
    voters = cluster.voters()
    dead_goes, healthy_goes = quorum.removal(gone, "--dry-run"), quorum.removal(healthy)
    cluster.kill(gone)
    assert quorum.ask(healthy_goes).found == REFUSED
    assert quorum.ask(dead_goes).found == PLANNED, "the dead one may go"
    assert cluster.commits()
    assert cluster.voters() == voters


@pytest.mark.campaign
@pytest.mark.parametrize("release", RELEASES)
def test_answers_are_right_while_nodes_of_a_reassignment_fail(
    release: str, new_cluster: ClusterOf, tmp_path: Path
) -> None:
    cluster = new_cluster(release, controllers=3, brokers=0)
    cluster.start()
    quorum = Quorum(cluster, tmp_path / "journal")
    rows = [_healthy(quorum)]
    for event in ("SIGKILL", "SIGSTOP"):
        rows += [_one(quorum, event, delay_s, ()) for delay_s in BEFORE_S]
        rows += [_one(quorum, event, delay_s, ("--dry-run",)) for delay_s in (0.1, 1.5)]
        rows += [_one(quorum, event, delay_s, ("--dry-run",), during=True) for delay_s in DURING_S]
        rows += [_reassign(quorum, event, 0.5)]
    rows += [_leader(quorum, delay_s) for delay_s in (0.1, 1.0, 3.0)]
    rows += [_dead_goes(quorum, delay_s) for delay_s in (0.1, 3.0)]
    write_section(f"quorum remove-controller and reassign, {release}", rows)
    assert all(row.is_right for row in rows), [row for row in rows if not row.is_right]


@pytest.mark.campaign
@pytest.mark.parametrize("release", RELEASES)
def test_answers_are_right_while_nodes_of_an_addition_fail(
    release: str, new_cluster: ClusterOf, tmp_path: Path
) -> None:
    cluster = new_cluster(release, controllers=3, brokers=0, voters=(1, 2))
    cluster.start()
    quorum = Quorum(cluster, tmp_path / "journal")
    add = ["add-controller", "--command-config", str(cluster.config_file(3))]
    rows = []
    for event in ("SIGKILL", "SIGSTOP"):
        for delay_s in (0.1, 1.0, 3.0):
            rows.append(_row(quorum, event, 3, delay_s, add, "add-controller (that one)"))
            rows.append(_row(quorum, event, 3, delay_s, [*add, "--dry-run"], "add-controller (that one) --dry-run"))
    asked = quorum.ask(add)
    rows.append(Row("none", "-", "add-controller", DONE, asked.found, asked.seconds, quorum.cluster.commits()))
    write_section(f"quorum add-controller, {release}", rows)
    assert all(row.is_right for row in rows), [row for row in rows if not row.is_right]


@pytest.mark.campaign
@pytest.mark.parametrize("release", ["4.3.1", "4.4.0"])
def test_answers_are_right_while_nodes_of_a_conversion_fail(
    release: str, new_cluster: ClusterOf, tmp_path: Path
) -> None:
    cluster = new_cluster(release, controllers=3, brokers=0, dynamic=False)
    cluster.start()
    quorum = Quorum(cluster, tmp_path / "journal")
    convert = ["convert", "--confirm", cluster.cluster_id]
    rows = []
    for event in ("SIGKILL", "SIGSTOP"):
        for delay_s in (0.1, 1.0, 3.0):
            gone = quorum.followers[0]
            rows.append(_row(quorum, event, gone, delay_s, convert, "convert"))
            rows.append(_row(quorum, event, gone, delay_s, ["convert", "--dry-run"], "convert --dry-run"))
    asked = quorum.ask(convert)
    rows.append(Row("none", "-", "convert", DONE, asked.found, asked.seconds, quorum.cluster.commits()))
    write_section(f"quorum convert, {release}", rows)
    assert all(row.is_right for row in rows), [row for row in rows if not row.is_right]


def _healthy(quorum: Quorum) -> Row:
    """Remove a voter and add it again while all are alive."""
    node_id = quorum.followers[0]
    asked = quorum.ask(quorum.removal(node_id))
    commits = quorum.cluster.commits()
    back = quorum.ask(["add-controller", "--command-config", str(quorum.cluster.config_file(node_id))])
    assert back.found == DONE, back
    return Row("none", "-", "remove-controller (a follower)", DONE, asked.found, asked.seconds, commits)


def _dead_goes(quorum: Quorum, delay_s: float) -> Row:
    """Check that the removal of the dead one itself is allowed, and leaves two that live."""
    gone = quorum.followers[0]
    command = quorum.removal(gone)
    quorum.cluster.kill(gone)
    time.sleep(delay_s)
    asked = quorum.ask(command)
    commits = quorum.cluster.commits()
    quorum.restore(gone)
    back = quorum.ask(["add-controller", "--command-config", str(quorum.cluster.config_file(gone))])
    assert back.found == DONE, back
    return Row(
        "SIGKILL of a follower",
        f"{delay_s:g}",
        "remove-controller (that one)",
        DONE,
        asked.found,
        asked.seconds,
        commits,
    )
