"""`features plan --out` and `features apply`: what was reviewed is applied, or nothing is."""

from __future__ import annotations

import contextlib
import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkactl.change.plan_document import checksum
from kafkactl.cluster import followers
from kafkactl.cluster.io import view as state_view
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.features.api import change as feature_change
from kafkactl.features.plan.plan import FeaturePlan
from kafkactl.features.plan.plan_file import check_plan, read_plan
from tests.commands.features.test_features import at, ids
from tests.conftest import Run
from tests.kafka.feature_cluster import FakeCluster

HOSTILE_LINES = {
    "features plan": ("upgrade --feature {text}=1 {brokers}", "upgrade --metadata 4.3 {brokers}"),
    "features apply": ("{config} {brokers}", "{text} {brokers}"),
}

HOSTILE_PATHS = {
    "features plan": [
        ("--out", "--metadata 4.3 {connect} --out {}", (2, 3, 4)),
    ],
    "features apply": [
        ("plan_file", "{} {connect}"),
    ],
}

Kafkactl = Callable[..., Run]
Start = Callable[[], "Live"]
Edit = Callable[[dict[str, Any]], object]
TWO_STEPS = ("--metadata", "4.1", "--feature", "group.version=1")


@pytest.fixture(autouse=True)
def short_node_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value_ms in (("PROOF_MS", 600.0), ("SETTLE_MS", 600.0), ("_GRACE_MS", 100.0), ("_POLL_MS", 20.0)):
        monkeypatch.setattr(feature_change, name, value_ms)
    monkeypatch.setattr(state_view, "NODE_TIMEOUT_MS", 1000.0)
    monkeypatch.setattr(followers, "WATCH_MS", 400)


class Live(FakeCluster):
    """Cluster that runs until its test ends. `where` are the words that name it."""

    where: tuple[str, ...] = ()


@pytest.fixture
def live() -> Iterator[Callable[[], Live]]:
    """Yield `live()`: a cluster of 3.9's levels, on which group.version needs a higher metadata.version first."""
    with contextlib.ExitStack() as stack:

        def start() -> Live:
            cluster = Live()
            cluster.levels.clear()
            cluster.levels["metadata.version"] = 21
            cluster.where = stack.enter_context(at(cluster))
            return cluster

        yield start


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "plan.json"


def plan(cluster: Live, kafkactl: Kafkactl, file: Path, *words: str) -> Run:
    options = (*(words or TWO_STEPS), "--out", str(file), "-o", "json")
    return kafkactl("features", *cluster.where, "plan", *options)


def apply(cluster: Live, kafkactl: Kafkactl, file: Path, *words: str) -> Run:
    return kafkactl("features", *cluster.where, "apply", str(file), "-o", "json", *words)


def edit(file: Path, change: Edit, *, seal: bool = True) -> None:
    document = json.loads(file.read_text())
    change(document)
    if seal:
        document["plan_sha256"] = checksum(document)
    file.write_text(json.dumps(document))


class TestPlan:
    def test_plan_file_is_readable_by_its_owner_only(self, live: Start, kafkactl: Kafkactl, file: Path) -> None:
        cluster = live()
        run = plan(cluster, kafkactl, file)
        document = json.loads(file.read_text())
        assert (run.code, run.json["outcome"], run.json["out"]) == (0, "planned", str(file))
        assert run.json["plan_sha256"] == document["plan_sha256"]
        assert (document["kind"], document["cluster_id"]) == ("features.plan", "fake")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert all(update["ValidateOnly"] for update in cluster.updates)

    def test_no_file_is_overwritten_unless_it_is_asked_for(self, live: Start, kafkactl: Kafkactl, file: Path) -> None:
        file.write_text("mine")
        assert plan(live(), kafkactl, file).error["id"] == "plan-file-exists"
        assert file.read_text() == "mine"
        assert plan(live(), kafkactl, file, *TWO_STEPS, "--overwrite").code == 0

    def test_no_file_of_a_plan_that_is_refused_or_changes_nothing(
        self, live: Start, kafkactl: Kafkactl, file: Path
    ) -> None:
        refused = plan(live(), kafkactl, file, "--feature", "group.version=9")
        nothing = plan(live(), kafkactl, file, "--feature", "metadata.version=21")
        assert [(run.json["outcome"], run.json["out"]) for run in (refused, nothing)] == [
            ("refused", None),
            ("nothing-to-do", None),
        ]
        assert not file.exists()


