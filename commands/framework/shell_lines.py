"""A command line on as many lines of a shell as a screen needs."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|\S)+""")
_MORE = " \\"


def shell_lines(command: str, width: int, *, indent: str = "") -> Iterator[str]:
    """Yield a command that can be pasted: continued by backslashes; an option stays with its value, if both fit."""
    line = indent
    room = width - len(indent) - len(f"  {_MORE}")
    parts = list(_parts(command, room))
    for number, part in enumerate(parts, 1):
        more = _MORE if number < len(parts) else ""
        if line.strip() and len(f"{line}{part}{more}") > width:
            yield f"{line.rstrip()}{_MORE}"
            line = f"{indent}  "
        line += f"{part} "
    yield line.rstrip()


def _parts(command: str, room: int) -> Iterator[str]:
    """Yield the words, an option and the word after it as one if there is room for both."""
    option = ""
    for word in _WORD.findall(command):
        if word.startswith("-"):
            if option:
                yield option
            option = word
        else:
            both = f"{option} {word}".lstrip()
            yield from (both,) if len(both) <= room or not option else (option, word)
            option = ""
    if option:
        yield option
