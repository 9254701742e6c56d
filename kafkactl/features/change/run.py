"""A change of feature levels, carried out: the journey that `change/engine` takes through the steps of a plan.

Every step is planned from a cluster that was just observed, and right before a request it is seen again that a majority
follows the leader; a request that changes something is sent once; what became of it is what the cluster shows
afterwards, whatever was answered or not. kraft.version is always asked about, and sent, in a request of its own: with
another feature in it a 4.3 cluster converted its quorum permanently and answered that nothing was done.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Protocol

from kafkactl.change.clock import Clock, Deadline
from kafkactl.change.engine import End, Journey, PreparedStep, StepResult, UnsentRequest, Verification
from kafkactl.change.progress import Event, ProgressCallback
from kafkactl.change.waiting import wait_until
from kafkactl.cluster.state import ClusterState
from kafkactl.core.errors import KafkactlError, RefusedError, UnreachableError
from kafkactl.core.findings import Finding, Outcome, blockers
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import KRAFT_VERSION
from kafkactl.core.values import Role
from kafkactl.features.change.outcome import Resolved, overall, resolve
from kafkactl.features.change.proof import Proof, prove
from kafkactl.features.change.results import FeatureResult, check_dry_run, not_sent
from kafkactl.features.plan.change import UpgradeType, upgrade_type
from kafkactl.features.plan.plan import FeaturePlan, FeatureStep, check_unmoved, plan_change
from kafkactl.features.plan.plan_file import FeaturePlanFile, as_planned
from kafkactl.features.plan.predict import predicted_acceptance
from kafkactl.features.plan.request import FeatureRequest

_RESULTS = {Outcome.DONE: StepResult.DONE, Outcome.UNKNOWN: StepResult.UNKNOWN}


class FeaturePort(Protocol):
    """The levels of one cluster, as a change meets them: real, or scripted in a test."""

    @property
    def clock(self) -> Clock:
        """Return the clock of the port."""
        ...

    def observe(self, request: FeatureRequest) -> ClusterState:
        """Observe the state for this request. Raise UnreachableError."""
        ...

    def observe_levels(self, request: FeatureRequest | None = None) -> ClusterState:
        """Return the nodes with their present levels and leader. Raises nothing.

        With a request it is also seen again who follows the leader, and what the request depends on.
        """
        ...

    def validate(self, levels: Mapping[str, int], kind: UpgradeType) -> tuple[FeatureResult, ...]:
        """Return the active controller's own dry run. Raises UnreachableError."""
        ...

    def send(self, levels: Mapping[str, int], kind: UpgradeType) -> tuple[FeatureResult, ...]:
        """Send the request, once. Raises UnreachableError and RefusedError only if nothing of it was sent."""
        ...


@frozen
class FeatureWaitPolicy:
    """Timeouts of a change of levels, in milliseconds.

    `observe_every`: between observations. `settle`: for the outcome of a request. `grace`: a controller publishes what
    committed within milliseconds; what is not there after this was not written. `proof`: for every node to show it.
    """

    observe_every_ms: int
    settle_ms: float
    grace_ms: float
    proof_ms: float
    passing_ms: int = 0
    attempts: int = 1


