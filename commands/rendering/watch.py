"""A view that lives: drawn again and again on a terminal, one JSON object a line anywhere else.

For a command that looks at intervals (`watch`), and for one that has news now and then (`live_view`). Rich is
imported only if there is a screen to draw on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.deadline import stop_clock
from kafkactl.commands.framework.settings import PROMETHEUS, Settings, current_settings
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.output import Answer, Given
from kafkactl.commands.rendering.page import Page
from kafkactl.core.errors import UnreachableError

if TYPE_CHECKING:
    from rich.console import Console


class View(Protocol):
    """View that shows a changing state. `unread`: its reader has gone (`| head`)."""

    unread: bool

    def show(self, payload: Answer | Mapping[str, Any]) -> None:
        """Show the present state; replace the former one if that is possible."""
        ...

    def failed(self, message: str) -> None:
        """Show why there is no new state. The former one stays visible."""
        ...


def watch(
    kind: str,
    observe: Callable[[], tuple[Given, int]],
    *,
    render: Callable[[Page, Given], None],
    interval_ms: int,
) -> NoReturn:
    """Observe, show and wait in a loop, which ends the command.

    `observe` gives the answer, as `emit` takes it, and its exit code. The first one may raise; later a cluster that
    cannot be reached is reported, and observed again. Ctrl-C ends it with 130; a --timeout that was given ends it
    with the code of the last answer. Without one it continues until it is interrupted, whatever the default is.
    """
    if current_settings().output == PROMETHEUS:
        raise click.UsageError(f"--watch excludes -o {PROMETHEUS}: run the command at intervals.")
    ends_at = _end()
    stop_clock()
    try:
        with live_view(kind, render) as view:
            payload, code = observe()
            view.show(payload)
            while not view.unread and (wait_s := min(interval_ms / 1000, ends_at - time.monotonic())) > 0:
                time.sleep(wait_s)
                if time.monotonic() >= ends_at:
                    break
                try:
                    payload, code = observe()
                except UnreachableError as error:
                    view.failed(error.message)
                    code = error.exit_code
                else:
                    view.show(payload)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(exit_codes.INTERRUPTED) from None
    raise click.exceptions.Exit(code)


@contextmanager
def live_view(kind: str, render: Callable[[Page, Given], None]) -> Iterator[View]:
    """Yield a view for the length of the block; the last content stays on the terminal afterwards."""
    settings = current_settings()
    if settings.output != "table" or not sys.stdout.isatty():
        yield _Lines(kind, settings)
        return
    screen = _Screen(kind, render, settings)
    with screen.drawing():
        yield screen


def _end() -> float:
    """Return the monotonic time in s at which a given --timeout ends; infinite without one."""
    ctx = click.get_current_context()
    source = ctx.get_parameter_source("timeout_ms")
    if source in (None, click.core.ParameterSource.DEFAULT):
        return float("inf")
    return time.monotonic() + current_settings().timeout_ms / 1000


class _Lines:
    """An object a line; `-o yaml` writes documents."""

    def __init__(self, kind: str, settings: Settings) -> None:
        self.unread = False
        self._kind = kind
        self._format = "yaml" if settings.output == "yaml" else "jsonl"

    def show(self, payload: Answer | Mapping[str, Any]) -> None:
        text = output.serialised(output.json_answer(self._kind, payload), self._format)
        if not self.unread:
            self.unread = not output.write_data(text)

    def failed(self, message: str) -> None:
        output.say(message, "warn")


class _Screen:
    """A page that is drawn over itself."""

    def __init__(self, kind: str, render: Callable[[Page, Any], None], settings: Settings) -> None:
        from kafkactl.commands.rendering import terminal

        self.unread = False
        self._kind = kind
        self._render = render
        self._color = settings.colors(sys.stdout)
        self._console: Console = terminal.console_for(sys.stdout, color=self._color)
        self._page = Page()
        self._live: Any = None

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Draw while the block lasts, then leave the last page behind, whole."""
        from rich.live import Live

        from kafkactl.commands.rendering import terminal

        try:
            # With stdout in rich's hands it would be unknown whether it takes UTF-8; nothing is printed meanwhile.
            with Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                vertical_overflow="crop",
            ) as self._live:
                yield
        finally:
            if self._page.blocks:
                terminal.show(self._page, sys.stdout, color=self._color)
                sys.stdout.flush()

    def show(self, payload: Answer | Mapping[str, Any]) -> None:
        self._page = output.drawn(self._kind, payload, self._render)
        self._draw(self._page)

    def failed(self, message: str) -> None:
        page = Page()
        page.blocks += self._page.blocks
        page.heading(message, tone="warn")
        self._draw(page)

    def _draw(self, page: Page) -> None:
        from kafkactl.commands.rendering import terminal

        self._live.update(terminal.cut(page, self._console), refresh=True)
