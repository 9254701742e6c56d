"""C-14, of the rules that make a principal's name of a certificate or a Kerberos name.

Controllers decide with their own rules who a broker is. A broker whose certificate is `CN=b1,O=x` is `User:b1` to a
node with the brokers' rule, and `User:CN=b1,O=x` to one without it, which is in no super.users.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, Severity, note
from kafkactl.migration.checks.case import FORWARD, UNFINISHED, CheckCase, Row
from kafkactl.migration.observed.observation import NodeSeen
from kafkactl.migration.observed.settings import controller_listener, given, is_hidden, protocols, super_users
from kafkactl.migration.render.facts import PRINCIPAL_RULES


def _rules(case: CheckCase) -> Iterator[Finding]:
    """Check C-14: controllers have the brokers' mapping rules, in their file or in the file that `run` installs."""
    before = {node.id: node for node in case.evidence.observation.controllers}
    for key in PRINCIPAL_RULES:
        values = {_value(broker, key) for broker in case.brokers if broker.config is not None}
        if len(values) != 1 or (wanted := values.pop()) is None or is_hidden(wanted):
            continue
        for node in case.controllers:
            if node.config is None or is_hidden(given(node, key)):
                continue
            if _value(node, key) != wanted:
                yield _differs(case, node, key)
            elif case.stage in FORWARD and _value(before.get(node.id, node), key) != wanted:
                yield note(
                    "principal-rules-carried-over",
                    node.name,
                    f"{key} of the brokers is added to the file that {node.name} gets: it maps the names of brokers as"
                    " the brokers do",
                    key=key,
                )


def _value(node: NodeSeen, key: str) -> str | None:
    """Return the rule of the controllers' listener if the file has one, else the rule of all listeners."""
    listener = controller_listener(node)
    own = None if listener is None else given(node, f"listener.name.{listener.lower()}.{key}")
    return own or given(node, key)


def _differs(case: CheckCase, node: NodeSeen, key: str) -> Finding:
    listener = controller_listener(node)
    protocol = "" if listener is None else protocols(node).get(listener, listener)
    refused = case.stage in FORWARD and _is_by_certificate(node, protocol, key) and _has_short_names(node)
    why = (
        ": its super.users have short names only, so no broker may register there"
        if refused
        else ": a broker can have another name there than super.users and ACLs have"
    )
    return Finding(
        id="principal-rules-differ",
        severity=Severity.BLOCKER if refused else Severity.WARNING,
        subject=node.name,
        message=f"{key} of {node.name} is not that of the brokers{why}",
        evidence={"key": key},
    )


def _is_by_certificate(node: NodeSeen, protocol: str, key: str) -> bool:
    return key.startswith("ssl.") and protocol == "SSL" and given(node, key) is None


def _has_short_names(node: NodeSeen) -> bool:
    users = super_users(node)
    return bool(users) and not any("=" in user for user in users or ()) and "User:ANONYMOUS" not in (users or ())


ROWS: Final = (Row("C-14", "principal-rules-unknown", "rules for principals", UNFINISHED, _rules),)
