"""docs/proof/migration.md: what the campaign of driven migrations found, a section a journey, written by it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

PAGE = Path(__file__).parents[4] / "docs" / "proof" / "migration.md"
HEAD = """\
# Real clusters driven from ZooKeeper to KRaft, and back

Written by the runs of `make lab` (tests/lab/migration/test_driver.py, tests/campaigns/migration) and of the campaign
(test_first.py), a section a journey. Released Kafka with ZooKeeper 3.8.4 on one machine of two shared cores,
heaps of 256 MB, gates looked at one second apart, nodes touched by hooks only; with the template `manual` a script
pastes each printed command whole. A canary writes with acks=all, 5 to 25 times a second, through all of it; afterwards
every message that was acked is read. Seconds are upper bounds: other tests run beside them.
"""


def write_section(title: str, sentences: Sequence[str], canary: Mapping[str, int] | None) -> None:
    """Put the section of a journey in place of the one that is there."""
    lines = ["", *(f"- {sentence}" for sentence in sentences)]
    if canary is not None:
        lines.append(
            f"- canary: {canary['acked']} acked, {canary['errors']} errors, longest gap {canary['longest_gap_ms']} ms, "
            f"{canary['lost']} lost"
        )
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    sections = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", text))
    sections[title] = "\n".join(lines) + "\n"
    bodies = [f"## {name}\n{body.rstrip()}\n" for name, body in sorted(sections.items())]
    PAGE.write_text("\n".join([HEAD, *bodies]), encoding="utf-8")
