"""Edit of a `.properties` file that keeps what is not changed: comments, order, blanks and line ends.

Invariant: what Java reads of the result is what it read before, but for the keys that were asked for. A key that stands
several times counts where it stands last; one that is removed goes everywhere. Editing with what already holds gives
the same bytes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.redact import (
    PEM_BEGIN,
    REDACTED,
    continues_block,
    is_defined_setting,
    is_secret_setting,
    shown_key,
)
from kafkactl.protocol.text.properties import Entry, parse_properties, render_property

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_HEAD = re.compile(r"[ \t\f]*(?:\\.|[^=: \t\f\\\r\n])+[ \t\f]*[=:]?[ \t\f]*")
_ENDS: Final = ("\r\n", "\n", "\r")
_CONTEXT_LINES: Final = 2
_SWITCHED_OFF: Final = re.compile(r"[\w.-]+[ \t\f]*[=:]")


@frozen
class Edits:
    """Changes to a file.

    `rename` keeps the value; `neighbours` names, for a new key, the keys after one of which it is written (the first
    that exists; without one at the end).
    """

    set: Mapping[str, str] = field(default_factory=dict, repr=False)
    remove: Collection[str] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    neighbours: Mapping[str, Sequence[str]] = field(default_factory=dict)


@frozen
class _Piece:
    """Some lines unchanged: a key with its value, or what lies between (`key` None)."""

    raw: str = field(repr=False)
    key: str | None = None
    value: str = field(default="", repr=False)


def edited(data: bytes, edits: Edits) -> bytes:
    """Return the file with these changes. Raises DecodeError as `parse_properties` does."""
    pieces = _pieces(data)
    end = _line_end(data)
    pieces = [piece for piece in pieces if piece.key not in edits.remove]
    for old, new in edits.rename.items():
        pieces = _renamed(pieces, old, new)
    for key, value in edits.set.items():
        places = [at for at, piece in enumerate(pieces) if piece.key == key]
        if not places:
            pieces = _added(pieces, key, value, edits.neighbours.get(key, ()), end)
        elif pieces[places[-1]].value != value:
            pieces[places[-1]] = _rewritten(pieces[places[-1]], key, value)
    return "".join(piece.raw for piece in pieces).encode("latin-1")


def _pieces(data: bytes) -> list[_Piece]:
    lines = _LINE.findall(data.decode("latin-1"))
    found: list[_Piece] = []
    at = 0
    for entry in parse_properties(data).entries:
        found += [_Piece(raw=line) for line in lines[at : entry.line - 1]]
        at = entry.line
        while at < len(lines) and _goes_on(lines[at - 1]):
            at += 1
        found.append(_Piece(raw="".join(lines[entry.line - 1 : at]), key=entry.key, value=entry.value))
    return [*found, *(_Piece(raw=line) for line in lines[at:])]


def _goes_on(line: str) -> bool:
    """Return True if a backslash joins the next line to this one."""
    text = line.rstrip("\r\n")
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _line_end(data: bytes) -> str:
    text = data.decode("latin-1")
    counts = {end: len(re.findall(rf"(?<!\r){end}" if end == "\n" else end, text)) for end in _ENDS}
    counts["\r"] -= counts["\r\n"]
    return max(_ENDS, key=lambda end: counts[end]) if any(counts.values()) else "\n"


def _rewritten(piece: _Piece, key: str, value: str) -> _Piece:
    """Return another value after the key as written: `key = value` keeps its form."""
    text = _value(value)
    head = _HEAD.match(piece.raw)
    last = next((ending for ending in _ENDS if piece.raw.endswith(ending)), "")
    for raw in (f"{head[0]}{text}{last}" if head and key == piece.key else "", _line(key, value, last)):
        read = parse_properties(raw.encode("latin-1")).entries
        if [(entry.key, entry.value) for entry in read] == [(key, value)]:
            return _Piece(raw=raw, key=key, value=value)
    raise AssertionError(key)  # a written property reads as itself


def _line(key: str, value: str, end: str) -> str:
    return render_property(key, "", ascii_only=True) + _value(value) + end


def _value(value: str) -> str:
    """Return a value as people write it: `Properties.store` also escapes `:` and `=` in it, which nothing needs."""
    escaped = render_property("k", value, ascii_only=True)[2:]
    return re.sub(r"\\(\\|[:=#!])", lambda found: found[0] if found[1] == "\\" else found[1], escaped)


def _renamed(pieces: list[_Piece], old: str, new: str) -> list[_Piece]:
    places = [at for at, piece in enumerate(pieces) if piece.key == old]
    if not places:
        return pieces
    if any(piece.key == new for piece in pieces):
        return [piece for piece in pieces if piece.key != old]
    counting = places[-1]
    value = pieces[counting].value
    last = next((ending for ending in _ENDS if pieces[counting].raw.endswith(ending)), "")
    named = _Piece(raw=_line(new, value, last), key=new, value=value)
    return [named if at == counting else piece for at, piece in enumerate(pieces) if piece.key != old or at == counting]


def _added(pieces: list[_Piece], key: str, value: str, neighbours: Sequence[str], end: str) -> list[_Piece]:
    places = [at for wanted in neighbours for at, piece in enumerate(pieces) if piece.key == wanted]
    first = next((wanted for wanted in neighbours if any(piece.key == wanted for piece in pieces)), None)
    at = max((at for at in places if pieces[at].key == first), default=len(pieces) - 1) + 1
    before = pieces[:at]
    if before:
        before[-1] = _closed(before[-1], end)
    return [*before, _Piece(raw=_line(key, value, end), key=key, value=value), *pieces[at:]]


def _closed(piece: _Piece, end: str) -> _Piece:
    """Return lines that others may follow: ended, and without a backslash at the end that had nothing to join."""
    last = next((ending for ending in _ENDS if piece.raw.endswith(ending)), "")
    text = piece.raw[: len(piece.raw) - len(last)]
    if piece.key is not None and text.endswith("\\") and _goes_on(text):
        text = text[:-1]
        if not text.strip(" \t\f"):  # the key and the value were empty, and an empty line has neither
            text = "="
    return _Piece(raw=text + (last or end), key=piece.key, value=piece.value)


def shown_diff(before: bytes, after: bytes, *, before_name: str, after_name: str) -> str:
    """Return the changes between two files as a unified diff, without secrets, also without those in comments."""
    secrets = _changed_secrets(before, after)
    left, right = ([*_shown_lines(data, secrets, side)] for side, data in enumerate((before, after)))
    return "".join(
        f"{line}\n"
        for line in difflib.unified_diff(left, right, before_name, after_name, n=_CONTEXT_LINES, lineterm="")
    )


def _changed_secrets(before: bytes, after: bytes) -> frozenset[str]:
    left, right = parse_properties(before).mapping, parse_properties(after).mapping
    return frozenset(
        key
        for key in {*left, *right}
        if key in left
        and key in right
        and left[key] != right[key]
        and any(is_secret_setting(key, side[key]) for side in (left, right))
    )


def _shown_lines(data: bytes, changed: Collection[str], side: int) -> Iterator[str]:
    is_in_block = False
    for piece in _pieces(data):
        was_in_block, is_in_block = is_in_block, continues_block(piece.raw, is_in_block=is_in_block)
        if was_in_block or (piece.key is None and PEM_BEGIN in piece.raw):
            yield REDACTED
        elif piece.key is not None and (piece.key in changed or is_secret_setting(piece.key, piece.value)):
            word = f"{REDACTED} ({'another' if side else 'one'})" if piece.key in changed else REDACTED
            yield f"{shown_key(piece.key)}={word}"
        elif piece.key is None:
            yield _shown_comment(piece.raw.rstrip("\r\n"))
        else:
            yield from (line.rstrip("\r\n") for line in _LINE.findall(piece.raw))


def _shown_comment(line: str) -> str:
    """Return a comment without its text, which may contain an old password.

    One that is a property switched off is shown like one that is on; one without a letter or a digit, as it is.
    """
    text = line.lstrip(" \t\f")
    inner = text.lstrip("#! \t\f")
    if text[:1] not in ("#", "!") or not any(map(str.isalnum, inner)):
        return line
    head = line[: len(line) - len(inner)]
    try:
        entries: Sequence[Entry] = parse_properties(inner.encode("latin-1")).entries
    except DecodeError:
        entries = ()
    if len(entries) != 1 or not is_defined_setting(entries[0].key) or not _SWITCHED_OFF.match(inner):
        return head + REDACTED
    entry = entries[0]
    is_text = any(map(str.isspace, entry.value.strip()))
    return f"{head}{entry.key}={REDACTED}" if is_text or is_secret_setting(entry.key, entry.value) else line
