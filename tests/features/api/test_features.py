"""A change of feature levels against a scripted cluster: what is sent, how often, and what is made of the answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.cluster.io.view import ObservedCluster, observe_cluster_state
from kafkactl.commands.demo.broker import CLOSE, Action, Asked, Reply
from kafkactl.core import frozen
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import blockers
from kafkactl.core.values import Role
from kafkactl.features.api import change as feature_change
from kafkactl.features.api.change import ChangeRun, change_features, validate
from kafkactl.features.api.cluster import FeatureChange
from kafkactl.features.plan.plan import plan_change
from kafkactl.features.plan.request import FeatureRequest, Operation
from kafkactl.files.clock import SystemClock
from kafkactl.kafka.client import Client
from tests.kafka.feature_cluster import DENIED, LIMITS, FakeCluster

STEP = {"metadata.version": 26}
ELR = {"eligible.leader.replicas.version": 1}
TWO = {"metadata.version": 26, "eligible.leader.replicas.version": 1}
RANGES = {
    "metadata.version": (7, 30), "group.version": (0, 1), "kraft.version": (0, 1),
    "eligible.leader.replicas.version": (0, 1),
}  # fmt: skip


@pytest.fixture(autouse=True)
def short_node_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value_ms in (("PROOF_MS", 600.0), ("SETTLE_MS", 600.0), ("_GRACE_MS", 100.0), ("_POLL_MS", 20.0)):
        monkeypatch.setattr(feature_change, name, value_ms)


class Scripted(FakeCluster):
    """A cluster whose answer to a change (not to a dry run) is made by `behave`; None: it is accepted and made.

    None of its nodes hangs, and a machine that pauses for a second is not to look as if one did.
    """

    limits = frozen.changed(LIMITS, timeout_ms=60_000.0, request_timeout_ms=30_000.0)

    def __init__(self, behave: Callable[[Asked], Action | None] = lambda asked: None, **more: Any) -> None:
        super().__init__(**more)
        self.behave = behave
        for node in self.nodes.values():
            node.supported = RANGES
        self.registered = dict.fromkeys(self.nodes, RANGES)

    def update(self, asked: Asked) -> Action:
        action = None if asked.body["ValidateOnly"] else self.behave(asked)
        if action is None:
            return super().update(asked)
        self.updates.append(asked.body)
        return action

    @property
    def sent(self) -> list[dict[str, int]]:
        """Return the changes that came, dry runs left out."""
        real = [update for update in self.updates if not update["ValidateOnly"]]
        return [
            {featureupdate["Feature"]: featureupdate["MaxVersionLevel"] for featureupdate in body["FeatureUpdates"]}
            for body in real
        ]

    def make(self, asked: Asked) -> None:
        for featureupdate in asked.body["FeatureUpdates"]:
            self.levels[featureupdate["Feature"]] = featureupdate["MaxVersionLevel"]


def changed(
    cluster: FakeCluster,
    levels: dict[str, int],
    *,
    listener: Role = Role.BROKER,
    operation: Operation = Operation.UPGRADE,
    accepted: int | None = None,
) -> ChangeRun:
    request = FeatureRequest(operation=operation, levels=levels, accepted_min_insync=accepted)
    with cluster.client(listener) as client:
        until = Deadline.after(60_000, SystemClock())
        return change_features(client, request, deadline=until, tell=lambda text: None)


def outcome(run: ChangeRun) -> str:
    return str(answer_of(run)["outcome"])


def answer_of(run: ChangeRun) -> dict[str, Any]:
    found = FeatureChange(
        plan=run.plan,
        request=run.plan.request,
        results=run.results,
        resolved=run.resolved,
        proof=run.proof,
        notes=tuple(run.findings),
    )
    return found.to_dict()


def refusal(code: int, text: str | None = "no") -> Reply:
    return Reply(body={"ErrorCode": code, "ErrorMessage": text, "Results": []})


@pytest.mark.parametrize("listener", list(Role))
def test_one_step_is_validated_sent_once_and_proved(listener: Role) -> None:
    cluster = Scripted()
    run = changed(cluster, STEP, listener=listener)
    assert outcome(run) == "done"
    assert [update["ValidateOnly"] for update in cluster.updates] == [True, False]
    assert run.proof is not None and run.proof.holds
    assert {(node.role, node.node_id) for node in run.proof.nodes} == {
        ("controller", 1), ("controller", 2), ("broker", 11), ("broker", 12),
    }  # fmt: skip


@pytest.mark.slow
def test_dependent_features_follow_in_a_request_of_their_own() -> None:
    cluster = Scripted()
    assert outcome(changed(cluster, TWO)) == "done"
    assert cluster.sent == [{"metadata.version": 26}, {"eligible.leader.replicas.version": 1}]


class TestMinInsyncReplicas:
    """Enabling eligible leader replicas writes a value of min.insync.replicas: that of the active controller's file."""

    def _cluster(self) -> Scripted:
        cluster = Scripted()
        cluster.files = {11: {"min.insync.replicas": "2"}, 12: {"min.insync.replicas": "2"}}
        cluster.topics = {"a": {}, "b": {}, "c": {"min.insync.replicas": "2"}}
        return cluster

    @pytest.mark.parametrize("listener", list(Role))
    def test_change_that_was_not_asked_for_is_refused_with_numbers(self, listener: Role) -> None:
        cluster = self._cluster()
        run = changed(cluster, ELR, listener=listener)
        (finding,) = blockers(run.plan.findings)
        assert (outcome(run), finding.id, cluster.sent) == ("refused", "elr-changes-min-insync", [])
        assert "2 -> 1 on broker 11, 12, for 2 topics" in finding.message
        assert (finding.evidence["written"], finding.evidence["topics_with_own_value"]) == (1, 1)

    def test_elr_change_is_made_after_it_is_accepted(self) -> None:
        cluster = self._cluster()
        assert outcome(changed(cluster, ELR, accepted=1)) == "done"
        assert cluster.sent == [ELR]
        other = self._cluster()
        assert (outcome(changed(other, ELR, accepted=2)), other.sent) == ("refused", [])

    def test_nothing_changes_with_a_value_of_the_cluster(self) -> None:
        cluster = self._cluster()
        cluster.dynamic = {"": {"min.insync.replicas": "2"}}
        assert outcome(changed(cluster, ELR)) == "done"

    def test_value_of_a_single_broker_is_deleted(self) -> None:
        cluster = self._cluster()
        cluster.dynamic = {"": {"min.insync.replicas": "2"}, "12": {"min.insync.replicas": "3"}}
        (finding,) = blockers(changed(cluster, ELR).plan.findings)
        assert finding.evidence["changes"] == [{"from": "3", "to": "2", "brokers": [12]}]
        assert finding.evidence["deleted_from_brokers"] == [12]

    @pytest.mark.parametrize("cluster_value", [None, "2"])
    def test_elr_change_is_refused_if_the_deciding_value_is_unknown(self, cluster_value: str | None) -> None:
        cluster = self._cluster()
        for node in cluster.of(Role.CONTROLLER):
            node.answers["DescribeConfigs"] = Reply(body={"Results": [{"ErrorCode": DENIED, "Configs": []}]})
        if cluster_value is not None:  # then no controller's file decides
            cluster.dynamic = {"": {"min.insync.replicas": cluster_value}}
        run = changed(cluster, ELR)
        assert outcome(run) == ("refused" if cluster_value is None else "done")
        assert [blocker.id for blocker in blockers(run.plan.findings)] == (
            ["elr-min-insync-unknown"] if cluster_value is None else []
        )


