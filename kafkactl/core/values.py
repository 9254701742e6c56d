"""Small values that every package uses: uuids, endpoints, replica keys, release numbers."""

from __future__ import annotations

import base64
import binascii
from enum import StrEnum
from typing import Final, Literal

from kafkactl.core.answers import by_fields
from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen

EVERY_ADDRESS: Final = frozenset({"", "0.0.0.0", "::", "0:0:0:0:0:0:0:0"})
"""Hosts of a listener that is open at every address of its machine; no other node reaches anything at them."""

_BASE64URL_SIGNS = str.maketrans("-_", "aa")


@frozen(kw_only=False, order=True)
class Uuid:
    """Kafka's Uuid: 16 bytes, printed as 22 characters of URL-safe base64 without padding.

    Source: clients `org.apache.kafka.common.Uuid`; reserved directory ids: `DirectoryId`.
    """

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != 16:
            raise ValueError(f"a uuid has 16 bytes, not {len(self.raw)}")

    # A million partitions are looked up by the ids of their topics: as short as can be.
    def __hash__(self) -> int:
        return hash(self.raw)

    def __eq__(self, other: object) -> bool:
        return other.__class__ is Uuid and self.raw == other.raw

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(self.raw).rstrip(b"=").decode("ascii")

    to_json = __str__

    @classmethod
    def parse(cls, text: str) -> Uuid:
        """Read a uuid as Kafka does: at most 24 characters that decode to 16 bytes, padding allowed.

        Bits after the 128th are ignored, so a text need not be canonical (`str(Uuid.parse(t)) != t`).
        Raises InputError `invalid-uuid`.
        """
        raw = _decode_base64url(text) if len(text) <= 24 else None
        if raw is None or len(raw) != 16:
            raise InputError(
                f"{text!r} is not a uuid: expected 22 characters of URL-safe base64 (16 bytes)", id="invalid-uuid"
            )
        return cls(raw)

    from_json = parse

    @property
    def is_reserved(self) -> bool:
        """Return True for ids that Kafka reserves: high half zero, low half below 100 as a signed number."""
        low = int.from_bytes(self.raw[8:], "big", signed=True)
        return self.raw[:8] == bytes(8) and low < 100


ZERO_UUID = Uuid(bytes(16))
METADATA_TOPIC_ID = Uuid(bytes(15) + b"\x01")  # of __cluster_metadata, in every cluster (Uuid.METADATA_TOPIC_ID)


def _decode_base64url(text: str) -> bytes | None:
    unpadded = text.rstrip("=")
    letters = unpadded.translate(_BASE64URL_SIGNS)
    if len(text) - len(unpadded) > 2 or (letters and not (letters.isascii() and letters.isalnum())):
        return None
    if len(text) != len(unpadded) and len(text) % 4:
        return None
    try:
        return base64.urlsafe_b64decode(unpadded + "=" * (-len(unpadded) % 4))
    except (binascii.Error, ValueError):
        return None


class Role(StrEnum):
    """Role of a node for its clients; a combined node has both."""

    BROKER = "broker"
    CONTROLLER = "controller"

    @property
    def word(self) -> Literal["broker", "controller"]:
        """Return the role as written in `process.roles`."""
        return "broker" if self is Role.BROKER else "controller"

    @property
    def endpoint_type(self) -> int:
        """Return the role as DescribeCluster numbers it (KIP-919)."""
        return 1 if self is Role.BROKER else 2

    @property
    def option(self) -> str:
        """Return the option that names nodes of this role."""
        return "--bootstrap-server" if self is Role.BROKER else "--bootstrap-controller"


@frozen
class Endpoint:
    """A named listener and where it answers.

    All answers show endpoints in this form (docs/reference/kinds.md).
    """

    listener: str
    host: str
    port: int

    def __str__(self) -> str:
        """Return `CONTROLLER://host:9093`, as kafka-metadata-quorum prints; without a listener that has no name."""
        address = host_port(self.host, self.port)
        return f"{self.listener}://{address}" if self.listener else address

    to_dict = by_fields


def host_port(host: str, port: int) -> str:
    """Return `host:9093` as settings and addresses are written: numbers of IPv6 in brackets.

    >>> host_port("::1", 9093)
    '[::1]:9093'
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@frozen(order=True)
class ReplicaKey:
    """A voter's identity: node id and the directory id of its metadata log (KIP-853)."""

    node_id: int
    directory_id: Uuid
