"""Nodes of the other kind than those named at the start, whose listeners often need another login.

Brokers may take SCRAM and controllers PLAIN: then the client properties that the brokers accept are right, and those
for the other kind of node are missing. Such a node is there, so the only remedy is its login.
"""

from __future__ import annotations

from typing import Final

from kafkactl.core.errors import KafkactlError, UnreachableError
from kafkactl.core.values import Role

# How a listener refuses a client whose protocol or login is another's.
LOGIN_ERRORS: Final = frozenset(
    {
        "authentication-failed",
        "certificate-not-trusted",
        "client-certificate-refused",
        "sasl-login-expected",
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


def login_step(error: KafkactlError, *, asked: Role, named: Role) -> str:
    """Return the next step for a node that was not asked, because it needs a login of its own kind of node."""
    return _STEPS[asked] if asked is not named and error.id in LOGIN_ERRORS else error.advice


def add_login_step(error: UnreachableError, *, asked: Role, named: Role) -> None:
    """Give the error the next step of `login_step` if it is about a login of the other kind of node."""
    if asked is not named and error.id in LOGIN_ERRORS:
        error.next_step = _STEPS[asked]
