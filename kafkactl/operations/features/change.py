"""A change of feature levels, carried out: dry run at the controller, one request a step, and what became of it, read.

The law: every step is planned from a cluster that was just observed, and right before a request it is seen again that a
majority follows the leader; a request that changes something is sent once;
what became of it is what the cluster shows afterwards, whatever was answered or not. kraft.version is always asked
about, and sent, in a request of its own: with another feature in it a 4.3 cluster converted its quorum permanently and
answered that nothing was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kafkactl.adapters.kafka.client import Client
from kafkactl.adapters.kafka.feature_view import FeatureView, observe_features, observe_levels
from kafkactl.adapters.kafka.min_insync import with_min_insync
from kafkactl.change.clock import Deadline
from kafkactl.errors import KafkactlError, UnknownOutcomeError, UnreachableError
from kafkactl.features.change.outcome import Resolved, resolve
from kafkactl.features.change.proof import Proof, prove
from kafkactl.features.change.results import (
    FeatureResult,
    Reply,
    check_dry_run,
    no_response,
    not_sent,
    read_response,
    update_features_request,
)
from kafkactl.features.cluster.state import FeatureState, Role
from kafkactl.features.plan.change import UpgradeType, upgrade_type
from kafkactl.features.plan.plan import FeaturePlan, FeatureStep, check_unmoved, plan_change
from kafkactl.features.plan.predict import predicted_acceptance
from kafkactl.features.plan.request import FeatureRequest
from kafkactl.findings import Finding, Outcome, blockers
from kafkactl.frozen import frozen
from kafkactl.kafka_names import KRAFT_VERSION

PROOF_MS = 20_000.0
SETTLE_MS = 15_000.0
# A controller publishes what it committed within milliseconds; what is not there after this was not written.
_GRACE_MS = 2_000.0
_POLL_MS = 200.0
_DENIED = 31
_SERVER_TIMEOUT_MS = 30_000  # ignored by KRaft controllers
Tell = Callable[[str], None]


@frozen
class DryRun:
    """What the active controller says of a change that it only validates. `error`: why it could not be asked."""

    results: tuple[FeatureResult, ...]
    predictions: Mapping[str, bool | None]
    error: KafkactlError | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Where it says something else than was predicted."""
        return tuple(check_dry_run(self.predictions, self.results))


@frozen
class ChangeRun:
    """How far a change came. `results` are answers, of the dry run where nothing was sent (`sent`)."""

    view: FeatureView
    plan: FeaturePlan
    sent: bool = False
    results: tuple[FeatureResult, ...] = ()
    predictions: Mapping[str, bool | None]
    resolved: tuple[Resolved, ...] = ()
    proof: Proof | None = None
    findings: tuple[Finding, ...] = ()


def look_for(client: Client, request: FeatureRequest) -> FeatureView:
    """One look at everything that bears on this request. Raises UnreachableError as `observe_features` does."""
    return with_min_insync(client, observe_features(client), request)


def validate(client: Client, plan: FeaturePlan, state: FeatureState) -> DryRun:
    """Ask the active controller about all changes that move, kraft.version by itself. Nothing is changed by it."""
    kind = upgrade_type(plan.request)
    moving = {change.name: change.after for change in plan.changes if change.moves}
    results: list[FeatureResult] = []
    predictions: dict[str, bool | None] = {}
    error: KafkactlError | None = None
    for levels in _requests(moving):
        predictions |= predicted_acceptance(state, levels, kind)
        try:
            results += _validated(client, levels, kind)
        except UnreachableError as reason:
            error = error or reason
    return DryRun(results=tuple(results), predictions=predictions, error=error)


def change_features(client: Client, request: FeatureRequest, *, deadline: Deadline, tell: Tell) -> ChangeRun:
    """Look, plan, ask the controller for its dry run, and, where nothing stands in the way, change and prove.

    `tell` gets a line for everything that is done. Raises UnreachableError where nothing was sent yet and the
    cluster cannot be asked; after that what is not known is part of the answer.
    """
    view = look_for(client, request)
    plan = plan_change(view.state, request)
    if plan.outcome is not Outcome.PLANNED:
        return ChangeRun(view=view, plan=plan, predictions={})
    dry_run = validate(client, plan, view.state)
    if dry_run.error is not None:
        raise dry_run.error
    # Whatever was predicted, a refusal is one.
    refused = check_dry_run(dict.fromkeys(dry_run.predictions), dry_run.results)
    if blockers(refused):
        return ChangeRun(
            view=view, plan=plan, results=dry_run.results, predictions=dry_run.predictions, findings=tuple(refused)
        )
    return _Applying(client, view, plan, deadline=deadline, tell=tell).run(dry_run.predictions)


