"""Execution of a plan of `cluster/unregister_plan.py`: observe again, send once, read the outcome.

Between the plan and the request a node may come back, so everything is observed once more right before the request
leaves. The answer alone proves nothing, least of all a missing one: the registrations are read from the log again,
twice with a pause in between, because a node that runs registers again within milliseconds.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Protocol

from kafkactl.change.clock import Clock, Deadline
from kafkactl.change.engine import Journey, PreparedStep, StepResult, UnsentRequest, Verification
from kafkactl.change.reply import Reply
from kafkactl.change.waiting import wait_until
from kafkactl.cluster.registrations import BrokerRegistration, ControllerRegistration, Registrations
from kafkactl.cluster.state import ClusterState
from kafkactl.cluster.unregister_plan import UnregisterPlan, plan_unregister, resolve_unregister
from kafkactl.core.errors import RefusedError, UnreachableError
from kafkactl.core.findings import Finding, Outcome, blocker
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role

Answer = tuple[Reply, str]
_RESULTS = {Outcome.DONE: StepResult.DONE, Outcome.FAILED: StepResult.FAILED}


class RegistryPort(Protocol):
    """The registrations of one cluster: real, or scripted in a test."""

    @property
    def clock(self) -> Clock:
        """Return the clock of the port."""
        ...

    def observe(self) -> ClusterState:
        """Observe the state that shows if the node is gone. Raise UnreachableError."""
        ...

    def registrations(self) -> Registrations | None:
        """Return the registrations as they are now; None if they cannot be read."""
        ...

    def send(self, plan: UnregisterPlan) -> Answer:
        """Send the request of a plan, once, and return the answer.

        Raises UnreachableError and RefusedError only if nothing of it was sent.
        """
        ...


@frozen
class RegistryWaitPolicy:
    """Timeouts for reading the registrations until the outcome is known, in milliseconds."""

    observe_every_ms: int
    outcome_timeout_ms: float
    passing_ms: int = 0
    attempts: int = 1


class UnregisterJourney(Journey[ClusterState, UnregisterPlan, UnregisterPlan, Answer]):
    """A registration on its way out. `planned_on` is the state on which the operator agreed to it."""

    def __init__(
        self,
        port: RegistryPort,
        agreed: UnregisterPlan,
        planned_on: ClusterState,
        *,
        stopped: bool,
        policy: RegistryWaitPolicy,
    ) -> None:
        self.port, self.agreed, self.planned_on = port, agreed, planned_on
        self.stopped, self.policy = stopped, policy
        self.not_sent_error: UnreachableError | RefusedError | None = None
        self.findings: tuple[Finding, ...] = ()

    def observe(self) -> ClusterState:
        """Observe the whole state, while the leader is watched. Raise UnreachableError."""
        return self.port.observe()

    def plan(self, seen: ClusterState) -> UnregisterPlan:
        """Return the plan made again, refused if the registration changed since the operator agreed."""
        agreed = self.agreed
        plan = plan_unregister(seen, agreed.node_id, agreed.role, stopped=self.stopped)
        is_same = _registration(seen, agreed) == _registration(self.planned_on, agreed)
        if plan.outcome is not Outcome.PLANNED or is_same:
            return plan
        return changed(plan, findings=(*plan.findings, _registered_again(agreed)))

    def step_of(self, plan: UnregisterPlan) -> UnregisterPlan:
        """Return the plan, which is one request."""
        return plan

    def key(self, step: UnregisterPlan) -> Hashable:
        """Return the node."""
        return step.role, step.node_id

    def begin(self, ready: PreparedStep) -> Mapping[str, Any]:
        """Return the node."""
        return {"goal": {"unregister": self.agreed.node_id}}

    def intent(self, ready: PreparedStep) -> Mapping[str, Any]:
        """Return the body of the request."""
        return {"request": ready.step.request}

    def send(self, ready: PreparedStep, seq: int) -> Answer | UnsentRequest:
        """Return the one request."""
        try:
            return self.port.send(ready.step)
        except (UnreachableError, RefusedError) as error:
            self.not_sent_error = error
            return UnsentRequest(error=error)

    def verify(self, ready: PreparedStep, answer: Answer) -> Verification:
        """Read until it is known; what seems done is observed once more, and must then still be so."""
        plan, (reply, message) = ready.step, answer
        found = resolve_unregister(plan, reply, None, message=message)
        is_done = False

        def decided() -> bool:
            nonlocal found, is_done
            after = self.port.registrations()
            state = None if after is None else changed(ready.seen, registrations=after)
            latest = resolve_unregister(plan, Reply.ACCEPTED if is_done else reply, state, message=message)
            is_over = latest[0] is Outcome.FAILED or (is_done and latest[0] is Outcome.DONE)
            if is_over or not is_done:
                found = latest
            is_done = is_done or latest[0] is Outcome.DONE
            return is_over

        until = Deadline.after(self.policy.outcome_timeout_ms, self.port.clock)
        wait_until(decided, bool, until=until, every_ms=self.policy.observe_every_ms)
        outcome, self.findings = found
        return Verification(
            result=_RESULTS.get(outcome, StepResult.UNKNOWN), findings=self.findings, reached=True, seen=ready.seen
        )


def _registration(state: ClusterState, plan: UnregisterPlan) -> BrokerRegistration | ControllerRegistration | None:
    known = state.registrations
    if known is None:
        return None
    return known.brokers.get(plan.node_id) if plan.role is Role.BROKER else known.controllers.get(plan.node_id)


def _registered_again(plan: UnregisterPlan) -> Finding:
    return blocker(
        "node-registered-again",
        f"node {plan.node_id}",
        f"the registration of node {plan.node_id} changed since the plan: the node is being started or stopped",
    )
