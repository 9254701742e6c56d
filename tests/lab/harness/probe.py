"""Probe of a server on the wire, without the client under test: whether it is there and answers."""

from __future__ import annotations

import socket
import struct

from kafkactl.commands.demo.listening import exactly

_API_VERSIONS = 18
_CORRELATION_ID = 0x1AB
# UNSUPPORTED_VERSION comes in the same, oldest, form of the answer: a server that says it is up.
_ANSWERS = (0, 35)


def answers_api_versions(host: str, port: int, timeout_s: float = 1.0) -> bool:
    """Return True if a Kafka node answers ApiVersions, version 0, on a plaintext listener."""
    request = struct.pack(">hhih", _API_VERSIONS, 0, _CORRELATION_ID, -1)
    try:
        with socket.create_connection((host, port), timeout=timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(struct.pack(">i", len(request)) + request)
            correlation_id, error_code = struct.unpack(">ih", exactly(connection, 10)[4:])
    except (OSError, EOFError):
        return False
    return correlation_id == _CORRELATION_ID and error_code in _ANSWERS


def zookeeper_srvr(host: str, port: int, timeout_s: float = 1.0) -> str:
    """Return what a ZooKeeper server says to ``srvr``; empty if it does not answer."""
    try:
        with socket.create_connection((host, port), timeout=timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(b"srvr")
            said = b""
            while chunk := connection.recv(4096):
                said += chunk
    except OSError:
        return ""
    return said.decode(errors="replace")
