"""Differences between two statuses of a cluster, a line each."""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.status.answer import AreaStatus, ClusterStatus, StatusVerdict


def status_changes(before: ClusterStatus, after: ClusterStatus) -> tuple[str, ...]:
    """Return the changes, in the order of the areas: verdicts, and numbers of areas that keep their verdict."""
    earlier = {area.area: area for area in before.areas}
    return tuple(
        line for area in after.areas if area.area in earlier for line in _area_changes(earlier[area.area], area)
    )


def _area_changes(before: AreaStatus, after: AreaStatus) -> Iterator[str]:
    name = after.area.replace("-", " ")
    if before.verdict is not after.verdict:
        words = after.text if after.verdict is StatusVerdict.OK else after.headline or after.text
        yield f"{name} {before.verdict.value} → {after.verdict.value}: {words}"
        return
    changed = [
        f"{count.replace('_', ' ')} {_shown(before.counts[count])} → {_shown(value)}"
        for count, value in after.counts.items()
        if count in before.counts and before.counts[count] != value
    ]
    if changed:
        yield f"{name}: {', '.join(changed)}"


def _shown(value: int | str | None) -> str:
    return "not known" if value is None else str(value)
