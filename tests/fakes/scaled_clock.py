"""Time that runs faster than it is: for waits that a test with real sockets need not sit out."""

from __future__ import annotations

import time


class ScaledClock:
    """A `Clock` on which `factor` seconds pass in one."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def now_ms(self) -> float:
        return time.monotonic() * 1000 * self._factor

    def sleep_ms(self, duration_ms: float) -> None:
        if duration_ms > 0:
            time.sleep(duration_ms / 1000 / self._factor)
