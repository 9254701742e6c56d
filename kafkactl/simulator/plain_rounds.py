"""Rounds in vain of three nodes that ask bootstrap servers only, and all of these refuse: most rounds of all.

`simulator/rounds.py` says what rounds are. A quorum of three without a leader makes 1,500 of them before its first
election. Here an entry is a number, so that nothing is made that has to be collected. In a number are, from the left,
when the answer comes, when it was sent (the earlier, the smaller), which server was asked, and by which node. Two
answers of one moment that were sent at one moment need all that came before them: there `rounds.py` goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_NODES: Final = 3
_NODE: Final = 0b11  # the bits of the node
_SERVER_BITS: Final = 2  # from the right
_SENT_BITS: Final = 4
_AT_BITS: Final = 16
_LOW: Final = (1 << _AT_BITS) - 1
_TIE: Final = 1 << _SENT_BITS  # numbers that differ by less are of one moment
_MOST_BACK_US: Final = (1 << _AT_BITS - _SENT_BITS) - 1
_NEEDED: Final = 32  # entries of a node: `rounds.py` compares 64 times, two of each
# The smallest numbers x for which int(x * 3) is 1, and 2: comparing is faster.
THIRD: Final = 1 / 3
TWO_THIRDS: Final = 2 / 3


def run_plain(heap: list[Any], limit: int, fraction: Callable[[], float]) -> None:
    """Let the loops go round up to the limit, or to the first two whose order a number does not tell.

    Nothing happens where there are not three, or one of them may ask, or hear, anything else.
    """
    if len(heap) != _NODES or not all(map(_is_plain, heap)):
        return
    low, tie, third, two_thirds = _LOW, _TIE, THIRD, TWO_THIRDS
    first = list(heap)
    steps = [
        [_number(both, both - there, server, node) - low for server, (there, both) in enumerate(entry[3].steps)]
        for node, entry in enumerate(first)
    ]
    a, b, c = sorted(
        _number(at, at - arrives if arrives >= 0 else _MOST_BACK_US, 0, node)
        for node, (at, arrives, *_) in enumerate(first)
    )
    last = limit << _AT_BITS | low
    over: list[int] = []
    note = over.append
    while a <= last and b - a >= tie:
        note(a)
        drawn = fraction()
        number = (a | low) + steps[a & 3][0 if drawn < third else 1 if drawn < two_thirds else 2]
        if number > c:
            a, b, c = b, c, number
        elif number < b:
            a = number
        else:
            a, b = b, number
    heap[:] = _entries(first, (a, b, c), over, _NEEDED if a > last else len(over))


def _is_plain(entry: Any) -> bool:
    at, arrives, _before, loop, _place, _number = entry
    backs = [both - there for there, both in loop.steps] if loop.is_plain else []
    return len(backs) == _NODES and max(*backs, at - arrives if arrives >= 0 else 0) < _MOST_BACK_US


def _number(at: int, back_us: int, server: int, node: int) -> int:
    return at << _AT_BITS | _MOST_BACK_US - back_us << _SENT_BITS | server << _SERVER_BITS | node


def _entries(first: list[Any], numbers: tuple[int, ...], over: list[int], needed: int) -> list[Any]:
    """The entries of `rounds.py`, each with as many of those before it as are needed to compare it."""
    before: list[list[int]] = [[] for _ in first]
    missing = len(first)
    for number in reversed(over):
        known = before[number & _NODE]
        known.append(number)
        missing -= len(known) == needed
        if not missing:
            break
    nodes = bytes([number & _NODE for number in over])
    entries = []
    for number in numbers:
        node = number & _NODE
        entry = first[node]
        loop, correlation = entry[3], entry[5] + nodes.count(node)
        if before[node]:
            for earlier in reversed(before[node][:-1]):
                entry = (*_times(earlier), entry)
            entry = (*_times(number), entry, loop, (number >> _SERVER_BITS) & _NODE, correlation)
        entries.append(entry)
    return entries


def _times(number: int) -> tuple[int, int]:
    """When an answer comes, and when it was sent."""
    at = number >> _AT_BITS
    return at, at - (_MOST_BACK_US - ((number & _LOW) >> _SENT_BITS))
