"""A page as plain text for pipes and files: nothing is cut, nothing is wrapped, and rich is not imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkactl.commands.rendering.glyphs import ANSI, TONE_OF_SEVERITY, glyph
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


def render(page: Page, *, color: bool) -> str:
    """Return the whole page, blocks set apart by an empty line."""
    blocks = ["\n".join(_block(block, color)) for block in page.blocks]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def paint(word: Word, *, color: bool, width: int = 0) -> str:
    """Return a word in its tone, padded to a width counted without the colour codes."""
    padding = " " * (width - len(word.text))
    code = ANSI.get(word.tone) if color else None
    return (f"\x1b[{code}m{word.text}\x1b[0m" if code and word.text else word.text) + padding


def _block(block: Block, color: bool) -> Iterator[str]:
    match block:
        case Heading(text):
            yield paint(text, color=color)
        case Lines(lines):
            yield from (paint(line, color=color) for line in lines)
        case Fields(rows):
            width = max(len(name) for name, _ in rows)
            for name, value in rows:
                yield f"{paint(Word(name, 'dim'), color=color, width=width)}  {paint(value, color=color)}"
        case Table(columns, rows):
            yield from _table([tuple(Word(title.upper(), "dim") for title in columns), *rows], color)
        case Groups(groups):
            yield from _groups(groups, color)
        case Findings(findings):
            for finding in findings:
                yield from _finding(dict(finding), color)


def _table(rows: Sequence[Sequence[Word]], color: bool) -> Iterator[str]:
    widths = natural_widths(rows)
    yield from (_row(row, widths, color) for row in rows)


def _groups(groups: Sequence[tuple[Word, Sequence[Sequence[Word]]]], color: bool) -> Iterator[str]:
    widths = natural_widths([row for _, rows in groups for row in rows])
    for title, rows in groups:
        yield paint(title, color=color)
        yield from (f"  {_row(row, widths, color)}" for row in rows)


def _row(row: Sequence[Word], widths: Sequence[int], color: bool) -> str:
    cells = [paint(cell, color=color, width=width) for cell, width in zip(row, widths, strict=True)]
    return "  ".join(cells).rstrip()


def _finding(finding: dict[str, str], color: bool) -> Iterator[str]:
    severity = finding["severity"]
    mark = paint(Word(f"{glyph(severity)} {severity}", TONE_OF_SEVERITY[severity]), color=color)
    name = paint(Word(finding["id"], "strong"), color=color)
    yield f"{mark}  {name}  {finding['subject']}"
    if finding["message"]:
        yield f"    {finding['message']}"
    if finding["next_step"]:
        yield f"    {glyph('next')} {finding['next_step']}"
