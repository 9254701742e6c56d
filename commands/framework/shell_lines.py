"""A command line on as many lines of a shell as a screen needs."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|\S)+""")
_MORE = " \\"


def shell_lines(command: str, width: int, *, indent: str = "") -> Iterator[str]:
    """Yield a command so that it can be pasted: continued by backslashes; an option stays with its value."""
    line = indent
    parts = list(_parts(command))
    for number, part in enumerate(parts, 1):
        more = _MORE if number < len(parts) else ""
        if line.strip() and len(f"{line}{part}{more}") > width:
            yield f"{line.rstrip()}{_MORE}"
            line = f"{indent}  "
        line += f"{part} "
    yield line.rstrip()


def _parts(command: str) -> Iterator[str]:
    """Yield the words, an option and the word after it as one."""
    option = ""
    for word in _WORD.findall(command):
        if word.startswith("-"):
            if option:
                yield option
            option = word
        else:
            yield f"{option} {word}".lstrip()
            option = ""
    if option:
        yield option
