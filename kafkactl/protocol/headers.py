"""The header of every request and response, and in which version.

Rule: a flexible message has a flexible header (request header 2, response header 1), any other the one before it
(request header 1, response header 0). One exception: the header of an ApiVersions response is always version 0, so
that a client can read the answer of a server that does not know the version it asked in (KIP-511, KIP-482).
Source: `generator/.../ApiMessageTypeGenerator.java`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkactl.core.errors import DecodeError, EncodeError
from kafkactl.protocol.codec import Message, decode_message, encode_message
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import MessageSpec

API_VERSIONS = 18
UNSUPPORTED_VERSION = 35


def request_header_version(spec: MessageSpec, version: int) -> int:
    """Return the version of the header before a request of this version; 0 is only of a request no release here has."""
    return 2 if spec.is_flexible(version) else 1


def response_header_version(spec: MessageSpec, version: int) -> int:
    """Return the version of the header before a response of this version."""
    return 1 if spec.api_key != API_VERSIONS and spec.is_flexible(version) else 0


def encode_request(
    spec: MessageSpec, version: int, body: Mapping[str, Any], *, correlation_id: int, client_id: str | None
) -> bytes:
    """Encode header and body of a request, without the size that precedes them on the wire.

    Raises EncodeError `unsupported-message-version` for a version that the definition does not have, and whatever the
    codec finds wrong with `body`.
    """
    if version not in spec.valid_versions:
        words = f"{spec.name} has the versions {spec.valid_versions}, not {version}"
        raise EncodeError(words, id="unsupported-message-version")
    header = {
        "RequestApiKey": spec.api_key,
        "RequestApiVersion": version,
        "CorrelationId": correlation_id,
        "ClientId": client_id,
    }
    before = encode_message(message("RequestHeader"), request_header_version(spec, version), header)
    return before + encode_message(spec, version, body)


def correlation_id_of(frame: bytes, *, peer: str | None = None) -> int:
    """Return the correlation id with which every response begins, in either header version. Raises DecodeError."""
    header, _ = decode_message(message("ResponseHeader"), 0, frame, file=peer)
    return int(header["CorrelationId"])


def decode_response(spec: MessageSpec, version: int, frame: bytes, *, peer: str | None = None) -> tuple[int, Message]:
    """Return the body of a response, and the version it was written in.

    That is the request's version, but for an ApiVersions answer of UNSUPPORTED_VERSION, which is always written in
    version 0. `peer` is named in errors. Raises DecodeError; `trailing-bytes` if the response continues after its
    end, which would mean that the server took the request for one of another version.
    """
    header_version = response_header_version(spec, version)
    _, start = decode_message(message("ResponseHeader"), header_version, frame, file=peer)
    if spec.api_key == API_VERSIONS and _begins_with(frame, start, UNSUPPORTED_VERSION):
        version = 0
    body, end = decode_message(spec, version, frame, file=peer, offset=start)
    if end != len(frame):
        raise DecodeError(
            f"{len(frame) - end} bytes follow the {spec.name} of version {version}",
            id="trailing-bytes",
            offset=end,
            path=spec.name,
            file=peer,
        )
    return version, body


def _begins_with(frame: bytes, start: int, error_code: int) -> bool:
    return frame[start : start + 2] == error_code.to_bytes(2, "big")
