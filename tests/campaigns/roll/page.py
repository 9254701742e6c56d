"""The page of docs/proof that campaigns of rolls write."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "proof" / "roll.md"
HEAD = """\
# Real clusters restarted and upgraded node by node, and back

Repeat with `make lab` (tests/campaigns/roll), which writes this page: a row a cluster. Released Kafka on one machine of
two cores, heaps of 256 MB, gates observed one second apart, nodes changed by hooks only. A canary writes with acks=all,
25 times a second, during all of it; afterwards every acknowledged message is read. Seconds are upper bounds: other
tests run at the same time.
"""
