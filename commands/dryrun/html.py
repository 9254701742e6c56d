"""`--html FILE`: predictions as one page for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkactl.commands.rendering.output import plain_values, say

if TYPE_CHECKING:
    from kafkactl.adapters.logs.source import LogSource
    from kafkactl.dryrun.prediction import Prediction
    from kafkactl.operations.dryrun import ScenarioContext
    from kafkactl.report.build import Played
    from kafkactl.report.cluster import Cluster


def check_html(path: str | None) -> None:
    """Refuse what could not be written in the end, before a log is read; nothing where no file was named."""
    if path is None:
        return
    from kafkactl.adapters.files.report_files import check_report_target
    from kafkactl.report.html import MARK, check_installed

    check_installed()
    check_report_target(Path(path), MARK)


def page_part(answer: Mapping[str, Any], found: Prediction, context: ScenarioContext) -> Played:
    """What a report shows of a prediction that was simulated on `context`: small, where the prediction may be large."""
    from kafkactl.operations.dryrun import find_scenario
    from kafkactl.report.build import Played

    about = find_scenario(found.scenario).about
    return Played(answer=plain_values(answer), after=_after(found, context), about=about)


def write_html(path: str, played: Sequence[Played], context: ScenarioContext, log: LogSource) -> None:
    """Write the report of what was simulated on `context`, which was read from `log`, and say where it is."""
    from kafkactl._version import __version__
    from kafkactl.adapters.files.report_files import write_report
    from kafkactl.report.build import report_of
    from kafkactl.report.cluster import cluster_of
    from kafkactl.report.events import events_of
    from kafkactl.report.html import MARK, render_html
    from kafkactl.report.timeline import timeline_of

    loaded = context.loaded
    events = events_of(log.segments, up_to=loaded.last_offset)
    report = report_of(
        played,
        cluster_of(loaded.image),
        timeline=timeline_of(events, end_ms=loaded.last_timestamp_ms),
        written_by=f"kafkactl {__version__}",
    )
    write_report(Path(path), render_html(report), MARK)
    say(f"The report is in {path}.")


def _after(found: Prediction, context: ScenarioContext) -> Cluster | None:
    """The cluster once it has happened; None where nothing is written."""
    from kafkactl.dryrun.chain import after
    from kafkactl.report.cluster import cluster_of

    if not found.operations:
        return None
    image, _ = after(context.loaded.image, found)
    return cluster_of(image)
