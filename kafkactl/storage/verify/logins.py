"""Logins that a start needs: those of SASL listeners, and that of a controller at its own quorum.

The users of SCRAM are in the metadata log, and a controller knows them only after a leader has committed the log. So
several voters that log in to each other with SCRAM never elect a first leader, nor one after all of them stopped
(3.9.2, 4.3.1: every vote request was refused). A sole voter needs no other vote, and starts if its user is in the
log or in the records that it founds the cluster with (measured on both).
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.core.findings import Severity
from kafkactl.protocol.text.config_variables import has_variable
from kafkactl.storage.config.logins import (
    CONTROLLER_MECHANISM,
    SCRAM,
    controller_listener,
    controller_mechanism,
    controller_user,
    enabled_mechanisms,
    missing_logins,
)
from kafkactl.storage.config.oauth import oauth_problems
from kafkactl.storage.verify.bootstrap import founding_records
from kafkactl.storage.verify.model import Loss, Phase, RuleResult, StartContext, finding, loses, stops, warns
from kafkactl.storage.verify.state import loaded_snapshot, log_looks_empty
from kafkactl.storage.verify.voters import other_voters

_USE_PLAIN = (
    f"Give the controllers' listener a mechanism that needs no metadata log, such as PLAIN or mutual TLS, and set"
    f" {CONTROLLER_MECHANISM} to it on every node; clients may go on using SCRAM on the brokers' listeners."
)


def login_rules(context: StartContext) -> Iterator[RuleResult]:
    """Yield the results about the logins of this node."""
    yield from _not_in_file(context)
    yield from _oauth(context)
    if context.is_controller:
        yield from _at_the_quorum(context)


def _not_in_file(context: StartContext) -> Iterator[RuleResult]:
    for login in missing_logins(context.config):
        text = context.config.properties.get(login.key, "")
        subject = f"listener {login.listener}"
        if login.problem is None:
            message = (
                f"The file has no {login.key}: the node ends unless the JVM option java.security.auth.login.config"
                f" names a file with the section {login.listener.lower()}.KafkaServer or KafkaServer."
            )
            found = finding("login-not-in-file", Severity.WARNING, subject, message, key=login.key)
            yield RuleResult(finding=found, unknown=True)
        elif not has_variable(text):
            phase = Phase.CONTROLLER_SERVICES if context.is_controller else Phase.BROKER_SERVICES
            yield stops(
                "login-unreadable", phase, subject, f"{login.key}: {login.problem}.", says="JAAS config", key=login.key
            )


def _oauth(context: StartContext) -> Iterator[RuleResult]:
    controllers = {f"listener.name.{name.lower()}." for name in context.config.controller_listener_names}
    for problem in oauth_problems(context.config.properties, context.release):
        of_controller = context.is_controller and problem.key.lower().startswith(tuple(controllers))
        phase = Phase.CONTROLLER_SERVICES if of_controller or not context.is_broker else Phase.BROKER_SERVICES
        text = f"{problem.words}."
        yield stops(problem.id, phase, context.config.file, text, says=problem.words, key=problem.key)


def _at_the_quorum(context: StartContext) -> Iterator[RuleResult]:
    listener, mechanism = controller_listener(context.config), controller_mechanism(context.config)
    if listener is None or mechanism is None:
        return
    others = other_voters(context)
    offered = enabled_mechanisms(context.config, listener)
    if mechanism not in offered:
        yield from _not_offered(context, listener, mechanism, offered, others)
    elif mechanism in SCRAM and (others or context.is_broker):
        yield from _scram(context, listener, mechanism, others)


def _not_offered(
    context: StartContext, listener: str, mechanism: str, offered: tuple[str, ...], others: list[int]
) -> Iterator[RuleResult]:
    if not others and not context.is_broker:
        return
    yield _refused_login(
        context,
        "controller-mechanism-not-enabled",
        f"The controllers' listener {listener} offers {', '.join(offered) or 'no mechanism'}, and this file logs in"
        f" there with {mechanism}: controllers with such a file refuse each other.",
        f"Set {CONTROLLER_MECHANISM} to a mechanism that the listener offers, or enable {mechanism} on it.",
    )


def _scram(context: StartContext, listener: str, mechanism: str, others: list[int]) -> Iterator[RuleResult]:
    user = controller_user(context.config)
    is_stored = _is_stored(context, mechanism, user)
    name = f"user {user}" if user else "the user"
    if others and is_stored:
        yield warns(
            "scram-between-controllers",
            f"node {context.config.node_id}",
            f"The controllers log in to each other with {mechanism}, whose users are in the metadata log. This node"
            " starts while a majority of the other voters runs; once a majority has stopped, no leader is elected.",
            next_step=_USE_PLAIN,
            voters=others,
        )
    elif others:
        yield _refused_login(
            context,
            "scram-between-controllers",
            f"The controllers log in to each other with {mechanism}, whose users are in the metadata log, and the log"
            f" needs a leader first: every vote is refused, also where {name} is among the bootstrap records.",
            _USE_PLAIN,
        )
    elif not is_stored:
        yield _refused_login(
            context,
            "scram-user-missing",
            f"The node's broker logs in at its controller with {mechanism}, and neither the metadata log nor the"
            f" records that would found the cluster have {name} for it.",
            _with_user(mechanism, user) if log_looks_empty(context) else _without_scram(listener, mechanism),
        )


def _with_user(mechanism: str, user: str | None) -> str:
    """Return the next step that gives the user to a node that never led."""
    return (
        "Run `kafkactl storage unformat`, which refuses a disk that was used, and format again with"
        f" --add-scram '{mechanism}=[name={user or 'USER'},password=PASSWORD]' (or --scram-file)."
    )


def _without_scram(listener: str, mechanism: str) -> str:
    """Return the next step of a node whose log has records: nothing is formatted."""
    return (
        "Keep the disks: the log has the cluster's metadata. Add a mechanism that needs no metadata log, such as"
        f" PLAIN, to those of listener {listener}, and set {CONTROLLER_MECHANISM} to it. To use {mechanism}"
        " later, create the user with kafka-configs.sh while the node runs."
    )


def _refused_login(context: StartContext, id: str, message: str, next_step: str) -> RuleResult:
    """Return that the node never finds a leader; a controller alone reports all the same that it has started."""
    subject = f"node {context.config.node_id}"
    if not context.is_broker:
        loss = Loss(what="vote", subject=subject, message="The controller runs, and no other voter lets it log in.")
        return loses(id, subject, message, loss, next_step=next_step)
    says = "failed authentication"
    return stops(id, Phase.WAITING_FOR_QUORUM, subject, message, says=says, waits=True, next_step=next_step)


def _is_stored(context: StartContext, mechanism: str, user: str | None) -> bool:
    """Return True if the log, or the records of a first start of a sole voter, have the user."""
    if log_looks_empty(context):
        known = founding_records(context).scram if not other_voters(context) else frozenset()
    else:
        snapshot = loaded_snapshot(context)
        before = snapshot.contents.scram if snapshot is not None and snapshot.contents is not None else set()
        known = frozenset(before | context.log.contents.scram)
    return any(number == SCRAM[mechanism] and user in (None, name) for name, number in known)
