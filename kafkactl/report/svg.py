"""Pictures as inline SVG that keeps its letters readable on a phone: places across are percentages, heights pixels.

Every picture has a title and a text that says the same (`<title>`, `<desc>`); colours come from classes of the style
sheet, so that dark, light and print need no second drawing. Every text is escaped here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from kafkactl.core.safe_text import visible
from kafkactl.core.wording import size_text
from kafkactl.report.model import Band, Bars, Curve, Mark, Picture, Quorum, Series, Strip, Timeline, Voters
from kafkactl.report.timeline import moment

_LABEL, _BAR, _GAP = 19, 14, 10  # pixels
_LEGEND_LINE: Final = 20
_SHOWN: Final = 34  # letters that fit next to a value on a phone
_LEAST: Final = 10
_CURVE_HEIGHT: Final = 140
_VOTERS: Final = 6  # in a line
_NARROWEST: Final = 0.4  # percent: what is narrower could not be seen
_FLAG: Final = 17


def draw(block: Picture, key: str) -> str:
    """Return the picture; `key` is unlike that of every other picture of the page."""
    match block:
        case Bars():
            height, parts = _bars(block)
        case Curve():
            height, parts = _curve(block)
        case Timeline():
            height, parts = _timeline(block)
        case Quorum():
            height, parts = _quorum(block)
        case Strip():
            height, parts = _strip(block)
    return (
        f'<svg class="picture" width="100%" height="{height}" role="img" aria-labelledby="{key}-t {key}-d">'
        f'<title id="{key}-t">{_safe(block.title)}</title><desc id="{key}-d">{_safe(block.text)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def _bars(block: Bars) -> tuple[int, list[str]]:
    stacked = block.stacked
    most = max((sum(values) if stacked else max(values) for _, values in block.rows), default=0) or 1
    parts, top = [], 4
    if len(block.series) > 1:
        parts = list(_legend([(series.name, f"t-{series.tone}") for series in block.series]))
        top = (len(block.series) + 1) // 2 * _LEGEND_LINE + 6
    for label, values in block.rows:
        shown = _sum(block, values)
        parts.append(
            _text(0, top + 13, _short(label, _SHOWN if len(shown) < 14 else max(_LEAST, 38 - len(shown))), hint=label)
        )
        parts.append(_text(100, top + 13, shown, css="value", anchor="end"))
        top += _LABEL
        if stacked:
            parts += _stack(block.series, values, top, most, label)
            top += _BAR
        else:
            for series, value in zip(block.series, values, strict=True):
                parts.append(_rect(0, value * 100 / most, top, series, f"{label}: {value:,} {series.name}"))
                top += _BAR if len(values) == 1 else _BAR - 4
        top += _GAP
    return top, parts


def _sum(block: Bars, values: Sequence[int]) -> str:
    between = " → " if [line.name for line in block.series] == ["before", "after"] else " / "
    if block.unit == "bytes" and not any(values[1:]):
        return size_text(values[0])
    return between.join(size_text(value) if block.unit == "bytes" else f"{value:,}" for value in values)


def _stack(series: Sequence[Series], values: Sequence[int], top: int, most: int, label: str) -> Iterator[str]:
    left = 0.0
    for line, value in zip(series, values, strict=True):
        if value:
            width = value * 100 / most
            yield _rect(left, width, top, line, f"{label}: {value:,} {line.name}", height=_BAR)
            left += width


def _rect(left: float, width: float, top: int, series: Series, hint: str, *, height: int | None = None) -> str:
    tall = height or _BAR - 4
    if width <= 0:
        return f'<rect class="none" x="0" y="{top}" width="2" height="{tall}"><title>{_safe(hint)}</title></rect>'
    width = max(width, _NARROWEST)
    return (
        f'<rect class="t-{series.tone}" x="{left:.2f}%" y="{top}" width="{width:.2f}%" height="{tall}">'
        f"<title>{_safe(hint)}</title></rect>"
    )


def _legend(entries: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Draw names with their forms, two in a line, for the width of a phone."""
    for place, (name, form) in enumerate(entries):
        x, y = place % 2 * 50, place // 2 * _LEGEND_LINE
        # Shares of the width and pixels cannot be added in a place, but in a picture within the picture.
        yield f'<svg x="{x}%" y="{y}" width="50%" height="{_LEGEND_LINE}" overflow="visible">'
        yield f'<rect class="{form}" x="1" y="5" width="10" height="10"/>'
        yield f'<text class="small" x="16" y="14">{_safe(name)}</text></svg>'


