"""SASL PLAIN (RFC 4616): user and password as they are, so only TLS keeps them from others on the wire."""

from __future__ import annotations

from kafkactl.protocol.sasl.mechanism import exchange_broken


class Plain:
    """An exchange of a single message; the identity to act as is left to the server."""

    def __init__(self, username: str, password: str) -> None:
        # Half a character (\\ud800 in a properties file) becomes a question mark, as in Java.
        self._message = f"\0{username}\0{password}".encode("utf-8", "replace")

    def first(self) -> bytes:
        """Return the message with user and password."""
        return self._message

    def answer(self, challenge: bytes) -> bytes | None:
        """Check that the server sends no further challenge."""
        if challenge:
            raise exchange_broken("PLAIN", "the server asks for more than there is to say")
        return None
