"""Removal of a node's registration from a real cluster: the port of `cluster/unregister_run`."""

from __future__ import annotations

from kafkactl.change.clock import Clock
from kafkactl.change.engine import Engine
from kafkactl.change.journal import RunJournal
from kafkactl.change.reply import Reply
from kafkactl.cluster.io.fetched_registrations import fetch_registrations
from kafkactl.cluster.io.view import NODE_TIMEOUT_MS as OBSERVE_MS
from kafkactl.cluster.io.view import ObservedCluster, observe_cluster_state
from kafkactl.cluster.registrations import Registrations
from kafkactl.cluster.state import ClusterState
from kafkactl.cluster.unregister_plan import UNREGISTER_BROKER, UnregisterPlan, plan_unregister, read_answer
from kafkactl.cluster.unregister_run import Answer, RegistryWaitPolicy, UnregisterJourney
from kafkactl.core.errors import DecodeError, UnknownOutcomeError, UnreachableError
from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client
from kafkactl.kafka.cluster_view import check_planned_for

OUTCOME_TIMEOUT_MS = 10_000.0  # how long the log is read for an outcome that no answer gave
_PAUSE_MS = 400


@frozen
class UnregisteredNode:
    """Outcome of a plan: `plan` is the one that was applied, or the later one that forbade it."""

    plan: UnregisterPlan
    outcome: Outcome
    findings: tuple[Finding, ...] = ()


def observe_and_plan(
    client: Client, node_id: int, role: Role | None, *, stopped: bool = False, observe_ms: float = OBSERVE_MS
) -> tuple[ObservedCluster, UnregisterPlan]:
    """Return one observation of the cluster, and the plan for a node; one silent node takes `observe_ms`.

    It lasts as long as a watch of the leader (2 s), in which a fetch of a running node would be observed. Raises
    UnreachableError as `observe_cluster_state` does, RefusedError if the bootstrap nodes belong to several clusters.
    """
    client.check_one_cluster()
    view = observe_cluster_state(client, node_timeout_ms=observe_ms, doubted=node_id)
    return view, plan_unregister(view.state, node_id, role, stopped=stopped)


def unregister_node(
    client: Client,
    plan: UnregisterPlan,
    planned_on: ClusterState,
    *,
    stopped: bool = False,
    outcome_timeout_ms: float = OUTCOME_TIMEOUT_MS,
    observe_ms: float = OBSERVE_MS,
) -> UnregisteredNode:
    """Send the request of a plan whose outcome is `planned`, if nothing changed since the plan.

    The node is watched again right before the request is sent.

    Raises UnreachableError, and RefusedError if another cluster answers; the request did not leave then.
    """
    policy = RegistryWaitPolicy(observe_every_ms=_PAUSE_MS, outcome_timeout_ms=outcome_timeout_ms)
    port = _LiveRegistry(client, plan.node_id, observe_ms, planned_on.cluster_id)
    journey = UnregisterJourney(port, plan, planned_on, stopped=stopped, policy=policy)
    end = Engine(journey, RunJournal(), clock=client.clock, policy=policy).to_the_end()
    if end.interrupted:
        raise KeyboardInterrupt
    if (error := journey.not_sent_error or end.error) is not None:
        raise error
    return UnregisteredNode(plan=end.plan, outcome=end.outcome, findings=journey.findings)


class _LiveRegistry:
    """The port of an unregistration (`RegistryPort`) onto a cluster."""

    def __init__(self, client: Client, node_id: int, observe_ms: float, cluster_id: str | None) -> None:
        self._client, self._node_id, self._observe_ms = client, node_id, observe_ms
        self._cluster_id = cluster_id

    @property
    def clock(self) -> Clock:
        """Return the clock of the client."""
        return self._client.clock

    def observe(self) -> ClusterState:
        """Observe the state as `observe_and_plan` does. Raise RefusedError if another cluster answers."""
        state = observe_cluster_state(self._client, node_timeout_ms=self._observe_ms, doubted=self._node_id).state
        check_planned_for(self._cluster_id, state.cluster_id, who=str(self._client.bootstrap[0]))
        return state

    def registrations(self) -> Registrations | None:
        """Return the registrations, read from the metadata log."""
        try:
            return fetch_registrations(self._client)
        except (UnreachableError, DecodeError):
            return None

    def send(self, plan: UnregisterPlan) -> Answer:
        """Send the request once, to the active controller of the cluster that was planned on."""
        name = "UnregisterBroker" if plan.api_key == UNREGISTER_BROKER else "UnregisterController"
        try:
            answer = self._client.ask_active_controller(name, plan.request, changes=True, cluster_id=self._cluster_id)
            return read_answer(answer.body)
        except UnknownOutcomeError as error:
            return Reply.UNCLEAR, error.message
