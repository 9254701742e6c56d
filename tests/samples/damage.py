"""Sound inputs of any kind, damaged: words exchanged for other words and for hostile ones, pieces lost or doubled."""

from __future__ import annotations

import base64
import json
import re
from itertools import islice
from typing import Any

from hypothesis import strategies as st

_WORD = re.compile(rb'"(?:[^"\\]|\\.)*"|[\w.+/-]+|[^\s\w]')
_MOST_WORDS = 4000
_SMALL = 1000  # bytes of what may come many times
# What readers have stumbled over: depth, long numbers, halves of characters, other types, ends of the ranges.
HOSTILE = (
    b"[" * 50_000, b'{"a":' * 20_000, b"(" * 50_000, b"1" * 6_000, b"-1", b"0", b"2147483648", b"9223372036854775808",
    b"1e999", b"-1e999", b"NaN", b"Infinity", b"nan", b"inf", b"null", b"true", b"{}", b"[]", b"[[]]", b'""', b"1.5",
    b'"\\ud800"', b'"\\u0000"', b"\\u", b"\\", b"\xff\xfe", b"\x00", "\u202e".encode(), "ä".encode(), b"\x1b[2J",
    b"\r\n", b"\n", b"=", b",", b":", b'"', b"'''", b"1979-05-27T07:32:00Z", b"1979-05-27", b"${a:b}", b"${env:HOME}",
    b"../../etc/passwd", b"/dev/null", b"http://[x", b"A" * 70_000, b"%s%n", b"{0}", b"~", b"-", b"--help",
)  # fmt: skip
_ANY_BYTES = st.binary(max_size=40)


@st.composite
def damaged(draw: st.DrawFn, samples: tuple[bytes, ...]) -> bytes:
    """Return one of the samples after one to three accidents."""
    text = draw(st.sampled_from(samples))
    for _ in range(draw(st.integers(1, 3))):
        text = draw(st.one_of(_other_words(text, samples), _other_pieces(text), _other_values(text)))
    return text


@st.composite
def _other_words(draw: st.DrawFn, text: bytes, samples: tuple[bytes, ...]) -> bytes:
    """Change a word: it becomes a hostile one, another of the samples', or several."""
    words = list(islice(_WORD.finditer(text), _MOST_WORDS))
    if not words:
        return text + draw(_ANY_BYTES)
    place = draw(st.sampled_from(words))
    theirs = [word.group() for word in islice(_WORD.finditer(draw(st.sampled_from(samples))), _MOST_WORDS)] or [b"x"]
    new = draw(st.one_of(st.sampled_from(HOSTILE), st.sampled_from(theirs), _ANY_BYTES))
    if draw(st.booleans()) and place.group().startswith(b'"'):
        new = b'"' + new.replace(b'"', b"") + b'"'
    times = draw(st.sampled_from((1, 1, 1, 2, 50))) if len(new) < _SMALL else 1
    return text[: place.start()] + new * times + text[place.end() :]


@st.composite
def _other_pieces(draw: st.DrawFn, text: bytes) -> bytes:
    """Return pieces of which one is lost, doubled, moved or exchanged."""
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    piece = draw(st.sampled_from((b"", text[start:end] * 2, text[end:], draw(_ANY_BYTES))))
    return text[:start] + piece + text[end:]


@st.composite
def _other_values(draw: st.DrawFn, text: bytes) -> bytes:
    """Return JSON with another value in any place, which stays JSON; else a hostile end."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text + draw(st.sampled_from(HOSTILE))
    try:
        return json.dumps(with_another(draw, value)).encode()
    except RecursionError:
        return text


_OTHERS = st.sampled_from(
    [None, True, -1, 0, 1.5, "", "x", "AAAA", "\0", "\ud800", [], {}, [1], {"a": 1}, 1 << 70, [[]], [None], -(1 << 31)]
)


def with_another(draw: st.DrawFn, value: Any) -> Any:
    """Return a JSON value with another in one of its places."""
    place = draw(st.sampled_from(_places(value)[:_MOST_WORDS]))
    if not place:
        return draw(_OTHERS)
    held = value
    for key in place[:-1]:
        held = held[key]
    held[place[-1]] = draw(_OTHERS)
    return value


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in _places(item, (*path, key)))]


def encoded(data: bytes) -> str:
    """Return bytes as they go into JSON."""
    return base64.b64encode(data).decode()
