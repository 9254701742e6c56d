"""docs/proof/faults.md: one part by the campaign on a fake quorum, one by that on a real one."""

from __future__ import annotations

from pathlib import Path

PROOF = Path(__file__).parents[2] / "docs" / "proof" / "faults.md"
_REAL = "\n## Against real nodes\n"


def record_fake(text: str) -> None:
    """The page but for the part about real nodes, which stays."""
    _write(text, _parts()[1])


def record_real(text: str) -> None:
    """The part about real nodes."""
    _write(_parts()[0], text)


def _parts() -> tuple[str, str]:
    text = PROOF.read_text(encoding="utf-8") if PROOF.exists() else ""
    fake, _, real = text.partition(_REAL)
    return fake, real


def _write(fake: str, real: str) -> None:
    tail = f"\n{_REAL}\n{real.strip()}\n" if real.strip() else "\n"
    PROOF.write_text(fake.strip() + tail, encoding="utf-8")
