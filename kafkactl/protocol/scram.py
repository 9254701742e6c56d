"""SCRAM: the mechanisms of Kafka, and keys made of passwords (RFC 5802)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kafkactl.core.frozen import frozen


@frozen
class ScramMechanism:
    """A mechanism: Kafka's name and number for it, its hash, and the least iterations Kafka allows."""

    name: str
    type: int
    hash: str
    min_iterations: int = 4096


MECHANISMS: Mapping[str, ScramMechanism] = MappingProxyType(
    {
        "SCRAM-SHA-256": ScramMechanism(name="SCRAM-SHA-256", type=1, hash="sha256"),
        "SCRAM-SHA-512": ScramMechanism(name="SCRAM-SHA-512", type=2, hash="sha512"),
    }
)
# Names by Kafka's number (`admin/ScramMechanism.java`).
MECHANISM_NAMES: Mapping[int, str] = MappingProxyType({found.type: name for name, found in MECHANISMS.items()})


def salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Compute `Hi` of RFC 5802: PBKDF2 with one block, over the password's UTF-8 bytes."""
    import hashlib  # with OpenSSL behind it: a format without users need not load that

    return hashlib.pbkdf2_hmac(mechanism.hash, password.encode("utf-8", "replace"), salt, iterations)


def stored_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    """Return the hash of the client key, by which a server checks a client's proof."""
    import hashlib
    import hmac

    return hashlib.new(mechanism.hash, hmac.digest(salted, b"Client Key", mechanism.hash)).digest()


def server_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    """Return the key with which a server signs."""
    import hmac

    return hmac.digest(salted, b"Server Key", mechanism.hash)
