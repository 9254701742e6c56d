"""What all scenarios of `kafkactl dryrun` have in common: sources, engine, chaining, and the page for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import click

from kafkactl.commands import exit_codes
from kafkactl.commands.dryrun_html import check_html, page_part, write_html
from kafkactl.commands.options import Choice
from kafkactl.commands.output import emit
from kafkactl.commands.page import Page, Word
from kafkactl.report.model import TONES

if TYPE_CHECKING:
    from kafkactl.adapters.dryrun_sources import Sources
    from kafkactl.dryrun.local import Loaded
    from kafkactl.dryrun.prediction import Prediction
    from kafkactl.dryrun.scenarios import World
    from kafkactl.metadata.frame import MetadataRecord

Function = TypeVar("Function", bound=Callable[..., Any])
CODES = (
    exit_codes.DONE,
    exit_codes.FAILED,
    exit_codes.USAGE,
    exit_codes.REFUSED,
    exit_codes.UNREACHABLE,
    exit_codes.UNKNOWN,
    exit_codes.PROBLEMS_FOUND,
)
_SHOWN = 15


class NodeIds(click.ParamType[list[int]]):
    """Node ids with commas between them."""

    name = "ids"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """The ids in their order; anything else is a usage error."""
        if isinstance(value, list):
            return value
        parts = [part.strip() for part in str(value).split(",")]
        if not all(part.isascii() and part.isdigit() for part in parts):
            self.fail(f"{value!r} is no list of node ids: write 1,2,3.", param, ctx)
        return [int(part) for part in parts]


def scenario_options(function: Function) -> Function:
    """SOURCE... and what every scenario takes; all of it arrives as `Common` under the name `common`."""

    def wrapped(**arguments: Any) -> Any:
        common = Common(**{name: arguments.pop(name) for name in _COMMON})
        return function(common=common, **arguments)

    wrapped.__doc__, wrapped.__name__ = function.__doc__, function.__name__
    wrapped.__click_params__ = list(getattr(function, "__click_params__", []))  # type: ignore[attr-defined]
    decorated: Any = wrapped
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


class Common:
    """The options that every scenario takes."""

    def __init__(
        self,
        *,
        sources: tuple[str, ...],
        engine: str,
        master: str | None,
        config: str | None,
        kafka_version: str | None,
        same_cluster: bool,
        after: tuple[str, ...],
        records: bool,
        html: str | None,
    ) -> None:
        self.sources = sources
        self.engine = engine
        self.master = master
        self.config = config
        self.kafka_version = kafka_version
        self.same_cluster = same_cluster
        self.after = after
        self.records = records
        self.html = html


_COMMON = ("sources", "engine", "master", "config", "kafka_version", "same_cluster", "after", "records", "html")
_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=click.Path()),
    click.option(
        "--engine",
        type=Choice(("auto", "local", "spark")),
        default="auto",
        show_default=True,
        help="Where the log is replayed.",
    ),
    click.option("--master", metavar="URL", help="The Spark master; implies the Spark engine."),
    click.option(
        "--config",
        metavar="FILE",
        type=click.Path(),
        help="A controller's properties file: its static settings decide where the log is silent.",
    ),
    click.option(
        "--kafka-version",
        metavar="V",
        help="The release that the controllers run. [default: what they registered in the log]",
    ),
    click.option("--same-cluster", is_flag=True, help="The sources are replicas, whatever ids stand beside them."),
    click.option(
        "--after",
        metavar="FILE",
        multiple=True,
        type=click.Path(),
        help="Play this first: an earlier answer (-o json), or a TOML file of scenarios. Repeatable, in order.",
    ),
    click.option("--records", is_flag=True, help="List the records that would be appended, as log dump writes them."),
    click.option("--html", metavar="FILE", type=click.Path(), help="Write a report with pictures, too."),
)


def answer(common: Common, scenario: str, asked: Mapping[str, Any], *, at: int | None = None) -> NoReturn:
    """Read the log, play what comes before, play the scenario, print the answer."""
    from kafkactl.dryrun.scenarios import run

    opened = open_world(common, at=at, restarts=scenario == "restart")
    found = run(scenario, opened.world, asked)
    payload = payload_of(common, found, opened)
    if common.html is not None:
        write_html(common.html, [page_part(payload, found, opened.world)], opened.world, opened.sources)
    emit("dryrun.prediction", payload, render=_show, exit_code=found.verdict.exit_code)


class Opened(NamedTuple):
    """A world that what comes before was played on, where it was read from, and what each answer says of that."""

    world: World
    sources: Sources
    frame: Mapping[str, Any]


def open_world(common: Common, *, at: int | None = None, restarts: bool = False) -> Opened:
    """Read the log and play what comes before."""
    from kafkactl.adapters.dryrun_sources import in_process, on_spark, open_replicas, read_static, read_world
    from kafkactl.dryrun.scenarios import chain
    from kafkactl.features.releases import find_release

    check_html(common.html)
    name = _engine(common)
    engine = on_spark(common.master) if name == "spark" else in_process
    events = [event for path in common.after for event in _events(path)]
    release = None if common.kafka_version is None else find_release(common.kafka_version)
    sources = open_replicas(common.sources, same_cluster=common.same_cluster)
    static = read_static(common.config)
    world = read_world(sources, release=release, static=static, at=at, restarts=restarts, engine=engine)
    first = world.loaded
    _check_end(first, at)
    world, before = chain(world, events)
    frame = {
        "engine": name,
        "source": {
            "paths": list(sources.paths),
            "cluster_id": sources.cluster_id,
            "first_offset": first.first_offset,
            "last_offset": first.last_offset,
            "committed_offset": first.committed_offset,
            "snapshot_offset": first.snapshot_offset,
            "records": first.records,
        },
        "after": [{"scenario": one.scenario, "input": one.input, "verdict": one.verdict} for one in before],
    }
    return Opened(world, sources, frame)


def payload_of(common: Common, found: Prediction, opened: Opened) -> dict[str, Any]:
    """The answer of one scenario."""
    payload = {**opened.frame, **found.to_dict()}
    if common.records:
        payload["effects"]["records_appended"] = _with_records(payload, found, opened.world)
    return payload


def _check_end(loaded: Loaded, at: int | None) -> None:
    """Raise InputError `offset-not-in-log` for a point behind the end."""
    from kafkactl.errors import InputError

    if at is not None and loaded.last_offset < at:
        raise InputError(
            f"the log ends at offset {loaded.last_offset}; the state at offset {at} is not in it",
            id="offset-not-in-log",
            next_step="Ask for an earlier point, or leave --at out.",
        )


def _engine(common: Common) -> str:
    """The engine by name. `auto`: Spark where a master is named; on one machine it does not pay
    (docs/decisions/0014-the-spark-plan.md)."""
    if common.engine == "local" and common.master is not None:
        raise click.UsageError("--master names a Spark master, and --engine local needs none.")
    if common.engine == "auto":
        return "local" if common.master is None else "spark"
    return common.engine


def _events(path: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The scenarios in a file, in their order. Raises InputError `invalid-after-file`."""
    from kafkactl.adapters.input_files import read_input
    from kafkactl.errors import InputError

    text = read_input(Path(path), "file of earlier predictions").decode("utf-8", "replace")
    try:
        if path.endswith(".toml"):
            import tomli

            found: Any = tomli.loads(text)["scenario"]
            return [(one.pop("name"), one) for one in found]
        found = json.loads(text)
        events = [*found.get("after", []), found]
        return [(one["scenario"], one["input"]) for one in events]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} holds no scenarios: {error!r}",
            id="invalid-after-file",
            next_step='Give an answer of `kafkactl dryrun` in JSON, or TOML tables [[scenario]] with a "name".',
        ) from error


