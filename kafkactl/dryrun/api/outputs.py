"""Additional outputs of a prediction: tables for other programs, and a report as one page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkactl.core.frozen import changed
from kafkactl.dryrun.answer import PredictionDict
from kafkactl.dryrun.by_name import find_scenario
from kafkactl.dryrun.controller.appended_records import AppendedRecord
from kafkactl.dryrun.prediction import Prediction
from kafkactl.dryrun.scenario import ScenarioContext

if TYPE_CHECKING:
    from kafkactl.dryrun.controller.facts import Facts
    from kafkactl.dryrun.detail_tables import Table
    from kafkactl.dryrun.io.detail_files import WrittenTable
    from kafkactl.dryrun.page.build import SimulatedScenario
    from kafkactl.dryrun.page.cluster import Cluster
    from kafkactl.dryrun.page.fleet import FleetCluster
    from kafkactl.metadata.image.model import Image
    from kafkactl.metadata.io.source import LogSource
    from kafkactl.protocol.log.frame import MetadataRecord
    from kafkactl.report.model import Timeline


def check_details(path: str | None, tags: Iterable[str]) -> None:
    """Refuse a target that cannot be written, before a log is read; nothing if no folder was named.

    Raises as `detail_files.check_details_target`; for a URI only InputError `details-need-extra`.
    """
    if path is None:
        return
    from kafkactl.core.uris import scheme_of
    from kafkactl.dryrun.io.detail_files import check_details_target, check_format

    if scheme_of(path) is not None:
        check_format()
        return
    folder = Path(path)
    check_details_target(folder)
    for tag in tags:
        if tag and folder.is_dir():
            check_details_target(folder / tag)


def write_details(path: str, tables: Iterable[Table | WrittenTable], tag: str = "") -> str:
    """Write the tables, those of one of several clusters into the folder `tag`; the folder that they are in."""
    from kafkactl.dryrun.io import detail_files

    place = Path(path)
    folder = place / tag
    if tag:
        detail_files.make_folder(place)
    detail_files.write_details(folder, tables)
    return str(folder)


def detail_tables(found: Prediction, context: ScenarioContext, within: str = "") -> Iterator[Table]:
    """Yield the tables of a prediction, and for `replay` of the state.

    `within` is the folder that their names begin with.
    """
    from kafkactl.dryrun.detail_tables import changes_table, state_tables

    if found.scenario == "replay":
        loaded = context.loaded
        tables = state_tables(loaded.image, loaded.counts, found.effects.get("image_sha256") or "")
    else:
        tables = iter((changes_table(found.changes), records_table(found, context.facts)))
    for table in tables:
        yield table._replace(name=within + table.name)


def records_table(found: Prediction, facts: Facts | None = None) -> Table:
    """Return the table of the records that would be appended."""
    from kafkactl.dryrun import detail_tables as tables

    return tables.records_table(appended_records(found, facts))


def answer_of(found: Prediction, *, with_records: bool, facts: Facts | None = None) -> PredictionDict:
    """Return the answer of a prediction, with the records that would be appended if they are asked for."""
    answer = found.reported
    appended = answer["effects"]["records_appended"]
    if with_records and appended is not None:
        records = tuple(appended_records(found, facts))
        answer["effects"]["records_appended"] = changed(appended, records=records)
    return answer


def appended_records(found: Prediction, facts: Facts | None = None) -> Iterator[AppendedRecord]:
    """Yield the records that would be appended, as `log dump` writes them.

    `facts` are those of the log that they would be appended to; without one the prediction's own number them.
    """
    from kafkactl.dryrun.controller.appended_records import records_of

    facts = facts or found.facts
    for offset, record in enumerate(records_of(found.operations or (), facts.rules), start=facts.next_offset):
        yield {
            "offset": offset,
            "epoch": facts.leader_epoch,
            "timestamp_ms": facts.timestamp_ms,
            "kind": "record",
            "type": record.type,
            "version": record.version,
            "data": _data(record),
        }


def _data(record: MetadataRecord) -> dict[str, Any]:
    """Return the record's fields as `log dump` writes them, without secrets."""
    from kafkactl.protocol.json_form import to_json
    from kafkactl.protocol.redact import redacted
    from kafkactl.protocol.schema.definitions import message

    shown = to_json(message(record.type), record.version, record.data)
    return redacted(record.type, shown)


def check_html(path: str | None) -> None:
    """Refuse a target that cannot be written, before a log is read; nothing if no file was named."""
    if path is None:
        return
    from kafkactl.files.report_files import check_report_target
    from kafkactl.report.html import MARK

    check_report_target(Path(path), MARK)


def page_part(answer: Mapping[str, Any], found: Prediction, context: ScenarioContext) -> SimulatedScenario:
    """Return the part of a report about a prediction on `context`: small, while the prediction may be large.

    `answer` is the printed answer, in JSON's types.
    """
    from kafkactl.dryrun.page.build import SimulatedScenario

    return SimulatedScenario(answer=answer, after=_after(found, context), about=find_scenario(found.scenario).about)


def log_report(simulated: Sequence[SimulatedScenario], context: ScenarioContext, log: LogSource) -> bytes:
    """Return the page of what was simulated on `context`, which was read from `log`, with its timeline."""
    from kafkactl.report.events import events_of
    from kafkactl.report.timeline import timeline_of

    loaded = context.loaded
    events = events_of(log.segments, up_to=loaded.last_offset)
    return report_page(simulated, loaded.image, timeline_of(events, end_ms=loaded.last_timestamp_ms))


def report_page(simulated: Sequence[SimulatedScenario], image: Image, timeline: Timeline | None = None) -> bytes:
    """Return the page of what was simulated on an image."""
    from kafkactl._version import __version__
    from kafkactl.dryrun.page.build import report_of
    from kafkactl.dryrun.page.cluster import cluster_of
    from kafkactl.report.html import render_html

    report = report_of(simulated, cluster_of(image), timeline=timeline, written_by=f"kafkactl {__version__}")
    return render_html(report)


def fleet_page(clusters: Sequence[FleetCluster], engine: str) -> bytes:
    """Return the page of the reports of several clusters."""
    from kafkactl._version import __version__
    from kafkactl.dryrun.page.fleet import fleet_report
    from kafkactl.report.html import render_html

    return render_html(fleet_report(clusters, engine=engine, written_by=f"kafkactl {__version__}"))


def write_page(path: str, page: bytes) -> None:
    """Write a page. Raises as `check_html`."""
    from kafkactl.files.report_files import write_report
    from kafkactl.report.html import MARK

    write_report(Path(path), page, MARK)


def _after(found: Prediction, context: ScenarioContext) -> Cluster | None:
    """Return the cluster after it has happened; None if nothing is written."""
    from kafkactl.dryrun.chain import after
    from kafkactl.dryrun.page.cluster import changed_cluster, cluster_of

    if not found.operations:
        return None
    if found.end is not None:
        return changed_cluster(context.image, *found.end())
    image, _ = after(context.image, found)
    return cluster_of(image)
