"""Report as values: verdict and findings first, then tables and pictures as data.

Everything in it is small, whatever the size of the cluster: who builds it aggregates, and lists the worst. `tone` is
`good`, `warn`, `bad`, or `plain`; it never carries meaning alone, the text next to it says the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeAlias

from kafkactl.core.frozen import frozen


@frozen(kw_only=False)
class Cell:
    """A piece of text with a tone."""

    text: str
    tone: str = "plain"


@frozen
class Facts:
    """Names and values under each other."""

    rows: tuple[tuple[str, Cell], ...]


@frozen
class Table:
    """Columns with a title each; `more` rows are not shown."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    more: int = 0


@frozen(kw_only=False)
class Series:
    """Value that a bar, or a part of one, shows."""

    name: str
    tone: str = "plain"


@frozen
class Bars:
    """Rows of bars that start at zero, one bar a series, or one bar of all series if they are `stacked`.

    `rows` are a label and a value for each series; `unit` is written after the values.
    """

    title: str
    text: str
    series: tuple[Series, ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]
    stacked: bool = False
    unit: str = ""


@frozen
class Curve:
    """A value over days, as points (day, value), days ascending; `limit` is a line that it does not cross."""

    title: str
    text: str
    points: tuple[tuple[int, int], ...]
    unit: str
    limit: int | None = None


@frozen(kw_only=False)
class Mark:
    """An event, or several that are too close to be distinguished. `label` is a short word, `text` the full text."""

    time_ms: int
    label: str
    text: str
    tone: str = "plain"


@frozen(kw_only=False)
class Band:
    """The role of a node for a while, from one moment to another; `text` says it."""

    first_ms: int
    last_ms: int
    text: str
    tone: str = "plain"


@frozen
class Timeline:
    """Lanes of events from `start_ms` to `end_ms`; of virtual time where `is_virtual`, which has no calendar.

    `bands`, by the name of a lane, lie under its marks.
    """

    title: str
    text: str
    start_ms: int
    end_ms: int
    lanes: tuple[tuple[str, tuple[Mark, ...]], ...]
    more: int = 0
    is_virtual: bool = False
    bands: Mapping[str, tuple[Band, ...]] = field(default_factory=dict)


@frozen(kw_only=False)
class Voters:
    """Voters at one moment, and which of them are alive. `majority` is how many must be."""

    name: str
    ids: tuple[int, ...]
    alive: tuple[int, ...]
    majority: int
    tolerates: int


@frozen
class Quorum:
    """The arithmetic of a quorum, before and after."""

    title: str
    text: str
    sides: tuple[Voters, ...]


@frozen(kw_only=False)
class Span:
    """A part of a lane, both ends included. `form` is a tone, or `gone` for what is not there."""

    first: int
    last: int
    form: str
    text: str


@frozen
class Lane:
    """A line of a strip: what it shows, in a few words how much, and the parts in the order in which they are drawn."""

    name: str
    value: str
    spans: tuple[Span, ...]


@frozen
class Strip:
    """Lanes over the offsets from `first` to `last`, both included; marked offsets; a legend of (name, form)."""

    title: str
    text: str
    first: int
    last: int
    lanes: tuple[Lane, ...]
    marks: tuple[tuple[int, str], ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    more: int = 0


Picture: TypeAlias = Bars | Curve | Timeline | Quorum | Strip
Block: TypeAlias = Facts | Table | Picture


@frozen
class Section:
    """A part of a report: its title and verdict, the findings as in every answer, then tables and pictures."""

    anchor: str
    title: str
    about: str
    verdict: str
    findings: tuple[Mapping[str, Any], ...]
    blocks: tuple[Block, ...]
    assumptions: tuple[str, ...] = ()


@frozen
class Report:
    """Content of one page. `verdict` is the heaviest; `cluster` is the state in the log before any event.

    `overview` has a row for each section, or is None if there is one section whose findings are all that there are;
    `findings` and `summary` stand before the sections, `assumptions` are those that all sections share, `closing` says
    how the page was made. `headline` replaces the verdict, if there is more than one thing to say.
    """

    title: str
    verdict: str
    meaning: str
    source: Facts
    sections: tuple[Section, ...]
    cluster: tuple[Block, ...]
    assumptions: tuple[str, ...]
    written_by: str
    overview: Table | None
    closing: str
    cluster_title: str
    findings: tuple[Mapping[str, Any], ...] = ()
    summary: tuple[Block, ...] = ()
    headline: tuple[Cell, ...] = ()


TONES: Mapping[str, str] = {
    "ok": "good",
    "degraded": "warn",
    "refused": "bad",
    "unavailable": "bad",
    "wedged": "bad",
    "unknown": "warn",
    # Of tiered storage.
    "sound": "good",
    "warnings": "warn",
    "problems": "bad",
    "passed": "good",
    "failed": "bad",
}
MEANINGS: Mapping[str, str] = {
    "ok": "Nothing gets worse.",
    "degraded": "The cluster works, with less safety than before.",
    "refused": "Kafka would accept nothing of it.",
    "unavailable": "Partitions lose their leader, or the quorum its majority.",
    "wedged": "Kafka would accept it, and it could never commit.",
    "unknown": "The log cannot tell.",
}
