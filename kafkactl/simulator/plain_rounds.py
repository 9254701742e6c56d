"""Rounds in vain of a node that asks bootstrap servers only, and all of these refuse: most rounds of all.

`simulator/rounds.py` says what rounds are. A quorum of three without a leader makes 1,500 of them before its first
election. What a node chooses is of its own stream (`simulator/chance.py`), so its rounds depend on no other node: how
long any number of them takes follows from how often each server is chosen, and only the last ones are looked at.
"""

from __future__ import annotations

from operator import mul
from typing import Any, Final

from kafkactl.simulator.chance import Choices

_NEEDED: Final = 32  # entries: `rounds.py` compares 64 times, two of each


def passed_over(entry: Any, limit: int, leaving: Any) -> Any:
    """The entry that follows the limit, or, where a node leaves its rounds then, the answer with which it does.

    An entry of `rounds.py`: when the answer comes, when the request arrives, the entry before it, the loop, its place,
    its number. `leaving` is the entry of the node that leaves; None where none does.
    """
    choices = entry[3].machine.choices
    if leaving is None:
        return pass_over(entry, limit + 1, choices)
    entry = pass_over(entry, limit, choices)
    return pass_over(entry, limit + 1, choices) if entry < leaving else entry


def pass_over(entry: Any, until: int, choices: Choices) -> Any:
    """The entry of the first answer that comes at `until` or later."""
    at, _arrives, _before, loop, _place, number = entry
    both_ways = [both for _there, both in loop.steps]
    longest = max(both_ways)
    chosen = b""
    while at < until:
        more = choices.many(-(-(until - at) // longest))  # so many begin before it, however long each of them takes
        at += sum(map(mul, map(more.count, range(len(both_ways))), both_ways))
        chosen += more
    if not chosen:
        return entry
    last = chosen[-_NEEDED:]
    came = at - sum(map(both_ways.__getitem__, last))
    for server in last:
        there, both = loop.steps[server]
        entry = (came + both, came + there, entry[:3])
        came += both
    return (*entry, loop, last[-1], number + len(chosen))
