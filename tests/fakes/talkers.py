"""Servers that say what they are given, over real sockets: an authorization server and a ZooKeeper."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from abc import ABC, abstractmethod

_STAT = bytes(68)
_SESSION_MS = 18_000


class Talker(ABC):
    """Server whose connections are served by `serve`, each in a thread of its own; a context manager."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Talker:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._quietly, args=(connection,), daemon=True).start()

    def _quietly(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            self.serve(connection)

    @abstractmethod
    def serve(self, connection: socket.socket) -> None:
        """Serve one client."""


class HttpTalker(Talker):
    """Answers each request with the same bytes."""

    answer = b""

    def serve(self, connection: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request and (more := connection.recv(65_536)):
            request += more
        connection.sendall(self.answer)


class ZooKeeperTalker(Talker):
    """ZooKeeper that gives a session and, from a request on, `answer` with the request's number for `#ID#`."""

    answer = b""
    from_request = 3
    is_framed = True

    def serve(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as stream:
            count = 0
            while len(head := stream.read(4)) == 4:
                body = stream.read(*struct.unpack(">i", head))
                count += 1
                if count >= self.from_request:
                    answer = self.answer.replace(b"#ID#", body[:4])
                elif count == 1:
                    answer = struct.pack(">iiqi16s?", 0, _SESSION_MS, 77, 16, bytes(16), False)
                else:
                    answer = body[:4] + struct.pack(">qi", 5, 0) + _STAT
                framed = struct.pack(">i", len(answer)) + answer if self.is_framed else answer
                connection.sendall(framed)
                if not self.is_framed:
                    return


def names(*found: str) -> bytes:
    """Return the answer of ZooKeeper to getChildren2."""
    texts = b"".join(struct.pack(">i", len(text)) + text.encode() for text in found)
    return b"#ID#" + struct.pack(">qii", 5, 0, len(found)) + texts + _STAT


def data(found: bytes) -> bytes:
    """Return the answer of ZooKeeper to getData."""
    return b"#ID#" + struct.pack(">qii", 5, 0, len(found)) + found + _STAT
