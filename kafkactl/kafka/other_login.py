"""Nodes of the other kind than those named at the start, whose listeners often need another login.

Brokers may take SCRAM and controllers PLAIN: then the client properties that the brokers accept are right, and those
for the other kind of node are missing. Such a node is there, so the only remedy is its login. If other nodes of the
same kind accept the client properties, these are right, and the listener of the one node differs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from kafkactl.core.errors import KafkactlError, UnreachableError
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client
from kafkactl.protocol.api_versions import NodeVersions

_WITHOUT_LOGIN: Final = "sasl-login-expected"
# How a listener refuses a client whose protocol or login is another's.
LOGIN_ERRORS: Final = frozenset(
    {
        "authentication-failed",
        "certificate-not-trusted",
        "client-certificate-refused",
        _WITHOUT_LOGIN,
        "sasl-mechanism-not-offered",
        "sasl-not-spoken",
        "tls-expected",
        "tls-handshake-failed",
        "tls-not-spoken",
    }
)
_STEPS: Final = {
    Role.CONTROLLER: "If controllers need other client properties than brokers, give those with "
    "--controller-command-config FILE.",
    Role.BROKER: "If brokers need other client properties than controllers, give those of the brokers with "
    "--command-config and those of the controllers with --controller-command-config.",
}
_KEYS: Final = {
    Role.CONTROLLER: "If controllers need other client properties than brokers, name their file with "
    "`controller_command_config` in the inventory (without one: --controller-command-config FILE).",
    Role.BROKER: "If brokers need other client properties than controllers, name the brokers' file with "
    "`command_config` in the inventory, and that of the controllers with `controller_command_config`.",
}


def login_step(error: KafkactlError, *, asked: Role, named: Role, accepted: Collection[Role] = ()) -> str:
    """Return the next step for a node that was not asked: of the other kind than the nodes `named`, its own login.

    `accepted` are the kinds of nodes of which another one accepts the client properties.
    """
    return _step(error, asked, _STEPS if asked is not named else {}, accepted)


def inventory_login_step(error: KafkactlError, asked: Role, accepted: Collection[Role], *, one_file: bool) -> str:
    """Return the same for nodes of an inventory; `one_file`: it has one file of client properties for both kinds."""
    return _step(error, asked, _KEYS if one_file and accepted else {}, accepted)


def _step(error: KafkactlError, asked: Role, steps: Mapping[Role, str], accepted: Collection[Role]) -> str:
    if error.id not in LOGIN_ERRORS:
        return error.advice
    if asked in accepted:
        return (
            f"Other {asked.value}s accept these client properties: compare the settings of this node's listener "
            "(its users, `sasl.*`, `ssl.*`) with those of another node."
        )
    return steps.get(asked, error.advice)


def add_login_step(error: UnreachableError, asked: Client, *, named: Role) -> None:
    """Give an error about a login the next step of `login_step`.

    `asked` is the client whose nodes were asked. They are asked for their versions, which shows if another one accepts
    its login. Without a login it shows nothing: a node with SASL returns its versions before the login.
    """
    if error.id not in LOGIN_ERRORS:
        return
    answers = asked.versions(asked.bootstrap).values() if error.id != _WITHOUT_LOGIN else ()
    accepted = {asked.role} if any(isinstance(answer, NodeVersions) for answer in answers) else set()
    error.next_step = login_step(error, asked=asked.role, named=named, accepted=accepted)
