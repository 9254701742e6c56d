"""A network that fails on request: a proxy that knows frames, between a client and a node, real or scripted.

Each fault strikes one request with a given api key, by default the first; everything else passes unchanged.
Several proxies may share one `FaultPlan`: then a cluster behind them has one network, in which one thing goes wrong.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import dataclass
from enum import Enum

from kafkactl.commands.demo.listening import Listening, exactly
from kafkactl.net.transport import Address


class Fault(Enum):
    """Disturbance of a request or its answer, and whether the node still gets the request."""

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
    DELAYED = "the request arrives late, and so does its answer, in time"
    AGAIN = "the request arrives a second time, over another connection"

    @property
    def delivers(self) -> bool:
        """Return True if the node sees the request."""
        return self not in (Fault.CUT_BEFORE, Fault.NEVER_ARRIVES)

    @property
    def arrivals(self) -> int:
        """Return how often the node sees the request."""
        return 2 if self is Fault.AGAIN else int(self.delivers)

    @property
    def answers(self) -> bool:
        """Return True if a client that waits gets its answer all the same."""
        return self in (Fault.TWICE, Fault.DRIPS, Fault.DELAYED, Fault.AGAIN)


class FaultPlan:
    """Plan of what goes wrong next, and record of what has passed: api keys in the order in which requests came."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._armed: tuple[Fault, int] | None = None
        self._spared = 0
        self.struck = 0
        self.passed: list[int] = []

    def arm(self, fault: Fault, api_key: int, *, spare: int = 0) -> None:
        """Arm a fault for the next request with that key, after so many were spared."""
        with self._lock:
            self._armed, self._spared = (fault, api_key), spare

    def disarm(self) -> None:
        """Disarm the fault."""
        with self._lock:
            self._armed = None

    def fault_of(self, request: bytes) -> Fault | None:
        """Return what is to happen to this request, asked once for each."""
        api_key = int.from_bytes(request[4:6], "big")
        with self._lock:
            self.passed.append(api_key)
            if self._armed is None or self._armed[1] != api_key:
                return None
            if self._spared:
                self._spared -= 1
                return None
            fault, self._armed = self._armed[0], None
            self.struck += 1
            return fault


@dataclass(slots=True)
class _Pair:
    client: socket.socket
    node: socket.socket


class FaultyProxy(Listening):
    """Proxy that listens during the block. `arm` sets the next fault; `struck` counts the faults that happened.

    `late_s` is after how many seconds a late answer comes, longer than the client waits for one.
    """

    def __init__(self, node: Address, plan: FaultPlan | None = None) -> None:
        super().__init__()
        self._node = node
        self.plan = plan or FaultPlan()
        self.late_s = 1.0

    @property
    def struck(self) -> int:
        """Return how many faults there were."""
        return self.plan.struck

    def arm(self, fault: Fault, api_key: int) -> None:
        """Arm a fault for the next request with that key."""
        self.plan.arm(fault, api_key)

    def _welcome(self, connection: socket.socket) -> None:
        node = socket.create_connection((self._node.host, self._node.port))
        self._keep(node)
        self._spawn(self._carry, _Pair(connection, node))

    def _carry(self, pair: _Pair) -> None:
        with contextlib.suppress(OSError, EOFError), pair.client, pair.node:
            while self._carry_one(pair):
                pass

    def _carry_one(self, pair: _Pair) -> bool:
        """Carry one request and its answer; return True if the conversation goes on."""
        request = _frame(pair.client)
        fault = self.plan.fault_of(request)
        if fault is None or fault.delivers:
            if fault is Fault.DELAYED:
                self.ended.wait(0.15)
            if fault is Fault.AGAIN:
                self._send_apart(request)
            pair.node.sendall(request)
            answer = _frame(pair.node)
            if fault is None:
                pair.client.sendall(answer)
                return True
            return self._spoil(pair.client, answer, fault)
        if fault is Fault.NEVER_ARRIVES:
            self.ended.wait(30)
        return False

    def _send_apart(self, request: bytes) -> None:
        """Send the request over a separate connection and discard its answer."""
        with socket.create_connection((self._node.host, self._node.port)) as apart:
            apart.sendall(request)
            _frame(apart)

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
            self.ended.wait(30)
        elif fault is Fault.LATE:
            self.ended.wait(self.late_s)
            client.sendall(answer)
            return True
        elif fault in (Fault.DELAYED, Fault.AGAIN):
            client.sendall(answer)
            return True
        elif fault is Fault.RESET:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        return False


def _frame(connection: socket.socket) -> bytes:
    size = exactly(connection, 4)
    return size + exactly(connection, int.from_bytes(size, "big"))
