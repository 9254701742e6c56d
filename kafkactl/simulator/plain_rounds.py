"""Rounds in vain of a node that asks bootstrap servers only, and all of these refuse: most rounds of all.

`simulator/rounds.py` says what rounds are. A quorum of three without a leader makes 1,500 of them before its first
election. What a node chooses is of its own stream (`simulator/chance.py`), so its rounds depend on no other node: how
long any number of them takes follows from how often each server is chosen, and only the last ones are looked at.
"""

from __future__ import annotations

from typing import Any, Final

from kafkactl.simulator.chance import Choices

COMPARED: Final = 64  # how many events of two histories are compared; two that meet so often were never seen
_KEPT: Final = COMPARED // 2  # answers of which the history is kept: each is two events
_AROUND: Final = 64  # choices that are looked at behind the expected one


class _Passed:
    """The answers before the last two: kept as choices, and made into entries where two histories are compared."""

    __slots__ = ("at", "chosen", "first", "steps")

    def __init__(self, at: int, chosen: bytes, first: Any, steps: list[tuple[int, int]]) -> None:
        self.at = at  # when the last of them came
        self.chosen = chosen
        self.first = first
        self.steps = steps

    def unfolded(self) -> Any:
        """As nested entries."""
        entry, came = self.first, self.at - sum(self.steps[server][1] for server in self.chosen)
        for server in self.chosen:
            there, both = self.steps[server]
            entry = (came + both, came + there, entry)
            came += both
        return entry


def passed_over(entry: Any, limit: int, leaving: Any) -> Any:
    """The entry that follows the limit, or, where a node leaves its rounds then, the answer with which it does.

    An entry of `rounds.py`: when the answer comes, when the request arrives, the entry before it, the loop, its place,
    its number. `leaving` is the entry of the node that leaves; None where none does.
    """
    choices = entry[3].machine.choices
    if leaving is None:
        return pass_over(entry, limit + 1, choices)
    entry = pass_over(entry, limit, choices)
    is_before = entry[0] < leaving[0] or (entry[0] == leaving[0] and history(entry) < history(leaving))
    return pass_over(entry, limit + 1, choices) if is_before else entry


def pass_over(entry: Any, until: int, choices: Choices) -> Any:
    """The entry of the first answer that comes at `until` or later."""
    at, _arrives, _before, loop, _place, number = entry
    if at >= until:
        return entry
    steps = loop.steps
    both_ways = [both for _there, both in steps]
    # The mean number of answers before it, since each server is equally likely; corrected one by one.
    count = (until - at) * len(both_ways) // sum(both_ways)
    chosen = choices.ahead(count + _AROUND)
    for server, both in enumerate(both_ways):
        at += both * chosen.count(server, 0, count)
    while at < until:
        if count == len(chosen):
            chosen = choices.ahead(count + _AROUND)
        at += both_ways[chosen[count]]
        count += 1
    while at - both_ways[chosen[count - 1]] >= until:
        count -= 1
        at -= both_ways[chosen[count]]
    chosen = choices.many(count)
    there, both = steps[chosen[-1]]
    before = entry[:3]
    if count > 1:
        earlier_there, earlier_both = steps[chosen[-2]]
        earlier = at - both - earlier_both
        kept = chosen[-_KEPT:-2]
        before = (at - both, earlier + earlier_there, _Passed(earlier, kept, before, steps) if kept else before)
    return (at, at - both + there, before, loop, chosen[-1], number + count)


def history(entry: Any) -> list[int]:
    """The times of the events that led to an answer, the latest first: it comes, it was sent, it was asked for, …"""
    times: list[int] = []
    while len(times) < COMPARED:
        if type(entry) is _Passed:
            entry = entry.unfolded()
        if len(entry) == 2:
            times += entry
            break
        times += entry[:2]
        entry = entry[2]
    return times
