"""Paths that lead to the same place: what is read twice is counted as two, or compared with itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from kafkactl.core.findings import Finding, note


def each_once(paths: Iterable[str], place_of: Callable[[str], str]) -> dict[str, tuple[str, ...]]:
    """Return the first path to each place, with the other names of it. `place_of` gives a place without links in it."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(place_of(path), []).append(path)
    return {names[0]: tuple(dict.fromkeys(names[1:])) for names in found.values()}


def named_twice(names: Mapping[str, tuple[str, ...]], what: str) -> Iterator[Finding]:
    """Report each path that has other names among the inputs; the same name twice is not reported."""
    for path, others in names.items():
        more = [other for other in others if other != path]
        if more:
            text = f"{' and '.join([path, *more])} are one {what}: it counts once"
            yield note("named-twice", f"{what} {path}", text, names=more)
