"""Scripts as text: a command, a mark, and the command's output up to an empty line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

MARK = "----"


def replayed(text: str, run: Callable[[str], str]) -> str:
    """Return the script with newly generated outputs; comments and blank lines stay."""
    lines: list[str] = []
    in_output = False
    for line in text.splitlines():
        if not line:
            in_output = False
        if in_output:
            continue
        lines.append(line)
        if line == MARK:
            lines += [found.rstrip() for found in run(lines[-2]).splitlines()]
            in_output = True
    return "\n".join(lines) + "\n"


def check_script(path: Path, run: Callable[[str], str]) -> None:
    """Compare the outputs in a script with new ones; KAFKACTL_REWRITE=1 writes the new ones into the script."""
    written = path.read_text(encoding="utf-8")
    found = replayed(written, run)
    if os.environ.get("KAFKACTL_REWRITE") == "1":
        path.write_text(found, encoding="utf-8")
    else:
        assert found == written
