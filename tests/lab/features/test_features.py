"""`kafkactl features` on real clusters: what it says, what Kafka's own tool says, and what the cluster then does."""

from __future__ import annotations

import contextlib
import re
import shlex
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Outcome
from kafkactl.core.values import Role
from kafkactl.features.api.change import change_features
from kafkactl.features.change.results import update_features_request
from kafkactl.features.plan.change import UpgradeType
from kafkactl.features.plan.request import FeatureRequest, Operation
from kafkactl.files.clock import SystemClock
from tests.conftest import Run
from tests.fakes.proxy import Fault, FaultyProxy
from tests.lab.harness import releases
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.storage_tool import StorageToolServer, ToolResult

Kafkactl = Callable[..., Run]
TOOL = "org.apache.kafka.tools.FeatureCommand"
UPDATE_FEATURES = 57
ELR, KRAFT = "eligible.leader.replicas.version", "kraft.version"
# The form of the lines is that of the cluster's release; 4.4 has no published tool, 4.3's can connect to it.
LINES = [
    pytest.param("3.9.2", "3.9.2", "3.7-IV4"),
    pytest.param("4.3.1", "4.3.1", "4.0-IV1"),
    pytest.param("4.2.1", "4.2.1", "4.0-IV1", marks=pytest.mark.campaign),
    pytest.param("4.4.0", "4.3.1", "4.3-IV0", marks=pytest.mark.campaign),
]
# Commands that change nothing: refused, or a dry run.
HARMLESS = [
    "upgrade --dry-run --metadata 3.8",
    "upgrade --dry-run --feature metadata.version=24",
    "upgrade --dry-run --feature metadata.version=99",
    "upgrade --dry-run --feature foo.version=1 --feature metadata.version=99",
    "upgrade --dry-run --feature eligible.leader.replicas.version=1",
    "downgrade --dry-run --metadata 3.6",
    "downgrade --dry-run --metadata 3.6 --unsafe",
    "downgrade --dry-run --feature metadata.version=17",
    "disable --dry-run --feature group.version",
    "disable --dry-run --feature metadata.version",
]


def reported(run: Run) -> set[tuple[str, str]]:
    """Return the findings, each by its subject and id."""
    return {(finding["subject"], finding["id"]) for finding in run.json["findings"]}


def kafkas(tool: StorageToolServer, release: str, cluster: KafkaCluster, words: str) -> ToolResult:
    return tool.run_tool(release, TOOL, ["--bootstrap-server", cluster.bootstrap_server, *shlex.split(words)])


def result_lines(text: str) -> list[str]:
    """Return the lines about features; 4.x says on stdout that --metadata is deprecated."""
    return [line for line in text.splitlines() if re.match(r"\S+\.version (can be|was) |Can not |Could not ", line)]


def without_epoch(text: str) -> list[str]:
    """Leave out the epoch of a broker: it grows while one looks. The name of 4.4's level is one that 4.3's tool does
    not know."""
    known = text.replace("UNKNOWN 33", "4.4-IV2   ")
    return [line.partition("Epoch: ")[0] for line in known.splitlines() if line.startswith("Feature: ")]


@pytest.mark.parametrize(("release", "tool_release", "level"), LINES)
def test_lines_are_those_of_kafkas_tool(
    storage_tool: StorageToolServer,
    cluster_of: ClusterOf,
    kafkactl: Kafkactl,
    release: str,
    tool_release: str,
    level: str,
) -> None:
    cluster = cluster_of(release, controllers=1, brokers=1, dynamic=False, metadata_version=level)
    where = ("--bootstrap-server", cluster.bootstrap_server)
    ours = kafkactl("features", *where, "describe")
    theirs = kafkas(storage_tool, tool_release, cluster, "describe")
    assert (ours.code, theirs.exit_code) == (0, 0)
    assert without_epoch(ours.stdout) == without_epoch(theirs.stdout) != []
    for words in HARMLESS:
        theirs = kafkas(storage_tool, tool_release, cluster, words)
        if not result_lines(theirs.stdout):
            continue  # 3.9 does not know the level's name, or the feature
        mine = kafkactl("features", *where, *shlex.split(words))
        if "Nothing to do" in mine.stdout:
            continue  # Kafka's tool asks all the same
        assert result_lines(mine.stdout) == result_lines(theirs.stdout), words
        assert (mine.code == 0) == (theirs.exit_code == 0) or mine.code == 3, words
        assert theirs.stderr.strip() in mine.stderr, words


