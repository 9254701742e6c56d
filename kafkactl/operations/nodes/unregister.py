"""Carrying out a plan of `features/change/unregister.py`: look again, send once, read what came of it.

The law: between the plan and the request a node may come back, so everything is looked at once more right before the
request leaves. The answer alone proves nothing, least of all a missing one: the registrations are read from the log
again, twice with a pause in between, for a node that runs registers anew within milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kafkactl.adapters.kafka.client import Client
from kafkactl.adapters.kafka.feature_view import PATIENCE_MS as LOOK_MS
from kafkactl.adapters.kafka.feature_view import FeatureView, observe_features
from kafkactl.adapters.kafka.fetched_registrations import fetch_registrations
from kafkactl.change.clock import Deadline
from kafkactl.errors import DecodeError, UnknownOutcomeError, UnreachableError
from kafkactl.features.change.results import Reply
from kafkactl.features.change.unregister import (
    UNREGISTER_BROKER,
    UnregisterPlan,
    plan_unregister,
    read_answer,
    resolve_unregister,
)
from kafkactl.features.cluster.state import FeatureState, Role
from kafkactl.findings import Finding, Outcome, blocker
from kafkactl.frozen import frozen
from kafkactl.metadata.log.registrations import BrokerRegistration, ControllerRegistration

PATIENCE_MS = 10_000.0  # how long an outcome that nobody told is looked for
_PAUSE_MS = 400.0


@frozen
class Unregistered:
    """What became of a plan: `plan` is the one that was acted on, or the later one that forbade it."""

    plan: UnregisterPlan
    outcome: Outcome
    findings: tuple[Finding, ...] = ()


def observe_and_plan(
    client: Client, node_id: int, role: Role | None, *, stopped: bool = False, look_ms: float = LOOK_MS
) -> tuple[FeatureView, UnregisterPlan]:
    """One observation of the cluster, and what unregistering a node comes to by it; one silent node costs `look_ms`.

    It lasts as long as a watch of the leader (2 s), in which a node that runs would be seen to fetch. Raises
    UnreachableError as `observe_features` does.
    """
    view = observe_features(client, patience_ms=look_ms, doubted=node_id)
    return view, plan_unregister(view.state, node_id, role, stopped=stopped)


def unregister_node(
    client: Client,
    plan: UnregisterPlan,
    planned_on: FeatureState,
    *,
    stopped: bool = False,
    patience_ms: float = PATIENCE_MS,
    look_ms: float = LOOK_MS,
) -> Unregistered:
    """Send the request of a plan whose outcome is `planned`, where everything still is as it was planned on.

    The node is watched again right before the request is sent.

    Raises UnreachableError where the request certainly did not leave.
    """
    view, again = observe_and_plan(client, plan.node_id, plan.role, stopped=stopped, look_ms=look_ms)
    now = view.state
    if again.outcome is not Outcome.PLANNED:
        return Unregistered(plan=again, outcome=again.outcome)
    if _registration(now, plan) != _registration(planned_on, plan):
        refused = replace(again, findings=(*again.findings, _registered_anew(plan)))
        return Unregistered(plan=refused, outcome=Outcome.REFUSED)
    reply, message = _send(client, plan)
    patience = Deadline.after(patience_ms, client.clock)
    outcome, findings = _read_back(_sights(client, now, patience), plan, reply, message)
    return Unregistered(plan=again, outcome=outcome, findings=findings)


def _send(client: Client, plan: UnregisterPlan) -> tuple[Reply, str]:
    name = "UnregisterBroker" if plan.api_key == UNREGISTER_BROKER else "UnregisterController"
    try:
        return read_answer(client.ask_active_controller(name, plan.request, changes=True).body)
    except UnknownOutcomeError as error:
        return Reply.UNCLEAR, error.message


def _read_back(
    sights: Iterable[FeatureState | None], plan: UnregisterPlan, reply: Reply, message: str
) -> tuple[Outcome, tuple[Finding, ...]]:
    """Read until it is known; what seems done is looked at once more, and must then still be so."""
    found = resolve_unregister(plan, reply, None, message=message)
    done = False
    for after in sights:
        latest = resolve_unregister(plan, Reply.ACCEPTED if done else reply, after, message=message)
        if latest[0] is Outcome.FAILED or (done and latest[0] is Outcome.DONE):
            return latest
        if not done:
            done, found = latest[0] is Outcome.DONE, latest
    return found


def _sights(client: Client, before: FeatureState, patience: Deadline) -> Iterator[FeatureState | None]:
    """The state with the registrations as they are now; None where they cannot be read."""
    while True:
        try:
            yield replace(before, registrations=fetch_registrations(client))
        except (UnreachableError, DecodeError):
            yield None
        if patience.passed:
            return
        client.clock.sleep_ms(_PAUSE_MS)


def _registration(state: FeatureState, plan: UnregisterPlan) -> BrokerRegistration | ControllerRegistration | None:
    known = state.registrations
    if known is None:
        return None
    return known.brokers.get(plan.node_id) if plan.role is Role.BROKER else known.controllers.get(plan.node_id)


def _registered_anew(plan: UnregisterPlan) -> Finding:
    return blocker(
        "node-registered-anew",
        f"node {plan.node_id}",
        f"the registration of node {plan.node_id} changed since it was planned: somebody starts or stops it now",
        "See `kafkactl nodes list`, and whether the node is meant to come back.",
    )