@frozen
class DryRun:
    """Result of a change that the active controller only validates. `error`: why it could not be asked."""

    results: tuple[FeatureResult, ...]
    predictions: Mapping[str, bool | None]
    error: KafkactlError | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Report results that differ from the prediction."""
        return tuple(check_dry_run(self.predictions, self.results))

    @property
    def refusals(self) -> list[Finding]:
        """Return all refusals, whether predicted or not."""
        return blockers(check_dry_run(dict.fromkeys(self.predictions), self.results))


def dry_run(port: FeaturePort, plan: FeaturePlan, state: ClusterState) -> DryRun:
    """Ask the active controller about all changes that move, kraft.version in a request of its own."""
    kind = upgrade_type(plan.request)
    moving = {change.name: change.after for change in plan.changes if change.moves}
    results: list[FeatureResult] = []
    predictions: dict[str, bool | None] = {}
    error: KafkactlError | None = None
    for levels in _requests(moving):
        predictions |= predicted_acceptance(state, levels, kind)
        try:
            results += port.validate(levels, kind)
        except UnreachableError as reason:
            error = error or reason
    return DryRun(results=tuple(results), predictions=predictions, error=error)


class FeatureJourney(Journey[ClusterState, FeaturePlan, FeatureStep, tuple[FeatureResult, ...]]):
    """A change on its way: the first plan, the controller's dry run, what was sent, and what became of it."""

    def __init__(
        self,
        port: FeaturePort,
        request: FeatureRequest,
        *,
        deadline: Deadline,
        policy: FeatureWaitPolicy,
        tell: ProgressCallback,
        planned: FeaturePlanFile | None = None,
    ) -> None:
        self.port, self.request, self.policy, self.tell = port, request, policy, tell
        self.planned = planned
        self.first_plan: FeaturePlan | None = None
        self.dry_run: DryRun | None = None
        self.not_sent_error: UnreachableError | RefusedError | None = None
        self.results: list[FeatureResult] = []
        self.resolved: list[Resolved] = []
        self._deadline = deadline
        self._latest: ClusterState | None = None

    def observe(self) -> ClusterState:
        """Observe the whole state. Raise UnreachableError."""
        self._latest = self.port.observe(self.request)
        return self._latest

    def plan(self, seen: ClusterState) -> FeaturePlan:
        """Return the remaining part of the request, refused if it contradicts a plan file."""
        plan = as_planned(plan_change(seen, self.request), self.planned)
        self.first_plan = self.first_plan or plan
        return plan

    def step_of(self, plan: FeaturePlan) -> FeatureStep:
        """Return the first request."""
        return plan.steps[0]

    def key(self, step: FeatureStep) -> Hashable:
        """Return the levels that it asks for."""
        return tuple(step.levels.items())

    def admit(self, plan: FeaturePlan, seen: ClusterState) -> PreparedStep | End | None:
        """Check that the controller accepts the request, no level moved, and a majority follows the leader now."""
        if self.dry_run is None:
            self.dry_run = dry_run(self.port, plan, seen)
            if self.dry_run.error is not None:
                raise self.dry_run.error
            if refusals := self.dry_run.refusals:
                return self.run.refused(refusals, seen)
        seen = self.run.saw(self._observe(self.request))
        again = self.plan(seen)
        if found := check_unmoved(plan, seen) or blockers(again.findings):
            return self.run.refused(found, seen)
        if again.steps[:1] != plan.steps[:1]:
            return None
        return PreparedStep(step=again.steps[0], plan=again, seen=seen)

    def begin(self, ready: PreparedStep) -> Mapping[str, Any]:
        """Return the levels that are requested."""
        return {"goal": dict(self.request.levels)}

    def intent(self, ready: PreparedStep) -> Mapping[str, Any]:
        """Return the levels that are asked for."""
        return {"levels": ready.step.levels, "leader_epoch": ready.seen.leader_epoch}

    def send(self, ready: PreparedStep, seq: int) -> tuple[FeatureResult, ...] | UnsentRequest:
        """Return the one request of the step."""
        step: FeatureStep = ready.step
        self.tell(Event(kind="send", text=f"sending {step.text}", step=step))
        try:
            return self.port.send(step.levels, step.type)
        except (UnreachableError, RefusedError) as error:
            if self.results:
                return not_sent(step.levels, error.message)
            self.not_sent_error = error
            return UnsentRequest(error=error)

    def verify(self, ready: PreparedStep, answer: tuple[FeatureResult, ...]) -> Verification:
        """Return the outcome of the step, read until it is known or the timeout ends."""
        resolved = self._settled(ready.step, answer, ready.seen.leader_epoch)
        self.results += answer
        self.resolved += resolved
        for feature in resolved:
            self.tell(Event(kind="done", text=f"{feature.name}: {feature.outcome.value}", step=ready.step))
        outcomes = {feature.outcome for feature in resolved}
        result = StepResult.DONE if outcomes == {Outcome.DONE} else _RESULTS.get(overall(resolved), StepResult.FAILED)
        return Verification(result=result, seen=self._latest)

    def _settled(
        self, step: FeatureStep, results: tuple[FeatureResult, ...], epoch: int | None
    ) -> tuple[Resolved, ...]:
        grace = self._deadline.at_most(self.policy.grace_ms)
        is_settled = False

        def read() -> tuple[Resolved, ...]:
            return resolve(step.changes, results, _shown(self._observe(), step), settled=is_settled)

        def waiting(_: object) -> None:
            nonlocal is_settled
            is_settled = is_settled or (grace.passed and self._is_dealt_with(step, results, epoch))

        return wait_until(
            read,
            lambda found: all(feature.outcome is not Outcome.UNKNOWN for feature in found),
            until=self._deadline.at_most(self.policy.settle_ms),
            every_ms=self.policy.observe_every_ms,
            waiting=waiting,
        )

    def _is_dealt_with(self, step: FeatureStep, results: Iterable[FeatureResult], epoch: int | None) -> bool:
        """Return True if nothing of a request can follow: it was answered, and the same controller answered another
        after it.

        A request without an answer may still lie somewhere on its way, so it is never called dealt with.
        """
        if any(result.error_code is None for result in results):
            return False
        try:
            self.port.validate(step.levels, step.type)
        except UnreachableError:
            return False
        return epoch is not None and self._observe().leader_epoch == epoch

    def prove(self) -> Proof | None:
        """Return the levels of every node, read until all nodes that answered before the change have them."""
        done = {feature.name for feature in self.resolved if feature.outcome is Outcome.DONE}
        plan, before, latest = self.first_plan, self.run.first, self._latest
        if plan is None or before is None or latest is None or not done:
            return None
        wanted = {change.name: change.after for change in plan.changes if change.name in done}
        silent = {finding.subject for finding in blockers(prove(before, {}).findings)}

        def holds(found: Proof) -> bool:
            return all(finding.subject in silent for finding in blockers(found.findings))

        until, proof = self._deadline.at_most(self.policy.proof_ms), prove(latest, wanted)
        if holds(proof) or until.passed:
            return proof
        self.tell(Event(kind="wait", text="waiting until every node shows it"))
        self.port.clock.sleep_ms(self.policy.observe_every_ms)
        observe_every_ms = self.policy.observe_every_ms
        return wait_until(lambda: prove(self._observe(), wanted), holds, until=until, every_ms=observe_every_ms)

    def _observe(self, request: FeatureRequest | None = None) -> ClusterState:
        self._latest = self.port.observe_levels(request)
        return self._latest


def _requests(levels: Mapping[str, int]) -> list[dict[str, int]]:
    """Return one request with all features but kraft.version, and one with kraft.version alone."""
    others = {name: level for name, level in levels.items() if name != KRAFT_VERSION}
    alone = {name: level for name, level in levels.items() if name == KRAFT_VERSION}
    return [batch for batch in (others, alone) if batch]


def _shown(state: ClusterState, step: FeatureStep) -> dict[str, int] | None:
    """Return the levels afterwards: those of the active controller; a node that shows the new level proves it for all.

    Nodes show only what is committed. None if the active controller shows nothing and no node has the new level.
    """
    active = None if state.active_controller is None else state.node(Role.CONTROLLER, state.active_controller)
    levels = dict(state.finalized) if active is not None and active.answers else None
    shown = [node.levels for node in state.nodes if node.levels is not None]
    for change in step.changes:
        if any(levels.get(change.name, 0) == change.after for levels in shown):
            levels = (levels or dict(state.finalized)) | {change.name: change.after}
    return levels