@pytest.mark.parametrize(
    ("release", "level", "steps"),
    [
        pytest.param("3.9.2", "3.7-IV4", ["--metadata 3.8", "--metadata 3.9"], marks=pytest.mark.campaign),
        pytest.param("4.3.1", "4.0-IV1", [f"--feature {ELR}=1 --feature metadata.version=25", "--release-version 4.3"]),
        pytest.param("4.0.2", "3.9-IV0", ["--release-version 4.0"], marks=pytest.mark.campaign),
        pytest.param("4.4.0", "4.3-IV0", ["--metadata 4.4"], marks=pytest.mark.campaign),
    ],
)
def test_upgrade_ends_as_planned_and_is_proved_on_every_node(
    new_cluster: ClusterOf, kafkactl: Kafkactl, release: str, level: str, steps: list[str]
) -> None:
    cluster = new_cluster(release, controllers=2, brokers=1, dynamic=False, metadata_version=level)
    cluster.start()
    ways: Iterator[tuple[str, str]] = iter(
        [("--bootstrap-server", cluster.bootstrap_server), ("--bootstrap-controller", cluster.bootstrap_controller)]
    )
    for words in steps:
        where = next(ways)
        planned = kafkactl("features", *where, "plan", *shlex.split(words), "-o", "json")
        assert (planned.code, planned.json["outcome"]) == (0, "planned"), planned.json
        assert {result["outcome"] for result in planned.json["results"]} == {"planned"}
        made = kafkactl("features", *where, "upgrade", *shlex.split(words), "-o", "json")
        assert (made.code, made.json["outcome"]) == (0, "done"), made.json
        assert [change["to"] for change in made.json["changes"]] == [change["to"] for change in planned.json["changes"]]
        assert {(proof["role"], proof["node_id"]) for proof in made.json["proof"]} == {
            ("controller", 1), ("controller", 2), ("broker", 11),
        }  # fmt: skip
        wanted = {change["name"]: change["to"] for change in made.json["changes"] if change["to"]}
        for node_id in (1, 2, 11):
            assert wanted.items() <= cluster.levels(node_id).items()
            assert KRAFT not in cluster.levels(node_id)
        again = kafkactl("features", *where, "upgrade", *shlex.split(words), "-o", "json")
        assert (again.code, again.json["outcome"]) == (0, "nothing-to-do")
        assert kafkactl("features", *where, "verify", *shlex.split(words)).code == 0


def test_downgrade_and_disabled_feature_are_done(cluster_of: ClusterOf, kafkactl: Kafkactl) -> None:
    cluster = cluster_of("4.3.1", controllers=1, brokers=1, dynamic=False, metadata_version="4.0-IV1")
    features = ("features", "--bootstrap-controller", cluster.bootstrap_controller)
    assert kafkactl(*features, "upgrade", "--feature", "metadata.version=25").code == 0
    crossed = kafkactl(*features, "downgrade", "--feature", "metadata.version=22", "--unsafe", "-o", "json")
    assert crossed.code == 3
    assert ("feature metadata.version", "metadata-downgrade-loses-metadata") in reported(crossed)
    down = kafkactl(*features, "downgrade", "--feature", "metadata.version=23", "-o", "json")
    assert (down.code, down.json["changes"][0]["kind"]) == (0, "safe-downgrade")
    off = kafkactl(*features, "disable", "--feature", "group.version")
    assert "group.version was disabled.\n" in off.stdout
    assert cluster.levels(11) == {"metadata.version": 23}
    assert kafkactl(*features, "upgrade", "--feature", "group.version=1").code == 0


