"""Line numbers of keys in a TOML document, which TOML parsers do not report.

The text has been read by a parser already, so only what separates statements is looked at: strings, comments, brackets
and line ends. A key within an inline table has the line on which its statement begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[str | int, ...]
_STRING = r"\"\"\"(?:\\.|[^\\])*?\"{3,5}|'''.*?'{3,5}|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'"
_BETWEEN = re.compile(r"(?:[\s]+|#[^\n]*)+")
_NAME = re.compile(r"[ \t]*(?:([\w-]+)|(\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'))[ \t]*(\.?)")
# Of a value: strings and comments in one piece, so that no bracket or line end within them counts.
_PART = re.compile(
    rf"(?P<whole>{_STRING}|#[^\n]*)|(?P<open>[\[{{])|(?P<close>[\]}}])|(?P<end>\n)|[^\"'#\[\]{{}}\n]+|.", re.S
)


def key_lines(text: str) -> dict[Path, int]:
    """Return the line, from 1, of every key and table: `("nodes", 0, "id")` is the id of the first [[nodes]]."""
    lines: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    line, counted = 1, 0
    for start, names, kind in _statements(text):
        line, counted = line + text.count("\n", counted, start), start
        if kind == "[[":
            path = (*_placed(names[:-1], counts), names[-1])
            counts[path] = counts.get(path, -1) + 1
            table = (*path, counts[path])
            lines.setdefault(path, line)
            lines[table] = line
        elif kind == "[":
            table = _placed(names, counts)
            lines.setdefault(table, line)
        else:
            for end in range(1, len(names) + 1):
                lines.setdefault((*table, *names[:end]), line)
    return lines


def _placed(names: tuple[str, ...], counts: Mapping[Path, int]) -> Path:
    """Return the path of a table, in the last element of each array of tables on the way."""
    path: Path = ()
    for name in names:
        path = (*path, name)
        if path in counts:
            path = (*path, counts[path])
    return path


def _statements(text: str) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Yield the position of each statement, the names of its key or table, and `[[`, `[` or `=`."""
    at = 0
    while at < len(text):
        if between := _BETWEEN.match(text, at):
            at = between.end()
            continue
        kind = "[[" if text.startswith("[[", at) else "[" if text[at] == "[" else "="
        start, at = at, at + (len(kind) if kind != "=" else 0)
        names = []
        while match := _NAME.match(text, at):
            names.append(match[1] or _unquoted(match[2]))
            at = match.end()
            if not match[3]:
                break
        if names:
            yield start, tuple(names), kind
        at = _behind_value(text, at) if kind == "=" else _line_end(text, at)


def _behind_value(text: str, at: int) -> int:
    """Return the end of the line on which a value ends; a line end in brackets does not count."""
    depth = 0
    while match := _PART.match(text, at):
        at = match.end()
        depth += {"open": 1, "close": -1}.get(match.lastgroup or "", 0)
        if match.lastgroup == "end" and depth <= 0:
            break
    return at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _unquoted(name: str) -> str:
    if name.startswith("'"):
        return name[1:-1]
    import tomli

    try:
        return str(tomli.loads(f"name = {name}")["name"])
    except ValueError:  # a document that no parser has read
        return name[1:-1]


class TomlTable(dict[str, Any]):
    """Table with the line numbers of its keys."""

    def __init__(self, content: Mapping[str, Any], lines: _Lines, path: Path) -> None:
        super().__init__({name: _with_lines(value, lines, (*path, name)) for name, value in content.items()})
        self._lines = lines
        self._path = path

    def line_of(self, name: str) -> int | None:
        """Return the line of a key, from 1; None if it is not known."""
        found = self._lines.found()
        path: Path = (*self._path, name)
        while path and path not in found:  # within an inline table
            path = path[:-1]
        return found.get(path)


class _Lines:
    """The lines of a document, looked for when they are first asked for: a document in order has no need of them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: dict[Path, int] | None = None

    def found(self) -> dict[Path, int]:
        if self._found is None:
            self._found = key_lines(self._text)
        return self._found


def _with_lines(value: Any, lines: _Lines, path: Path) -> Any:
    if isinstance(value, dict):
        return TomlTable(value, lines, path)
    if isinstance(value, list):
        return [_with_lines(item, lines, (*path, at)) for at, item in enumerate(value)]
    return value


def read_toml(text: str) -> TomlTable:
    """Return a document whose tables know their lines.

    Raises ValueError (tomli.TOMLDecodeError, a number of too many digits) and RecursionError, as tomli does.
    """
    import tomli

    return TomlTable(tomli.loads(text), _Lines(text.replace("\r\n", "\n")), ())


def in_line(table: Mapping[str, Any], name: str) -> str:
    """Return ` (line 12)` for the name of a key in a message; nothing if the table does not know its lines."""
    line = table.line_of(name) if isinstance(table, TomlTable) else None
    return "" if line is None else f" (line {line})"
