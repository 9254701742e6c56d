"""Protocol of one connection without its socket: requests to bytes, bytes to responses.

Rule: a server answers the requests of a connection in their order, so a response must carry the correlation id of
the oldest request that is still open; its size is checked before anything is kept for it, and it must be exactly one
message of the version that was asked in. Whatever breaks this law ends the conversation: nothing that comes later on
the same connection can be trusted, and every further call says so.

Wire: size (int32), header, body. Nothing here reads a clock or a socket.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.codec import Message
from kafkactl.protocol.headers import correlation_id_of, decode_response, encode_request
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import MessageSpec

SIZE_BYTES = 4
CORRELATION_BYTES = 4
# What is answered to everybody, before a login: the largest is a list of API keys.
_BEFORE_LOGIN = frozenset({"ApiVersions", "SaslHandshake", "SaslAuthenticate"})
MAX_RESPONSE_BYTES_BEFORE_LOGIN = 1024 * 1024
# The largest answers are the metadata of all topics, about 60 bytes a partition, and pieces of 8 MiB of a log. What is
# made of an answer may take 8 times as much.
MAX_RESPONSE_BYTES = 48 * 1024 * 1024
_MAX_CORRELATION_ID = 0x7FFFFFFF


@frozen
class Response:
    """An answer. `version` is the one it was written in (see `headers.decode_response`)."""

    name: str
    version: int
    correlation_id: int
    body: Message


@frozen
class _Open:
    spec: MessageSpec
    name: str
    version: int
    correlation_id: int


class Framing:
    """The client's side of one connection.

    `peer` is named in errors. Use one a connection, and throw it away with it.
    """

    def __init__(
        self, *, client_id: str | None, peer: str | None = None, max_response_bytes: int = MAX_RESPONSE_BYTES
    ) -> None:
        self._client_id = client_id
        self._peer = peer
        self._max_response_bytes = max_response_bytes
        self._open: deque[_Open] = deque()
        self._next_correlation_id = 0
        self._received = bytearray()
        self._broken: DecodeError | None = None

    @property
    def broken(self) -> DecodeError | None:
        """Return the reason why the conversation cannot continue; None while it can."""
        return self._broken

    @property
    def has_part_of_response(self) -> bool:
        """Return True if some bytes of a response have come, but not all."""
        return bool(self._received)

    def send(self, name: str, version: int, body: Mapping[str, Any]) -> bytes:
        """Return the bytes of a request; `name` is that of the definitions without `Request` (`DescribeCluster`).

        Raises EncodeError, and SchemaError `unknown-definition`; the conversation then continues as if not called.
        """
        self._check_sound()
        asked = message(f"{name}Request")
        correlation_id = self._next_correlation_id
        content = encode_request(asked, version, body, correlation_id=correlation_id, client_id=self._client_id)
        answer = message(f"{name}Response")
        self._open.append(_Open(spec=answer, name=name, version=version, correlation_id=correlation_id))
        self._next_correlation_id = (correlation_id + 1) & _MAX_CORRELATION_ID
        return len(content).to_bytes(SIZE_BYTES, "big") + content

    def receive(self, data: bytes) -> list[Response]:
        """Return the responses that are complete with these bytes, oldest first.

        Raises DecodeError `invalid-response-size`, `response-too-large`, `unexpected-response`,
        `correlation-id-mismatch`, `trailing-bytes` and the codec's; the same again when called once more. Good
        responses before the bad bytes are not lost: they are returned, and the next call raises.
        """
        self._check_sound()
        self._received += data
        responses = []
        try:
            while (frame := self._take_frame()) is not None:
                responses.append(self._read(frame))
        except DecodeError as error:
            self._broken = error
            if not responses:
                raise
        return responses

    def _check_sound(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _take_frame(self) -> bytes | None:
        """Return the next whole frame without its size; None while there is none.

        A size is judged as soon as it is there.
        """
        if len(self._received) < SIZE_BYTES:
            return None
        size = int.from_bytes(self._received[:SIZE_BYTES], "big", signed=True)
        self._check_size(size)
        end = SIZE_BYTES + size
        if len(self._received) < end:
            return None
        frame = bytes(self._received[SIZE_BYTES:end])
        del self._received[:end]
        return frame

    def _check_size(self, size: int) -> None:
        if size < CORRELATION_BYTES:
            raise self._error(f"a response of {size} bytes; {CORRELATION_BYTES} are the least", "invalid-response-size")
        most = self._max_response_bytes
        if not self._open or self._open[0].name in _BEFORE_LOGIN:
            most = min(most, MAX_RESPONSE_BYTES_BEFORE_LOGIN)
        if size > most:
            words = f"a response of {size} bytes, more than the {most} that are accepted"
            raise self._error(words, "response-too-large")

    def _read(self, frame: bytes) -> Response:
        if not self._open:
            raise self._error("a response, and no request is open", "unexpected-response")
        request = self._open[0]
        correlation_id = correlation_id_of(frame, peer=self._peer)
        if correlation_id != request.correlation_id:
            words = f"a response to request {correlation_id}, expected was {request.correlation_id} ({request.name})"
            raise self._error(words, "correlation-id-mismatch")
        version, body = decode_response(request.spec, request.version, frame, peer=self._peer)
        self._open.popleft()
        return Response(name=request.name, version=version, correlation_id=correlation_id, body=body)

    def _error(self, words: str, error_id: str) -> DecodeError:
        return DecodeError(words, id=error_id, offset=0, file=self._peer)
