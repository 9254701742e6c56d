"""The numbers of a picture as a table, for readers who do not see it, who copy from it, or who want exact values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafkactl.core.wording import size_text
from kafkactl.report.model import Bars, Cell, Curve, Picture, Quorum, Strip, Table, Timeline
from kafkactl.report.svg import size
from kafkactl.report.timeline import moment

MOST_ROWS: Final = 100  # of a picture: a page with 120 pictures stays below 6 MB


def numbers_of(picture: Picture) -> Table:
    """Return the table of a picture: the same labels, values and texts, in the order in which they are drawn."""
    match picture:
        case Bars():
            return _bars(picture)
        case Curve():
            rows = [(f"{day:,}", size(value)) for day, value in picture.points]
            return _table(picture.title, ("day", "value"), rows)
        case Timeline():
            return _timeline(picture)
        case Quorum():
            return _quorum(picture)
        case Strip():
            return _strip(picture)


def _table(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], more: int = 0) -> Table:
    cells = tuple(tuple(map(Cell, row)) for row in rows[:MOST_ROWS])
    return Table(title=f"{title}: the numbers", columns=columns, rows=cells, more=more + len(rows) - len(cells))


def _bars(picture: Bars) -> Table:
    rows = [(label, *(_value(value, picture.unit) for value in values)) for label, values in picture.rows]
    return _table(picture.title, ("of", *(series.name for series in picture.series)), rows)


def _value(value: int, unit: str) -> str:
    return size_text(value) if unit == "bytes" else f"{value:,}"


def _timeline(picture: Timeline) -> Table:
    events = [(mark.time_ms, lane, mark.text) for lane, marks in picture.lanes for mark in marks]
    events += [(band.first_ms, lane, band.text) for lane, bands in picture.bands.items() for band in bands]
    events.sort(key=lambda event: event[0])
    rows = [(moment(time_ms, is_virtual=picture.is_virtual), lane, text) for time_ms, lane, text in events]
    return _table(picture.title, ("time", "lane", "event"), rows, picture.more)


def _quorum(picture: Quorum) -> Table:
    rows = [
        (side.name, f"{voter}", "alive" if voter in side.alive else "lost")
        for side in picture.sides
        for voter in side.ids
    ]
    return _table(picture.title, ("moment", "voter", "state"), rows)


def _strip(picture: Strip) -> Table:
    rows = [
        (lane.name, f"{span.first:,}", f"{span.last:,}", span.text) for lane in picture.lanes for span in lane.spans
    ]
    rows += [("mark", f"{offset:,}", f"{offset:,}", label) for offset, label in picture.marks]
    return _table(picture.title, ("lane", "first offset", "last offset", "what"), rows, picture.more)
