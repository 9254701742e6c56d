"""docs/proof/faults.md: what several campaigns found, a section each; the first is the page's head."""

from __future__ import annotations

import re
from pathlib import Path

PROOF = Path(__file__).parents[2] / "docs" / "proof" / "faults.md"
COMMANDS, MOMENTS = "Command lines and their time limit", "Moments of the cluster"
REAL, REAL_COMMANDS = "Against real nodes", "Command lines against real nodes"
KILLED = "Killed in the middle"
_ORDER = (COMMANDS, MOMENTS, REAL, REAL_COMMANDS, KILLED)


def record_head(text: str) -> None:
    """Write the page but for its sections, which stay."""
    _write(text, _sections())


def record(section: str, text: str) -> None:
    """Write one section, in place of its last run."""
    _write(_head(), _sections() | {section: text})


def _head() -> str:
    return re.split(r"(?m)^## ", _text())[0]


def _sections() -> dict[str, str]:
    parts = re.split(r"(?m)^## (.+)\n", _text())[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _text() -> str:
    return PROOF.read_text(encoding="utf-8") if PROOF.exists() else ""


def _write(head: str, sections: dict[str, str]) -> None:
    bodies = [f"## {name}\n\n{sections[name].strip()}" for name in _ORDER if name in sections]
    PROOF.write_text("\n\n".join([head.strip(), *bodies]) + "\n", encoding="utf-8")
