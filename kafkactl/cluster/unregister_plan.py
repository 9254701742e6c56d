"""`nodes unregister`: taking the registration of a node that is gone out of the metadata log, and of no other.

Invariant: a node that lives is never unregistered. A live broker becomes a zombie that holds its disks, follows no
leader and ignores SIGTERM; a live controller registers again at the next record, and Kafka 4.4.0 unregisters even a
voter. Kafka refuses none of this. What shows that a node is gone is in `departed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kafkactl.change.reply import Reply
from kafkactl.cluster.departed_node import check_departed
from kafkactl.cluster.registration_renewal import CONTROLLERS_UNREGISTER_FROM, renewal_step
from kafkactl.cluster.state import ClusterState, Member
from kafkactl.core.findings import NO_ACCESS, Finding, Outcome, blocker, blockers, note, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.core.values import Role
from kafkactl.protocol.catalog.consequences import level_name
from kafkactl.protocol.catalog.update_rules import update_rules
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.protocol.schema.rights import server_text

UNREGISTER_BROKER = 64
UNREGISTER_CONTROLLER = 94
# BROKER_ID_NOT_REGISTERED, CONTROLLER_ID_NOT_REGISTERED: it is gone already.
_NOT_REGISTERED = frozenset({102, 136})
# Answers after which nothing was or will be written: not allowed, not supported, invalid, too large.
_DEFINITE = frozenset({31, 35, 42, 44})


@frozen
class UnregisterPlan:
    """Plan of the removal of a node's registration. `role` is None if it is unknown which registration is meant."""

    cluster_id: str | None
    node_id: int
    role: Role | None
    """None if it is unknown which is meant."""
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """Return `refused`, `nothing-to-do` or `planned`: the outcome of a dry run."""
        if blockers(self.findings):
            return Outcome.REFUSED
        return Outcome.NOTHING_TO_DO if self.role is None else Outcome.PLANNED

    @property
    def api_key(self) -> int:
        """Return the API key of the request that removes the registration."""
        return UNREGISTER_BROKER if self.role is Role.BROKER else UNREGISTER_CONTROLLER

    @property
    def request(self) -> dict[str, Any]:
        """Return the body of that request."""
        return {"BrokerId" if self.role is Role.BROKER else "ControllerId": self.node_id}


def plan_unregister(
    state: ClusterState, node_id: int, role: Role | None = None, *, stopped: bool = False
) -> UnregisterPlan:
    """Check if a node's registration can be removed, and report all reasons against it.

    Without a role the only registration of that id is meant; if there are two, the role must be named. `stopped`:
    the operator states that the process does not run, which settles what cannot be seen from here (`departed`).
    """
    if state.registrations is None:
        return _plan(state, node_id, role, _unread(state, node_id))
    found = [
        member for member in state.members if member.id == node_id and member.registered and role in (None, member.role)
    ]
    if not found:
        return _plan(state, node_id, None, _not_registered(node_id, role))
    if len(found) > 1:
        return _plan(state, node_id, None, _which(node_id))
    member = found[0]
    check = _check_broker if member.role is Role.BROKER else _check_controller
    return _plan(state, node_id, member.role, *check(state, member), *check_departed(state, member, stopped=stopped))


def read_answer(body: Mapping[str, Any] | None) -> tuple[Reply, str]:
    """Return the meaning of an UnregisterBroker or UnregisterController answer; `body` is None without an answer.

    An id that is not registered (any more) is as good as done.
    """
    if body is None:
        return Reply.UNCLEAR, "no answer came"
    code = int(body["ErrorCode"])
    if code == 0 or code in _NOT_REGISTERED:
        return Reply.ACCEPTED, ""
    text = f"{error_code(code).name}: {server_text(body['ErrorMessage'])}".rstrip(": ")
    return (Reply.REFUSED if code in _DEFINITE else Reply.UNCLEAR), text


