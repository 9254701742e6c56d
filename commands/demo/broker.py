"""A scripted broker: a real socket on loopback that answers as a test says, well or badly.

It reads requests with the codecs of the product (which real Kafka checks elsewhere) and writes headers by hand.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafkactl.commands.demo.listening import Listening, exactly
from kafkactl.protocol.codec import decode_message, encode_message
from kafkactl.protocol.headers import request_header_version
from kafkactl.protocol.schema.definitions import message, request, response

KNOWN = (1, 3, 17, 18, 32, 36, 44, 55, 57, 59, 60, 64, 80, 81)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request that came."""

    name: str
    version: int
    correlation_id: int
    client_id: str | None
    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer; `version`, `correlation_id` and `tail` make it a wrong one."""

    body: Mapping[str, Any] = field(default_factory=dict)
    version: int | None = None
    correlation_id: int | None = None
    tail: bytes = b""
    cut: int | None = None  # send only that many bytes, then hang up


@dataclass(frozen=True, slots=True)
class Raw:
    """Answer of raw bytes."""

    data: bytes


CLOSE, SILENCE = "close", "silence"
Action = Reply | Raw | str
Script = Callable[[Asked], Action | None]


class FakeBroker(Listening):
    """Fake broker that listens during the block. A script that returns None leaves a request to the usual answers."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        versions: Mapping[int, tuple[int, int]] | None = None,
        greeting: Action | None = None,
        tls: ssl.SSLContext | None = None,
        supported: Mapping[str, tuple[int, int]] | None = None,
        finalized: Mapping[str, int] | None = None,
        epoch: int = -1,
    ) -> None:
        super().__init__()
        self.script = script or (lambda _: None)
        self.ranges = {key: (request(key).valid_versions.lowest, request(key).valid_versions.highest) for key in KNOWN}
        self.ranges |= versions or {}
        self.greeting = greeting
        self.tls = tls
        self.supported = supported or {}
        self.finalized = finalized or {}
        self.finalized_epoch = epoch  # -1 while a node has loaded no metadata
        self.asked: list[Asked] = []
        self.connections = 0

    def names(self) -> list[str]:
        """Return the requests so far, but for ApiVersions."""
        return [item.name for item in self.asked if item.name != "ApiVersions"]

    def hang_up(self) -> None:
        """Close every connection, but go on listening."""
        for item in self._sockets[1:]:
            with contextlib.suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)

    def _welcome(self, connection: socket.socket) -> None:
        self.connections += 1
        self._spawn(self._serve, connection)

    def _serve(self, plain: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            connection = plain
            if self.tls is not None:
                connection = self.tls.wrap_socket(plain, server_side=True)
                self._keep(connection)
            try:
                self._converse(connection)
            finally:
                connection.close()

    def _converse(self, connection: socket.socket) -> None:
        if self.greeting is not None and not self._act(connection, self.greeting, None):
            return
        while True:
            asked = read_request(connection)
            self.asked.append(asked)
            action = self.script(asked)
            if action is None:
                action = self._usual(asked)
            if not self._act(connection, action, asked):
                return

    def _act(self, connection: socket.socket, action: Action, asked: Asked | None) -> bool:
        """Return True if the conversation goes on."""
        if isinstance(action, Raw):
            connection.sendall(action.data)
            return True
        if isinstance(action, Reply):
            assert asked is not None
            connection.sendall(written(asked, action)[: action.cut])
            return action.cut is None
        if action == SILENCE:
            self.ended.wait(30)
        return False

    def _usual(self, asked: Asked) -> Action:
        if asked.name != "ApiVersions":
            return Reply()
        low, high = self.ranges[18]
        if not low <= asked.version <= high:
            keys = [{"ApiKey": 18, "MinVersion": low, "MaxVersion": high}]
            return Reply(body={"ErrorCode": 35, "ApiKeys": keys}, version=0)
        return Reply(body=self.self_description(asked.version))

    def self_description(self, version: int) -> dict[str, Any]:
        """Return the body of a well-behaved ApiVersions answer."""
        keys = [{"ApiKey": key, "MinVersion": low, "MaxVersion": high} for key, (low, high) in self.ranges.items()]
        if version < 3:
            return {"ApiKeys": keys}
        supported = [
            {"Name": name, "MinVersion": low, "MaxVersion": high} for name, (low, high) in self.supported.items()
        ]
        finalized = [
            {"Name": name, "MinVersionLevel": level, "MaxVersionLevel": level} for name, level in self.finalized.items()
        ]
        return {
            "ApiKeys": keys,
            "SupportedFeatures": supported,
            "FinalizedFeatures": finalized,
            "FinalizedFeaturesEpoch": self.finalized_epoch,
        }


def read_request(connection: socket.socket) -> Asked:
    """Return the next request of a connection; EOFError at its end."""
    size = int.from_bytes(exactly(connection, 4), "big")
    frame = exactly(connection, size)
    key, version = struct.unpack(">hh", frame[:4])
    spec = request(key)
    header, start = decode_message(message("RequestHeader"), request_header_version(spec, version), frame)
    name = spec.name.removesuffix("Request")
    body: dict[str, Any] = {}
    if version in spec.valid_versions:
        body, end = decode_message(spec, version, frame, offset=start)
        assert end == len(frame), f"{len(frame) - end} bytes behind {name}"
    return Asked(
        name=name,
        version=version,
        correlation_id=header["CorrelationId"],
        client_id=header["ClientId"],
        body=body,
    )


def written(asked: Asked, reply: Reply) -> bytes:
    """Return a reply as it goes over the wire."""
    version = asked.version if reply.version is None else reply.version
    correlation_id = asked.correlation_id if reply.correlation_id is None else reply.correlation_id
    spec = response(message(f"{asked.name}Request").api_key or 0)
    tags = b"\0" if spec.is_flexible(version) and asked.name != "ApiVersions" else b""
    content = struct.pack(">i", correlation_id) + tags + encode_message(spec, version, reply.body) + reply.tail
    return struct.pack(">i", len(content)) + content
