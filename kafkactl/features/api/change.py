"""A change of feature levels on a real cluster: what the journey of `features/change/run` meets there."""

from __future__ import annotations

from collections.abc import Mapping

from kafkactl.change.clock import Clock, Deadline
from kafkactl.change.engine import Engine
from kafkactl.change.journal import RunJournal
from kafkactl.change.progress import ProgressCallback
from kafkactl.change.reply import Reply
from kafkactl.cluster.io.leader import check_leader_asked
from kafkactl.cluster.io.view import ObservedCluster, observe_cluster_state, observe_levels
from kafkactl.cluster.state import ClusterState
from kafkactl.core.errors import UnknownOutcomeError, UnreachableError
from kafkactl.core.findings import Finding, Outcome, blockers
from kafkactl.core.frozen import frozen
from kafkactl.features.change.outcome import Resolved
from kafkactl.features.change.proof import Proof
from kafkactl.features.change.results import FeatureResult, no_response, read_response, update_features_request
from kafkactl.features.change.run import DryRun, FeatureJourney, FeatureWaitPolicy, dry_run
from kafkactl.features.io.min_insync import with_min_insync
from kafkactl.features.plan.change import UpgradeType
from kafkactl.features.plan.plan import FeaturePlan
from kafkactl.features.plan.plan_file import FeaturePlanFile
from kafkactl.features.plan.request import FeatureRequest
from kafkactl.kafka.client import Client
from kafkactl.kafka.cluster_view import check_planned_for
from kafkactl.protocol.schema.rights import CLUSTER_DENIED, not_authorised

__all__ = ["ChangeRun", "DryRun", "LiveFeatures", "change_features", "observe_for", "validate"]

PROOF_MS = 20_000.0
SETTLE_MS = 15_000.0
_GRACE_MS = 2_000.0
_POLL_MS = 200
_SERVER_TIMEOUT_MS = 30_000  # ignored by KRaft controllers


@frozen
class ChangeRun:
    """Progress of a change. `results` are answers, of the dry run if no request was sent (`sent`)."""

    view: ObservedCluster
    plan: FeaturePlan
    sent: bool = False
    results: tuple[FeatureResult, ...] = ()
    predictions: Mapping[str, bool | None]
    resolved: tuple[Resolved, ...] = ()
    proof: Proof | None = None
    findings: tuple[Finding, ...] = ()


def observe_for(client: Client, request: FeatureRequest) -> ObservedCluster:
    """Observe the cluster once for this request.

    Raises RefusedError if the bootstrap nodes belong to several clusters, UnreachableError as
    `observe_cluster_state`, and if the leader or the levels could not be asked for: nothing can be planned then.
    """
    client.check_one_cluster()
    view = observe_cluster_state(client)
    check_leader_asked(view.leader_error)
    if not view.state.levels_known and view.log_error is not None:
        raise view.log_error
    return with_min_insync(client, view, request)


def validate(client: Client, plan: FeaturePlan, state: ClusterState) -> DryRun:
    """Ask the active controller about all changes that move. Nothing is changed by it."""
    return dry_run(LiveFeatures(client), plan, state)


def change_features(
    client: Client,
    request: FeatureRequest,
    *,
    deadline: Deadline,
    tell: ProgressCallback,
    planned: FeaturePlanFile | None = None,
) -> ChangeRun:
    """Observe, plan, ask the controller for its dry run, and, if nothing prevents it, change and prove.

    `tell` gets an event for everything that is done. No step is taken that is not in `planned`.
    Raises UnreachableError if nothing was sent yet and the cluster cannot be asked; after that what is not known
    is part of the answer.
    """
    policy = FeatureWaitPolicy(
        observe_every_ms=int(_POLL_MS), settle_ms=SETTLE_MS, grace_ms=_GRACE_MS, proof_ms=PROOF_MS
    )  # fmt: skip
    port = LiveFeatures(client)
    journey = FeatureJourney(port, request, deadline=deadline, policy=policy, tell=tell, planned=planned)
    end = Engine(journey, RunJournal(), clock=client.clock, policy=policy).to_the_end()
    if end.interrupted:
        raise KeyboardInterrupt
    is_in_answer = bool(journey.resolved) and end.outcome is not Outcome.UNKNOWN
    if (error := journey.not_sent_error or end.error) is not None and not is_in_answer:
        raise error
    assert journey.first_plan is not None and port.view is not None, "no end without a plan"
    asked = journey.dry_run or DryRun(results=(), predictions={})
    refused = () if journey.resolved or not asked.refusals else asked.results
    return ChangeRun(
        view=port.view,
        plan=journey.first_plan,
        sent=bool(journey.results),
        results=tuple(journey.results) or refused,
        predictions=asked.predictions,
        resolved=tuple(journey.resolved),
        proof=journey.prove(),
        # The findings of the first plan are in the plan.
        findings=() if journey.dry_run is None else tuple(blockers(end.findings)),
    )


class LiveFeatures:
    """The port of a change of levels (`FeaturePort`) onto a cluster. `view` is the last observation."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._cluster_id: str | None = None
        self.view: ObservedCluster | None = None

    @property
    def clock(self) -> Clock:
        """Return the clock of the client."""
        return self._client.clock

    def observe(self, request: FeatureRequest) -> ClusterState:
        """Observe the cluster as `observe_for` does; the first observation fixes the cluster for all later ones.

        Raises RefusedError `cluster-id-mismatch` if another cluster answers.
        """
        view = observe_for(self._client, request)
        check_planned_for(self._cluster_id, view.state.cluster_id, who=str(self._client.bootstrap[0]))
        self.view, self._cluster_id = view, self._cluster_id or view.state.cluster_id
        return self.view.state

    def observe_levels(self, request: FeatureRequest | None = None) -> ClusterState:
        """Return the nodes of the last observation once more."""
        assert self.view is not None, "levels are observed after everything was"
        self.view = observe_levels(self._client, self.view, watches=request is not None)
        if request is not None:
            self.view = with_min_insync(self._client, self.view, request)
        return self.view.state

    def validate(self, levels: Mapping[str, int], kind: UpgradeType) -> tuple[FeatureResult, ...]:
        """Return the active controller's own dry run. Raises UnreachableError, also if it gives no clear answer."""
        body = update_features_request(levels, kind, validate_only=True, timeout_ms=_SERVER_TIMEOUT_MS)
        answer = self._client.ask_active_controller("UpdateFeatures", body)
        results = read_response(levels, answer.version, answer.body)
        if any(result.error_code == CLUSTER_DENIED for result in results):
            text = answer.body["ErrorMessage"]
            raise not_authorised("UpdateFeatures", "the active controller", self._client.login, text)
        unclear = [result for result in results if result.reply is Reply.UNCLEAR]
        if unclear:
            raise UnreachableError(
                f"the active controller could not validate the change: {unclear[0].message or unclear[0].error_code}",
                id="dry-run-not-answered",
                next_step="Nothing was changed. Ask again, or look in the log of the active controller.",
            )
        return results

    def send(self, levels: Mapping[str, int], kind: UpgradeType) -> tuple[FeatureResult, ...]:
        """Send the request, once. Raises UnreachableError and RefusedError only if nothing of it was sent."""
        body = update_features_request(levels, kind, validate_only=False, timeout_ms=_SERVER_TIMEOUT_MS)
        try:
            answer = self._client.ask_active_controller(
                "UpdateFeatures", body, changes=True, cluster_id=self._cluster_id
            )
        except UnknownOutcomeError as error:
            return no_response(levels, error.message)
        return read_response(levels, answer.version, answer.body)
