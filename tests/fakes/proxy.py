"""A network that fails on request: a proxy that knows frames, between a client and a node, real or scripted.

Each fault strikes the first request with a given api key; everything else passes untouched.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Self

from kafkactl.adapters.transport import Address


class Fault(Enum):
    """What happens to a request or its answer, and whether the node still gets the request."""

    CUT_BEFORE = "the request is lost and the connection with it"
    CUT_AFTER = "the request arrives, the connection ends before the answer"
    CUT_IN_ANSWER = "half of the answer comes, then the end"
    SILENCE = "the request arrives, and nothing ever comes back"
    NEVER_ARRIVES = "the request is swallowed, and the connection stays open"
    GARBAGE = "something else comes in the place of the answer"
    TWICE = "the answer comes twice"
    LATE = "the answer comes, later than the client waits"
    DRIPS = "the answer comes byte by byte"
    RESET = "the request arrives, and the connection is reset"

    @property
    def delivers(self) -> bool:
        """Whether the node sees the request."""
        return self not in (Fault.CUT_BEFORE, Fault.NEVER_ARRIVES)

    @property
    def answers(self) -> bool:
        """Whether a client that waits gets its answer all the same."""
        return self in (Fault.TWICE, Fault.DRIPS)


@dataclass(slots=True)
class _Pair:
    client: socket.socket
    node: socket.socket


class FaultyProxy:
    """Listens while the block lasts. `arm` sets the next fault; `struck` says how often one has happened."""

    def __init__(self, node: Address) -> None:
        self._node = node
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []
        self._ended = threading.Event()
        self._armed: tuple[Fault, int] | None = None
        self.struck = 0

    @property
    def address(self) -> Address:
        host, port = self._listener.getsockname()
        return Address(host, port)

    def arm(self, fault: Fault, api_key: int) -> None:
        """The next request with that key meets this fault."""
        self._armed = fault, api_key

    def __enter__(self) -> Self:
        self._spawn(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join(5)

    def _spawn(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                node = socket.create_connection((self._node.host, self._node.port))
            except OSError:
                return
            self._sockets += [client, node]
            self._spawn(self._carry, _Pair(client, node))

    def _carry(self, pair: _Pair) -> None:
        with contextlib.suppress(OSError, EOFError), pair.client, pair.node:
            while self._carry_one(pair):
                pass

    def _carry_one(self, pair: _Pair) -> bool:
        """One request and its answer; whether the conversation goes on."""
        request = _frame(pair.client)
        fault = self._fault_of(request)
        if fault is None or fault.delivers:
            pair.node.sendall(request)
            answer = _frame(pair.node)
            if fault is None:
                pair.client.sendall(answer)
                return True
            return self._spoil(pair.client, answer, fault)
        if fault is Fault.NEVER_ARRIVES:
            self._ended.wait(30)
        return False

    def _fault_of(self, request: bytes) -> Fault | None:
        if self._armed is None or int.from_bytes(request[4:6], "big") != self._armed[1]:
            return None
        fault, self._armed = self._armed[0], None
        self.struck += 1
        return fault

    def _spoil(self, client: socket.socket, answer: bytes, fault: Fault) -> bool:
        if fault is Fault.CUT_IN_ANSWER:
            client.sendall(answer[: max(1, len(answer) // 2)])
        elif fault is Fault.GARBAGE:
            client.sendall(b"\0\0\0\x20" + b"\xa5" * 32)
            return True
        elif fault is Fault.TWICE:
            client.sendall(answer + answer)
            return True
        elif fault is Fault.DRIPS:
            for at in range(len(answer)):
                client.sendall(answer[at : at + 1])
            return True
        elif fault is Fault.SILENCE:
            self._ended.wait(30)
        elif fault is Fault.LATE:
            self._ended.wait(1.0)
            client.sendall(answer)
            return True
        elif fault is Fault.RESET:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        return False


def _frame(connection: socket.socket) -> bytes:
    size = _exactly(connection, 4)
    return size + _exactly(connection, int.from_bytes(size, "big"))


def _exactly(connection: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count:
        chunk = connection.recv(count - len(read))
        if not chunk:
            raise EOFError
        read += chunk
    return read
