"""Pages of docs/ that are run: their commands in order, in one shell, and what they print is compared.

A `bash` block is run as a whole, as if it were pasted; the `text` block after it is what it prints. Without one it has
to succeed. `…` in a page matches any text; blanks are not compared.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.repository.tree import ROOT

MARK = "=== next command ==="


def check_page(page: Path, folder: Path, *, environment: Mapping[str, str] | None = None, at_least: int = 3) -> None:
    """Run the commands of a page in a new folder under `folder`; each has to print what the page says."""
    steps = _steps(page)
    assert len(steps) >= at_least
    script = "".join(f"{command}\nrc=$?; echo '{MARK}' $rc; (exit $rc)\n" for command, _ in steps)
    run = subprocess.run(
        ["bash", "-c", script],
        cwd=_made(folder / "work"),
        env={**user_environment(folder), **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    printed = re.findall(rf"(?s)(.*?){MARK} (\d+)\n", run.stdout)
    assert len(printed) == len(steps), run.stdout
    for (command, expected), (actual, code) in zip(steps, printed, strict=True):
        if expected is None:
            assert code == "0", f"$ {command}\n{actual}"
            continue
        assert re.fullmatch(pattern(expected), squeezed(actual), re.DOTALL), f"$ {command}\n{actual}"


def _steps(page: Path) -> list[tuple[str, str | None]]:
    """Return the commands and what each prints, None if the page does not show it."""
    steps: list[tuple[str, str | None]] = []
    before = ""
    for kind, block in re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8")):
        if kind == "bash":
            steps.append((block, None))
        elif kind == "text" and before == "bash":
            steps[-1] = (steps[-1][0], block)
        before = kind
    return steps


def user_environment(folder: Path) -> dict[str, str]:
    """Return a PATH on which `kafkactl` is this tree, and a terminal that is none."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "kafkactl"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}:$PYTHONPATH" exec "{sys.executable}" -m kafkactl "$@"\n', encoding="utf-8"
    )
    program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KAFKACTL_", "FORCE_COLOR"))}
    return kept | {"PATH": f"{program.parent}:{kept['PATH']}", "LC_ALL": "C.UTF-8", "HOME": str(folder)}


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def squeezed(text: str) -> str:
    """Return the text with one blank for any white space."""
    return re.sub(r"\s+", " ", text).strip()


def pattern(expected: str) -> str:
    """Return the expression that matches squeezed output, with any text for `…`."""
    return ".*?".join(re.escape(part) for part in re.split(r" ?… ?", squeezed(expected)))
