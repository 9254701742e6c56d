"""The finalized feature levels that a running node reports in its answer to ApiVersions (version 3)."""

from __future__ import annotations

import socket
import struct
import time

from kafkactl.protocol.codec import decode_message, encode_message
from kafkactl.protocol.schema.definitions import request, response

_API_VERSIONS, _VERSION, _CORRELATION_ID = 18, 3, 7


def finalized_features(host: str, port: int) -> dict[str, int]:
    """Return feature name -> level of the cluster, as this node knows it."""
    body = encode_message(request(_API_VERSIONS), _VERSION, {"ClientSoftwareName": "lab", "ClientSoftwareVersion": "1"})
    # Request header 2: api key, version, correlation id, client id, no tags. The answer has response header 0.
    frame = struct.pack(">hhihB", _API_VERSIONS, _VERSION, _CORRELATION_ID, -1, 0) + body
    with socket.create_connection((host, port), timeout=30) as connection:
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        stream = connection.makefile("rb")
        (size,) = struct.unpack(">i", stream.read(4))
        answer = stream.read(size)
    found, _ = decode_message(response(_API_VERSIONS), _VERSION, answer, offset=4)
    return {
        finalizedfeature["Name"]: finalizedfeature["MaxVersionLevel"] for finalizedfeature in found["FinalizedFeatures"]
    }


def wait_for_features(host: str, port: int, wanted: dict[str, int], timeout_s: float = 180) -> dict[str, int]:
    """Return the same, once it is what is wanted, or what it is when the time is up.

    A node answers a moment before it has the metadata, 3.9 with metadata.version 1 until then.
    """
    deadline = time.monotonic() + timeout_s
    while (found := finalized_features(host, port)) != wanted and time.monotonic() < deadline:
        time.sleep(0.1)
    return found
