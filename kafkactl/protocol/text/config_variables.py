"""`${provider:[path:]key}` in a value (KIP-297), found in time that grows with the text alone.

Source: clients `ConfigTransformer.DEFAULT_PATTERN`, which as a regular expression takes the cube of the length of
`${a:${a:…`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Variable(NamedTuple):
    """A variable, from `start` to `end` of the text; `path` is empty if it names none."""

    start: int
    end: int
    provider: str
    path: str
    key: str


def variables(text: str) -> Iterator[Variable]:
    """Yield the variables of a text, from left to right: from `${` to the next `}`, with a colon between."""
    start = text.find("${")
    while start >= 0 and (end := text.find("}", start)) >= 0:
        provider, colon, rest = text[start + 2 : end].partition(":")
        if colon:
            path, second, key = rest.partition(":")
            yield Variable(start, end + 1, provider, *((path, key) if second else ("", rest)))
        start = text.find("${", end)


def has_variable(text: str) -> bool:
    """Return True if a text has a variable."""
    return next(variables(text), None) is not None
