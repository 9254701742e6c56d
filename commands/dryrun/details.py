"""`--details DIR`: what an answer only shows the beginning of, as tables for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkactl.commands.rendering.output import say

if TYPE_CHECKING:
    from kafkactl.commands.dryrun.answers import Opened
    from kafkactl.dryrun.controller.facts import Facts
    from kafkactl.dryrun.detail_tables import Table
    from kafkactl.dryrun.prediction import Prediction
    from kafkactl.metadata.log.frame import MetadataRecord
    from kafkactl.operations.dryrun import ScenarioContext


def check_details(path: str | None, tags: Iterable[str]) -> None:
    """Refuse what could not be written in the end, before a log is read; nothing where no folder was named."""
    if path is not None:
        from kafkactl.adapters.files.detail_files import check_details_target

        check_details_target(Path(path))
        for tag in tags:
            if tag and Path(path).is_dir():
                check_details_target(Path(path) / tag)


def write_tables(path: str | None, opened: Opened, tables: Iterable[Table]) -> str | None:
    """Write the tables, of several clusters into a folder each, and say where they are; the folder."""
    if path is None:
        return None
    from kafkactl.adapters.files.detail_files import make_folder, write_details

    if opened.tag:
        make_folder(Path(path))
    folder = Path(path) / opened.tag if opened.tag else Path(path)
    write_details(folder, tables)
    say(f"The tables are in {folder}.")
    return str(folder)


def detail_tables(found: Prediction, context: ScenarioContext, within: str = "") -> Iterator[Table]:
    """The tables of a prediction, and for `replay` of the state; `within` is the folder that their names begin with."""
    from kafkactl.dryrun.detail_tables import changes_table, records_table, state_tables

    if found.scenario == "replay":
        loaded = context.loaded
        yield from (
            one._replace(name=within + one.name)
            for one in state_tables(loaded.image, loaded.counts, found.effects["image_sha256"])
        )
        return
    for one in (changes_table(found.changes), records_table(appended_records(found, context))):
        yield one._replace(name=within + one.name)


def appended_records(found: Prediction, context: ScenarioContext) -> Iterator[dict[str, Any]]:
    """The records that would be appended, as `log dump` writes them."""
    return records_listed(found, context.facts)


def records_listed(found: Prediction, facts: Facts | None = None) -> Iterator[dict[str, Any]]:
    """The same where there is no log that they would be appended to: as the prediction's own facts number them."""
    from kafkactl.dryrun.controller.appended import records_of

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
    """The record's fields as `log dump` writes them, without secrets."""
    from kafkactl.metadata.image.redact import redacted
    from kafkactl.protocol.json_form import to_json
    from kafkactl.schema.definitions import message

    shown = to_json(message(record.type), record.version, record.data)
    return redacted(record.type, shown)
