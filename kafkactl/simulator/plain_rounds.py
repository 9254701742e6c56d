"""Rounds in vain of three nodes that ask bootstrap servers only, and all of these refuse: most rounds of all.

`simulator/rounds.py` says what rounds are. A quorum of three without a leader makes 1,500 of them before its first
election. Here an entry is a number, so that nothing is made that has to be collected. In a number are, from the left,
when the answer comes, when it was sent (the earlier, the smaller), which server was asked, and by which node. Two
answers of one moment that were sent at one moment are in the order of the answers before them.

Random numbers are drawn many at a time: never more than the rounds that are sure to come up to the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kafkactl.simulator.chance import Chance

_NODES: Final = 3
_NODE: Final = 0b11  # the bits of the node
_SERVER_BITS: Final = 2  # from the right
_SENT_BITS: Final = 4
_AT_BITS: Final = 16
_LOW: Final = (1 << _AT_BITS) - 1
_ASKED: Final = (1 << _SENT_BITS) - 1  # the bits of the server and the node
_NO_SERVER: Final = 3  # in the first number of a node
_TIE: Final = 1 << _SENT_BITS  # numbers that differ by less are of one moment
_MOST_BACK_US: Final = (1 << _AT_BITS - _SENT_BITS) - 1
_NEEDED: Final = 32  # entries of a node: `rounds.py` compares 64 times, two of each


def run_plain(heap: list[Any], limit: int, chance: Chance) -> None:
    """Let the loops go round up to the limit.

    Nothing happens where there are not three, or one of them may ask, or hear, anything else.
    """
    if len(heap) != _NODES or not all(map(_is_plain, heap)):
        return
    first = list(heap)
    past: list[list[int]] = [[] for _ in first]  # the numbers of each node that came before its present one
    begun = [
        _number(at, at - arrives if arrives >= 0 else _MOST_BACK_US, _NO_SERVER, node)
        for node, (at, arrives, *_) in enumerate(first)
    ]
    steps = _steps(first, begun)
    longest = [max(both for _there, both in entry[3].steps) for entry in first]
    a, b, c = sorted(begun)
    tie, node_bits, asked_bits = _TIE, _NODE, _ASKED
    while count := _sure_rounds((a, b, c), longest, limit):
        for server in chance.many_below(count, _NODES):
            if b - a < tie:
                a, b, c = _in_order((a, b, c), past, first)
            past[a & node_bits].append(a)
            number = a + steps[server][a & asked_bits]
            if number > c:
                a, b, c = b, c, number
            elif number < b:
                a = number
            else:
                a, b = b, number
    heap[:] = [_entry(first[number & _NODE], past[number & _NODE], number) for number in (a, b, c)]


def _is_plain(entry: Any) -> bool:
    at, arrives, _before, loop, _place, _number = entry
    backs = [both - there for there, both in loop.steps] if loop.is_plain else []
    return len(backs) == _NODES and max(*backs, at - arrives if arrives >= 0 else 0) < _MOST_BACK_US


def _number(at: int, back_us: int, server: int, node: int) -> int:
    return at << _AT_BITS | _MOST_BACK_US - back_us << _SENT_BITS | server << _SERVER_BITS | node


def _steps(first: Sequence[Any], begun: Sequence[int]) -> list[list[int]]:
    """What is added to a number for its next round: by the server that is asked, and by the last bits of the number."""
    steps = [[0] * (_ASKED + 1) for _ in range(_NODES)]
    for node, entry in enumerate(first):
        numbers = [_number(both, both - there, server, node) for server, (there, both) in enumerate(entry[3].steps)]
        for known in (*numbers, begun[node]):
            for server, number in enumerate(numbers):
                steps[server][known & _ASKED] = number - (known & _LOW)
    return steps


def _sure_rounds(numbers: Sequence[int], longest: Sequence[int], limit: int) -> int:
    """How many rounds come up to the limit at the least, however long each of them takes; 0 if none does."""
    rounds = 0
    for number in numbers:
        left_us = limit - (number >> _AT_BITS)
        if left_us >= 0:
            rounds += left_us // longest[number & _NODE] + 1
    return rounds


def _in_order(numbers: Sequence[int], past: Sequence[list[int]], first: Sequence[Any]) -> list[int]:
    """Entries of one moment in the order of those before them, as `rounds.py` compares them."""

    def history(number: int) -> list[int]:
        node = number & _NODE
        times = [known >> _SENT_BITS for known in (number, *reversed(past[node]))]
        return [*times, *first[node][2]]

    return sorted(numbers, key=history)


def _entry(first: Any, past: list[int], number: int) -> Any:
    """The entry of `rounds.py`, with as many of those before it as are needed to compare it."""
    if not past:
        return first
    entry = first
    for earlier in past[-_NEEDED:][1:]:
        entry = (*_times(earlier), entry)
    return (*_times(number), entry, first[3], (number >> _SERVER_BITS) & _NODE, first[5] + len(past))


def _times(number: int) -> tuple[int, int]:
    """When an answer comes, and when it was sent."""
    at = number >> _AT_BITS
    return at, at - (_MOST_BACK_US - ((number & _LOW) >> _SENT_BITS))