class TestKraftVersion:
    """Behaviour of a real cluster with kraft.version, and that kafkactl does not do the same."""

    def test_it_converts_the_quorum_behind_a_refusal(self, new_cluster: ClusterOf, kafkactl: Kafkactl) -> None:
        cluster = new_cluster("4.3.1", controllers=1, brokers=1, dynamic=False)
        cluster.start()
        features = ("features", "--bootstrap-server", cluster.bootstrap_server)
        refused = kafkactl(*features, "upgrade", "--feature", f"{KRAFT}=1", "--feature", "foo.version=1", "-o", "json")
        assert refused.code == 3
        assert (f"feature {KRAFT}", "kraft-version-not-alone") in reported(refused)
        assert KRAFT not in cluster.levels(1)
        answer = cluster.wait_for(lambda: converted(cluster), "its quorum converted behind the refusal", 120)
        assert answer["ErrorCode"] == 95
        assert cluster.levels(1)[KRAFT] == 1

    @pytest.mark.parametrize("release", ["4.0.2", pytest.param("3.9.2", marks=pytest.mark.campaign)])
    def test_it_is_claimed_and_not_done(self, new_cluster: ClusterOf, kafkactl: Kafkactl, release: str) -> None:
        cluster = new_cluster(release, controllers=1, brokers=1, dynamic=False)
        cluster.start()
        features = ("features", "--bootstrap-server", cluster.bootstrap_server)
        body = update_features_request({KRAFT: 1}, UpgradeType.UPGRADE, validate_only=False, timeout_ms=5000)
        with cluster.client() as client:
            assert client.ask_active_controller("UpdateFeatures", body, changes=True).body["ErrorCode"] == 0
        assert set(cluster.voters().values()) == {"AAAAAAAAAAAAAAAAAAAAAA"}
        run = kafkactl(*features, "upgrade", "--feature", f"{KRAFT}=1", "-o", "json")
        if release == "4.0.2":
            assert run.code == 3
            assert (f"feature {KRAFT}", "kraft-version-not-convertible") in reported(run)
            assert KRAFT not in cluster.levels(1)
        else:  # 3.9 writes the level, and the quorum stays static
            assert (run.code, run.json["outcome"]) == (0, "nothing-to-do")
            assert (f"feature {KRAFT}", "kraft-version-claimed") in reported(run)

    def test_alone_and_by_name_it_is_done(self, new_cluster: ClusterOf, kafkactl: Kafkactl) -> None:
        cluster = new_cluster("4.3.1", controllers=2, brokers=1, dynamic=False)
        cluster.start()
        features = ("features", "--bootstrap-controller", cluster.bootstrap_controller)

        def asked() -> Run | None:
            """Ask some seconds after the election: all voters have reported then."""
            run = kafkactl(*features, "upgrade", "--feature", f"{KRAFT}=1", "-o", "json")
            return run if run.code != 3 else None

        run = cluster.wait_for(asked, "converted its quorum", 120)
        assert (run.code, run.json["outcome"], run.json["changes"][0]["reversible"]) == (0, "done", False)
        assert all(node["levels"] == {KRAFT: 1} for node in run.json["proof"])
        assert "AAAAAAAAAAAAAAAAAAAAAA" not in cluster.voters().values()


def converted(cluster: KafkaCluster) -> dict[str, Any] | None:
    """Send one mixed request, in either order of its features, until the quorum is a dynamic one; return its answer."""
    for levels in ({KRAFT: 1, "foo.version": 1}, {"foo.version": 1, KRAFT: 1}):
        body = update_features_request(levels, UpgradeType.UPGRADE, validate_only=False, timeout_ms=5000)
        with cluster.client() as client:
            answer = client.ask_active_controller("UpdateFeatures", body, changes=True).body
        time.sleep(0.5)
        if cluster.levels(1).get(KRAFT):
            return dict(answer)
    return None


