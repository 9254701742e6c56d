"""Draws the layers (docs/pictures/layers.svg, a table in docs/architecture.md) from the contracts in setup.cfg.

`make docs` runs it. Each line of a contract is a layer; a package may import those below it. The text of a package is
the first line of its docstring.
"""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Sequence
from html import escape
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "layers.svg"
PAGE = ROOT / "docs" / "architecture.md"
_TABLE = re.compile(r"(?s)(?<=\| package \| its sub-packages, top to bottom \|\n\|---\|---\|\n).*?(?=\n\n)")

WIDTH, HEIGHT, GAP, LEFT, TOP = 880, 46, 8, 64, 74
THIN, CLOSE = 30, 2  # a layer of more than two packages is a list of thin rows, so that each has room for its purpose
ABREAST = 2
FONT = "font-family='ui-monospace, SFMono-Regular, Menlo, monospace'"
PROSE = "font-family='system-ui, -apple-system, Segoe UI, sans-serif'"
FACE = ("#eef4fb", "#3b6ea5")
WORLD = ("#fdf1e3", "#c0741a")
PURE = ("#eef7ee", "#3d8b4f")
EDGES = ("files", "jobs", "kafka", "net", "spark")


def picture() -> str:
    """Return the drawing as SVG text."""
    layers = package_layers()
    tops = list(accumulate((_layer_height(packages) + GAP for packages in layers), initial=TOP))
    drawn = [_layer(packages, y) for packages, y in zip(layers, tops, strict=False)]
    bottom = tops[-1] - GAP
    height = bottom + GAP + 40
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' height='{height}'"
            " role='img' aria-labelledby='title description'>",
            "<title id='title'>The layers of kafkactl</title>",
            f"<desc id='description'>From top to bottom: {escape(', '.join(' and '.join(layer) for layer in layers))}."
            " A package imports only packages below it.</desc>",
            f"<rect width='{WIDTH}' height='{height}' fill='#ffffff'/>",
            _legend(),
            f"<path d='M{LEFT - 24} {TOP} V{bottom}' stroke='#8a8f98' stroke-width='1.5'/>",
            f"<path d='M{LEFT - 29} {bottom - 9} L{LEFT - 24} {bottom} L{LEFT - 19} {bottom - 9}' fill='none'"
            " stroke='#8a8f98' stroke-width='1.5'/>",
            f"<text x='0' y='0' {PROSE} font-size='12' fill='#5b6068' text-anchor='middle' "
            f"transform='translate({LEFT - 34} {(TOP + bottom) // 2}) rotate(-90)'>"
            "imports only what is below</text>",
            *drawn,
            f"<text x='{LEFT}' y='{height - 16}' {PROSE} font-size='12' fill='#5b6068'>"
            "schemas/ holds data only: definitions, release tables, explanations. Read through core.data_files.</text>",
            "</svg>",
            "",
        ]
    )


def page() -> str:
    """Return the page with the table of sub-packages that the contracts give."""
    rows = "\n".join(f"| `{package}` | {_below(layers)} |" for package, layers in sorted(_inner_layers().items()))
    return _TABLE.sub(lambda _: rows, PAGE.read_text(encoding="utf-8"), count=1)


def _below(layers: list[list[str]]) -> str:
    return ", ".join(" and ".join(f"`{name}`" for name in names) for names in layers)


def _inner_layers() -> dict[str, list[list[str]]]:
    """Return the layers of each package that has a contract of its own, top first."""
    plan = configparser.ConfigParser()
    plan.read(ROOT / "setup.cfg", encoding="utf-8")
    contracts = [
        section for section in plan.values() if "containers" in section and "(" not in section.get("layers", "(")
    ]
    return {
        container.removeprefix("kafkactl."): [
            [name.strip() for name in line.split("|")] for line in section["layers"].strip().splitlines()
        ]
        for section in contracts
        for container in section["containers"].split()
    }


def package_layers() -> list[list[str]]:
    """Return the layers of the contract, top first, each a list of packages; without the number of the version."""
    plan = configparser.ConfigParser()
    plan.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = plan["importlinter:contract:layers"]["layers"].strip().splitlines()
    layers = [[name.strip().removeprefix("kafkactl.") for name in line.split("|")] for line in lines]
    return [layer for layer in layers if not layer[0].startswith("_")]


def _legend() -> str:
    said = (("parses and shows", FACE), ("touches the world", WORLD), ("pure but for io and api", PURE))
    parts = [
        f"<text x='{LEFT}' y='34' {PROSE} font-size='18' font-weight='600' fill='#1f2328'>The layers of kafkactl</text>"
    ]
    x = LEFT
    for words, (fill, line) in said:
        parts.append(f"<rect x='{x}' y='48' width='12' height='12' rx='3' fill='{fill}' stroke='{line}'/>")
        parts.append(f"<text x='{x + 18}' y='58' {PROSE} font-size='12' fill='#5b6068'>{words}</text>")
        x += 40 + 7 * len(words)
    return "\n".join(parts)


def _layer_height(packages: Sequence[str]) -> int:
    return HEIGHT if len(packages) <= ABREAST else len(packages) * (THIN + CLOSE) - CLOSE


def _layer(packages: Sequence[str], y: int) -> str:
    room = WIDTH - LEFT - 24
    if len(packages) > ABREAST:
        return "\n".join(
            _package(name, LEFT, y + number * (THIN + CLOSE), room, THIN) for number, name in enumerate(packages)
        )
    width = (room - GAP * (len(packages) - 1)) // len(packages)
    return "\n".join(
        _package(name, LEFT + number * (width + GAP), y, width, HEIGHT) for number, name in enumerate(packages)
    )


def _package(name: str, x: int, y: int, width: int, height: int) -> str:
    fill, line = {"commands": FACE, **dict.fromkeys(EDGES, WORLD)}.get(name, PURE)
    offset = 132 if width > WIDTH // 2 else 100
    purpose = _purpose(name, most=(width - offset) // 7)
    base = y + height // 2 + 5
    return (
        f"<rect x='{x}' y='{y}' width='{width}' height='{height}' rx='8' fill='{fill}' stroke='{line}'/>\n"
        f"<text x='{x + 16}' y='{base}' {FONT} font-size='15' font-weight='600' fill='#1f2328'>{name}</text>\n"
        f"<text x='{x + offset}' y='{base}' {PROSE} font-size='13' fill='#3c4149'>{escape(purpose)}</text>"
    )


def _purpose(name: str, *, most: int) -> str:
    """Return the first line of the package's docstring without its full stop, cut at a comma or colon if it is too
    long."""
    folder = ROOT / ("commands" if name == "commands" else f"kafkactl/{name}")
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    text = said.splitlines()[0].rstrip(".")
    while len(text) > most and any(mark in text for mark in ",:;("):
        text = text[: max(text.rfind(mark) for mark in ",:;(")].rstrip()
    return text


def main() -> None:
    """Write the picture and the table."""
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
