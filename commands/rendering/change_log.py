"""Changes of an answer since a watch began: a frozen page would look alive, and a change that passed would be lost."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

from kafkactl.commands.rendering.page import Word
from kafkactl.core.errors import UnreachableError

if TYPE_CHECKING:
    from kafkactl.commands.rendering.page import Page

Seen = TypeVar("Seen")
_SHOWN = 8
_COLUMNS = 80
_CLOCK_WIDTH = 10


class ChangeLog(Generic[Seen]):
    """The last changes of a watched answer, each with its time. `compare` returns what changed between two answers."""

    def __init__(self, compare: Callable[[Seen, Seen], Iterable[str]]) -> None:
        self._compare = compare
        self._last: Seen | None = None
        self._lines: deque[tuple[int, str]] = deque(maxlen=_SHOWN)
        self.began_ms = _now_ms()

    def observing(self, observe: Callable[[], tuple[Seen, int]]) -> Callable[[], tuple[Seen, int]]:
        """Return the function with what it returns compared; a cluster that is not reached is a change, too."""

        def observed() -> tuple[Seen, int]:
            try:
                found, code = observe()
            except UnreachableError as error:
                if not self._lines or self._lines[-1][1] != error.message:
                    self._lines.append((_now_ms(), error.message))
                raise
            if self._last is not None:
                self._lines.extend((_now_ms(), line) for line in self._compare(self._last, found))
            self._last = found
            return found, code

        return observed

    def show_period(self, page: Page, period_ms: float) -> None:
        """Show the interval of the watch, its begin, and the key that ends it."""
        page.line(Word(f"every {period_ms / 1000:g} s since {clock(self.began_ms)}; Ctrl-C ends it", "dim"))

    def show_changes(self, page: Page, *, is_apart: bool = False, most: int | None = None) -> None:
        """Show the last changes, a line each, after an empty line if `is_apart`; nothing if nothing changed.

        `most` is the number of lines for which there is room: the last changes are shown then.
        """
        lines = self.lines(most=None if most is None else max(0, most - is_apart))
        if lines and is_apart:
            page.line()
        for line in lines:
            page.line(line)

    def lines(self, *, most: int | None = None) -> list[str]:
        """Return the lines of the last changes that together are not more than `most`."""
        width = min(_COLUMNS, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _COLUMNS
        found: list[str] = []
        for time_ms, text in reversed(self._lines):
            lines = textwrap.wrap(f"{clock(time_ms)}  {text}", width, subsequent_indent=" " * _CLOCK_WIDTH)
            if most is not None and len(found) + len(lines) > most:
                break
            found = [*lines, *found]
        return found


def clock(time_ms: int) -> str:
    """Return the time of day on this host."""
    return time.strftime("%H:%M:%S", time.localtime(time_ms / 1000))


def _now_ms() -> int:
    return int(time.time() * 1000)
