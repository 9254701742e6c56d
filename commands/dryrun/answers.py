"""One answer a cluster: the logs are read, the question is asked of each, and what comes of it is printed.

One cluster gives the answer itself. Several give an envelope of them (one a line with -o jsonl), and one that cannot be
answered does not take the others with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.settings import SCHEMA_VERSION
from kafkactl.commands.rendering.output import Render, detail, emit, say
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.report.model import TONES

T = TypeVar("T")

if TYPE_CHECKING:
    from kafkactl.commands.dryrun.run import Common
    from kafkactl.dryrun.prediction import Verdict
    from kafkactl.errors import KafkactlError
    from kafkactl.operations.dryrun import ScenarioContext
    from kafkactl.operations.dryrun_clusters import Cluster
    from kafkactl.operations.dryrun_engines import Engine
    from kafkactl.operations.dryrun_logs import Chosen

_LISTINGS = {"dryrun.prediction": "predictions", "dryrun.report": "reports"}


class Opened(NamedTuple):
    """A context that what comes before was played on, where it was read from, and what each answer says of that.

    `tag` tells its files from those of the other clusters; "" where there is only one.
    """

    context: ScenarioContext
    chosen: Chosen
    frame: Mapping[str, Any]
    tag: str


Play = Callable[[Opened], tuple[Mapping[str, Any], "Verdict"]]


def give(
    common: Common, kind: str, play: Play, show: Render, *, at: int | None = None, restarts: bool = False
) -> NoReturn:
    """Ask every cluster and print what `play` answers: its payload and its verdict."""
    from kafkactl.errors import KafkactlError

    opened = open_contexts(common, at=at, restarts=restarts)
    if len(opened.clusters) == 1:
        for one in opened.each():
            if isinstance(one, KafkactlError):
                raise one
            payload, verdict = play(one)
            emit(kind, payload, render=show, exit_code=verdict.exit_code)
    _give_several(kind, play, show, opened)


class Reading(NamedTuple):
    """The clusters that were named, and the way to go through them."""

    clusters: Sequence[Chosen]
    engine: str
    each: Callable[[], Iterator[Opened | KafkactlError]]


def open_contexts(common: Common, *, at: int | None = None, restarts: bool = False) -> Reading:
    """Find the clusters, and what to read them with. They are read, and what comes before is played, one by one."""
    from kafkactl.commands.dryrun.details import check_details
    from kafkactl.commands.dryrun.html import check_html
    from kafkactl.commands.dryrun.run import engine_of
    from kafkactl.errors import KafkactlError
    from kafkactl.features.catalog.releases import find_release
    from kafkactl.operations.dryrun_clusters import open_clusters
    from kafkactl.operations.dryrun_logs import choose, in_process, on_spark, read_contexts, read_static

    engine_of(common)
    events = [event for path in common.after for event in _events(path)]
    release = None if common.kafka_version is None else find_release(common.kafka_version)
    static = read_static(common.config)
    clusters = open_clusters(_places(common), same_cluster=common.same_cluster, cluster_of=common.cluster_of)
    tags = _tags([one.title for one in clusters])
    for tag in tags:
        check_html(tagged(common.html, tag))
    check_details(common.details, tags)
    engine = _engine(common, clusters)
    read = on_spark(engine.master) if engine.name == "spark" else in_process
    chosen = [choose(one) for one in clusters]

    def each() -> Iterator[Opened | KafkactlError]:
        contexts = read_contexts(
            chosen,
            release=release,
            static=static,
            at=at,
            restarts=restarts,
            past_damage=common.past_damage,
            engine=read,
        )
        for one, tag, context in zip(chosen, tags, contexts, strict=True):
            if isinstance(context, KafkactlError):
                yield context
            else:
                frame = {"engine": engine.name, "source": _source(one, context.loaded)}
                yield _opened(Opened(context, one, frame, tag), events, at)

    return Reading(chosen, engine.name, each)


def _places(common: Common) -> dict[str, str]:
    """Where each source is on this machine, those that Hadoop has to read until the command ends."""
    from kafkactl.adapters.logs.places import fetched, needs_fetch, plain_paths

    engine = _engine(common, ()) if needs_fetch(common.sources) else None
    if engine is None or engine.name != "spark":
        found = plain_paths(common.sources)
    else:
        found = _kept(fetched(engine.master, common.sources))
    return {**_live(common), **found} if common.from_cluster else found


def _live(common: Common) -> dict[str, str]:
    """The log of the live cluster, fetched to this machine until the command ends."""
    from kafkactl.commands.framework.connection import open_client, title_of_cluster
    from kafkactl.operations.dryrun_live import saved_log

    with open_client(common.connection) as client:
        folder = _kept(saved_log(client))
    return {title_of_cluster(common.connection): folder}


def _kept(fetched: AbstractContextManager[T]) -> T:
    """What is fetched stays on this machine until the command ends, however it ends."""
    from kafkactl.commands.framework.deadline import ends_clean

    context = click.get_current_context()
    context.with_resource(ends_clean())
    return context.with_resource(fetched)


def _engine(common: Common, clusters: Sequence[Cluster]) -> Engine:
    """By what was asked for, by the context, and by the longest log of each cluster."""
    import os

    from kafkactl.adapters.files.contexts import contexts_file, load_contexts
    from kafkactl.operations.dryrun_engines import chosen_engine

    master = None
    if common.context is not None or (common.master is None and common.engine != "local"):
        contexts = load_contexts(contexts_file(os.environ))
        name = common.context or contexts.current
        master = None if name is None else contexts.context(name).spark_master
    engine = chosen_engine(common.engine, common.master, master, [cluster.logs for cluster in clusters])
    if engine.why:
        detail(engine.why)
    return engine


def _opened(opened: Opened, events: Sequence[tuple[str, Mapping[str, Any]]], at: int | None) -> Opened | KafkactlError:
    """Once what comes before was played; `frame` tells of that, too."""
    from kafkactl.errors import InputError, KafkactlError, UnknownOutcomeError
    from kafkactl.findings import blockers
    from kafkactl.metadata.dump.findings import EMPTY_LOG, NOT_THIS_LOG, has_records
    from kafkactl.operations.dryrun import chain

    first = opened.context.loaded
    is_readable = not blockers(first.findings)
    if at is None and is_readable and first.snapshot_offset is None and not has_records(first.counts):
        return UnknownOutcomeError(
            f"{', '.join(opened.chosen.cluster.paths)} holds no metadata record, so nothing can be predicted from it",
            id=EMPTY_LOG,
            next_step=NOT_THIS_LOG,
        )
    if at is not None and first.last_offset < at:
        return InputError(
            f"the log ends at offset {first.last_offset}; the state at offset {at} is not in it",
            id="offset-not-in-log",
            next_step="Ask for an earlier point, or leave --at out.",
        )
    try:
        context, before = chain(opened.context, events)
    except KafkactlError as error:
        return error
    after = [{"scenario": one.scenario, "input": one.input, "verdict": one.verdict} for one in before]
    return opened._replace(context=context, frame={**opened.frame, "after": after})


def _source(chosen: Chosen, loaded: Any) -> dict[str, Any]:
    cluster = chosen.cluster
    return {
        "paths": list(cluster.paths),
        "cluster": cluster.name,
        "cluster_id": cluster.cluster_id,
        "first_offset": loaded.first_offset,
        "last_offset": loaded.last_offset,
        "committed_offset": loaded.committed_offset,
        "snapshot_offset": loaded.snapshot_offset,
        "records": loaded.records,
        "replicas": [
            {
                "path": log.name,
                "end_offset": replica.sound_end,
                "last_epoch": replica.epoch,
                "is_replayed": log is chosen.log,
            }
            for log, replica in zip(cluster.logs, chosen.replicas, strict=False)
        ],
    }


# --- several clusters ---------------------------------------------------------------------------------------------


def _give_several(kind: str, play: Play, show: Render, opened: Reading) -> NoReturn:
    from kafkactl.dryrun.prediction import heaviest
    from kafkactl.errors import KafkactlError

    answers: list[Mapping[str, Any]] = []
    verdicts: list[Verdict] = []
    failed: list[tuple[Chosen, KafkactlError]] = []
    for chosen, one in zip(opened.clusters, opened.each(), strict=True):
        try:
            if isinstance(one, KafkactlError):
                raise one
            payload, verdict = play(one)
        except KafkactlError as error:
            failed.append((chosen, error))
        else:
            answers.append({"kind": kind, "schema_version": SCHEMA_VERSION, **payload})
            verdicts.append(verdict)
    if not answers:
        raise _none_answered(failed)
    for chosen, why in failed:
        say(f"{chosen.cluster.title}: {why.message}", "bad")
    verdict = heaviest(verdicts)
    payload = {
        "engine": opened.engine,
        "verdict": verdict,
        _LISTINGS[kind]: answers,
        "failed": [{**_names(chosen), "error": error.to_dict()} for chosen, error in failed],
    }
    emit(
        f"{kind}s",
        payload,
        render=lambda page, answer: _show_several(page, answer, answer[_LISTINGS[kind]], show),
        exit_code=exit_codes.PARTLY_DONE if failed else verdict.exit_code,
        listing=_LISTINGS[kind],
    )


def _none_answered(failed: Sequence[tuple[Chosen, KafkactlError]]) -> KafkactlError:
    """The first of the errors, its message told of every cluster: there is one object on stderr, and nothing else."""
    first = failed[0][1]
    first.message = "; ".join(f"{chosen.cluster.title}: {one.message}" for chosen, one in failed)
    return first


def _names(chosen: Chosen) -> dict[str, Any]:
    cluster = chosen.cluster
    return {"paths": list(cluster.paths), "cluster": cluster.name, "cluster_id": cluster.cluster_id}


def _show_several(page: Page, answer: Mapping[str, Any], answers: Sequence[Mapping[str, Any]], show: Render) -> None:
    count = len(answers) + len(answer["failed"])
    page.heading(f"{count} clusters: {answer['verdict']}", TONES[answer["verdict"]])
    rows = [(_title(one["source"]), Word(one["verdict"], TONES[one["verdict"]])) for one in answers]
    rows += [(_title(one), Word(f"no answer: {one['error']['message']}", "bad")) for one in answer["failed"]]
    page.table(("cluster", "verdict"), rows)
    for one in answers:
        page.heading(_title(one["source"]))
        show(page, one)


def _title(source: Mapping[str, Any]) -> str:
    return str(source["cluster"] or source["cluster_id"] or source["paths"][0])


def _tags(titles: Sequence[str]) -> list[str]:
    """Words for file names, one a cluster and no two the same; none where there is but one cluster."""
    if len(titles) == 1:
        return [""]
    plain = ["".join(one if one.isalnum() or one in "-_." else "-" for one in title).strip("-.") for title in titles]
    return [one if one and plain.count(one) == 1 else f"{one}-{at + 1}" for at, one in enumerate(plain)]


def tagged(path: str | None, tag: str) -> str | None:
    """The file of one cluster.

    >>> tagged("out/page.html", "prod")
    'out/page-prod.html'
    """
    if path is None or not tag:
        return path
    return str(Path(path).with_name(f"{Path(path).stem}-{tag}{Path(path).suffix}"))


def _events(path: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The scenarios in a file, in their order. Raises InputError `invalid-after-file`."""
    import tomli

    from kafkactl.adapters.files.input_files import InputKind, read_input
    from kafkactl.errors import InputError

    kind = InputKind.INVENTORY if path.endswith(".toml") else InputKind.DOCUMENT
    text = read_input(Path(path), "file of earlier predictions", kind).decode("utf-8", "replace")
    try:
        return _in_toml(tomli.loads(text)) if path.endswith(".toml") else _in_json(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} holds no scenarios: {error}",
            id="invalid-after-file",
            next_step='Give an answer of `kafkactl dryrun` in JSON, or TOML tables [[scenario]] with a "name".',
        ) from error


def _in_toml(found: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    tables = found.get("scenario")
    if not isinstance(tables, list) or not all(isinstance(one, Mapping) for one in tables):
        raise ValueError("there is no table [[scenario]] in it")
    nameless = [number for number, one in enumerate(tables, start=1) if not isinstance(one.get("name"), str)]
    if nameless:
        raise ValueError(f"table {nameless[0]} of [[scenario]] has no name")
    return [(one["name"], {key: value for key, value in one.items() if key != "name"}) for one in tables]


def _in_json(found: Any) -> list[tuple[str, Mapping[str, Any]]]:
    events = [*found.get("after", []), found] if isinstance(found, Mapping) else []
    if not events or not all(isinstance(one.get("input"), Mapping) and "scenario" in one for one in events):
        raise ValueError("it is not the answer of one scenario on one cluster")
    return [(one["scenario"], one["input"]) for one in events]
