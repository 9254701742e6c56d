"""Feature changes and unregistrations of real clusters while nodes are killed, paused, cut off or start."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.conftest import Run
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.quorum.liveness_proof import Row, write_section

Kafkactl = Callable[..., Run]
# release -> the level that the cluster has, and the one that is asked for
LEVELS = {"3.9.2": ("3.8", "3.9"), "4.3.1": ("4.2", "4.3"), "4.4.0": ("4.3", "4.4-IV0")}
CONVERTS = ("4.3.1", "4.4.0")
BEFORE_S = (0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0)
REFUSED, PLANNED = "refused, 3", "planned, 0"


class Cluster:
    """Three static voters, and brokers where they matter, one level below what they support."""

    def __init__(self, kafkactl: Kafkactl, cluster: KafkaCluster, release: str) -> None:
        self.kafkactl, self.cluster, self.release = kafkactl, cluster, release
        self.upgrade = ("features", "upgrade", "--metadata", LEVELS[release][1])

    @property
    def followers(self) -> list[int]:
        return sorted({1, 2, 3} - {self.cluster.leader()})

    def ask(self, *words: object) -> Run:
        where = ("--bootstrap-controller", self.cluster.bootstrap_controller, "--timeout", "40s", "-o", "json")
        return self.kafkactl(*words, *where)

    def strike(self, event: str, *node_ids: int) -> None:
        {"SIGKILL": self.cluster.kill, "SIGSTOP": self.cluster.pause}[event](*node_ids)

    def restore(self, *node_ids: int) -> None:
        self.cluster.resume(*(node_id for node_id in node_ids if self.cluster.node(node_id).alive))
        self.cluster.start()
        time.sleep(1.0)

    def level(self) -> int:
        return self.cluster.settled_level("metadata.version", still_s=1.0)


def ids(run: Run) -> set[str]:
    return {finding["id"] for finding in run.json["findings"]}


def started(kafkactl: Kafkactl, new_cluster: ClusterOf, release: str, *, brokers: int = 2) -> Cluster:
    shape = {"controllers": 3, "brokers": brokers, "dynamic": False, "metadata_version": LEVELS[release][0]}
    cluster = new_cluster(release, **shape)
    cluster.start()
    return Cluster(kafkactl, cluster, release)


@pytest.mark.parametrize(
    "release",
    [pytest.param("3.9.2", marks=pytest.mark.campaign), pytest.param("4.3.1", marks=pytest.mark.campaign), "4.4.0"],
)
def test_node_is_alive_if_it_was_observed_to_advance(kafkactl: Kafkactl, new_cluster: ClusterOf, release: str) -> None:
    ours = started(kafkactl, new_cluster, release, brokers=0)
    before = ours.level()
    first, second = ours.followers

    # One voter was killed just now: two of three are seen to follow, and commit the change.
    ours.cluster.kill(first)
    planned = ours.ask(*ours.upgrade, "--dry-run")
    assert (planned.code, planned.json["outcome"]) == (0, "planned"), planned.stdout
    if release in CONVERTS:
        refused = ours.ask("features", "upgrade", "--feature", "kraft.version=1")
        assert (refused.code, ids(refused) & {"voter-not-ready"}) == (3, {"voter-not-ready"}), refused.stdout

    # And now the other one: the leader still answers, and nothing is sent to it.
    ours.cluster.kill(second)
    refused = ours.ask(*ours.upgrade)
    ours.restore(first, second)
    assert (refused.code, refused.json["outcome"]) == (3, "refused"), refused.stdout
    assert ids(refused) & {"majority-not-proven", "no-active-controller"}
    assert ours.level() == before, "nothing of it was committed later"


def _row(
    ours: Cluster, event: str, struck: tuple[int, ...], delay_s: float, words: tuple[object, ...], **texts: str
) -> Row:
    """Strike nodes, wait, run a command in this process, and bring the nodes back."""
    ours.strike(event, *struck)
    time.sleep(delay_s)
    began = time.monotonic()
    run = ours.ask(*words)
    seconds = time.monotonic() - began
    ours.restore(*struck)
    commits = ours.cluster.commits()
    return Row(
        event=f"{event} of {texts['whom']}",
        seconds_before=f"{delay_s:g}",
        command=texts["command"],
        expected=texts["expected"],
        found=f"{run.json['outcome']}, {run.code}" if run.stdout else f"{run.error['id']}, {run.code}",
        seconds=seconds,
        commits_after=commits,
    )


@pytest.mark.campaign
@pytest.mark.parametrize("release", list(LEVELS))
def test_answers_are_right_while_nodes_of_a_level_change_fail(
    kafkactl: Kafkactl, new_cluster: ClusterOf, release: str
) -> None:
    ours = started(kafkactl, new_cluster, release)
    before = ours.level()
    rows: list[Row] = []
    for event in ("SIGKILL", "SIGSTOP"):
        for delay_s in BEFORE_S:
            followers = tuple(ours.followers)
            rows.append(
                _row(ours, event, followers, delay_s, ours.upgrade, whom="both followers", command="features upgrade",
                     expected=REFUSED)
            )  # fmt: skip
            assert ours.level() == before, rows[-1]
            rows.append(
                _row(ours, event, followers[:1], delay_s, (*ours.upgrade, "--dry-run"), whom="one follower",
                     command="features upgrade --dry-run", expected=PLANNED)
            )  # fmt: skip
            if release in CONVERTS:
                words = ("features", "upgrade", "--feature", "kraft.version=1")
                rows.append(
                    _row(ours, event, tuple(ours.followers)[:1], delay_s, words, whom="one follower",
                         command="features upgrade kraft.version=1", expected=REFUSED)
                )  # fmt: skip
    write_section(f"features upgrade, {release}", rows)
    assert all(row.is_right for row in rows), [row for row in rows if not row.is_right]


@pytest.mark.campaign
@pytest.mark.parametrize("release", list(LEVELS))
def test_answers_are_right_while_nodes_of_an_unregistration_fail(
    kafkactl: Kafkactl, new_cluster: ClusterOf, release: str
) -> None:
    ours = started(kafkactl, new_cluster, release)
    words = ("nodes", "unregister", "--id", 12, "--dry-run")
    rows: list[Row] = []
    for event in ("SIGKILL", "SIGSTOP"):
        texts = {"whom": "the broker", "command": "nodes unregister (that one) --dry-run"}
        rows += [
            _row(ours, event, (12,), delay_s, words, **texts, expected=REFUSED) for delay_s in (0.0, 0.1, 0.5, 1.0)
        ]
        # Long enough for its session (3 s) to end: who is dead may go, who is paused would come back.
        rows.append(_row(ours, event, (12,), 6.0, words, **texts, expected=PLANNED if event == "SIGKILL" else REFUSED))
        for delay_s in (0.1, 1.0):  # in the middle of an election
            leader = ours.cluster.leader()
            rows.append(
                _row(ours, event, (12, leader), delay_s, words, whom="the broker and the leader",
                     command=texts["command"], expected=REFUSED)
            )  # fmt: skip
    write_section(f"nodes unregister, {release}", rows)
    assert all(row.is_right for row in rows), [row for row in rows if not row.is_right]
