"""A page on a screen: rich wraps what is longer than the terminal is wide. Imported only where there is a screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TextIO

from kafkactl.commands.glyphs import RICH, TONE_OF_SEVERITY, glyph
from kafkactl.commands.page import Block, Fields, Findings, Heading, Lines, Page, Table, Word

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text


def show(page: Page, stream: TextIO, *, color: bool) -> None:
    """Write the page to a terminal, blocks set apart by an empty line."""
    console = console_for(stream, color=color)
    for position, block in enumerate(page.blocks):
        if position:
            console.print()
        for renderable in _block(block):
            console.print(renderable)


def console_for(stream: TextIO, *, color: bool) -> Console:
    """A rich console that adds nothing of its own: no markup, no emoji, no highlighting."""
    from rich.console import Console

    system: Literal["auto"] | None = "auto" if color else None
    return Console(
        file=stream, markup=False, emoji=False, highlight=False, color_system=system, force_terminal=color or None
    )


def _block(block: Block) -> list[RenderableType]:
    match block:
        case Heading(text):
            return [_text(text)]
        case Lines(lines):
            return [_text(line) for line in lines]
        case Fields(rows):
            return [_grid([(Word(name, "dim"), value) for name, value in rows])]
        case Table(columns, rows):
            return [_table(columns, rows)]
        case Findings(findings):
            return [line for finding in findings for line in _finding(finding)]


def _text(word: Word) -> Text:
    from rich.text import Text

    return Text(word.text, style=RICH.get(word.tone, ""), overflow="fold")


def _grid(rows: list[tuple[Word, Word]]) -> RenderableType:
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(_text(name), _text(value))
    return grid


def _table(columns: tuple[str, ...], rows: tuple[tuple[Word, ...], ...]) -> RenderableType:
    from rich.table import Table as RichTable

    table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in columns:
        table.add_column(title.upper(), overflow="fold")
    for row in rows:
        table.add_row(*(_text(cell) for cell in row))
    return table


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
        step = _grid([(Word(glyph("next"), "dim"), Word(finding["next_step"]))])
        body.append(Padding(step, (0, 0, 0, 4)))
    return body
