"""SASL OAUTHBEARER (RFC 7628, KIP-255): a token is shown, with extensions (KIP-342) if the login line has some."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from kafkactl.core.errors import InputError, UnreachableError
from kafkactl.protocol.text.jaas import JaasEntry

_PREFIX = "extension_"
_NAME = re.compile(r"[A-Za-z]+")
_VALUE = re.compile(r"[\x21-\x7E \t\r\n]+")


class OAuthBearer:
    """An exchange of a single message."""

    def __init__(self, token: str, extensions: Mapping[str, str]) -> None:
        pairs = "".join(f"\x01{name}={value}" for name, value in extensions.items())
        self._message = f"n,,\x01auth=Bearer {token}{pairs}\x01\x01".encode()

    def first(self) -> bytes:
        """Return the token."""
        return self._message

    def answer(self, challenge: bytes) -> bytes | None:
        """Return None for an empty challenge. Raise the server's reason for refusing the token for any other."""
        if not challenge:
            return None
        raise UnreachableError(
            f"the token is refused: {_status(challenge)}",
            id="authentication-failed",
            next_step="Check where the token comes from, whom it is for (audience, scope), and the clocks.",
        )


def extensions_of(entry: JaasEntry) -> dict[str, str]:
    """Return the options `extension_NAME` of a login line. Raises InputError `invalid-sasl-extension`."""
    found = {name.removeprefix(_PREFIX): value for name, value in entry.options.items() if name.startswith(_PREFIX)}
    for name, value in found.items():
        if name == "auth" or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise InputError(
                "sasl.jaas.config has an extension that OAUTHBEARER cannot carry", id="invalid-sasl-extension"
            )
    return found


def _status(challenge: bytes) -> str:
    try:
        status = json.loads(challenge)["status"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "the server gives no reason that can be read"
    return str(status)[:100]
