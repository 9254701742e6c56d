"""Something that listens on loopback while a block lasts: its threads, its sockets, and their end."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from kafkactl.net.transport import Address


class Listening:
    """Listener for connections; each goes to `_welcome`, in the thread that accepts."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = [self._listener]
        self._sockets_lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self.ended = threading.Event()

    @property
    def address(self) -> Address:
        """Return the listening address: 127.0.0.1 and a free port."""
        host, port = self._listener.getsockname()
        return Address(host, port)

    def __enter__(self) -> Self:
        self._spawn(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._sockets_lock:
            self.ended.set()
        for item in self._sockets:
            with contextlib.suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
            item.close()
        for thread in self._threads:
            thread.join(60)

    def _welcome(self, connection: socket.socket) -> None:
        """Handle a connection; overridden by subclasses."""
        connection.close()

    def _keep(self, connection: socket.socket) -> None:
        """Leave a socket to the end of the block. Close it and raise OSError if that has come."""
        with self._sockets_lock:
            if not self.ended.is_set():
                self._sockets.append(connection)
                return
        connection.close()
        raise OSError("the block has ended")

    def _spawn(self, work: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
                self._keep(connection)
                self._welcome(connection)
            except OSError:
                return


def exactly(connection: socket.socket, count: int) -> bytes:
    """Read the next `count` bytes of a connection. Raise EOFError if it ends before them, OSError if it fails."""
    read = b""
    while len(read) < count:
        chunk = connection.recv(count - len(read))
        if not chunk:
            raise EOFError
        read += chunk
    return read
