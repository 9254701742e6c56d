"""Events as lanes of a timeline: what stands too close together becomes one mark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from kafkactl.report.events import FEATURES, Event
from kafkactl.report.model import Mark, Timeline

LANES: Final = 24  # more are counted, not drawn
_PLACES: Final = 60  # marks that a lane has room for
_LISTED: Final = 6
_HEAVIEST: Final = ("bad", "warn", "good", "plain")


def timeline_of(events: Iterable[Event], *, end_ms: int) -> Timeline | None:
    """Return the lanes, features first, then the nodes with the most events; None if nothing happened.

    Every event is kept: they are few compared with the records of partitions.
    """
    lanes: dict[str, list[Event]] = {}
    for event in events:
        lanes.setdefault(event.lane, []).append(event)
    if not lanes:
        return None
    start_ms = min(lane[0].time_ms for lane in lanes.values())
    last_ms = max(end_ms, *(lane[-1].time_ms for lane in lanes.values()))
    chosen = sorted(lanes, key=lambda name: (name != FEATURES, -len(lanes[name]), _by_number(name)))[:LANES]
    chosen.sort(key=lambda name: (name != FEATURES, _by_number(name)))
    return Timeline(
        title="Feature levels and registrations",
        text=f"What happened to features and nodes from {clock(start_ms)} to {clock(last_ms)}, by the log.",
        start_ms=start_ms,
        end_ms=last_ms,
        lanes=tuple((name, tuple(_marks(lanes[name], start_ms, last_ms))) for name in chosen),
        more=len(lanes) - len(chosen),
    )


def clock(time_ms: int) -> str:
    """Return a time for people, in UTC; a time outside the calendar is shown in milliseconds."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{time_ms} ms"


def moment(time_ms: int, *, is_virtual: bool) -> str:
    """Return a time of a timeline: seconds since the start where time is virtual, else as of `clock`."""
    return f"{time_ms / 1000:.3f} s" if is_virtual else clock(time_ms)


def _by_number(name: str) -> tuple[str, int]:
    kind, _, number = name.partition(" ")
    return kind, int(number or 0)


def _marks(events: list[Event], start_ms: int, end_ms: int) -> Iterator[Mark]:
    width = max(end_ms - start_ms, 1)
    for _, grouped in groupby(events, key=lambda event: (event.time_ms - start_ms) * _PLACES // width):
        group = list(grouped)
        lines = [f"{clock(event.time_ms)} {event.label} (offset {event.offset})" for event in group[:_LISTED]]
        more = f"; {len(group) - _LISTED} more" if len(group) > _LISTED else ""
        label = group[-1].label if len(group) == 1 else f"{group[-1].label}, {len(group)} events"
        tone = min((event.tone for event in group), key=_HEAVIEST.index)
        yield Mark(group[-1].time_ms, label, "; ".join(lines) + more, tone)
