"""The system's steady clock, which never goes back, for code that waits and has deadlines.

The clock is an argument everywhere, so that tests of retries and time-outs need not wait.
"""

from __future__ import annotations

import time


class SystemClock:
    """The real one."""

    def now_ms(self) -> float:
        """Return the time since the machine started."""
        return time.monotonic() * 1000

    def sleep_ms(self, duration_ms: float) -> None:
        """Sleep; nothing for a duration that is not positive."""
        if duration_ms > 0:
            time.sleep(duration_ms / 1000)
