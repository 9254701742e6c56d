"""Removal of the registration of a node that no longer exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.cluster.api import unregister as sending
from kafkactl.cluster.api.node_timeout import NO_LIMIT, node_timeout_ms
from kafkactl.cluster.api.unregister import OUTCOME_TIMEOUT_MS, observe_and_plan
from kafkactl.cluster.io import view as state_view
from kafkactl.cluster.io.view import ObservedCluster
from kafkactl.cluster.unregister_plan import UnregisterPlan
from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role
from kafkactl.kafka.change_right import change_denied

if TYPE_CHECKING:
    from kafkactl.kafka.client import Client


@frozen
class UnregisterResult:
    """Removal of a registration from the metadata log: the plan on `view`, and the outcome."""

    view: ObservedCluster
    plan: UnregisterPlan
    outcome: Outcome
    is_stopped: bool = False
    notes: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings of the plan, of the observation and of the execution."""
        return (*self.plan.findings, *self.view.findings, *self.notes)

    to_dict = json_of(
        "outcome", "cluster_id=plan.cluster_id", "node_id=plan.node_id", "role=plan.role", "findings",
        kind="nodes.unregister",
    )  # fmt: skip


def plan_unregister(
    client: Client, node_id: int, role: str | None = None, *, stopped: bool = False, timeout_ms: float = NO_LIMIT
) -> UnregisterResult:
    """Plan the removal of a node's registration from the metadata log. Nothing is sent.

    `role` (broker, controller) is needed if both are registered under the id. `stopped`: the operator made sure that
    the process does not run, which settles doubts, but no sign of life. The leader is watched for 2 s; a silent node
    costs a fifth of `timeout_ms` at most. Raises UnreachableError if no node answers.
    """
    observe_ms = node_timeout_ms(state_view.NODE_TIMEOUT_MS, timeout_ms)
    asked = Role(role) if role else None
    view, plan = observe_and_plan(client, node_id, asked, stopped=stopped, observe_ms=observe_ms)
    found = UnregisterResult(view=view, plan=plan, outcome=plan.outcome, is_stopped=stopped)
    request = "UnregisterController" if plan.role is Role.CONTROLLER else "UnregisterBroker"
    denial = None if plan.outcome is Outcome.NOTHING_TO_DO else change_denied(client, request)
    return found if denial is None else changed(found, outcome=Outcome.REFUSED, notes=(denial,))


def unregister_node(client: Client, planned: UnregisterResult, *, timeout_ms: float = NO_LIMIT) -> UnregisterResult:
    """Send the planned request once, if nothing changed since the plan; then read the outcome.

    A plan that is refused or has nothing to do sends nothing. Raises UnreachableError if the request certainly did
    not leave.
    """
    if planned.outcome is not Outcome.PLANNED:
        return planned
    found = sending.unregister_node(
        client,
        planned.plan,
        planned.view.state,
        stopped=planned.is_stopped,
        outcome_timeout_ms=node_timeout_ms(OUTCOME_TIMEOUT_MS, timeout_ms),
        observe_ms=node_timeout_ms(state_view.NODE_TIMEOUT_MS, timeout_ms),
    )
    return changed(planned, plan=found.plan, outcome=found.outcome, notes=tuple(found.findings))
