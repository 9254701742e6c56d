"""Errors about one file of properties, reported with its name and the line of the key that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kafkactl.core.errors import InputError
from kafkactl.protocol.text.properties import Properties

_WORD = r"[\w.-]+"  # compiled when it is first used


def key_lines(properties: Properties) -> Mapping[str, int]:
    """Return the line, from 1, of the definition of each key that counts."""
    return {entry.key: entry.line for entry in properties.entries}


def place(file: str, key: str, lines: Mapping[str, int]) -> str:
    """Return `client.properties, line 3`; the file alone if the key is not in it."""
    line = lines.get(key)
    return file if line is None else f"{file}, line {line}"


@contextmanager
def placed(file: str, lines: Mapping[str, int]) -> Iterator[None]:
    """Add the place to the message of an InputError that names a key and not yet the file.

    The place is that of the first key in the message that the file has; without one, it is the file.
    """
    try:
        yield
    except InputError as error:
        if not error.message.startswith(file):
            named = next((word for word in re.findall(_WORD, error.message) if word in lines), "")
            error.message = f"{place(file, named, lines)}: {error.message}"
            error.args = (error.message,)
        raise
