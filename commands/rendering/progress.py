"""A bar on stderr for work that takes longer than a second: done of all, rate, time left. On a terminal only.

It is drawn when there is news and removed when the work ends, before anything else is written. Rich is imported
after a second has passed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kafkactl.commands.framework.settings import current_settings
from kafkactl.core.progress import heard_by
from kafkactl.core.wording import size_text

if TYPE_CHECKING:
    from rich.progress import Progress

BYTES: Final = "bytes"
FIRST_S: Final = 1.0
EACH_S: Final = 0.1
_BAR_COLUMNS: Final = 30


@contextmanager
def shown_progress(what: str, unit: str = BYTES, *, writes: bool = False) -> Iterator[None]:
    """Show the progress of the work in the body, if it reports any (`kafkactl.core.progress`).

    `what` is the work in a few words, `unit` what its amounts are of. `writes`: the body itself writes to stdout, so
    that a bar could stand between its lines. Nothing is drawn with `--quiet`, where stderr is not a terminal, and where
    the answer on a terminal is one for programs.
    """
    if not _is_wanted(writes=writes):
        yield
        return
    bar = _Bar(what, unit)
    try:
        with heard_by(bar):
            yield
    finally:
        bar.wipe()


def _is_wanted(*, writes: bool) -> bool:
    settings = current_settings()
    if settings.quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return False
    return not sys.stdout.isatty() or (settings.output == "table" and not writes)


def progress_text(done: int, total: int, elapsed_s: float, unit: str = BYTES) -> str:
    """Return the progress, the rate, and the remaining time. The time is omitted if the total is unknown.

    >>> progress_text(100_000_000, 400_000_000, 2.0)
    '100.0 MB of 400.0 MB, 50.0 MB/s, 0:06 left'
    """
    text_of = size_text if unit == BYTES else _plain
    rate = done / elapsed_s if elapsed_s > 0 else 0.0
    noun = "" if unit == BYTES else f" {unit}"
    is_known = done <= total and total > 0
    of_all = f"{text_of(done)} of {text_of(total)}{noun}" if is_known else f"{text_of(done)}{noun}"
    left = f", {_clock((total - done) / rate)} left" if is_known and rate > 0 else ""
    return f"{of_all}, {text_of(round(rate))}/s{left}"


def _plain(count: int) -> str:
    return f"{count:,}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class _Bar:
    """Listener that draws the progress at most ten times a second."""

    def __init__(self, what: str, unit: str) -> None:
        self._what = what
        self._unit = unit
        self._began_s = time.monotonic()
        self._next_s = self._began_s + FIRST_S
        self._done = self._total = 0
        self._drawn: Progress | None = None

    def expect(self, amount: int) -> None:
        self._total += amount

    def advance(self, amount: int) -> None:
        self._done += amount
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + EACH_S
            self._draw(now_s - self._began_s)

    def wipe(self) -> None:
        """Take it away."""
        if self._drawn is not None:
            self._drawn.stop()
            self._drawn = None

    def _draw(self, elapsed_s: float) -> None:
        if self._drawn is None:
            self._drawn = _started(self._what)
        is_known = 0 < self._done <= self._total
        self._drawn.update(
            self._drawn.task_ids[0],
            total=self._total if is_known else None,
            completed=self._done,
            figures=progress_text(self._done, self._total, elapsed_s, self._unit),
            refresh=True,
        )


def _started(what: str) -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn

    from kafkactl.commands.rendering import terminal

    drawn = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=_BAR_COLUMNS),
        TextColumn("{task.fields[figures]}", markup=False),
        console=terminal.console_for(sys.stderr, color=current_settings().colors(sys.stderr)),
        auto_refresh=False,  # no thread: what is drawn is what was heard last
        transient=True,
        redirect_stdout=False,
    )
    drawn.add_task(what, total=None, figures="")
    drawn.start()
    return drawn
