"""Changes of an answer since a watch began: a frozen page would look alive, and a change that passed would be lost."""

from __future__ import annotations

import textwrap
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
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

    def show_changes(self, page: Page, *, is_apart: bool = False) -> None:
        """Show the last changes, a line each, after an empty line if `is_apart`; nothing if nothing changed."""
        if self._lines and is_apart:
            page.line()
        for line in self._wrapped():
            page.line(line)

    def _wrapped(self) -> Iterator[str]:
        for time_ms, text in self._lines:
            yield from textwrap.wrap(f"{clock(time_ms)}  {text}", _COLUMNS, subsequent_indent=" " * _CLOCK_WIDTH)


def clock(time_ms: int) -> str:
    """Return the time of day on this host."""
    return time.strftime("%H:%M:%S", time.localtime(time_ms / 1000))


def _now_ms() -> int:
    return int(time.time() * 1000)
