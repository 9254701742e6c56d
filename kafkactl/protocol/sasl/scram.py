"""SASL SCRAM (RFC 5802, RFC 7677): both sides prove that they know the password, and neither sends it.

As in Kafka the password is taken by its UTF-8 bytes, without SASLprep (clients `ScramFormatter`); channel binding is
not used. The server's last message is checked: a server without the user's keys cannot make it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

from kafkactl.core.errors import UnreachableError
from kafkactl.protocol.sasl.mechanism import exchange_broken
from kafkactl.protocol.scram import MECHANISMS, salted_password, server_key, stored_key

# Kafka's own most is 16384; a server that asks for more than this is taken as an attack.
_MOST_ITERATIONS = 1_000_000
_SERVER_FIRST = re.compile(r"r=([^,]+),s=([A-Za-z0-9+/=]+),i=([0-9]{1,10})(?:,.*)?")
_HEADER = "n,,"  # no channel binding, no other identity


class Scram:
    """An exchange. `nonce` is random bytes; `by_token` says that user and password are a delegation token (KIP-48)."""

    def __init__(self, name: str, username: str, password: str, *, nonce: bytes, by_token: bool = False) -> None:
        self._mechanism = MECHANISMS[name]
        self._password = password
        self._nonce = base64.b64encode(nonce).decode("ascii").replace("=", "")
        user = username.replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={user},r={self._nonce}" + (",tokenauth=true" if by_token else "")
        self._expected_signature: bytes | None = None

    def first(self) -> bytes:
        """Return the message with user and nonce."""
        return (_HEADER + self._first_bare).encode("utf-8", "replace")

    def answer(self, challenge: bytes) -> bytes | None:
        """Return the proof after the server's first message; None after its last."""
        text = challenge.decode("utf-8", "replace")
        if self._expected_signature is None:
            return self._proof(text)
        self._check_last(text, self._expected_signature)
        return None

    def _proof(self, server_first: str) -> bytes:
        match = _SERVER_FIRST.fullmatch(server_first)
        if match is None:
            raise self._broken("the server's first message cannot be read")
        nonce, salt, iterations = match[1], self._decoded(match[2]), int(match[3])
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise self._broken("the server's nonce does not continue ours")
        if not self._mechanism.min_iterations <= iterations <= _MOST_ITERATIONS:
            raise self._broken(
                f"{iterations} iterations, expected were {self._mechanism.min_iterations} to {_MOST_ITERATIONS}"
            )
        salted = salted_password(self._mechanism, self._password, salt, iterations)
        without_proof = f"c={_encoded(_HEADER.encode())},r={nonce}"
        signed = ",".join((self._first_bare, server_first, without_proof)).encode("utf-8", "replace")
        self._expected_signature = hmac.digest(server_key(self._mechanism, salted), signed, self._mechanism.hash)
        return f"{without_proof},p={_encoded(self._client_proof(salted, signed))}".encode()

    def _client_proof(self, salted: bytes, signed: bytes) -> bytes:
        """Return the client key, hidden behind a signature that can be removed only with the stored key."""
        client_key = hmac.digest(salted, b"Client Key", self._mechanism.hash)
        assert hashlib.new(self._mechanism.hash, client_key).digest() == stored_key(self._mechanism, salted)
        signature = hmac.digest(stored_key(self._mechanism, salted), signed, self._mechanism.hash)
        return bytes(left ^ right for left, right in zip(client_key, signature, strict=True))

    def _check_last(self, server_last: str, expected: bytes) -> None:
        if server_last.startswith("e="):
            raise self._broken(f"the server says {server_last[2:60]}")
        given = server_last.removeprefix("v=").partition(",")[0]
        if not server_last.startswith("v=") or not hmac.compare_digest(self._decoded(given), expected):
            raise self._broken("the server cannot prove that it knows the user")

    def _decoded(self, text: str) -> bytes:
        try:
            return base64.b64decode(text, validate=True)
        except ValueError:  # binascii.Error, and what is not ASCII
            raise self._broken("a message of the server is not in base64") from None

    def _broken(self, words: str) -> UnreachableError:
        return exchange_broken(self._mechanism.name, words)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