def test_kraft_version_is_never_in_a_request_with_another() -> None:
    cluster = Scripted()
    request = FeatureRequest(
        operation=Operation.UPGRADE, levels=STEP | {"kraft.version": 1}, release_version="4.1", left_out=False
    )
    with cluster.client(Role.BROKER) as client:
        run = change_features(client, request, deadline=Deadline.after(9000, SystemClock()), tell=lambda text: None)
    assert outcome(run) == "done"
    asked = [{featureupdate["Feature"] for featureupdate in body["FeatureUpdates"]} for body in cluster.updates]
    assert asked == [{"metadata.version"}, {"kraft.version"}, {"metadata.version"}, {"kraft.version"}]
    cluster = Scripted()
    refused = changed(cluster, STEP | {"kraft.version": 1})
    assert outcome(refused) == "refused"
    assert [finding.id for finding in refused.plan.findings if finding.severity.value == "blocker"] == [
        "kraft-version-not-alone"
    ]
    assert cluster.updates == []


class TestRefusals:
    def test_of_the_plan_are_not_sent(self) -> None:
        cluster = Scripted()
        assert outcome(changed(cluster, {"metadata.version": 31})) == "refused"
        assert cluster.updates == []

    def test_refusal_of_the_dry_run_is_reported(self) -> None:
        cluster = Scripted()
        cluster.update = lambda asked: refusal(95, "I know more than you")  # type: ignore[method-assign]
        run = changed(cluster, STEP)
        assert (outcome(run), run.resolved) == ("refused", ())
        assert [(finding.id, finding.severity.value) for finding in run.findings] == [("dry-run-refused", "blocker")]

    def test_error_in_the_results_of_3x_is_a_failure(self) -> None:
        results = [{"Feature": "metadata.version", "ErrorCode": 95, "ErrorMessage": "no"}]
        cluster = Scripted(lambda asked: Reply(body={"ErrorCode": 0, "Results": results}))
        for node in cluster.nodes.values():
            node.ranges[57] = (0, 1)
        run = changed(cluster, STEP)
        assert (outcome(run), [result.error_code for result in run.results]) == ("failed", [95])

    def test_after_the_dry_run_was_accepted(self) -> None:
        cluster = Scripted(lambda asked: refusal(95))
        run = changed(cluster, STEP)
        assert (outcome(run), len(cluster.sent), run.proof) == ("failed", 1, None)

    @pytest.mark.slow
    def test_of_the_second_step_leave_it_partly_done(self) -> None:
        cluster = Scripted(lambda asked: refusal(95) if len(asked.body["FeatureUpdates"][0]["Feature"]) > 20 else None)
        run = changed(cluster, TWO)
        assert (outcome(run), cluster.levels["metadata.version"]) == ("partial", 26)
        assert run.proof is not None and run.proof.holds

    def test_change_is_refused_without_permission_to_alter(self) -> None:
        cluster = Scripted()
        cluster.denied = {"UpdateFeatures"}
        with pytest.raises(UnreachableError) as caught:
            changed(cluster, STEP)
        assert (caught.value.id, caught.value.exit_code) == ("not-authorised", 4)


