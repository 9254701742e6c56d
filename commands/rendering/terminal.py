"""A page on a screen: rich wraps what is longer than the terminal is wide. Imported only if there is a screen."""

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
_PIECE = re.compile(r"[^\s/,]*(?:/+|,)|[^\s/,]+")  # of a text that may be broken after a blank, `/` and `,`
# Piece for which a column has room: an address such as PLAINTEXT://host:9092 is one.
_WORD = re.compile(rf"[^\s/,]+://[^\s/,]*|{_PIECE.pattern}")
_STACK_INDENT = 4
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
    """Return the page as one thing to draw, for a view that draws it again and again."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for position, block in enumerate(page.blocks):
        parts += [Text("")] if position else []
        parts += _block(block, width)
    return Group(*parts)


def cut(page: Page, console: Console) -> RenderableType:
    """Return the page cut to the height of the screen; the last line contains the number of omitted lines."""
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


def height(page: Page, console: Console) -> int:
    """Return the number of lines of a page on this console."""
    return len(console.render_lines(group(page, console.width), pad=False))


def console_for(stream: TextIO, *, color: bool) -> Console:
    """Return a rich console that adds nothing of its own: no markup, no emoji, no highlighting."""
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


def _grid(rows: Sequence[tuple[Word, Word | Text]], *, gap: int = GAP) -> RenderableType:
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, gap, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(_text(name), _text(value) if isinstance(value, Word) else value)
    return grid


def _groups(groups: Sequence[tuple[Word, Sequence[Sequence[Word]]]], width: int) -> list[RenderableType]:
    from rich.padding import Padding

    widths = _widths([row for _, rows in groups for row in rows], width - 2)
    shown: list[RenderableType] = []
    for title, rows in groups:
        shown.append(_text(title))
        shown.append(Padding(_columns(rows, width - 2, widths), (0, 0, 0, 2)))
    return shown


def _columns(rows: Sequence[Sequence[Word]], width: int, widths: list[int] | None = None) -> RenderableType:
    """Return a table; columns that would break a word of it are lines of their own, below each row."""
    if widths is None and (stacked := _stacked_columns(rows, width)):
        return _stacked(rows, width, stacked)
    return _row_grid(rows, widths or _widths(rows, width))


def _stacked_columns(rows: Sequence[Sequence[Word]], width: int) -> frozenset[int]:
    """Return the columns without which the others fit with whole words: those with the longest words."""
    least = dict(enumerate(_least_widths(rows)))
    while len(least) > 1 and sum(least.values()) + GAP * (len(least) - 1) > width:
        del least[max(least, key=lambda at: (least[at], at))]
    return frozenset(range(len(rows[0]))) - least.keys()


def _stacked(rows: Sequence[Sequence[Word]], width: int, stacked: frozenset[int]) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding

    kept = [[cell for at, cell in enumerate(row) if at not in stacked] for row in rows]
    widths = _widths(kept, width)
    parts: list[RenderableType] = []
    for row, others in zip(rows, kept, strict=True):
        parts.append(_row_grid([others], widths))
        for at in sorted(stacked):
            text = broken(row[at].text, width - _STACK_INDENT)
            if text != "-":
                parts.append(Padding(_text(Word(text, row[at].tone)), (0, 0, 0, _STACK_INDENT)))
    return Group(*parts)


def _row_grid(rows: Sequence[Sequence[Word]], widths: Sequence[int]) -> RenderableType:
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, GAP, 0, 0))
    for chosen in widths:
        grid.add_column(width=chosen, overflow="fold")
    for row in rows:
        grid.add_row(*(_text(Word(broken(cell.text, to), cell.tone)) for cell, to in zip(row, widths, strict=True)))
    return grid


def _widths(rows: Sequence[Sequence[Word]], width: int) -> list[int]:
    """Return the width of each column in a table that is at most `width` wide."""
    needed = natural_widths(rows)
    available = width - GAP * (len(needed) - 1)
    return needed if sum(needed) <= available else fitted(needed, _least_widths(rows), available)


def _least_widths(rows: Sequence[Sequence[Word]]) -> list[int]:
    """Return the width that each column needs so that no number, name or id is broken."""
    return [
        max((len(piece) for cell in column for piece in _WORD.findall(cell.text)), default=1)
        for column in zip(*rows, strict=True)
    ]


def fitted(widths: Sequence[int], least: Sequence[int], available: int) -> list[int]:
    """Return widths that fit. The widest columns give way first, at first only those that stay wider than `least`."""
    chosen = list(widths)
    for floor in (least, [1] * len(chosen)):
        while sum(chosen) > available:
            wider = [at for at, width in enumerate(chosen) if width > floor[at]]
            if not wider:
                break
            widest = max(chosen[at] for at in wider)
            chosen[max(at for at in wider if chosen[at] == widest)] -= 1
    return chosen


def broken(text: str, width: int) -> str:
    """Return the text with line breaks after `/` and `,` in each word that is wider than the column."""
    return " ".join(word if len(word) <= width else "\n".join(_lines_of(word, width)) for word in text.split(" "))


def _lines_of(word: str, width: int) -> list[str]:
    lines = [""]
    for piece in _PIECE.findall(word):
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append("")
        lines[-1] += piece
    return lines


def _finding(finding: Mapping[str, Any]) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    severity = finding["severity"]
    mark = Word(f"{glyph(severity)} {severity}", TONE_OF_SEVERITY[severity])
    head = _grid([(mark, Text.assemble((finding["id"], "bold"), "  ", finding["subject"], overflow="fold"))])
    body: list[RenderableType] = [head]
    if finding["message"]:
        body.append(Padding(Text(finding["message"]), (0, 0, 0, 4)))
    if finding["next_step"]:
        step = _grid([(Word(glyph("next"), "dim"), Word(finding["next_step"]))], gap=1)
        body.append(Padding(step, (0, 0, 0, 4)))
    return body
