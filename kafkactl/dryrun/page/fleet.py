"""The reports of many clusters as one: a table of the fleet, the worst cluster first, and a section for each that is
not ok."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kafkactl.core.frozen import frozen
from kafkactl.core.wording import counted
from kafkactl.dryrun.page.build import SHOWN_FINDINGS, WEIGHTS, findings_in_short, rest_of, sorted_findings
from kafkactl.dryrun.page.titles import title_of
from kafkactl.report.model import MEANINGS, TONES, Cell, Facts, Report, Section, Table

NO_ANSWER: Final = "no answer"
COLUMNS: Final = ("cluster", "verdict", "findings")


@frozen
class FleetCluster:
    """A cluster of a fleet: its answer `dryrun.report`, or the error that it has in place of one. `page` is the file of
    its own report."""

    title: str
    answer: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    page: str | None = None

    @property
    def verdict(self) -> str:
        """Return the verdict of the answer, or `no answer`."""
        return NO_ANSWER if self.answer is None else str(self.answer["verdict"])

    @property
    def tone(self) -> str:
        """Return the tone of the verdict."""
        return TONES[self.verdict] if self.answer is not None else "bad"

    @property
    def is_ok(self) -> bool:
        """Return True if nothing of the cluster has to be shown but its row."""
        return self.verdict == WEIGHTS[0]

    @property
    def findings(self) -> list[Mapping[str, Any]]:
        """Return blockers and warnings of all scenarios, the gravest first, each with its scenario; or the error."""
        if self.answer is None:
            error = self.error or {}
            return [{**error, "severity": "blocker", "subject": self.title}]
        return sorted_findings(
            {**finding, "subject": f"{title_of(prediction)}: {finding['subject']}"}
            for prediction in self.answer["predictions"]
            for finding in prediction["findings"]
            if finding["severity"] != "info"
        )

    @property
    def in_short(self) -> str:
        """Return the number of findings and the first of them, or the message of the error."""
        return findings_in_short(self.findings) if self.answer is not None else str((self.error or {}).get("message"))


def by_weight(clusters: Iterable[FleetCluster]) -> list[FleetCluster]:
    """Return the clusters without an answer, then the others by verdict, the worst first; equal ones by title."""
    order = (*WEIGHTS, NO_ANSWER)
    return sorted(clusters, key=lambda cluster: (-order.index(cluster.verdict), cluster.title))


def fleet_report(clusters: Sequence[FleetCluster], *, engine: str, written_by: str) -> Report:
    """Return the page of a fleet."""
    ordered = by_weight(clusters)
    answered = [cluster for cluster in ordered if cluster.answer is not None]
    verdict = answered[0].verdict
    sections = tuple(_section(cluster, number) for number, cluster in enumerate(ordered) if not cluster.is_ok)
    rows = tuple((Cell(each.title), Cell(each.verdict, each.tone), Cell(each.in_short)) for each in ordered)
    facts = [
        ("clusters", counted(len(ordered), "cluster")),
        ("ok", str(sum(cluster.is_ok for cluster in ordered))),
        ("without an answer", str(len(ordered) - len(answered))),
        ("engine", engine),
    ]
    return Report(
        title="Dry-run report of a fleet",
        verdict=verdict,
        meaning=MEANINGS[verdict],
        source=Facts(rows=tuple((name, Cell(text)) for name, text in facts)),
        sections=sections,
        cluster=(),
        assumptions=(),
        written_by=written_by,
        overview=Table(title="Clusters, the worst first", columns=COLUMNS, rows=rows),
        cluster_title="",
        closing="Predicted from copies of metadata logs; no cluster was asked.",
    )


def _section(cluster: FleetCluster, number: int) -> Section:
    findings = cluster.findings
    predictions = [] if cluster.answer is None else cluster.answer["predictions"]
    scenarios = tuple(
        (
            Cell(title_of(prediction)),
            Cell(prediction["verdict"], TONES[prediction["verdict"]]),
            Cell(findings_in_short(prediction["findings"])),
        )
        for prediction in predictions
    )
    page = () if cluster.page is None else (Facts(rows=(("its own report", Cell(cluster.page)),)),)
    table = (
        (Table(title="Scenarios", columns=("scenario", "verdict", "findings"), rows=scenarios),) if scenarios else ()
    )
    return Section(
        anchor=f"cluster-{number + 1}",
        title=cluster.title,
        about="",
        verdict="unknown" if cluster.answer is None else cluster.verdict,
        findings=(*findings[:SHOWN_FINDINGS], *rest_of(findings[SHOWN_FINDINGS:])),
        blocks=(*page, *table),
    )