class TestAmbiguousAnswers:
    def test_lost_reply_to_a_change_that_was_made(self) -> None:
        def made(asked: Asked) -> Action:
            cluster.make(asked)
            return CLOSE

        cluster = Scripted(made)
        run = changed(cluster, STEP)
        assert (outcome(run), len(cluster.sent)) == ("done", 1)
        assert "change-made-despite-answer" in [finding["id"] for finding in answer_of(run)["findings"]]

    def test_lost_reply_to_a_change_that_is_not_seen_is_unknown_and_never_sent_again(self) -> None:
        cluster = Scripted(lambda asked: CLOSE)
        run = changed(cluster, STEP)
        assert (outcome(run), len(cluster.sent)) == ("unknown", 1)
        assert "feature-outcome-unknown" in [finding["id"] for finding in answer_of(run)["findings"]]

    @pytest.mark.parametrize("code", [7, -1])
    def test_change_despite_a_timeout_is_done(self, code: int) -> None:
        def made(asked: Asked) -> Action:
            cluster.make(asked)
            return refusal(code)

        cluster = Scripted(made)
        assert outcome(changed(cluster, STEP)) == "done"

    def test_time_out_behind_which_another_request_was_answered_was_not_made(self) -> None:
        cluster = Scripted(lambda asked: refusal(7))
        run = changed(cluster, STEP)
        assert (outcome(run), len(cluster.sent)) == ("failed", 1)

    def test_answer_of_a_former_leader_is_verified(self) -> None:
        def resigns(asked: Asked) -> Action:
            cluster.make(asked)
            return refusal(41)

        cluster = Scripted(resigns)
        assert outcome(changed(cluster, STEP, listener=Role.CONTROLLER)) == "done"
        assert len(cluster.sent) == 1

    def test_success_that_is_not_there_is_a_failure(self) -> None:
        # As 4.0 answers about kraft.version.
        cluster = Scripted(lambda asked: Reply(body={"ErrorCode": 0, "Results": []}))
        run = changed(cluster, STEP)
        assert outcome(run) == "failed"
        assert "accepted-change-not-made" in [finding["id"] for finding in answer_of(run)["findings"]]


