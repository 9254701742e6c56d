"""Text of others as it may be shown: nothing in it moves a cursor, turns a line around, hides, or begins a line.

What a node, a file or a server says may hold any character. On a terminal the C0 and C1 controls are commands
(ECMA-48), the bidirectional controls show a line in another order than it has (Unicode, UAX 9; CVE-2021-42574), and
characters of no width make two names look alike. `visible` is for people, `json_text` and `escaped` are for JSON,
`escaped_yaml` is for YAML: there the same characters are escapes, which every reader turns back into what they are.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Final

# Characters that are never written as they are. Those of them that `str.isprintable` calls printable: none, so that
# test is the quick way past the pattern.
_UNSAFE_RANGES: Final = (
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\u00ad\u061c\u180e"  # soft hyphen, Arabic letter mark, Mongolian vowel separator
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # without width, line separators, bidirectional controls
    "\ud800-\udfff"  # halves of a pair, and bytes of a file name that are not text (PEP 383)
    "\ufff9-\ufffb\U000e0000-\U000e0fff"  # annotations, tags
)
_NAMED: Final = {"\n": "\\n", "\t": "\\t"}
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF


# Compiling both takes a millisecond, and what is usually shown needs neither.
@functools.cache
def _unsafe() -> re.Pattern[str]:
    return re.compile(f"[{_UNSAFE_RANGES}]")


@functools.cache
def _unsafe_but_line_ends() -> re.Pattern[str]:
    return re.compile(f"(?!\n)[{_UNSAFE_RANGES}]")


def visible(text: str) -> str:
    """Return the text in one line for people: unsafe characters are written out, as `\\x1b`, `\\n` or `\\u202e`.

    A byte that is not text (PEP 383) is written as that byte.
    """
    return text if text.isprintable() else _unsafe().sub(_written_out, text)


def visible_lines(text: str) -> str:
    """Replace unsafe characters as `visible` does, but keep line ends, which are kafkactl's own."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return _unsafe_but_line_ends().sub(_written_out, text)


def escaped(text: str) -> str:
    """Return JSON with those characters as escapes."""
    if text.isascii() and "\x7f" not in text:
        return text  # JSON has escaped C0 itself; line ends and blanks between the values are ours
    return _unsafe_but_line_ends().sub(_in_json, text)


def escaped_yaml(text: str) -> str:
    """Return YAML in which every text with such a character is in double quotes, with those characters as escapes."""
    return _unsafe_but_line_ends().sub(_in_yaml, text)


def json_text(value: Any, *, indent: int | None = None, compact: bool = False, ascii_only: bool = False) -> str:
    """Return JSON with letters beyond ASCII unchanged (but for `ascii_only`), and unsafe characters as escapes."""
    import json  # not loaded by commands that show none

    separators = (",", ":") if compact else None
    return escaped(json.dumps(value, indent=indent, separators=separators, ensure_ascii=ascii_only))


def is_unsafe(text: str) -> bool:
    """Return True if a character is in the text that has to be written out."""
    return not text.isprintable() and _unsafe().search(text) is not None


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    if found[0] in _NAMED:
        return _NAMED[found[0]]
    if code < 0x100:
        return f"\\x{code:02x}"
    if _FIRST_BYTE <= code <= _LAST_BYTE:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _in_json(found: re.Match[str]) -> str:
    """Return `\\u` and four digits, twice for a character beyond U+FFFF (RFC 8259, section 7)."""
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _in_yaml(found: re.Match[str]) -> str:
    """Return `\\u` and four digits, or `\\U` and eight (YAML 1.1, section 5.6)."""
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def if_plain(text: str, otherwise: str) -> str:
    """Return a path or an address from a file for a message, or other words for it.

    What holds quotation marks, blanks, `=` or `;` may be a part of a login that lost its place, and is not repeated.
    """
    return text if re.fullmatch(r"[\w./:,%+\[\]-]{1,400}", text) and re.search(r"[/:.]", text) else otherwise
