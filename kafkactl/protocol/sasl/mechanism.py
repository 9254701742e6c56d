"""Base of a SASL mechanism: a state machine of bytes, made for one connection."""

from __future__ import annotations

from typing import Protocol

from kafkactl.core.errors import InputError, UnreachableError
from kafkactl.protocol.text.jaas import JaasEntry


class Mechanism(Protocol):
    """The client's half of one exchange."""

    def first(self) -> bytes:
        """Return the first message to the server."""
        ...

    def answer(self, challenge: bytes) -> bytes | None:
        """Return the next message, or None if the server's message was the last one and is valid.

        Raises UnreachableError for an invalid last message: such a server may not know the user's password.
        """
        ...


def exchange_broken(mechanism: str, words: str) -> UnreachableError:
    """Return the error for a server that violates its mechanism, or does not know the password itself."""
    return UnreachableError(f"the {mechanism} exchange failed: {words}", id="sasl-exchange-broken")


def required_option(entry: JaasEntry, name: str) -> str:
    """Return an option of the login line. Raises InputError `missing-jaas-option`."""
    if name not in entry.options:
        raise InputError(
            f"sasl.jaas.config has no option {name}",
            id="missing-jaas-option",
            next_step=f'Add {name}="…" before the ; of the login line.',
        )
    return entry.options[name]