def _with_records(payload: Mapping[str, Any], found: Prediction, world: World) -> Mapping[str, Any] | None:
    """`records_appended` with the records themselves."""
    from kafkactl.dryrun.appended import records_of

    appended = payload["effects"]["records_appended"]
    if appended is None:
        return None
    facts = world.facts
    offset = facts.next_offset
    lines = []
    for record in records_of(found.operations or (), facts.rules):
        lines.append(
            {
                "offset": offset,
                "epoch": facts.leader_epoch,
                "timestamp_ms": facts.timestamp_ms,
                "kind": "record",
                "type": record.type,
                "version": record.version,
                "data": _data(record),
            }
        )
        offset += 1
    return {**appended, "records": lines}


def _data(record: MetadataRecord) -> dict[str, Any]:
    """The record's fields as `log dump` writes them, without secrets."""
    from kafkactl.metadata.redact import redacted
    from kafkactl.protocol.json_form import definition_name, to_json
    from kafkactl.schema.definitions import message

    shown = to_json(message(record.type), record.version, record.data, naming=definition_name)
    return redacted(record.type, shown)


# --- the page -----------------------------------------------------------------------------------------------------


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    from kafkactl.report.build import title_of

    effects, verdict = answer["effects"], answer["verdict"]
    page.heading(f"{title_of(answer)}: {verdict}", TONES[verdict])
    page.fields(_facts(answer, effects))
    page.findings(answer["findings"])
    for show in (_changes, _steps, _worst, _results, _features, _differences, _counts, _sizes):
        show(page, effects)
    for text in answer["assumptions"]:
        page.line(Word(f"assumed: {text}", "dim"))


def _facts(answer: Mapping[str, Any], effects: Mapping[str, Any]) -> list[tuple[str, Any]]:
    source, partitions, appended = answer["source"], effects["partitions"], effects["records_appended"]
    where = f"offset {source['last_offset']} of {', '.join(source['paths'])}"
    after = "; ".join(f"{one['scenario']} ({one['verdict']})" for one in answer["after"])
    rows: list[tuple[str, Any]] = [("log", where), ("after", after or None)]
    if partitions is not None:
        rows += [
            ("partitions", f"{partitions['total']}, {effects['changes_total']} change"),
            ("leaders that change", str(partitions["leader_changes"])),
            ("without a leader then", str(partitions["offline"])),
            ("under / at min ISR then", f"{partitions['under_min_isr']} / {partitions['at_min_isr']}"),
        ]
    if appended is not None:
        types = ", ".join(f"{count} {name}" for name, count in appended["by_type"].items())
        rows.append(("records appended", f"{appended['count']}, {appended['bytes']} bytes ({types or 'none'})"))
    for name in ("majority", "tolerates"):
        if effects[name] is not None:
            rows.append((name, f"{effects[name]['before']} before, {effects[name]['after']} after"))
    if effects["server_error"] is not None:
        error = effects["server_error"]
        rows.append(("Kafka answers", f"{error['code']} {error['name']}: {error['message']}"))
    if effects["image_sha256"] is not None:
        rows.append(("image SHA-256", effects["image_sha256"]))
    return rows


