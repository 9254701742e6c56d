"""A way over TCP on this machine on which everything takes its time: what goes in comes out later, in its order."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from types import TracebackType
from typing import Self

from tests.lab.harness.ports import HOST


class SlowWay:
    """A proxy to one address, `to`. `delay_s` may be changed at any time, and counts for what comes from then on."""

    def __init__(self, *, delay_s: float = 0.0) -> None:
        self.to = (HOST, 0)
        self.delay_s = delay_s
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()

    @property
    def connect(self) -> str:
        """Return its address."""
        return f"{HOST}:{self.port}"

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                inner, _ = self._listener.accept()
                try:
                    outer = socket.create_connection(self.to, timeout=10)
                except OSError:
                    inner.close()
                    continue
                outer.settimeout(None)
                for source, other in ((inner, outer), (outer, inner)):
                    threading.Thread(target=self._carry, args=(source, other), daemon=True).start()

    def _carry(self, source: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                time.sleep(self.delay_s)
                other.sendall(data)
        for end in (source, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
