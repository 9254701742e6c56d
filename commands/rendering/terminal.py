"""A page on a screen: rich wraps what is longer than the terminal is wide. Imported only where there is a screen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TextIO

from kafkactl.commands.rendering.glyphs import RICH, TONE_OF_SEVERITY, glyph
from kafkactl.commands.rendering.page import (
    Block,
    Fields,
    Findings,
    Groups,
    Heading,
    Lines,
    Page,
    Table,
    Word,
    natural_widths,
)

GAP = 2
_TRAILING_BLANKS = re.compile(r"(?<! ) +((?:\x1b\[0m)?)$", re.MULTILINE)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text


def show(page: Page, stream: TextIO, *, color: bool) -> None:
    """Write the page to a terminal, blocks set apart by an empty line."""
    console = console_for(stream, color=color)
    with console.capture() as capture:
        for position, block in enumerate(page.blocks):
            if position:
                console.print()
            for renderable in _block(block, console.width):
                console.print(renderable)
    # Rich fills cells with blanks up to the edge; copied lines should not have them.
    stream.write(_TRAILING_BLANKS.sub(r"\1", capture.get()))


def group(page: Page, width: int) -> RenderableType:
    """The page as one thing to draw, for a view that draws it again and again."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for position, block in enumerate(page.blocks):
        parts += [Text("")] if position else []
        parts += _block(block, width)
    return Group(*parts)


def cut(page: Page, console: Console) -> RenderableType:
    """The same with no more lines than the screen has; the last one says how many are left out."""
    from rich.segment import Segment, Segments
    from rich.text import Text

    whole = group(page, console.width)
    lines = console.render_lines(whole, pad=False)
    left = len(lines) - (console.height - 1)
    if left <= 1:
        return whole
    more = Text(f"{glyph('more')} {left} more lines: without --watch all are shown", style=RICH["dim"])
    kept = [*lines[: console.height - 1], *console.render_lines(more, pad=False)]
    return Segments([segment for line in kept for segment in (*line, Segment.line())][:-1])


def console_for(stream: TextIO, *, color: bool) -> Console:
    """A rich console that adds nothing of its own: no markup, no emoji, no highlighting."""
    from rich.console import Console

    system: Literal["auto"] | None = "auto" if color else None
    return Console(
        file=stream, markup=False, emoji=False, highlight=False, color_system=system, force_terminal=color or None
    )


def _block(block: Block, width: int) -> list[RenderableType]:
    match block:
        case Heading(text):
            return [_text(text)]
        case Lines(lines):
            return [_text(line) for line in lines]
        case Fields(rows):
            return [_grid([(Word(name, "dim"), value) for name, value in rows])]
        case Table(columns, rows):
            titles = tuple(Word(title.upper(), "dim") for title in columns)
            return [_columns([titles, *rows], width)]
        case Groups(groups):
            return _groups(groups, width)
        case Findings(findings):
            return [line for finding in findings for line in _finding(finding)]


def _text(word: Word) -> Text:
    from rich.text import Text

    return Text(word.text, style=RICH.get(word.tone, ""), overflow="fold")


def _grid(rows: list[tuple[Word, Word]], *, gap: int = GAP) -> RenderableType:
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, gap, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(_text(name), _text(value))
    return grid


def _groups(groups: Sequence[tuple[Word, Sequence[Sequence[Word]]]], width: int) -> list[RenderableType]:
    from rich.padding import Padding

    natural = natural_widths([row for _, rows in groups for row in rows])
    shown: list[RenderableType] = []
    for title, rows in groups:
        shown.append(_text(title))
        shown.append(Padding(_columns(rows, width - 2, natural), (0, 0, 0, 2)))
    return shown


def _columns(rows: Sequence[Sequence[Word]], width: int, natural: list[int] | None = None) -> RenderableType:
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, GAP, 0, 0))
    needed = natural or natural_widths(rows)
    for needs in fitted(needed, width - GAP * (len(needed) - 1)):
        grid.add_column(width=needs, overflow="fold")
    for row in rows:
        grid.add_row(*(_text(cell) for cell in row))
    return grid


def fitted(widths: Sequence[int], available: int) -> list[int]:
    """Widths that fit: the widest columns give way first, all to the same measure, and no column vanishes."""
    cap = max(widths, default=0)
    while cap > 1 and sum(min(width, cap) for width in widths) > available:
        cap -= 1
    return [min(width, cap) for width in widths]


def _finding(finding: Mapping[str, Any]) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    severity = finding["severity"]
    head = Text.assemble(
        (f"{glyph(severity)} {severity}", RICH[TONE_OF_SEVERITY[severity]]),
        "  ",
        (finding["id"], "bold"),
        "  ",
        finding["subject"],
    )
    body: list[RenderableType] = [head, Padding(Text(finding["message"]), (0, 0, 0, 4))]
    if finding["next_step"]:
        step = _grid([(Word(glyph("next"), "dim"), Word(finding["next_step"]))], gap=1)
        body.append(Padding(step, (0, 0, 0, 4)))
    return body
