"""Events simulated before the question (`--after`): earlier answers, or TOML files of scenarios."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from kafkactl.core.errors import InputError, UnknownOutcomeError
from kafkactl.core.findings import blockers
from kafkactl.core.json_input import parse_json
from kafkactl.dryrun.by_name import chain
from kafkactl.dryrun.prediction import Prediction
from kafkactl.dryrun.scenario import ScenarioContext
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.metadata.dump.findings import EMPTY_LOG, NOT_THIS_LOG, has_records

Event: TypeAlias = tuple[str, Mapping[str, Any]]  # the name of a scenario, and its input


def after_events(
    context: ScenarioContext, paths: Sequence[str], events: Iterable[Event], at: int | None
) -> tuple[ScenarioContext, list[Prediction]]:
    """Return the context after the events, and the prediction for each event; `paths` are those of the log.

    Raises UnknownOutcomeError for a log without records, InputError `offset-not-in-log`, and what a scenario raises.
    """
    loaded = context.loaded
    is_readable = not blockers(loaded.findings)
    if at is None and is_readable and loaded.snapshot_offset is None and not has_records(loaded.counts):
        raise UnknownOutcomeError(
            f"{', '.join(paths)} holds no metadata record, so nothing can be predicted from it",
            id=EMPTY_LOG,
            next_step=NOT_THIS_LOG,
        )
    if at is not None and loaded.last_offset < at:
        raise InputError(
            f"the log ends at offset {loaded.last_offset}; the state at offset {at} is not in it",
            id="offset-not-in-log",
        )
    return chain(context, events)


def read_events(path: str) -> list[Event]:
    """Return the scenarios in a file, in their order. Raises InputError `invalid-after-file`."""
    import tomli

    kind = InputKind.INVENTORY if path.endswith(".toml") else InputKind.DOCUMENT
    text = read_input(Path(path), "file of earlier predictions", kind).decode("utf-8", "replace")
    try:
        return _in_toml(tomli.loads(text)) if path.endswith(".toml") else _in_json(parse_json(text))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} holds no scenarios: {error}", id="invalid-after-file") from error


def _in_toml(found: Mapping[str, Any]) -> list[Event]:
    tables = found.get("scenario")
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise ValueError("there is no table [[scenario]] in it")
    nameless = [number for number, table in enumerate(tables, start=1) if not isinstance(table.get("name"), str)]
    if nameless:
        raise ValueError(f"table {nameless[0]} of [[scenario]] has no name")
    return [(table["name"], {key: value for key, value in table.items() if key != "name"}) for table in tables]


def _in_json(found: Any) -> list[Event]:
    events = [*found.get("after", []), found] if isinstance(found, Mapping) else []
    if not events or not all(isinstance(event.get("input"), Mapping) and "scenario" in event for event in events):
        raise ValueError("it is not the answer of one scenario on one cluster")
    return [(event["scenario"], event["input"]) for event in events]