def test_epochs_differ_and_only_levels_are_compared(new_cluster: ClusterOf, kafkactl: Kafkactl) -> None:
    cluster = new_cluster("4.3.1", controllers=2, brokers=1, dynamic=False, metadata_version="4.0-IV1")
    cluster.start()
    features = ("features", "--bootstrap-server", cluster.bootstrap_server)
    assert kafkactl(*features, "upgrade", "--metadata", "4.0-IV3").code == 0
    follower = 3 - cluster.leader()
    cluster.stop(follower)
    cluster.start()
    run = kafkactl(*features, "verify", "--metadata", "4.0-IV3", "--wait", "60s", "-o", "json")
    assert (run.code, run.json["proved"]) == (0, True)
    assert len({node["finalized_epoch"] for node in run.json["proof"]}) == 3


def test_old_nodes_that_live_or_are_gone_block_all_at_once(new_cluster: ClusterOf, kafkactl: Kafkactl) -> None:
    # Kafka's answer names one of them, by its number alone.
    cluster = new_cluster(
        "4.3.1", controllers=1, brokers=2, metadata_version="4.0-IV3", releases={11: "4.0.2"}, dynamic=True
    )
    cluster.start()
    features = ("features", "--bootstrap-controller", cluster.bootstrap_controller)
    old = cluster.add_controller(release="4.0.2")
    cluster.wait_complete()
    run = kafkactl(*features, "plan", "--metadata", "4.3", "-o", "json")
    assert (run.code, run.json["outcome"]) == (3, "refused")
    assert {(f"controller {old}", "level-outside-node-range"), ("broker 11", "level-outside-node-range")} <= reported(
        run
    )
    assert {result["error_code"] for result in run.json["results"]} == {95}
    cluster.kill(11, old)

    def stale() -> bool:
        """Return True if it is gone: a broker when its session is over, an observer when it has not fetched for 4 s."""
        nonlocal run
        run = kafkactl(*features, "plan", "--metadata", "4.3", "-o", "json")
        gone = {(f"controller {old}", "stale-controller-registration"), ("broker 11", "stale-broker-registration")}
        return gone <= reported(run)

    cluster.wait_for(stale, "told who is gone", 120)
    assert run.code == 3
    shown = kafkactl(*features, "describe", "-o", "json")
    silent = {node["id"]: node["answers"] for node in shown.json["nodes"] if node["answers"] is not True}
    assert (shown.code, silent) == (0, {old: False, 11: False})


@pytest.mark.parametrize("fault", [Fault.CUT_AFTER, Fault.CUT_IN_ANSWER, Fault.CUT_BEFORE])
def test_change_with_a_lost_answer_is_verified(cluster_of: ClusterOf, kafkactl: Kafkactl, fault: Fault) -> None:
    cluster = cluster_of("4.3.1", controllers=1, brokers=1, dynamic=False, metadata_version="4.0-IV1")
    if cluster.levels(1)["metadata.version"] != 23:
        kafkactl("features", "--bootstrap-server", cluster.bootstrap_server, "downgrade", "--metadata", "4.0-IV1")
    with FaultyProxy(cluster.controller_address(1)) as network:
        network.plan.arm(fault, UPDATE_FEATURES, spare=1)  # the dry run
        where = ("--bootstrap-controller", str(network.address))
        run = kafkactl("features", *where, "upgrade", "--metadata", "4.0-IV3", "-o", "json", "--timeout", "30s")
        assert network.plan.struck == 1
    # What the network did not deliver may still be on its way for all that can be seen from here.
    expected = (0, "done", 25) if fault.delivers else (6, "unknown", 23)
    assert (run.code, run.json["outcome"], cluster.levels(1)["metadata.version"]) == expected
    if fault.delivers:
        assert ("feature metadata.version", "change-made-despite-answer") in reported(run)


