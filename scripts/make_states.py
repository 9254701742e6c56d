"""Writer of docs/migration-states.md and its drawing, from the table that finds a migration's state: `make docs`.

The drawing has the states of the procedure in a line, and the rows of the table from top to bottom with the reason why
each group of them stands where it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import wrap

from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Band, Row
from kafkactl.migration.steps.table import TABLE

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "migration-states.md"
PICTURE = ROOT / "docs" / "pictures" / "migration-states.svg"

GENERATED = (
    "<!-- Made by scripts/make_states.py from kafkactl/migration/steps/table.py; `make docs` writes it again. -->"
)
INTRODUCTION = """\
`kafkactl migrate` determines the state from what all nodes and ZooKeeper show together, never from its journal. The
rows below are tried from top to bottom, and the first one whose condition holds decides; `migrate status` prints its
text. Several rows may hold at once, so their order is part of the rule: what is final or broken comes before the
healthy state that it resembles. [The runbook](migration.md) says what to do in each state."""

WIDTH, LEFT, CHIP, LINE, LETTERS = 1100, 24, 284, 17, 108
MONO = "font-family='ui-monospace, SFMono-Regular, Menlo, monospace'"
PROSE = "font-family='system-ui, -apple-system, Segoe UI, sans-serif'"
PROCEDURE = ("#eef7ee", "#3d8b4f")
BROKEN = ("#fdecea", "#b3392f")
GREY = "#5b6068"
BLACK = "#1f2328"


def bands() -> Iterator[tuple[Band, list[tuple[int, Row]]]]:
    """Yield each heading of the table with its rows, numbered from 1 over the whole table."""
    starts = [index for index, entry in enumerate(TABLE) if isinstance(entry, Band)]
    number = 0
    for start, end in zip(starts, [*starts[1:], len(TABLE)], strict=True):
        rows = [row for row in TABLE[start:end] if isinstance(row, Row)]
        band = TABLE[start]
        assert isinstance(band, Band)
        yield band, list(enumerate(rows, start=number + 1))
        number += len(rows)


def page() -> str:
    """Return the page as Markdown."""
    parts = [
        f"{GENERATED}\n",
        "# How the state of a migration is determined\n",
        f"{INTRODUCTION}\n",
        "![The states of a migration, and the rows that decide](pictures/migration-states.svg)\n",
    ]
    for band, rows in bands():
        parts += [f"## {band.name}\n", f"Why here: {band.reason}.\n", "| row | state | holds where |", "|---|---|---|"]
        parts += [f"| {number} | `{row.state}` | {row.why} |" for number, row in rows]
        parts.append("")
    parts += ["## The states\n", "| state | meaning |", "|---|---|"]
    parts += [f"| `{state}` | {state.words} |" for state in State]
    return "\n".join([*parts, ""])


def picture() -> str:
    """Return the drawing as SVG text."""
    drawn, y = _ladder(152)
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {y}' width='{WIDTH}' height='{y}'"
            " role='img' aria-labelledby='title description'>",
            "<title id='title'>The states of a migration</title>",
            "<desc id='description'>The states of the procedure from left to right, and below them the rows by which"
            " the state is determined, from top to bottom: the first that holds decides.</desc>",
            f"<rect width='{WIDTH}' height='{y}' fill='#ffffff'/>",
            _text(LEFT, 34, "The states of a migration", size=18, weight=600),
            *_procedure(72),
            _text(LEFT, 128, "Which one is it? The first row that holds, from the top:", size=14, weight=600),
            *drawn,
            "</svg>",
            "",
        ]
    )


def _procedure(y: int) -> Iterator[str]:
    """Yield the states of the procedure in their order; those that no row decides for are known to a journal only."""
    states = [state for state in State if not state.is_broken]
    decided = {row.state for _, rows in bands() for _, row in rows}
    step = (WIDTH - 2 * LEFT) // len(states)
    for number, state in enumerate(states):
        x = LEFT + number * step
        dashes = "" if state in decided else " stroke-dasharray='4 3'"
        yield _box(x, y - 19, step - 22, PROCEDURE, dashes)
        yield _text(x + (step - 22) // 2, y - 1, state.value, size=13, weight=600, font=MONO, anchor="middle")
        if number:
            yield f"<path d='M{x - 18} {y - 6} H{x - 4} m-5 -4 l5 4 l-5 4' fill='none' stroke='#8a8f98'/>"
    yield _text(LEFT, y + 28, "dashed: a decision of the operator, which only the journal knows", size=12, fill=GREY)


def _ladder(y: int) -> tuple[list[str], int]:
    """Return the rows under their headings, and where they end."""
    drawn: list[str] = []
    for band, rows in bands():
        drawn.append(f"<path d='M{LEFT} {y} H{WIDTH - LEFT}' stroke='#d0d4da'/>")
        drawn.append(_text(LEFT, y + 22, band.name, size=14, weight=600))
        reason = _lines(f"Why here: {band.reason}.", CHIP + 2 * LEFT, y + 22, fill=GREY)
        drawn += reason
        y += 22 + LINE * len(reason)
        for number, row in rows:
            lines = _lines(row.why, CHIP + 2 * LEFT, y + 14)
            drawn.append(_text(LEFT, y + 14, str(number), size=12, fill=GREY))
            drawn.append(_box(LEFT + 26, y - 4, CHIP - 26, BROKEN if row.state.is_broken else PROCEDURE))
            drawn.append(_text(LEFT + 36, y + 14, row.state.value, size=12, weight=600, font=MONO))
            drawn += lines
            y += max(32, LINE * len(lines) + 10)
        y += 8
    return drawn, y + 12


def _box(x: int, y: int, width: int, colors: tuple[str, str], more: str = "") -> str:
    fill, line = colors
    return f"<rect x='{x}' y='{y}' width='{width}' height='26' rx='6' fill='{fill}' stroke='{line}'{more}/>"


def _lines(text: str, x: int, y: int, fill: str = BLACK) -> list[str]:
    lines = wrap(text, LETTERS)
    return [_text(x, y + LINE * number, line, size=13, fill=fill) for number, line in enumerate(lines)]


def _text(
    x: int, y: int, text: str, *, size: int, weight: int = 400, font: str = PROSE, fill: str = BLACK,
    anchor: str = "start",
) -> str:  # fmt: skip
    return (
        f"<text x='{x}' y='{y}' {font} font-size='{size}' font-weight='{weight}' fill='{fill}'"
        f" text-anchor='{anchor}'>{escape(text)}</text>"
    )


def main() -> None:
    """Write the page and the drawing."""
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