def _curve(block: Curve) -> tuple[int, list[str]]:
    last_day = max(day for day, _ in block.points) or 1
    most = max(value for _, value in block.points) or 1
    points = [(day * 100 / last_day, 100 - value * 96 / most) for day, value in block.points]
    path = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    ceiling = ""
    if block.limit is not None:
        y = 100 - block.limit * 96 / most
        ceiling = f'<line class="limit" x1="0" y1="{y:.2f}" x2="100" y2="{y:.2f}"/>'
    first, end = block.points[0], block.points[-1]
    parts = [
        _text(100, 14, f"{size(end[1])} after {end[0]:,} days", css="value", anchor="end"),
        f'<svg x="0" y="22" width="100%" height="{_CURVE_HEIGHT}" viewBox="0 0 100 100" preserveAspectRatio="none">'
        f'<polygon class="area" points="0,100 {path} 100,100"/><polyline class="line" points="{path}"/>{ceiling}'
        '<line class="axis" x1="0" y1="100" x2="100" y2="100"/></svg>',
        _text(0, _CURVE_HEIGHT + 40, f"now: {size(first[1])}"),
    ]
    if block.limit is not None:
        parts.append(_text(100, _CURVE_HEIGHT + 40, "dashed: kept at most", css="small", anchor="end"))
    return _CURVE_HEIGHT + 48, parts


def size(count: int) -> str:
    """Return a number of bytes for people.

    >>> size(104_883_784)
    '100.0 MiB'
    """
    value = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def _timeline(block: Timeline) -> tuple[int, list[str]]:
    width = max(block.end_ms - block.start_ms, 1)
    parts, top = [], 4
    for lane, marks in block.lanes:
        parts.append(_text(0, top + 13, lane))
        if marks:
            parts.append(_text(100, top + 13, _short(marks[-1].label, 30), css="small", anchor="end"))
        line = top + _LABEL + 9
        parts.append(f'<line class="axis" x1="0" y1="{line}" x2="100%" y2="{line}"/>')
        parts += [_band(band, line, block.start_ms, width) for band in block.bands.get(lane, ())]
        parts += [_mark(mark, line, (mark.time_ms - block.start_ms) * 95 / width + 2.5) for mark in marks]
        top = line + 9 + _GAP
    begin, end = (moment(time_ms, is_virtual=block.is_virtual) for time_ms in (block.start_ms, block.end_ms))
    parts.append(_text(0, top + 14, begin, css="small"))
    parts.append(_text(100, top + 14, end, css="small", anchor="end"))
    return top + 22, parts


def _band(band: Band, line: int, start_ms: int, width: int) -> str:
    left, share = (band.first_ms - start_ms) * 95 / width + 2.5, (band.last_ms - band.first_ms) * 95 / width
    box = f'x="{left:.2f}%" y="{line - 4}" width="{max(share, _NARROWEST):.2f}%" height="8"'
    return f'<rect class="band t-{band.tone}" {box}><title>{_safe(band.text)}</title></rect>'


def _mark(mark: Mark, line: int, left: float) -> str:
    hint = f"<title>{_safe(mark.text)}</title>"
    if mark.tone == "bad":  # another form, not another colour alone
        return f'<rect class="t-bad" x="{left:.2f}%" y="{line - 7}" width="5" height="14">{hint}</rect>'
    return f'<circle class="t-{mark.tone}" cx="{left:.2f}%" cy="{line}" r="5">{hint}</circle>'


