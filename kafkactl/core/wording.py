"""Phrases that messages share: a few of many names, numbers with their noun, sizes, near misses, ids in file names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

_PLAIN_IN_FILE_NAMES: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def first_few(names: Sequence[str], most: int = 5, *, count: int | None = None) -> str:
    """Return the first names of a list in its order; `count` is the whole number if `names` is incomplete.

    >>> first_few(["a-1", "a-0", "b-0"], most=2)
    'a-1, a-0 and 1 more'
    """
    count = len(names) if count is None else count
    return ", ".join(names[:most]) + (f" and {count - most} more" if count > most else "")


def some(names: Iterable[str], most: int = 5) -> str:
    """Return a few of many names, sorted.

    >>> some(["b", "c", "a"], most=2)
    'a, b and 1 more'
    """
    return first_few(sorted(names), most)


def plural(noun: str, count: int) -> str:
    """Return the noun as it is written after its number, or without one.

    >>> plural("node", 3)
    'nodes'
    """
    return noun if count == 1 else f"{noun}s"


def numbered(noun: str, ids: Collection[int]) -> str:
    """Return the noun with ids in their order.

    >>> numbered("node", [3, 1]), numbered("voter", [2])
    ('nodes 3, 1', 'voter 2')
    """
    return f"{plural(noun, len(ids))} {', '.join(map(str, ids))}"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(2, "step")
    '2 steps'
    """
    return f"{count} {plural(noun, count)}"


def size_text(count: int) -> str:
    """Return a number of bytes as people read it.

    >>> size_text(19260)
    '19.3 kB'
    """
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def age_text(age_ms: int) -> str:
    """Return a length of time for people, in its largest whole unit.

    >>> age_text(7_200_000), age_text(90_000)
    ('2 hours', '1 minute')
    """
    for unit, length in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000)):
        if age_ms >= length:
            return counted(age_ms // length, unit)
    return counted(age_ms // 1000, "second")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the nearest known words as a question after a message, or nothing.

    >>> did_you_mean("storge", ["storage", "log"])
    " Did you mean 'storage'?"
    """
    import difflib

    near = difflib.get_close_matches(word, list(known), n=3)
    if not near:
        return ""
    return f" Did you mean {' or '.join(repr(name) for name in near)}?"


def file_name_of(cluster_id: str) -> str:
    """Return a cluster's id as a part of a file name: characters that Kafka's own ids do not have are written as `%2f`.

    Ids are not always Kafka's: /cluster/id of ZooKeeper and meta.properties hold what was written there, and such a
    text must not lead to another folder.
    """
    return "".join(char if char in _PLAIN_IN_FILE_NAMES else f"%{ord(char):x}" for char in cluster_id)
