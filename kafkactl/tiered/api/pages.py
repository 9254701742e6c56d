"""`kafkactl tiered report`: audit and forecast together, and as one page with pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Severity
from kafkactl.tiered.api.load import Loaded
from kafkactl.tiered.api.verbs import ALL, Filters, Forecast, audit, foresee
from kafkactl.tiered.judgements import TieredReport
from kafkactl.tiered.pictures import orphan_ages, picture_of, worth_drawing

__all__ = ["TieredReport", "check_html", "report", "write_html"]

NO_FORECAST: Final = "replicas-unknown"
_WEIGHTS: Final = (Severity.BLOCKER, Severity.WARNING, Severity.INFO)


def report(loaded: Loaded, filters: Filters = ALL) -> TieredReport:
    """Audit and forecast of what was loaded."""
    found = audit(loaded, filters)
    assumptions = list(found.assumptions)
    foreseen: Forecast | None = None
    try:
        foreseen = foresee(loaded, filters)
    except InputError as error:
        if error.id != NO_FORECAST:
            raise
        assumptions.append(f"{error.message}: there is no forecast")
    findings = list(found.findings)
    if foreseen is not None:
        findings += foreseen.harms
        findings.sort(key=lambda finding: _WEIGHTS.index(finding.severity))
    wanted = {partition.key: partition for partition in loaded.case.partitions if filters.has(partition)}
    by_name = {(partition.topic_id, key.partition): partition for key, partition in wanted.items()}
    return TieredReport(
        audit=found,
        findings=tuple(findings),
        forecast=None if foreseen is None else foreseen.partitions,
        pictures=tuple(
            picture_of(by_name[status.topic_id, status.partition], status.holes)
            for status in worth_drawing(found.partitions, findings)
        ),
        orphan_ages=tuple(orphan_ages(wanted.values())),
        assumptions=tuple(assumptions),
    )


def check_html(path: str | None) -> None:
    """Refuse a target that cannot be written, before anything is read; nothing if no file was named.

    Raises RefusedError `not-a-report-file`, FailedError `report-not-written`.
    """
    if path is None:
        return
    from kafkactl.files.report_files import check_report_target
    from kafkactl.report.html import TIERED_MARK

    check_report_target(Path(path), TIERED_MARK)


def write_html(path: str, found: TieredReport) -> None:
    """Write a report as one HTML file that needs nothing else, whole or not at all. Raises as `check_html`."""
    from kafkactl._version import __version__
    from kafkactl.files.report_files import write_report
    from kafkactl.report.html import TIERED_MARK, render_html
    from kafkactl.tiered.page.build import tiered_report_of

    report = tiered_report_of(found, written_by=f"kafkactl {__version__}")
    write_report(Path(path), render_html(report, TIERED_MARK), TIERED_MARK)
