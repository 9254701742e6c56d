"""The page docs/proof/migration.md, written by the campaign of driven migrations: a row a journey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.proof_page import record_part

PAGE = Path(__file__).parents[4] / "docs" / "proof" / "migration.md"
HEAD = """\
# Real clusters driven from ZooKeeper to KRaft, and back

Repeat with `make lab` (tests/lab/migration/test_driver.py, tests/campaigns/migration), which writes this page: a row a
journey. Released Kafka with ZooKeeper 3.8.4 on one machine of two cores, heaps of 256 MB,
gates observed one second apart, nodes changed by hooks only; with the template `manual` a script pastes each printed
command whole. A canary writes with acks=all, 5 to 25 times a second, during all of it; afterwards every acknowledged
message is read. Seconds are upper bounds: other tests run at the same time.
"""


def write_section(title: str, sentences: Sequence[str], canary: Mapping[str, int] | None) -> None:
    """Put the row of a journey in place of its last run."""
    result = [*sentences]
    if canary is not None:
        result.append(
            f"canary: {canary['acked']} acked, {canary['errors']} errors, longest gap {canary['longest_gap_ms']} ms, "
            f"{canary['lost']} lost"
        )
    record_part(PAGE, HEAD, title, "; ".join(result))
