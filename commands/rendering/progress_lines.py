"""Progress of a migration or a roll on stderr, and requests to its operator."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering import output

if TYPE_CHECKING:
    from kafkactl.change.clock import Clock
    from kafkactl.change.progress import Event

_AGAIN_ON_SCREEN_MS, _AGAIN_IN_LOG_MS = 10_000, 60_000
_TONES = {"state": "strong", "action": "strong", "done": "good", "failed": "bad", "wait": "dim", "ask": "warn"}


class ProgressLines:
    """Progress of a change by an inventory, on stderr: a line an event, with the time of day and that since the start.

    A wait is printed when it begins, and then what was observed last: every ten seconds on a terminal, every
    minute elsewhere, with `-v` at every observation.
    """

    def __init__(self, *, is_terminal: bool | None = None, clock: Clock | None = None) -> None:
        self._now_ms = _now_ms if clock is None else clock.now_ms
        self._began_ms = self._now_ms()
        on_screen = sys.stderr.isatty() if is_terminal is None else is_terminal
        self._again_ms = _AGAIN_ON_SCREEN_MS if on_screen else _AGAIN_IN_LOG_MS
        self._waits = ""
        self._since_ms = self._printed_ms = 0.0

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if event.kind == "wait":
            self._wait(event)
        else:
            self._waits = ""
            self.line(event.text, _TONES.get(event.kind, "plain"))

    def line(self, text: str, tone: str = "plain") -> None:
        """Write a line with its time."""
        since_s = int((self._now_ms() - self._began_ms) // 1000)
        output.say(f"{time.strftime('%H:%M:%S')} +{since_s // 60}:{since_s % 60:02}  {text}", tone)
        sys.stderr.flush()

    def by_hand(self, text: str) -> None:
        """Write a request to the operator; its commands are on lines of their own, to be pasted whole."""
        asked, *commands = text.split("\n")
        self.line(f"to do: {asked}", "warn")
        for command in commands:
            output.say(command, "warn")
        sys.stderr.flush()

    def _wait(self, event: Event) -> None:
        now_ms = self._now_ms()
        seen = f"; {event.seen}" if event.seen else ""
        if event.text != self._waits:
            self._waits, self._since_ms, self._printed_ms = event.text, now_ms, now_ms
            self.line(f"waiting for {event.text}{seen}", "dim")
        elif now_ms - self._printed_ms >= self._again_ms or current_settings().verbose:
            self._printed_ms = now_ms
            seen = f"; last observed: {event.seen}" if event.seen else ""
            short = event.text.partition(" (")[0]
            self.line(f"waiting since {(now_ms - self._since_ms) / 1000:.0f} s for {short}{seen}", "dim")


def _now_ms() -> float:
    return time.monotonic() * 1000