def test_without_a_leader_levels_are_shown_and_not_changed(cluster_of: ClusterOf, kafkactl: Kafkactl) -> None:
    cluster = cluster_of("4.3.1", controllers=2, brokers=1)
    cluster.kill(1)
    cluster.wait_for(lambda: cluster.leader_now() == -1, "lost its leader")
    features = ("features", "--bootstrap-server", cluster.bootstrap_server)
    shown = kafkactl(*features, "describe", "-o", "json")
    levels = {feature["name"]: feature["finalized"] for feature in shown.json["features"]}
    assert (shown.code, shown.json["active_controller"], levels["metadata.version"]) == (0, None, 30)
    refused = kafkactl(*features, "disable", "--feature", "share.version", "-o", "json")
    assert refused.code == 3
    assert ("cluster", "no-active-controller") in reported(refused)


def no_majority(cluster: KafkaCluster, leader: int) -> None:
    cluster.pause(*(controller_id for controller_id in cluster.controller_ids if controller_id != leader))


def no_leader(cluster: KafkaCluster, leader: int) -> None:
    cluster.pause(leader)


def dead_leader(cluster: KafkaCluster, leader: int) -> None:
    cluster.kill(leader)


@pytest.mark.campaign
@pytest.mark.parametrize(
    "happens",
    [
        no_majority,
        no_leader,
        dead_leader,
    ],
)
@pytest.mark.parametrize("release", ["4.3.1", "3.9.2"])
def test_quorum_that_fails_while_a_change_is_sent_is_never_guessed_about(
    new_cluster: ClusterOf, release: str, happens: Callable[[KafkaCluster, int], None]
) -> None:
    level, goal = {"4.3.1": (23, 25), "3.9.2": (20, 21)}[release]
    cluster = new_cluster(
        release, controllers=3, brokers=1, dynamic=False, metadata_version={23: "4.0-IV1", 20: "3.8-IV0"}[level]
    )
    cluster.start()
    leader = cluster.leader()

    def on_progress(text: str) -> None:
        if text.startswith("sending"):
            happens(cluster, leader)

    request = FeatureRequest(operation=Operation.UPGRADE, levels={"metadata.version": goal})
    became = Outcome.FAILED
    with cluster.client(timeout_ms=12_000) as client, contextlib.suppress(UnreachableError):  # nothing was sent
        run = change_features(client, request, deadline=Deadline.after(25_000, SystemClock()), tell=on_progress)
        became = run.resolved[0].outcome
    cluster.resume(*cluster.controller_ids)
    cluster.start()
    settled = cluster.settled_level("metadata.version")
    allowed = {Outcome.DONE: {goal}, Outcome.FAILED: {level}, Outcome.UNKNOWN: {level, goal}}
    assert settled in allowed[became]
    if happens is no_majority:
        assert became is Outcome.UNKNOWN
    with cluster.client() as client:
        again = change_features(client, request, deadline=Deadline.after(25_000, SystemClock()), tell=lambda text: None)
    assert again.plan.outcome is Outcome.NOTHING_TO_DO or [step.outcome for step in again.resolved] == [Outcome.DONE]
    assert cluster.levels(11)["metadata.version"] == goal


EVERY = [pytest.param(version, marks=pytest.mark.campaign) for version in releases.VERSIONS]


@pytest.mark.parametrize("release", EVERY)
def test_describe_and_verify_on_every_release(new_cluster: ClusterOf, kafkactl: Kafkactl, release: str) -> None:
    cluster = new_cluster(release, controllers=2, brokers=1, dynamic=False)
    cluster.start()
    for where in (
        ("--bootstrap-server", cluster.bootstrap_server),
        ("--bootstrap-controller", cluster.bootstrap_controller),
    ):
        shown = kafkactl("features", *where, "describe", "-o", "json")
        assert [(node["id"], node["answers"]) for node in shown.json["nodes"]] == [(1, True), (2, True), (11, True)]
        assert (shown.json["cluster_id"], shown.json["findings"]) == (cluster.cluster_id, [])
        assert kafkactl("features", *where, "verify", "--wait", "60s").code == 0
    with cluster.client(Role.BROKER) as client:
        assert client.cluster().cluster_id == cluster.cluster_id