class TestApply:
    def test_dry_run_then_the_change_then_nothing_to_do(self, live: Start, kafkactl: Kafkactl, file: Path) -> None:
        cluster = live()
        planned = plan(cluster, kafkactl, file).json
        dry = apply(cluster, kafkactl, file, "--dry-run")
        assert (dry.code, dry.json["outcome"], cluster.levels["metadata.version"]) == (0, "planned", 21)
        assert dry.json["steps"] == planned["steps"]
        done = apply(cluster, kafkactl, file, "--yes", "--confirm", "fake")
        assert (done.code, done.json["outcome"]) == (0, "done"), done.stdout
        assert done.json["plan_sha256"] == planned["plan_sha256"]
        sent = len(cluster.updates)
        again = apply(cluster, kafkactl, file, "--confirm", "fake")
        assert (again.code, again.json["outcome"], len(cluster.updates)) == (0, "nothing-to-do", sent)

    def test_irreversible_change_needs_the_cluster_id(self, live: Start, kafkactl: Kafkactl, file: Path) -> None:
        cluster = live()
        assert plan(cluster, kafkactl, file).json["outcome"] == "planned"
        runs = [apply(cluster, kafkactl, file, *words) for words in ((), ("--yes",), ("--confirm", "other"))]
        assert [(run.code, ids(run)[-1]) for run in runs] == [
            (3, "confirmation-missing"),
            (3, "confirmation-missing"),
            (3, "confirmation-mismatch"),
        ]
        assert cluster.levels["metadata.version"] == 21

    @pytest.mark.slow
    def test_reversible_change_needs_yes(self, live: Start, kafkactl: Kafkactl, file: Path) -> None:
        cluster = live()
        cluster.levels |= {"metadata.version": 25, "group.version": 1}
        assert plan(cluster, kafkactl, file, "disable", "--feature", "group.version").json["outcome"] == "planned"
        assert ids(apply(cluster, kafkactl, file))[-1] == "confirmation-missing"
        assert apply(cluster, kafkactl, file, "--yes").json["outcome"] == "done"
        assert cluster.levels["group.version"] == 0

    @pytest.mark.slow
    def test_plan_is_refused_after_levels_changed(self, live: Start, kafkactl: Kafkactl, file: Path) -> None:
        cluster = live()
        plan(cluster, kafkactl, file)
        cluster.levels["metadata.version"] = 26
        for words in (("--dry-run",), ("--confirm", "fake")):
            run = apply(cluster, kafkactl, file, *words)
            assert (run.code, run.json["outcome"], run.json["steps"]) == (3, "refused", [])
            (finding,) = [item for item in run.json["findings"] if item["id"] == "cluster-changed-since-plan"]
            assert {"what": "level of metadata.version", "planned": 21, "found": 26} in finding["evidence"]["changed"]
        assert cluster.levels["metadata.version"] == 26

    def test_plan_with_an_edited_consequence_is_refused(self, live: Start, kafkactl: Kafkactl, file: Path) -> None:
        cluster = live()
        plan(cluster, kafkactl, file)
        edit(file, lambda document: document["changes"][0].update(consequences=["nothing at all"]))
        run = apply(cluster, kafkactl, file, "--confirm", "fake")
        assert (run.code, ids(run)[0]) == (3, "cluster-changed-since-plan")
        assert cluster.levels["metadata.version"] == 21

    def test_silent_node_is_a_problem_to_correct_before_the_plan(
        self, live: Start, kafkactl: Kafkactl, file: Path
    ) -> None:
        plan(live(), kafkactl, file)
        found = self._checked(file, warning("node-does-not-answer", "controller 2", "controller 2 does not answer"))
        assert [finding.id for finding in found] == ["cluster-changed-since-plan"]
        assert "apply the same file again" in found[0].next_step
        found = self._checked(file, warning("node-does-not-answer", "controller 2", "-"), levels={})
        assert found[0].next_step == "", "another operator may have changed the levels"

    def test_without_an_active_controller_nothing_has_changed_that_is_known(
        self, live: Start, kafkactl: Kafkactl, file: Path
    ) -> None:
        # As while another controller is elected: it is said what is missing, and not that the cluster was changed.
        plan(live(), kafkactl, file)
        unread = warning("registrations-not-read", "cluster", "the metadata log could not be read")
        assert self._checked(file, blocker("no-active-controller", "cluster", "-"), unread, levels={}) == []

    @staticmethod
    def _checked(file: Path, *findings: Finding, levels: dict[str, int] | None = None) -> list[Finding]:
        planned = read_plan(file.read_bytes(), file=str(file))
        return check_plan(
            planned,
            FeaturePlan(
                cluster_id=planned.cluster_id,
                request=planned.request,
                levels=planned.levels if levels is None else levels,
                changes=(),
                steps=(),
                findings=findings,
            ),
        )

    def test_plan_of_another_cluster_is_refused(self, live: Start, kafkactl: Kafkactl, file: Path) -> None:
        cluster = live()
        plan(cluster, kafkactl, file)
        edit(file, lambda document: document.update(cluster_id="elsewhere"))
        run = apply(cluster, kafkactl, file, "--confirm", "fake")
        assert (run.code, ids(run)[0]) == (3, "cluster-id-mismatch")
        assert cluster.levels["metadata.version"] == 21

    def test_interrupted_plan_goes_on(self, live: Start, kafkactl: Kafkactl, file: Path) -> None:
        cluster = live()
        steps = plan(cluster, kafkactl, file).json["steps"]
        assert len(steps) > 1
        cluster.levels |= steps[0]["features"]
        run = apply(cluster, kafkactl, file, "--confirm", "fake", "--yes")
        assert (run.code, run.json["outcome"]) == (0, "done"), run.stdout
        sent = [update for update in cluster.updates if not update["ValidateOnly"]]
        assert len(sent) == len(steps) - 1

    @pytest.mark.parametrize(
        ("change", "id", "code"),
        [
            (lambda document: document["request"].update(unsafe=True), "plan-file-edited", 3),
            (lambda document: document["steps"][0]["features"].update({"group.version": 0}), "plan-file-edited", 3),
        ],
    )
    def test_edited_plan_is_refused(
        self, live: Start, kafkactl: Kafkactl, file: Path, change: Edit, id: str, code: int
    ) -> None:
        cluster = live()
        plan(cluster, kafkactl, file)
        edit(file, change, seal=False)
        run = apply(cluster, kafkactl, file, "--confirm", "fake")
        assert (run.code, run.error["id"]) == (code, id)

    @pytest.mark.parametrize(
        ("change", "id", "code"),
        [
            (lambda document: document["steps"][0]["features"].update({"group.version": 0}), "plan-forged", 3),
            (lambda document: document["request"]["levels"].update({"metadata.version": 30}), "plan-forged", 3),
            (lambda document: document["steps"][0].update(type="unsafe-downgrade"), "plan-forged", 3),
            (lambda document: document["changes"].pop(), "plan-forged", 3),
            (lambda document: document["levels"].update({"metadata.version": 7}), "plan-forged", 3),
            (lambda document: document.update(schema_version=2), "not-a-plan-file", 2),
            (lambda document: document.update(kind="quorum.plan"), "not-a-plan-file", 2),
            (lambda document: document["levels"].update({"metadata.version": "25"}), "not-a-plan-file", 2),
            (lambda document: document["levels"].update({"metadata.version": True}), "not-a-plan-file", 2),
            (lambda document: document.update(steps=[]), "not-a-plan-file", 2),
            (lambda document: document.pop("request"), "not-a-plan-file", 2),
            (lambda document: document["request"].update(operation="remove"), "not-a-plan-file", 2),
        ],
    )
    def test_forged_plan_changes_nothing(
        self, live: Start, kafkactl: Kafkactl, file: Path, change: Edit, id: str, code: int
    ) -> None:
        cluster = live()
        plan(cluster, kafkactl, file)
        edit(file, change)
        run = apply(cluster, kafkactl, file, "--confirm", "fake")
        assert (run.code, run.error["id"]) == (code, id)
        assert [update for update in cluster.updates if not update["ValidateOnly"]] == []

    def test_truncated_plan_is_refused(self, live: Start, kafkactl: Kafkactl, file: Path) -> None:
        cluster = live()
        plan(cluster, kafkactl, file)
        whole = file.read_bytes()
        for size in (0, 1, len(whole) // 2, len(whole) - 3):
            file.write_bytes(whole[:size])
            run = kafkactl("features", "apply", str(file), "--bootstrap-server", "127.0.0.1:1", "-o", "json")
            assert (run.code, run.error["id"]) == (2, "not-a-plan-file")
