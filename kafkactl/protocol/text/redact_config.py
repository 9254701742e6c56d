"""A node's server.properties without its secrets.

Invariant: which keys are set stays known, what a secret one holds does not. Comments lose their text, for an old
password may stand in one; and a value that looks like a login line, a key or an address with a user in it is a secret
whatever its key. Everything else keeps its place, line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kafkactl.core.errors import DecodeError
from kafkactl.protocol.redact import (
    PEM_BEGIN,
    REDACTED,
    continues_block,
    is_defined_setting,
    is_secret_setting,
    is_secret_text,
    says_secret,
    shown_key,
)
from kafkactl.protocol.text.properties import Entry, parse_properties

_LINE: Final = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_WORD: Final = re.compile(r"[\w.-]+")
_KEY: Final = re.compile(r"[ \t\f]*((?:[^\\=: \t\f]|\\.)+)")
# Java refuses the whole file for such a line, and has to go on doing so.
_REFUSED: Final = f"{REDACTED}=\\u{REDACTED}\n"


def redact_config(text: str) -> str:
    """Return a server.properties without its secrets."""
    try:
        entries = parse_properties(text.encode("utf-8", "surrogatepass")).entries
    except DecodeError:
        return _REFUSED
    lines = [(match[1], match[2]) for match in _LINE.finditer(text) if match[0]]
    return "".join(_lines(lines, {entry.line - 1: entry for entry in entries}))


def _lines(lines: Sequence[tuple[str, str]], entries: dict[int, Entry]) -> Iterator[str]:
    """Yield the lines with their ends; `entries` are by the index of the line on which each begins."""
    at = 0
    in_block = False
    while at < len(lines):
        entry = entries.get(at)
        if entry is None:
            content, end = lines[at]
            yield ("#" if content.strip() else content) + end
            behind = _behind_comment(lines, entries, at) if _mentions_secret(content) else at + 1
            yield from ("#" + end for _, end in lines[at + 1 : behind])
            at = behind
            continue
        behind = _behind(lines, at)
        raw = " ".join(content for content, _ in lines[at:behind])
        if in_block or PEM_BEGIN in raw or _is_secret(entry, is_joined=behind > at + 1):
            ends = [end for _, end in lines[at:behind]]
            yield f"{REDACTED if in_block else _key(lines[at][0])}={REDACTED}{''.join(ends)}"
        else:
            yield from (content + end for content, end in lines[at:behind])
        in_block = continues_block(raw, is_in_block=in_block)
        at = behind


def _behind(lines: Sequence[tuple[str, str]], at: int) -> int:
    """Return the index after the last line of the entry at `at`: a backslash at the end of a line joins the next."""
    while at < len(lines) - 1 and _is_odd(lines[at][0]):
        at += 1
    return at + 1


def _behind_comment(lines: Sequence[tuple[str, str]], entries: dict[int, Entry], at: int) -> int:
    """Return the index after the lines that a comment would join if it were none, up to Kafka's next own setting.

    Java ends a comment at the line's end, also after a backslash. So if only the first line of a setting was made a
    comment, its value is left as keys of its own.
    """
    behind = at + 1
    while behind < len(lines) and _is_odd(lines[behind - 1][0]):
        entry = entries.get(behind)
        if entry is not None and is_defined_setting(entry.key):
            break
        behind += 1
    return behind


def _mentions_secret(comment: str) -> bool:
    return any(map(says_secret, _WORD.findall(comment)))


def _is_odd(content: str) -> bool:
    return (len(content) - len(content.rstrip("\\"))) % 2 == 1


def _is_secret(entry: Entry, *, is_joined: bool) -> bool:
    if entry.value == REDACTED:
        return False
    if is_secret_setting(entry.key, entry.value):
        return True
    return is_joined and any(map(says_secret, _WORD.findall(entry.value)))


def _key(content: str) -> str:
    """Return the key as it is written; a key over several lines, or with a secret in it, is not repeated."""
    found = _KEY.match(content)
    if found is None or found.end() == len(content) or is_secret_text(found[1]):
        return REDACTED
    return shown_key(found[1])
