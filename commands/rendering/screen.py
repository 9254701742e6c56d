"""A page that is drawn more briefly until it fits the screen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering.page import Page, Word, grouped

_LINES_OF_WARNINGS = 5


def fit_screen(page: Page, draw: Callable[[Page, int], None], *, briefest: int) -> None:
    """Draw the page as briefly as it takes to fit the terminal; 0 is everything, `briefest` the shortest.

    Everything is drawn if there is no terminal, and with -v.
    """
    if current_settings().verbose or not sys.stdout.isatty():
        draw(page, 0)
        return
    from kafkactl.commands.rendering import terminal

    console = terminal.console_for(sys.stdout, color=False)
    for brevity in range(briefest + 1):
        drawn = Page()
        draw(drawn, brevity)
        if terminal.height(drawn, console) < console.height:  # a line is left for the prompt
            break
    page.blocks += drawn.blocks


def brief_findings(page: Page, findings: Iterable[Any], *, whole: int) -> None:
    """Show the first `whole` blockers as they are, each other finding in one line; no blocker is left out."""
    every = grouped(finding if isinstance(finding, Mapping) else finding.to_dict() for finding in findings)
    blockers = [finding for finding in every if finding["severity"] == "blocker"]
    others = sorted((found for found in every if found["severity"] != "blocker"), key=_is_information)
    page.findings([*blockers[:whole], *map(_brief, [*blockers[whole:], *others[:_LINES_OF_WARNINGS]])])
    left = len(others) - _LINES_OF_WARNINGS
    if left > 0:
        page.line(Word(f"and {left} more, none a blocker; -v shows all", "dim"))


def _is_information(finding: Mapping[str, Any]) -> bool:
    return bool(finding["severity"] == "info")


def _brief(finding: Mapping[str, Any]) -> dict[str, Any]:
    return {**finding, "message": "", "next_step": ""}
