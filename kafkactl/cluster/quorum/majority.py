"""Majority arithmetic of voter sets.

Rule: a voter set can commit and elect while more than half of it is alive. Only voters that are proven alive count; all
others are treated as dead, because a plan must not rest on an assumption. Kafka checks none of this before it accepts a
change of voters (KIP-853; `RemoveVoterHandler`), so a set without a live majority can be made, and then never commits:
the wedge.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable


def majority(size: int) -> int:
    """Return the majority of `size` voters (`VoterSet`: size / 2 + 1), which is 1 without voters.

    >>> [majority(size) for size in (1, 2, 3, 4, 5)]
    [1, 2, 2, 3, 3]
    """
    return size // 2 + 1


def tolerates(voters: Collection[Hashable], alive: Collection[Hashable]) -> int:
    """Return the number of further failures the set survives now. Below 0 no majority: that many must come back.

    >>> tolerates({1, 2, 3}, {1, 2, 3}), tolerates({1, 2, 3}, {1, 2}), tolerates({1, 2, 3}, {1})
    (1, 0, -1)
    """
    members = set(voters)
    return len(members & set(alive)) - majority(len(members))


def critical(voters: Collection[Hashable], alive: Collection[Hashable]) -> frozenset[Hashable]:
    """Return the voters of which no single one may fail: all that are alive if no failure is tolerated, else none."""
    if tolerates(voters, alive) != 0:
        return frozenset()
    return frozenset(voters) & frozenset(alive)


def majorities_always_meet(before: Collection[Hashable], after: Collection[Hashable]) -> bool:
    """Return True if every majority of one set shares a voter with every majority of the other.

    Kafka's own check (`VoterSet.hasOverlappingMajority`) takes every change of at most one voter added and one removed;
    replacing one of three in a single step passes there though {1,2} and {1',3} are disjoint. This is the exact rule:
    two disjoint majorities each consist of voters of one set only, and of shared ones.
    """
    old, new = set(before), set(after)
    shared = len(old & new)
    needed = max(0, majority(len(old)) - len(old - new)) + max(0, majority(len(new)) - len(new - old))
    return needed > shared


def arithmetic(voters: Iterable[object], alive: Collection[object]) -> str:
    """Return the numbers behind a verdict as text, so that an operator can check them.

    >>> arithmetic([1, 2], [1, 3])
    'voters {1,2}, majority 2, alive {1}'
    """
    members = list(voters)
    living = [voter for voter in members if voter in alive]
    return f"voters {shown(members)}, majority {majority(len(members))}, alive {shown(living)}"


def shown(members: Iterable[object]) -> str:
    """Return a set as text, in the given order.

    >>> shown([1, 2])
    '{1,2}'
    """
    return "{" + ",".join(str(member) for member in members) + "}"
