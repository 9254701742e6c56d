"""The page of a simulation: what was run, what was found, and one lane a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from kafkactl.core.findings import Finding
from kafkactl.report.model import Band, Block, Cell, Facts, Mark, Report, Section, Table, Timeline
from kafkactl.simulator.campaign import Summary, percentile, verdict_of
from kafkactl.simulator.timeline import Happening

_PLACES: Final = 60  # marks that a lane has room for
_LISTED: Final = 6
_ROWS: Final = 2_000
_ROLES: Final = {
    "leader": "good",
    "candidate": "warn",
    "prospective": "warn",
    "resigned": "warn",
    "follower": "plain",
    "observer": "dim",
    "unattached": "dim",
}
_HEAVIEST: Final = ("bad", "warn", "good", "plain")
_MEANINGS: Final = {
    "passed": "Every expectation came true, and no invariant was broken.",
    "failed": "An expectation did not come true, or an invariant was broken.",
    "unknown": "Every run that was made passed, and not all were made.",
}


def report_of(summary: Summary, findings: Sequence[Finding], title: str, *, written_by: str) -> Report:
    """Return the page as values; `title` names the script or the profile."""
    verdict = verdict_of(summary)
    shown = summary.shown
    blocks: list[Block] = [_lanes(summary), _table(shown.happenings, shown.left_out)]
    if summary.shrunk is not None:
        rows = tuple((Cell(line),) for line in summary.shrunk.splitlines())
        heading = f"The fewest statements that fail alike ({summary.faults_after} of {summary.faults_before})"
        blocks.insert(0, Table(title=heading, columns=("script",), rows=rows))
    section = Section(
        anchor="run",
        title=title,
        about=f"Seed {shown.seed}; time is virtual.",
        verdict=verdict,
        findings=tuple(finding.to_dict() for finding in findings),
        blocks=tuple(blocks),
    )
    return Report(
        title=f"Simulation: {title}",
        verdict=verdict,
        meaning=_MEANINGS[verdict],
        source=_source(summary),
        sections=(section,),
        cluster=(),
        assumptions=(),
        written_by=written_by,
        overview=None,
        closing="Simulated in virtual time; no cluster was asked.",
        cluster_title="",
    )


def _source(summary: Summary) -> Facts:
    quorum, times = summary.quorum, summary.failovers_us
    kind = "static" if quorum.is_static else "dynamic"
    rows = [
        ("quorum", f"{kind}, release {summary.release}, voters {_ids(quorum.voters)}"),
        ("observers", _ids(quorum.observers)),
        ("runs", f"{summary.passed:,} of {summary.runs:,} passed"),
        ("elections", f"{summary.elections:,}, highest epoch {summary.highest_epoch:,}"),
        ("records committed", f"{summary.committed:,}"),
        ("failover", ", ".join(f"p{share} {(percentile(times, share) or 0) / 1000:,.0f} ms" for share in (50, 90, 99))
         if times else ""),
    ]  # fmt: skip
    return Facts(rows=tuple((name, Cell(text)) for name, text in rows if text))


def _ids(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, nodes))


def _lanes(summary: Summary) -> Timeline:
    shown = summary.shown
    end_us = max(shown.time_us, 1)
    lanes: list[tuple[str, tuple[Mark, ...]]] = []
    for node in (None, *summary.quorum.nodes):
        happened = [happening for happening in shown.happenings if happening.node == node]
        name = "network and requests" if node is None else f"node {node}"
        lanes.append((name, tuple(_marks(happened, end_us))))
    return Timeline(
        title="What happened",
        text="One lane a node: what it became, and what was done to it; the band under the marks is its role (green: "
        "leader, yellow: asks for votes, blue: follows, grey: neither, none: down). The table below has every event.",
        start_ms=0,
        end_ms=end_us // 1000,
        lanes=tuple(lanes),
        is_virtual=True,
        bands={f"node {node}": tuple(_bands(shown.happenings, node, end_us)) for node in summary.quorum.nodes},
    )


def _bands(happenings: Sequence[Happening], node: int, end_us: int) -> Iterator[Band]:
    """Yield the roles of a node, one after the other; nothing while it is down."""
    roles = [happening for happening in happenings if happening.node == node and happening.kind == "role"]
    ends = [*(happening.time_us for happening in roles[1:]), end_us]
    for happening, until in zip(roles, ends, strict=True):
        tone = _ROLES.get(happening.text.partition(",")[0])
        if tone is not None and until > happening.time_us:
            span = f"{happening.time_us / 1_000_000:.3f} to {until / 1_000_000:.3f} s"
            yield Band(happening.time_us // 1000, until // 1000, f"{span}: {happening.text}", tone)


def _marks(happened: Sequence[Happening], end_us: int) -> Iterator[Mark]:
    for _, near in groupby(happened, key=lambda happening: happening.time_us * _PLACES // end_us):
        group = list(near)
        lines = [f"{happening.time_us / 1_000_000:.3f} s {happening.text}" for happening in group[:_LISTED]]
        more = f"; {len(group) - _LISTED} more" if len(group) > _LISTED else ""
        last = group[-1]
        label = last.text if len(group) == 1 else f"{last.text}, {len(group)} events"
        tone = min((happening.tone for happening in group), key=_HEAVIEST.index)
        yield Mark(last.time_us // 1000, label, "; ".join(lines) + more, tone)


def _table(happened: Sequence[Happening], left_out: int) -> Table:
    rows = tuple(
        (
            Cell(f"{happening.time_us / 1_000_000:.6f} s"),
            Cell("" if happening.node is None else f"{happening.node}"),
            Cell(happening.text, happening.tone),
        )
        for happening in happened[-_ROWS:]
    )
    left = max(0, len(happened) - _ROWS) + left_out
    return Table(title="Events", columns=("time", "node", "what"), rows=rows, more=left)
