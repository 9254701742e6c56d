"""One answer a cluster: the logs are read, the question is asked of each, and the result is printed.

One cluster gives the answer itself. Several give an envelope of them (one a line with -o jsonl), and one that cannot be
answered does not take the others with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, cast

from kafkactl._version import SCHEMA_VERSION
from kafkactl.commands.dryrun.options import engine_of
from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import until_the_end
from kafkactl.commands.framework.log_memory import read_by_columns
from kafkactl.commands.rendering.output import detail, emit, say
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.commands.rendering.progress import shown_progress
from kafkactl.report.model import TONES

if TYPE_CHECKING:
    from kafkactl.commands.dryrun.options import Common
    from kafkactl.core.errors import KafkactlError
    from kafkactl.dryrun.answer import Answer, ClusterDict, Earlier, Frame, ReportDict
    from kafkactl.dryrun.api import ScenarioContext, Verdict
    from kafkactl.dryrun.api.clusters import Cluster
    from kafkactl.dryrun.api.engines import Engine, EngineName
    from kafkactl.dryrun.api.events import Event
    from kafkactl.dryrun.api.logs import Chosen

_LISTINGS = {"dryrun.prediction": "predictions", "dryrun.report": "reports"}


class Opened(NamedTuple):
    """A context on which what comes before was simulated, where it was read from, and what each answer says of that.

    `tag` distinguishes its files from those of the other clusters; "" where there is only one.
    """

    context: ScenarioContext
    chosen: Chosen
    frame: Frame
    tag: str


Shown = TypeVar("Shown", "Answer", "ReportDict")
Ask = Callable[[Opened], tuple[Shown, "Verdict"]]
Show = Callable[[Page, Shown], None]


def give(
    common: Common, kind: str, ask: Ask[Shown], show: Show[Shown], *, at: int | None = None, restarts: bool = False
) -> NoReturn:
    """Ask every cluster and print what `ask` answers: its payload and its verdict."""
    from kafkactl.core.errors import KafkactlError

    opened = open_contexts(common, at=at, restarts=restarts)
    if len(opened.clusters) == 1:
        results = opened.each()
        result = next(results)
        if isinstance(result, KafkactlError):
            raise result
        payload, verdict = ask(result)
        emit(kind, payload, render=lambda page, _: show(page, payload), exit_code=verdict.exit_code)
    _give_several(kind, ask, show, opened)


class OpenedClusters(NamedTuple):
    """The clusters that were named, and the way to go through them."""

    clusters: Sequence[Chosen]
    engine: EngineName
    each: Callable[[], Iterator[Opened | KafkactlError]]


def open_contexts(common: Common, *, at: int | None = None, restarts: bool = False) -> OpenedClusters:
    """Find the clusters, and what to read them with. They are read, and what comes before is simulated, one by one."""
    from kafkactl.core.errors import KafkactlError
    from kafkactl.dryrun.api.clusters import open_clusters
    from kafkactl.dryrun.api.events import read_events
    from kafkactl.dryrun.api.logs import (
        choose,
        find_release,
        in_process,
        on_spark,
        read_contexts,
        read_static,
        source_of,
    )
    from kafkactl.dryrun.api.outputs import check_details, check_html

    engine_of(common)
    events = [event for path in common.after for event in read_events(path)]
    release = None if common.kafka_version is None else find_release(common.kafka_version)
    static = read_static(common.config)
    clusters = open_clusters(_places(common), same_cluster=common.same_cluster, cluster_of=common.cluster_of)
    tags = _tags([cluster.title for cluster in clusters])
    for tag in tags:
        check_html(tagged(common.html, tag))
    check_details(common.details, tags)
    engine = _engine(common, clusters)
    read_by_columns()
    read = on_spark(engine.master) if engine.name == "spark" else in_process
    chosen = [choose(cluster) for cluster in clusters]

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
        for cluster, tag in zip(chosen, tags, strict=True):
            with shown_progress("Replaying the log"):
                context = next(contexts)
            if isinstance(context, KafkactlError):
                yield context
            else:
                frame: Frame = {"engine": engine.name, "source": source_of(cluster, context.loaded), "after": []}
                yield _opened(Opened(context, cluster, frame, tag), events, at)

    return OpenedClusters(chosen, engine.name, each)


def _places(common: Common) -> dict[str, str]:
    """Return the local path of each source; sources that Hadoop has to read are kept until the command ends."""
    from kafkactl.dryrun.api.logs import fetched, needs_fetch, plain_paths

    engine = _engine(common, ()) if needs_fetch(common.sources) else None
    if engine is None or engine.name != "spark":
        found = plain_paths(common.sources)
    else:
        found = until_the_end(fetched(engine.master, common.sources))
    if common.bundle is not None:
        from kafkactl.bundle.api.reading import unpacked_logs

        found = {**found, **until_the_end(unpacked_logs(common.bundle))}
    return {**_live(common), **found} if common.from_cluster else found


def _live(common: Common) -> dict[str, str]:
    """Return the log of the live cluster, fetched to this machine until the command ends."""
    from kafkactl.commands.framework.connection import open_reading_client, title_of_cluster
    from kafkactl.dryrun.api.live import saved_log

    with open_reading_client(common.connection) as client:
        return {title_of_cluster(client): until_the_end(saved_log(client))}


def _engine(common: Common, clusters: Sequence[Cluster]) -> Engine:
    """Choose the engine by the options, by the context, and by the longest log of each cluster."""
    from kafkactl.dryrun.api.engines import chosen_engine, context_master

    master = None
    if common.context is not None or (common.master is None and common.engine != "local"):
        master = context_master(common.context)
    engine = chosen_engine(common.engine, common.master, master, [cluster.logs for cluster in clusters])
    if engine.why:
        detail(engine.why)
    return engine


def _opened(opened: Opened, events: Sequence[Event], at: int | None) -> Opened | KafkactlError:
    """Once what comes before was simulated; `frame` shows that, too."""
    from kafkactl.core.errors import KafkactlError
    from kafkactl.dryrun.api.events import after_events

    try:
        context, before = after_events(opened.context, opened.chosen.cluster.paths, events, at)
    except KafkactlError as error:
        return error
    after: list[Earlier] = [
        {"scenario": found.scenario, "input": dict(found.input), "verdict": found.verdict} for found in before
    ]
    return opened._replace(context=context, frame={**opened.frame, "after": after})


# --- several clusters ---------------------------------------------------------------------------------------------


def _give_several(kind: str, ask: Ask[Shown], show: Show[Shown], opened: OpenedClusters) -> NoReturn:
    from kafkactl.core.errors import KafkactlError
    from kafkactl.dryrun.api import heaviest

    answers: list[Mapping[str, Any]] = []
    verdicts: list[Verdict] = []
    failed: list[tuple[Chosen, KafkactlError]] = []
    for chosen, result in zip(opened.clusters, opened.each(), strict=True):
        try:
            if isinstance(result, KafkactlError):
                raise result
            payload, verdict = ask(result)
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
    envelope: dict[str, object] = {  # PredictionsDict or ReportsDict
        "engine": opened.engine,
        "verdict": verdict,
        _LISTINGS[kind]: answers,
        "failed": [{**_names(chosen), "error": error.to_dict()} for chosen, error in failed],
    }
    emit(
        f"{kind}s",
        envelope,
        render=lambda page, _: _show_several(page, verdict, cast("Sequence[Shown]", answers), failed, show),
        exit_code=exit_codes.PARTLY_DONE if failed else verdict.exit_code,
        listing=_LISTINGS[kind],
    )


def _none_answered(failed: Sequence[tuple[Chosen, KafkactlError]]) -> KafkactlError:
    """Return the first error with the messages of all clusters: stderr must contain exactly one object."""
    first = failed[0][1]
    first.message = "; ".join(f"{chosen.cluster.title}: {error.message}" for chosen, error in failed)
    return first


def _names(chosen: Chosen) -> ClusterDict:
    cluster = chosen.cluster
    return {"paths": list(cluster.paths), "cluster": cluster.name, "cluster_id": cluster.cluster_id}


def _show_several(
    page: Page,
    verdict: Verdict,
    answers: Sequence[Shown],
    failed: Sequence[tuple[Chosen, KafkactlError]],
    show: Show[Shown],
) -> None:
    page.heading(f"{len(answers) + len(failed)} clusters: {verdict}", TONES[verdict])
    rows = [(_title(each["source"]), Word(each["verdict"], TONES[each["verdict"]])) for each in answers]
    rows += [(_title(_names(chosen)), Word(f"no answer: {error.message}", "bad")) for chosen, error in failed]
    page.table(("cluster", "verdict"), rows)
    for each in answers:
        page.heading(_title(each["source"]))
        show(page, each)


def _title(source: ClusterDict) -> str:
    return str(source["cluster"] or source["cluster_id"] or source["paths"][0])


def _tags(titles: Sequence[str]) -> list[str]:
    """Words for file names, one a cluster and no two the same; none where there is but one cluster."""
    if len(titles) == 1:
        return [""]
    plain = [
        "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in title).strip("-.")
        for title in titles
    ]
    return [tag if tag and plain.count(tag) == 1 else f"{tag}-{at + 1}" for at, tag in enumerate(plain)]


def tagged(path: str | None, tag: str) -> str | None:
    """Return the file of one cluster.

    >>> tagged("out/page.html", "prod")
    'out/page-prod.html'
    """
    if path is None or not tag:
        return path
    return str(Path(path).with_name(f"{Path(path).stem}-{tag}{Path(path).suffix}"))