def _changes(page: Page, effects: Mapping[str, Any]) -> None:
    rows = [
        (
            f"{one['topic']}-{one['partition']}",
            _leaders(one),
            f"{_ids(one['isr_before'])} → {_ids(one['isr_after'])}",
            _ids(one["elr_after"]),
            None if one["certain"] else Word(f"{len(one['alternatives'])} outcomes", "warn"),
        )
        for one in effects["changes"][:_SHOWN]
    ]
    if rows:
        page.table(("partition", "leader", "ISR", "ELR then", "certain"), rows)
        more = effects["changes_total"] - len(rows)
        if more > 0:
            page.line(Word(f"and {more} more (the first 1,000 with -o json)", "dim"))


def _leaders(one: Mapping[str, Any]) -> Word:
    before, after = (_leader(one[name]) for name in ("leader_before", "leader_after"))
    if one["leader_after"] < 0:
        return Word(f"{before} → {after}", "bad")
    mark = " recovering" if one["recovering_after"] and before != after else ""
    return Word(before if before == after else f"{before} → {after}{mark}", "warn" if mark else "plain")


def _leader(node_id: int) -> str:
    return "none" if node_id < 0 else str(node_id)


def _ids(ids: Sequence[int]) -> str:
    return ",".join(str(one) for one in ids) or "-"


def _steps(page: Page, effects: Mapping[str, Any]) -> None:
    if effects["order"] is None:
        return
    rows = [
        (
            one["number"],
            one["broker"],
            Word(one["verdict"], TONES[one["verdict"]]),
            one["partitions"]["leader_changes"],
            one["partitions"]["offline"],
            one["partitions"]["under_min_isr"],
        )
        for one in effects["steps"]
    ]
    page.table(("step", "broker", "while it is down", "leaders move", "no leader", "under min ISR"), rows)


def _worst(page: Page, effects: Mapping[str, Any]) -> None:
    if effects["worst"] is not None:
        rows = [
            (_ids(one["brokers"]), one["offline"], one["under_min_isr"], one["leader_changes"])
            for one in effects["worst"]
        ]
        page.line(Word(f"the worst of {effects['sets']} sets:", "strong"))
        page.table(("brokers lost", "lose their leader", "fall under min ISR", "change their leader"), rows)


def _results(page: Page, effects: Mapping[str, Any]) -> None:
    failed = [one for one in effects["results"] if one["error_code"]]
    if failed:
        rows = [(one["topic"], one["partition"], f"{one['error_code']} {one['error_name']}") for one in failed[:_SHOWN]]
        page.table(("topic", "partition", "Kafka answers"), rows)


def _features(page: Page, effects: Mapping[str, Any]) -> None:
    rows = [
        (one["name"], one["from"], one["to"], one["kind"], one["verdict"], "yes" if one["reversible"] else "no")
        for one in effects["features"]
    ]
    if rows:
        page.table(("feature", "from", "to", "kind", "verdict", "can be undone"), rows)
    for one in effects["features"]:
        for text in one["consequences"]:
            page.line(f"{one['name']}: {text}")
        if one["server_error"] is not None:
            page.line(Word(f"Kafka answers {one['server_error']['code']}: {one['server_error']['message']}", "bad"))


def _differences(page: Page, effects: Mapping[str, Any]) -> None:
    rows = [
        (one["from_offset"], one["part"], one["key"], one["change"]) for one in (effects["differences"] or [])[:_SHOWN]
    ]
    if rows:
        page.table(("start at", "part", "what", "is"), rows)


def _counts(page: Page, effects: Mapping[str, Any]) -> None:
    if effects["counts"] is not None:
        page.table(("record", "count"), list(effects["counts"].items()))
        page.table(("state", "count"), list(effects["state"].items()))


def _sizes(page: Page, effects: Mapping[str, Any]) -> None:
    if effects["controller_load"] is None:
        return
    log, snapshot, load = effects["log"], effects["snapshot"], effects["controller_load"]
    page.fields(
        [
            ("log now", f"{log['bytes']} bytes, {log['records']} records"),
            ("growth a day", f"{log['bytes_per_day']} bytes, {log['records_per_day']} records"),
            ("kept then", f"{log['bytes_kept_after']} bytes of {log['bytes_written_after']} written"),
            ("a snapshot", f"{snapshot['bytes']} bytes, {snapshot['records']} records, {snapshot['per_day']} a day"),
            ("a start takes", f"{load['seconds']} s now, {load['seconds_after']} s then"),
        ]
    )