def _quorum(block: Quorum) -> tuple[int, list[str]]:
    parts: list[str] = []
    top = 4
    for side in block.sides:
        parts.append(_text(0, top + 13, side.name if len(block.sides) > 1 else "voters", css="strong"))
        enough = "a majority" if len(side.alive) >= side.majority else "no majority"
        words = f"{len(side.alive)} of {len(side.ids)} alive, {side.majority} needed: {enough}"
        parts.append(_text(100, top + 13, words, css="value", anchor="end"))
        top += _LABEL + 3
        for first in range(0, len(side.ids), _VOTERS):
            parts += _voters(side, side.ids[first : first + _VOTERS], top)
            top += 45
        top += _GAP
    return top, parts


def _voters(side: Voters, ids: Sequence[int], top: int) -> Iterator[str]:
    width = 100 / min(len(side.ids), _VOTERS)
    for place, voter in enumerate(ids):
        lives = voter in side.alive
        css, word = ("t-good", "alive") if lives else ("gone", "lost")
        x = place * width
        yield f'<rect class="{css}" x="{x:.2f}%" y="{top}" width="{width - 1:.2f}%" height="20"><title>'
        yield f"voter {voter}: {word}</title></rect>"
        yield _text(x, top + 36, f"{voter}" if lives else f"{voter} ✕", css="small")


def _strip(block: Strip) -> tuple[int, list[str]]:
    parts, top = list(_legend(block.legend)), (len(block.legend) + 1) // 2 * _LEGEND_LINE + (6 if block.legend else 4)
    width, bars, words = block.last - block.first + 1, [], []
    for lane in block.lanes:
        words.append(_text(0, top + 13, _short(lane.name, _SHOWN), css="label flag", hint=lane.name))
        words.append(_text(100, top + 13, lane.value, css="value flag", anchor="end"))
        top += _LABEL
        parts.append(f'<rect class="track" x="0" y="{top}" width="100%" height="{_BAR}"/>')
        for span in lane.spans:
            left, share = (span.first - block.first) * 100 / width, (span.last - span.first + 1) * 100 / width
            share = max(share, _NARROWEST)
            form = span.form if span.form == "gone" else f"t-{span.form}"
            box = f'x="{min(left, 100 - share):.3f}%" y="{top}" width="{share:.3f}%" height="{_BAR}"'
            parts.append(f'<rect class="{form}" {box}><title>{_safe(span.text)}</title></rect>')
        bars.append((top - 2, top + _BAR + 2))
        top += _BAR + _GAP // 2
    for place, offset, label in _flags(block, width):
        # Over the bars and down to its words, not through the words between the bars.
        for high, low in [*bars[:-1], (bars[-1][0], top + _FLAG - 3)] if bars else []:
            parts.append(f'<line class="mark" x1="{place:.3f}%" y1="{high}" x2="{place:.3f}%" y2="{low}"/>')
        side, anchor = (1, "start") if place <= 50 else (-1, "end")
        words.append(
            f'<svg x="{place:.3f}%" y="{top}" width="1" height="{_FLAG}" overflow="visible">'
            f'<text class="small flag" x="{4 * side}" y="13" text-anchor="{anchor}">'
            f"{_safe(f'{label} {offset:,}')}</text></svg>"
        )
        top += _FLAG
    return top + 4, [*parts, *words]


def _flags(block: Strip, width: int) -> list[tuple[float, int, str]]:
    """Return the marks in an order in which no line crosses the words of another: words stand towards the middle."""
    marks = [((offset - block.first) * 100 / width, offset, label) for offset, label in block.marks]
    left = sorted((mark for mark in marks if mark[0] <= 50), key=lambda mark: -mark[0])
    return [*sorted(mark for mark in marks if mark[0] > 50), *left]


def _text(left: float, y: int, words: str, *, css: str = "label", anchor: str = "start", hint: str = "") -> str:
    more = f"<title>{_safe(hint)}</title>" if hint and hint != words else ""
    return f'<text class="{css}" x="{left:.2f}%" y="{y}" text-anchor="{anchor}">{more}{_safe(words)}</text>'


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _safe(words: str) -> str:
    return escape(visible(words))
