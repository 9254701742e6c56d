"""What a command shows for people, as blocks: headings, fields, tables, findings, lines.

A page knows nothing of terminals. `plain.py` writes it for pipes and files, `terminal.py` for a screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkactl.frozen import frozen


@frozen(kw_only=False)
class Word:
    """A piece of text with a tone: good, bad, warn, dim, strong or plain. Tone never carries meaning alone."""

    text: str
    tone: str = "plain"


Cell = str | int | Word | None


@frozen(kw_only=False)
class Heading:
    """A title over what follows."""

    text: Word


@frozen(kw_only=False)
class Lines:
    """Lines as they are."""

    lines: tuple[Word, ...]


@frozen(kw_only=False)
class Fields:
    """Names and values under each other."""

    rows: tuple[tuple[str, Word], ...]


@frozen(kw_only=False)
class Table:
    """Columns with a title each."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Word, ...], ...]


@frozen(kw_only=False)
class Groups:
    """Rows under titles: what belongs to one node, say. Columns line up over all groups."""

    groups: tuple[tuple[Word, tuple[tuple[Word, ...], ...]], ...]


@frozen(kw_only=False)
class Findings:
    """Findings in the one shape of cli.md 1."""

    findings: tuple[Mapping[str, Any], ...]


Block = Heading | Lines | Fields | Table | Groups | Findings


class Page:
    """Collects blocks in the order in which they are shown."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def heading(self, text: str, tone: str = "strong") -> None:
        """A title; `tone` says how it went (good, bad, warn)."""
        self.blocks.append(Heading(_word(Word(text, tone))))

    def line(self, text: str | Word = "") -> None:
        """One line as it is. Neighbouring lines stay together."""
        word = _word(text)
        if self.blocks and isinstance(self.blocks[-1], Lines):
            self.blocks[-1] = Lines((*self.blocks[-1].lines, word))
        else:
            self.blocks.append(Lines((word,)))

    def fields(self, rows: Iterable[tuple[str, Cell]]) -> None:
        """Names and values; a value of None is left out."""
        kept = tuple((name, _word(value)) for name, value in rows if value is not None)
        if kept:
            self.blocks.append(Fields(kept))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
        """A table; nothing is shown where there are no rows. None is shown as `-`."""
        kept = tuple(tuple(_word(cell) for cell in row) for row in rows)
        if kept:
            self.blocks.append(Table(tuple(columns), kept))

    def groups(self, groups: Iterable[tuple[str | Word, Iterable[Sequence[Cell]]]]) -> None:
        """Rows under titles, where a table would say the same words on every row and grow too wide."""
        kept = tuple(
            (_word(title), tuple(tuple(_word(cell) for cell in row) for row in rows)) for title, rows in groups
        )
        if kept:
            self.blocks.append(Groups(kept))

    def findings(self, findings: Iterable[Any]) -> None:
        """Findings, the heaviest first; each a `Finding` or its `to_dict()`."""
        dicts = [_readable(finding if isinstance(finding, Mapping) else finding.to_dict()) for finding in findings]
        if dicts:
            weight = {"blocker": 0, "warning": 1, "info": 2}
            self.blocks.append(Findings(tuple(sorted(dicts, key=lambda one: weight[one["severity"]]))))


# What a node or a file says may hold them; on a screen they would move the cursor, or worse. Tabs and line ends stay.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))}
# Bytes of a file name that are no text (PEP 383).
_CONTROLS |= {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(128, 256)}


def visible(text: str) -> str:
    """The text with control characters and bytes that are no text written out (`\\x1b`), for people to read."""
    return text if text.isprintable() else text.translate(_CONTROLS)


def natural_widths(rows: Iterable[Sequence[Word]]) -> list[int]:
    """The width that each column needs so that nothing is wrapped."""
    return [max(len(cell.text) for cell in column) for column in zip(*rows, strict=True)]


def _word(cell: Cell) -> Word:
    if isinstance(cell, Word):
        return cell if cell.text.isprintable() else Word(visible(cell.text), cell.tone)
    return Word("-", "dim") if cell is None else Word(visible(str(cell)))


def _readable(finding: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: visible(finding[name]) for name in ("subject", "message", "next_step")}
    return {**finding, **texts}