def resolve_unregister(
    plan: UnregisterPlan, reply: Reply, after: ClusterState | None, *, message: str = "", settled: bool = False
) -> tuple[Outcome, tuple[Finding, ...]]:
    """Return the outcome from the registrations that are read again; `settled` as in `outcome.resolve`."""
    still = _still_there(plan, after)
    if still is False:
        return Outcome.DONE, ()
    if reply is Reply.REFUSED:
        return Outcome.FAILED, (_refused(plan, message),)
    if still and (settled or reply is Reply.ACCEPTED):
        return Outcome.FAILED, (_came_back(plan),)
    return Outcome.UNKNOWN, (_unknown(plan),)


def _plan(state: ClusterState, node_id: int, role: Role | None, *findings: Finding) -> UnregisterPlan:
    return UnregisterPlan(cluster_id=state.cluster_id, node_id=node_id, role=role, findings=findings)


def _check_broker(state: ClusterState, member: Member) -> Iterator[Finding]:
    known = state.registrations
    hosted = known.hosted.get(member.id, 0) if known is not None else 0
    if hosted:
        leaderless = known.leaderless.get(member.id, 0) if known is not None else 0
        yield warning(
            "broker-hosts-replicas",
            member.name,
            f"{hosted} partitions have a replica on {member.name} ({leaderless} of them have no leader now): they "
            "stay assigned to it, and short of a replica, until they are reassigned",
            "Reassign them first (kafka-reassign-partitions.sh), or keep the registration if the broker comes back.",
            partitions=hosted,
            leaderless=leaderless,
        )


def _check_controller(state: ClusterState, member: Member) -> Iterator[Finding]:
    rules, level = update_rules(state.rules_release), state.level(METADATA_VERSION)
    if member.voter:
        yield blocker(
            "controller-is-voter",
            member.name,
            f"{member.name} is a voter: it would register again as soon as it runs, and its vote is needed",
        )
    elif state.voters is None:
        yield blocker(
            "voters-unknown",
            member.name,
            f"the voters could not be read, so it is unknown whether {member.name} is a voter",
        )
    if not rules.unregisters_controllers or level < CONTROLLERS_UNREGISTER_FROM:
        yield blocker(
            "controllers-cannot-be-unregistered",
            member.name,
            f"controllers can be unregistered from Kafka 4.4 with metadata.version "
            f"{level_name(METADATA_VERSION, CONTROLLERS_UNREGISTER_FROM)} on; this cluster is at "
            f"{level_name(METADATA_VERSION, level)}",
            f"If its registration blocks an upgrade, renew it. {renewal_step(member.id, is_static=state.is_static)}",
            metadata_version=level,
        )


def _unread(state: ClusterState, node_id: int) -> Finding:
    unread = "the metadata log could not be read, so it is unknown whether the node is registered"
    why, subject = state.log_error, f"node {node_id}"
    if why is None:
        return blocker("registrations-not-read", subject, unread)
    evidence = {NO_ACCESS: True} if why.is_access else {}
    return blocker("registrations-not-read", subject, f"{unread}: {why.reason}", why.step, **evidence)


def _not_registered(node_id: int, role: Role | None) -> Finding:
    what = "node" if role is None else role.value
    return note("node-not-registered", f"{what} {node_id}", f"no {what} {node_id} is registered", "Nothing to do.")


def _which(node_id: int) -> Finding:
    return blocker(
        "node-role-needed", f"node {node_id}", f"node {node_id} is registered as a broker and as a controller"
    )


def _still_there(plan: UnregisterPlan, after: ClusterState | None) -> bool | None:
    if after is None or after.registrations is None:
        return None
    known = after.registrations
    return plan.node_id in (known.brokers if plan.role is Role.BROKER else known.controllers)


def _refused(plan: UnregisterPlan, message: str) -> Finding:
    return warning(
        "unregister-refused",
        f"node {plan.node_id}",
        f"the controller refused it: {message}",
        answer=message,
    )


def _came_back(plan: UnregisterPlan) -> Finding:
    return warning(
        "node-still-registered",
        f"node {plan.node_id}",
        f"node {plan.node_id} is still registered, or again: a node that runs registers again",
        "Make sure that it is stopped, then try again.",
    )


def _unknown(plan: UnregisterPlan) -> Finding:
    return warning(
        "unregister-outcome-unknown",
        f"node {plan.node_id}",
        f"the outcome is unknown: node {plan.node_id} may or may not be unregistered",
    )
