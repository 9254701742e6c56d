"""`kafkactl features` against a scripted cluster: pages, answers, exit codes, and words that make no sense."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafkactl.cluster import followers
from kafkactl.cluster.io import view as state_view
from kafkactl.commands.demo.broker import CLOSE, SILENCE
from kafkactl.core.values import Role
from kafkactl.features.api import change as feature_change
from tests.conftest import Run
from tests.kafka.feature_cluster import RANGES, FakeCluster

HOSTILE_LINES = {
    "features describe": ("{brokers}",),
    "features upgrade": ("--metadata {text} {brokers} --dry-run",),
    "features downgrade": ("--metadata {text} {brokers} --dry-run",),
    "features disable": ("--feature {text} {brokers} --dry-run",),
    "features verify": ("--metadata {text} {brokers}",),
    "features version-mapping": ("--release-version {text}",),
    "features feature-dependencies": ("--feature {text}=1",),
}

Kafkactl = Callable[..., Run]
CONTROLLERS_28 = {"metadata.version": (7, 28), "group.version": (0, 1), "kraft.version": (0, 1)}


@pytest.fixture(autouse=True)
def short_node_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value_ms in (("PROOF_MS", 600.0), ("SETTLE_MS", 600.0), ("_GRACE_MS", 100.0), ("_POLL_MS", 20.0)):
        monkeypatch.setattr(feature_change, name, value_ms)
    monkeypatch.setattr(state_view, "NODE_TIMEOUT_MS", 1000.0)
    monkeypatch.setattr(followers, "WATCH_MS", 400)


@contextmanager
def at(cluster: FakeCluster, role: Role = Role.BROKER) -> Iterator[tuple[str, str]]:
    """Yield the words that name the running cluster."""
    with cluster.client(role) as client:
        yield role.option, ",".join(str(address) for address in client.bootstrap)


def run_at(cluster: FakeCluster, kafkactl: Kafkactl, *words: str, role: Role = Role.BROKER) -> Run:
    with at(cluster, role) as where:
        return kafkactl("features", *where, *words)


def ids(run: Run) -> list[str]:
    return [finding["id"] for finding in run.json["findings"]]


class TestDescribe:
    def test_in_a_pipe_kafkas_lines_come_first(self, kafkactl: Kafkactl) -> None:
        run = run_at(FakeCluster(), kafkactl, "describe")
        assert run.code == 0
        assert run.stdout.splitlines()[2] == (
            "Feature: metadata.version                          SupportedMinVersion: 3.3-IV3          "
            "SupportedMaxVersion: 4.3-IV0          FinalizedVersionLevel: 4.0-IV3          Epoch: 40"
        )

    def test_features_are_described_as_an_object(self, kafkactl: Kafkactl) -> None:
        cluster = FakeCluster()
        cluster.nodes[12].supported = CONTROLLERS_28
        cluster.nodes[11].greeting = SILENCE
        run = run_at(cluster, kafkactl, "describe", "-o", "json", "--timeout", "8s", role=Role.CONTROLLER)
        shown = {feature["name"]: feature for feature in run.json["features"]}["metadata.version"]
        assert (shown["finalized"], shown["finalized_name"], shown["supported_max"]) == (25, "4.0-IV3", 28)
        assert {node["id"]: node["max"] for node in shown["nodes"]} == {1: 30, 2: 30, 11: None, 12: 28}
        assert (run.json["cluster_id"], run.json["active_controller"]) == ("fake", 1)

    def test_each_feature_has_one_line(self, kafkactl: Kafkactl) -> None:
        run = run_at(FakeCluster(), kafkactl, "describe", "-o", "jsonl")
        assert [json.loads(line)["name"] for line in run.stdout.splitlines()] == sorted(RANGES)

    @pytest.mark.slow
    def test_levels_of_one_node_are_described(self, kafkactl: Kafkactl) -> None:
        cluster = FakeCluster()
        cluster.nodes[12].finalized = {"metadata.version": 24}
        cluster.nodes[11].greeting = SILENCE
        with at(cluster, Role.CONTROLLER) as where:
            alone, unknown, silent = (
                kafkactl("features", *where, "describe", "--node-id", id, "-o", "json", "--timeout", "8s")
                for id in (12, 99, 11)
            )
        levels = {feature["name"]: feature["finalized"] for feature in alone.json["features"]}
        assert (levels, len(alone.json["nodes"])) == (
            {"metadata.version": 24, "group.version": 0, "kraft.version": 0},
            1,
        )
        assert (unknown.code, unknown.error["id"]) == (4, "node-not-found")
        assert (silent.code, silent.error["id"]) == (4, "node-does-not-answer")

    def test_denied_question_is_reported(self, kafkactl: Kafkactl) -> None:
        cluster = FakeCluster()
        cluster.denied = {"DescribeQuorum"}
        run = run_at(cluster, kafkactl, "describe", "-o", "json")
        assert (run.code, run.json["active_controller"], ids(run)) == (
            0, None, ["quorum-not-seen"],
        )  # fmt: skip


class TestVerify:
    def test_all_nodes_agree(self, kafkactl: Kafkactl) -> None:
        run = run_at(FakeCluster(), kafkactl, "verify", "-o", "json")
        assert (run.code, run.json["proved"], run.json["findings"]) == (0, True, [])
        assert run.json["wanted"] == {"metadata.version": 25, "group.version": 1}
        assert "All 4 nodes" in run_at(FakeCluster(), kafkactl, "verify").stdout

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (["--metadata", "4.0-IV3"], 0),
            (["--metadata", "4.3"], 7),
            (["--feature", "group.version=1", "--feature", "kraft.version=0"], 0),
            (["--feature", "group.version=0"], 7),
            (["--release-version", "4.0"], 7),
            (["--feature", "group.version"], 2),
            (["--metadata", "nonsense"], 2),
        ],
    )
    def test_exit_code_of_verify_depends_on_the_levels(self, kafkactl: Kafkactl, words: list[str], code: int) -> None:
        assert run_at(FakeCluster(), kafkactl, "verify", *words, "-o", "json").code == code

    @pytest.mark.slow
    def test_node_that_lags_or_hangs_proves_nothing(self, kafkactl: Kafkactl) -> None:
        cluster = FakeCluster()
        cluster.nodes[12].finalized = {"metadata.version": 24, "group.version": 1}
        run = run_at(cluster, kafkactl, "verify", "-o", "json", "--wait", "100ms")
        assert (run.code, ids(run)) == (7, ["feature-level-not-on-node"])
        cluster = FakeCluster()
        cluster.nodes[12].greeting = SILENCE
        run = run_at(cluster, kafkactl, "verify", "-o", "json", "--timeout", "8s")
        assert (run.code, ids(run)) == (7, ["node-not-proved"])

    def test_brokers_that_no_node_names_prove_nothing(self, kafkactl: Kafkactl) -> None:
        cluster = FakeCluster()
        cluster.denied = {"Fetch"}
        run = run_at(cluster, kafkactl, "verify", "-o", "json", role=Role.CONTROLLER)
        assert (run.code, ids(run)) == (7, ["brokers-not-known", "metadata-log-not-read"])


class TestChanges:
    def test_upgrade_is_done(self, kafkactl: Kafkactl) -> None:
        run = run_at(FakeCluster(), kafkactl, "upgrade", "--metadata", "4.1")
        assert (run.code, run.stderr) == (0, "")
        assert run.stdout.startswith("metadata.version was upgraded to 27.\n")
        assert "11    broker      metadata.version=27" in run.stdout

    def test_plan_command_and_dry_run_give_the_same_plan(self, kafkactl: Kafkactl) -> None:
        cluster = FakeCluster()
        with at(cluster) as where:
            plan = kafkactl("features", *where, "plan", "--metadata", "4.1", "-o", "json")
            dry = kafkactl("features", *where, "upgrade", "--metadata", "4.1", "--dry-run", "-o", "json")
        assert plan.json == dry.json
        assert (plan.code, plan.json["outcome"], plan.json["results_of"]) == (0, "planned", "dry-run")
        assert all(body["ValidateOnly"] for body in cluster.updates)

    def test_refusal_has_every_reason_and_the_opinion_of_the_server(self, kafkactl: Kafkactl) -> None:
        cluster = FakeCluster()
        cluster.registered = {**cluster.registered, 12: CONTROLLERS_28}
        cluster.nodes[2].supported = CONTROLLERS_28
        with at(cluster) as where:
            words = ("features", *where, "upgrade", "--metadata", "4.3", "-o", "json")
            run = kafkactl(*words)
            assert (run.code, run.json["outcome"], run.json["results"], cluster.updates) == (3, "refused", [], [])
            dry = kafkactl(*words, "--dry-run")
        blocking = [finding["subject"] for finding in run.json["findings"] if finding["severity"] == "blocker"]
        assert blocking == ["controller 2", "broker 12"]
        assert (dry.code, dry.json["results"][0]["outcome"]) == (3, "planned")
        assert "dry-run-accepted" in ids(dry)

    @pytest.mark.slow
    def test_outcome_is_unknown_after_a_lost_answer(self, kafkactl: Kafkactl) -> None:
        cluster = FakeCluster()
        usual = cluster.update
        cluster.update = lambda asked: usual(asked) if asked.body["ValidateOnly"] else CLOSE  # type: ignore[method-assign]
        run = run_at(cluster, kafkactl, "upgrade", "--metadata", "4.1")
        assert run.code == 6
        assert run.stderr == "1 out of 1 operation(s) failed.\n"
        assert "Outcome unknown" in run.stdout

    def test_interrupted_after_it_was_sent(self, kafkactl: Kafkactl, monkeypatch: pytest.MonkeyPatch) -> None:
        # Nothing is lost: the next run observes the cluster and continues from its state.
        cluster = FakeCluster()
        looks = iter([feature_change.observe_levels])

        def look(*arguments: Any, **named: Any) -> Any:
            usual = next(looks, None)
            if usual is None:
                raise KeyboardInterrupt
            return usual(*arguments, **named)

        with at(cluster) as where:
            words = ("features", *where, "upgrade", "--metadata", "4.1", "-o", "json")
            with monkeypatch.context() as patched:
                patched.setattr(feature_change, "observe_levels", look)
                cut = kafkactl(*words)
            again = kafkactl(*words)
        assert (cut.code, cut.error["id"], cut.stdout) == (130, "interrupted", "")
        assert (again.code, again.json["outcome"], len(cluster.updates)) == (0, "nothing-to-do", 2)

    def test_nothing_listens(self, kafkactl: Kafkactl) -> None:
        run = kafkactl("features", "upgrade", "--metadata", "4.1", "--bootstrap-server", "127.0.0.1:1", "-o", "json")
        assert (run.code, run.error["id"], run.stdout) == (4, "connection-refused", "")

    def test_port_of_a_controller_is_refused_as_bootstrap_server(self, kafkactl: Kafkactl) -> None:
        with at(FakeCluster(), Role.CONTROLLER) as (_, address):
            run = kafkactl("features", "describe", "--bootstrap-server", address, "-o", "json")
        assert (run.code, run.error["id"]) == (4, "wrong-endpoint-type")

    def test_cluster_of_a_context_is_held_to(
        self, kafkactl: Kafkactl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        cluster = FakeCluster()
        with at(cluster) as where:
            assert kafkactl("config", "set", "prod", *where, "--cluster-id", "M3Bo3W0ORPelUfJ9SfsK7A").code == 0
            refused = kafkactl("features", "upgrade", "--context", "prod", "--metadata", "4.1", "-o", "json")
            assert (refused.code, refused.error["id"], cluster.updates) == (3, "cluster-id-mismatch", [])


@pytest.mark.parametrize(
    ("words", "error_id"),
    [
        ("upgrade", "no-feature-named"),
        ("upgrade --unsafe --metadata 4.1", "unknown-option"),
        ("upgrade --feature group.version", "invalid-feature-argument"),
        ("upgrade --feature group.version=x", "invalid-feature-argument"),
        ("upgrade --feature group.version=0", "level-not-allowed"),
        ("upgrade --feature group.version=-1", "level-not-allowed"),
        ("upgrade --feature group.version=99999", "invalid-feature-argument"),
        ("upgrade --feature a.version=1 --feature a.version=2", "feature-named-twice"),
        ("upgrade --metadata 4.1 --feature metadata.version=27", "feature-named-twice"),
        ("upgrade --release-version 4.1 --metadata 4.1", "release-version-excludes-features"),
        ("upgrade --release-version 9.9", "unknown-release-version"),
        ("upgrade --metadata 2.8", "unknown-release-version"),
        ("downgrade --metadata", "bad-option-usage"),
        ("disable", "no-feature-named"),
        ("disable --feature group.version=1", "invalid-feature-argument"),
        ("disable --release-version 4.1", "unknown-option"),
        ("plan upgrad --metadata 4.1", "invalid-option-value"),
        ("plan upgrade --unsafe --metadata 4.1", "unsafe-needs-downgrade"),
        ("describe --node-id -1", "invalid-option-value"),
        ("feature-dependencies --feature foo.version=1", "unknown-feature"),
        ("feature-dependencies --feature group.version=9", "unknown-feature-level"),
        ("feature-dependencies", "missing-option"),
        ("version-mapping --release-version 9.9", "unknown-release-version"),
        ("version-mapping --kafka-version 9.9", "unknown-kafka-version"),
    ],
)
def test_invalid_options_are_reported_before_any_request(kafkactl: Kafkactl, words: str, error_id: str) -> None:
    run = kafkactl("features", "--bootstrap-server", "127.0.0.1:1", *words.split(), "-o", "json")
    assert (run.code, run.error["id"], run.stdout) == (2, error_id, "")


def test_mapping_and_dependencies_need_no_cluster(kafkactl: Kafkactl) -> None:
    mapping = kafkactl("features", "version-mapping", "--release-version", "4.3")
    assert mapping.stdout.splitlines()[:2] == ["metadata.version=30 (4.3)", "kraft.version=1"]
    needs = kafkactl("features", "feature-dependencies", "--feature", "eligible.leader.replicas.version=1")
    assert needs.stdout == "eligible.leader.replicas.version=1 requires:\n    metadata.version=23 (4.0-IV1)\n"
    answer: Any = kafkactl("features", "version-mapping", "-o", "json").json
    assert answer["features"][0] == {"name": "metadata.version", "level": 33}


def test_command_is_refused_without_an_address(
    kafkactl: Kafkactl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    run = kafkactl("features", "describe", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "bootstrap-missing")
