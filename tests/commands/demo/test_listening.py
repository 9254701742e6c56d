"""Something that listens leaves no socket open at its end."""

from __future__ import annotations

import socket
import threading

from kafkactl.commands.demo.listening import Listening


class _Late:
    """A listener whose next connection is accepted as the block ends, as on a busy machine."""

    def __init__(self, listener: socket.socket, connection: socket.socket) -> None:
        self._listener, self._connection = listener, connection
        self._is_closed = threading.Event()

    def accept(self) -> tuple[socket.socket, None]:
        self._is_closed.wait(60)
        return self._connection, None

    def shutdown(self, _how: int) -> None:
        self._listener.close()

    def close(self) -> None:
        self._is_closed.set()


def test_connection_that_is_accepted_at_the_end_of_the_block_is_closed() -> None:
    here, there = socket.socketpair()
    welcomed: list[socket.socket] = []
    listening = Listening()
    listening._listener = _Late(listening._listener, there)  # type: ignore[assignment]
    listening._sockets[:] = [listening._listener]
    listening._welcome = welcomed.append  # type: ignore[method-assign]
    with listening:
        assert there.fileno() >= 0
    with here:
        assert here.recv(1) == b""
    assert (there.fileno(), welcomed) == (-1, [])
