"""Random numbers that both sides draw alike: they depend on the run, the node, the purpose and the time alone.

So a side that draws once more than the other does not shift the numbers behind it; that it drew is compared.
"""

from __future__ import annotations

from kafkactl.simulator.raft.effects import Purpose

_WORD = (1 << 64) - 1


def drawn(seed: int, node: int, purpose: Purpose, now_ms: int, bound: int) -> int:
    """Draw as `Clock.java` does: a number from 0 to `bound` - 1."""
    mixed = (seed * 0x9E3779B97F4A7C15 + node * 0xD1B54A32D192ED03 + purpose * 0x8CB92BA72F3D8DD7 + now_ms) & _WORD
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
    return int(((mixed ^ (mixed >> 31)) >> 33) % bound)