@pytest.mark.slow
def test_node_that_lags_is_waited_for_then_reported() -> None:
    cluster = Scripted()
    cluster.nodes[12].finalized = dict(cluster.levels)
    run = changed(cluster, STEP)
    assert outcome(run) == "done"
    assert run.proof is not None
    assert [(finding.id, finding.subject) for finding in run.proof.findings] == [
        ("feature-level-not-on-node", "broker 12")
    ]


def test_node_that_was_silent_before_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_change, "PROOF_MS", 60_000.0)
    cluster = Scripted()
    cluster.nodes[12].greeting = CLOSE
    with cluster.client(Role.BROKER) as client:
        request = FeatureRequest(operation=Operation.UPGRADE, levels=STEP)
        until = Deadline.after(60_000, SystemClock())
        run = change_features(client, request, deadline=until, tell=lambda text: None)
        assert until.left_ms > 40_000
    assert outcome(run) == "done"
    assert run.proof is not None
    assert [(finding.id, finding.subject) for finding in run.proof.findings] == [("node-not-proved", "broker 12")]


def test_change_of_another_operator_is_reported() -> None:
    cluster = Scripted()
    usual = cluster.update

    def meddled(asked: Asked) -> Action:
        if asked.body["ValidateOnly"]:
            cluster.levels["group.version"] = 0
        return usual(asked)

    cluster.update = meddled  # type: ignore[method-assign]
    run = changed(cluster, STEP)
    assert (outcome(run), cluster.sent) == ("refused", [])
    assert [finding.id for finding in run.findings] == ["feature-level-moved"]


def test_cluster_that_is_away_between_two_steps_is_part_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    # What was done by then is known, and would be lost with an error in its place.
    cluster, usual, looks = Scripted(), feature_change.observe_for, iter(range(9))

    def look(client: Client, request: FeatureRequest) -> ObservedCluster:
        if next(looks) == 1:
            raise UnreachableError("no node answers", id="connection-refused")
        return usual(client, request)

    monkeypatch.setattr(feature_change, "observe_for", look)
    run = changed(cluster, TWO)
    assert (outcome(run), cluster.sent) == ("partial", [{"metadata.version": 26}])
    assert [finding.id for finding in run.findings] == ["connection-refused"]
    assert run.proof is not None and run.proof.holds


def test_dry_run_that_cannot_be_had_stops_the_change() -> None:
    cluster = Scripted()
    cluster.update = lambda asked: refusal(7)  # type: ignore[method-assign]
    with pytest.raises(UnreachableError) as caught:
        changed(cluster, STEP)
    assert caught.value.id == "dry-run-not-answered"


def test_dry_run_compares_what_is_expected_with_what_is_answered() -> None:
    cluster = Scripted()
    with cluster.client(Role.BROKER) as client:
        state = observe_cluster_state(client).state
        plan = plan_change(state, FeatureRequest(operation=Operation.UPGRADE, levels={"metadata.version": 31}))
        asked = validate(client, plan, state)
    assert (dict(asked.predictions), asked.results[0].error_code) == ({"metadata.version": False}, 0)
    assert [finding.id for finding in asked.findings] == ["dry-run-accepted"]
    assert isinstance(client, Client)