class _Applying:
    """One change on its way: what was sent, what came of it, and the last look at the cluster."""

    def __init__(
        self,
        client: Client,
        view: FeatureView,
        plan: FeaturePlan,
        *,
        deadline: Deadline,
        tell: Tell,
    ) -> None:
        self._client = client
        self._view = view
        self._plan = plan
        # Of whom nothing could be proved before, of no level at all.
        self._silent_before = {one.subject for one in blockers(prove(view.state, {}).findings)}
        self._deadline = deadline
        self._tell = tell
        self._results: list[FeatureResult] = []
        self._resolved: list[Resolved] = []
        self._findings: list[Finding] = []

    def run(self, predictions: Mapping[str, bool | None]) -> ChangeRun:
        step: FeatureStep | None = self._plan.steps[0]
        plan = self._plan
        while step is not None and self._step(plan, step):
            plan = self._planned_again()
            step = plan.steps[0] if plan.steps else None
        return ChangeRun(
            view=self._view,
            plan=self._plan,
            sent=bool(self._results),
            results=tuple(self._results),
            predictions=predictions,
            resolved=tuple(self._resolved),
            proof=self._prove(),
            findings=tuple(self._findings),
        )

    def _step(self, plan: FeaturePlan, step: FeatureStep) -> bool:
        """Make one step; whether the next may follow."""
        seen = observe_levels(self._client, self._view, watches=True)
        self._view = with_min_insync(self._client, seen, plan.request)
        forbidden = check_unmoved(plan, self._view.state) or blockers(
            plan_change(self._view.state, plan.request).findings
        )
        if forbidden:
            self._findings += forbidden
            return False
        self._tell(f"sending {step.text}")
        epoch = self._view.state.leader_epoch
        results = self._send(step)
        resolved = self._settled(step, results, epoch)
        self._results += results
        self._resolved += resolved
        for one in resolved:
            self._tell(f"{one.name}: {one.outcome.value}")
        return all(one.outcome is Outcome.DONE for one in resolved)

    def _send(self, step: FeatureStep) -> tuple[FeatureResult, ...]:
        body = update_features_request(step.levels, step.type, validate_only=False, timeout_ms=_SERVER_TIMEOUT_MS)
        try:
            answer = self._client.ask_active_controller("UpdateFeatures", body, changes=True)
        except UnknownOutcomeError as error:
            return no_response(step.levels, error.message)
        except UnreachableError as error:
            if not self._results:
                raise
            return not_sent(step.levels, error.message)
        return read_response(step.levels, answer.version, answer.body)

    def _settled(
        self, step: FeatureStep, results: tuple[FeatureResult, ...], epoch: int | None
    ) -> tuple[Resolved, ...]:
        """What became of a step, read until it is known or the time is over."""
        until = self._deadline.at_most(SETTLE_MS)
        grace = self._deadline.at_most(_GRACE_MS)
        settled = False
        while True:
            self._view = observe_levels(self._client, self._view)
            resolved = resolve(step.changes, results, _shown(self._view.state, step), settled=settled)
            if until.passed or all(one.outcome is not Outcome.UNKNOWN for one in resolved):
                return resolved
            settled = settled or (grace.passed and self._nothing_can_follow(step, results, epoch))
            self._client.clock.sleep_ms(_POLL_MS)

    def _nothing_can_follow(self, step: FeatureStep, results: Iterable[FeatureResult], epoch: int | None) -> bool:
        """Whether the request was dealt with: it was answered, and the same controller answered another behind it.

        A request without an answer may still lie somewhere on its way, so it is never called dealt with.
        """
        if any(result.error_code is None for result in results):
            return False
        try:
            _validated(self._client, step.levels, step.type)
        except UnreachableError:
            return False
        state = observe_levels(self._client, self._view).state
        return epoch is not None and state.leader_epoch == epoch

    def _planned_again(self) -> FeaturePlan:
        self._view = look_for(self._client, self._plan.request)
        plan = plan_change(self._view.state, self._plan.request)
        self._findings += blockers(plan.findings)
        return plan

    def _prove(self) -> Proof | None:
        """What every node shows of what was done, asked until all of them do that answered before the change."""
        done = {one.name for one in self._resolved if one.outcome is Outcome.DONE}
        wanted = {change.name: change.after for change in self._plan.changes if change.name in done}
        if not wanted:
            return None
        until = self._deadline.at_most(PROOF_MS)
        proof = prove(self._view.state, wanted)
        waiting = False
        while not until.passed and any(one.subject not in self._silent_before for one in blockers(proof.findings)):
            if not waiting:
                self._tell("waiting until every node shows it")
                waiting = True
            self._client.clock.sleep_ms(_POLL_MS)
            self._view = observe_levels(self._client, self._view)
            proof = prove(self._view.state, wanted)
        return proof


def _requests(levels: Mapping[str, int]) -> list[dict[str, int]]:
    """Everything together but kraft.version, which is alone."""
    others = {name: level for name, level in levels.items() if name != KRAFT_VERSION}
    alone = {name: level for name, level in levels.items() if name == KRAFT_VERSION}
    return [one for one in (others, alone) if one]


def _validated(client: Client, levels: Mapping[str, int], kind: UpgradeType) -> tuple[FeatureResult, ...]:
    body = update_features_request(levels, kind, validate_only=True, timeout_ms=_SERVER_TIMEOUT_MS)
    answer = client.ask_active_controller("UpdateFeatures", body)
    results = read_response(levels, answer.version, answer.body)
    if any(result.error_code == _DENIED for result in results):
        raise UnreachableError(
            "this user may not change feature levels: CLUSTER_AUTHORIZATION_FAILED",
            id="not-authorised",
            next_step="Nothing was changed. It needs ALTER on the cluster.",
        )
    unclear = [result for result in results if result.reply is Reply.UNCLEAR]
    if unclear:
        raise UnreachableError(
            f"the active controller could not validate the change: {unclear[0].message or unclear[0].error_code}",
            id="dry-run-not-answered",
            next_step="Nothing was changed. Ask again, or look in the log of the active controller.",
        )
    return results


def _shown(state: FeatureState, step: FeatureStep) -> dict[str, int] | None:
    """The levels afterwards: those of the active controller; a node that shows the new level proves it for all.

    Nodes show only what is committed. None where the active controller shows nothing and nobody has the new level.
    """
    active = None if state.active_controller is None else state.node(Role.CONTROLLER, state.active_controller)
    levels = dict(state.finalized) if active is not None and active.answers else None
    told = [node.levels for node in state.nodes if node.levels is not None]
    for change in step.changes:
        if any(one.get(change.name, 0) == change.after for one in told):
            levels = (levels or dict(state.finalized)) | {change.name: change.after}
    return levels
