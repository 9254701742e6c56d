"""Answers of a dry run, one for each cluster: logs are read, the question is simulated on each, the result is printed.

One cluster gives the answer itself. Several give an envelope of them (one a line with -o jsonl), and one that cannot be
answered does not take the others with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, cast

from kafkactl._version import SCHEMA_VERSION
from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import until_the_end
from kafkactl.commands.framework.engine_options import check_master
from kafkactl.commands.framework.log_memory import read_by_columns
from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering.output import detail, emit, say
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.commands.rendering.progress import shown_progress
from kafkactl.report.model import TONES

if TYPE_CHECKING:
    from kafkactl.commands.dryrun.options import Common
    from kafkactl.core.errors import KafkactlError
    from kafkactl.dryrun.answer import Answer, ClusterDict, ReportDict
    from kafkactl.dryrun.api import Verdict
    from kafkactl.dryrun.api.answering import Answered, Question, Result
    from kafkactl.dryrun.api.clusters import Cluster
    from kafkactl.dryrun.api.engines import Engine
    from kafkactl.dryrun.detail_tables import Table
    from kafkactl.dryrun.io.detail_files import WrittenTable
    from kafkactl.dryrun.page.fleet import FleetCluster
    from kafkactl.spark.answers import PlannedClusters

_LISTINGS = {"dryrun.prediction": "predictions", "dryrun.report": "reports"}


Shown = TypeVar("Shown", "Answer", "ReportDict")
Show = Callable[[Page, Shown], None]


class OpenedClusters(NamedTuple):
    """The clusters that were named, what answers the question about each, and words for their files.

    `planned` has the clusters if their logs are read by workers, else None.
    """

    clusters: Sequence[Cluster]
    engine: Engine
    tags: Sequence[str]
    planned: PlannedClusters | None = None


def give(common: Common, kind: str, asked: Question, show: Show[Shown]) -> NoReturn:
    """Ask every cluster and print the answers. `asked` is the question but for the options in common."""
    from kafkactl.core.errors import KafkactlError

    question = _question(common, asked)
    opened = open_clusters(common, question)
    if len(opened.clusters) > 1:
        _give_several(common, kind, question, show, opened)
    (result,) = _results(common, question, opened)
    if isinstance(result, KafkactlError):
        raise result
    payload, verdict = result
    shown = cast("Shown", payload)
    emit(kind, payload, render=lambda page, _: show(page, shown), exit_code=verdict.exit_code)


def _question(common: Common, asked: Question) -> Question:
    from kafkactl.core.frozen import changed
    from kafkactl.dryrun.api.events import read_events
    from kafkactl.dryrun.api.logs import find_release, read_static

    check_master(common.engine, common.master)
    events = tuple(event for path in common.after for event in read_events(path))
    if common.kafka_version is not None:
        find_release(common.kafka_version)
    return changed(
        asked,
        events=events,
        kafka_version=common.kafka_version,
        static=read_static(common.config),
        past_damage=common.past_damage,
        with_records=common.records,
        with_page=common.html is not None,
        with_tables=common.details is not None,
    )


def open_clusters(common: Common, question: Question) -> OpenedClusters:
    """Find the clusters, and what to read them with. Nothing but names and the beginnings of files is read."""
    from kafkactl.dryrun.api import clusters as api
    from kafkactl.dryrun.api.logs import is_uri, needs_spark
    from kafkactl.dryrun.api.outputs import check_details, check_html

    planned = None
    engine = _engine(common, ()) if needs_spark(common.sources) else None
    if engine is not None and engine.name == "spark":
        planned = _planned(common, engine)
        clusters = planned.clusters
    else:
        clusters = api.open_clusters(_places(common), same_cluster=common.same_cluster, cluster_of=common.cluster_of)
        engine = _engine(common, clusters, question.passes)
    tags = _tags([cluster.title for cluster in clusters])
    for tag in {*tags, *([""] if question.scenario is None else [])}:
        check_html(tagged(common.html, tag))
    check_details(common.details, tags)
    if common.details is not None and is_uri(common.details):
        from kafkactl.spark.api import check_cluster_names

        check_cluster_names(clusters)
    keep_session(common, engine)
    return OpenedClusters(clusters, engine, tags, planned)


def _planned(common: Common, engine: Engine) -> PlannedClusters:
    """List the logs of all sources in a session that lasts until the command ends."""
    from kafkactl.spark.api import planned_sources, spark_session

    until_the_end(spark_session(engine.master, application()))
    sources = (*common.sources, *_other_places(common).values())
    return planned_sources(
        sources,
        same_cluster=common.same_cluster,
        cluster_of=common.cluster_of,
        master=engine.master,
        name=application(),
    )


def keep_session(common: Common, engine: Engine) -> None:
    """Keep a session until the command ends if the tables go to a file system of Hadoop's, which each cluster needs.

    Raises InputError `path-needs-spark`.
    """
    from kafkactl.dryrun.api.logs import needs_spark, path_needs_spark

    if common.details is None or not needs_spark([common.details]):
        return
    if engine.name != "spark":
        raise path_needs_spark(common.details)
    from kafkactl.spark.api import spark_session

    until_the_end(spark_session(engine.master, application()))


def _results(
    common: Common, question: Question, opened: OpenedClusters
) -> Iterator[tuple[Mapping[str, Any], Verdict] | KafkactlError]:
    """Yield the answer about each cluster with its verdict, or its error; page and tables are written."""
    from kafkactl.core.errors import KafkactlError

    is_on_spark = opened.engine.name == "spark"
    answers = _on_spark(common, question, opened) if is_on_spark else _in_process(question, opened)
    for tag, result in zip(opened.tags, answers, strict=True):
        if isinstance(result, KafkactlError):
            yield result
        else:
            yield _written(common, result, opened.engine, tag), result.verdict


def _in_process(question: Question, opened: OpenedClusters) -> Iterator[Result]:
    from kafkactl.core.errors import KafkactlError
    from kafkactl.dryrun.api import answer_question, read_state

    read_by_columns()
    for cluster in opened.clusters:
        try:
            with shown_progress("Replaying the log"):
                found = read_state(cluster, question)
            yield answer_question(found, question)
        except KafkactlError as error:
            yield error


def _on_spark(common: Common, question: Question, opened: OpenedClusters) -> Iterator[Result]:
    """Yield the answers of workers, which write the tables if a URI was named."""
    from kafkactl.dryrun.api.logs import is_uri
    from kafkactl.spark.api import answers_by_workers

    details = common.details if common.details is not None and is_uri(common.details) else None
    with shown_progress("Waiting for Spark", "tasks"):
        found = answers_by_workers(
            opened.clusters,
            opened.planned,
            question,
            details=details,
            master=opened.engine.master,
            name=application(),
        )
    yield from found


def application() -> str:
    """Return the name of the Spark application of this command."""
    return f"kafkactl {current_settings().command}"


def _written(common: Common, answer: Answered, engine: Engine, tag: str) -> Mapping[str, Any]:
    """Write the page and the tables of an answer, and say where they are; the payload with their places."""
    from kafkactl.dryrun.api.outputs import write_page

    payload: dict[str, Any] = {**answer.payload}
    html = tagged(common.html, tag)
    if html is not None and answer.page is not None:
        write_page(html, answer.page)
        say(f"The report is in {html}.")
        if "html" in payload:
            payload["html"] = html
    if common.details is not None:
        payload["details"] = written_details(
            common.details,
            answer.tables,
            answer.payload["source"],
            as_of_ms=answer.as_of_ms,
            engine=engine,
            tag=tag,
        )
    return payload


def written_details(
    place: str,
    tables: Iterable[Table | WrittenTable] | None,
    source: ClusterDict,
    *,
    as_of_ms: int | None,
    engine: Engine,
    tag: str = "",
) -> str:
    """Write the tables, if workers have not done so, and say where they are.

    A URI has the layout of `log export`, a folder a file for each table.
    """
    from kafkactl.dryrun.api.logs import is_uri
    from kafkactl.dryrun.api.outputs import write_details

    if tables is not None and is_uri(place):
        from kafkactl.spark.api import write_details_to

        write_details_to(place, tables, source, as_of_ms=as_of_ms, master=engine.master, name=application())
    elif tables is not None:
        place = write_details(place, tables, tag)
    say(f"The tables are in {place}.")
    return place


def _places(common: Common) -> dict[str, str]:
    """Return the local path of each source."""
    from kafkactl.dryrun.api.logs import plain_paths

    return {**plain_paths(common.sources), **_other_places(common)}


def _other_places(common: Common) -> dict[str, str]:
    """Return the paths of the logs in a bundle and of a live cluster, which are kept until the command ends."""
    found: dict[str, str] = {}
    if common.bundle is not None:
        from kafkactl.bundle.api.reading import unpacked_logs

        found = until_the_end(unpacked_logs(common.bundle))
    return {**_live(common), **found} if common.from_cluster else found


def _live(common: Common) -> dict[str, str]:
    """Return the log of the live cluster, fetched to this machine until the command ends."""
    from kafkactl.commands.framework.connection import open_reading_client, title_of_cluster
    from kafkactl.dryrun.api.live import saved_log

    with open_reading_client(common.connection) as client:
        return {title_of_cluster(client): until_the_end(saved_log(client))}


def _engine(common: Common, clusters: Sequence[Cluster], passes: float = 1) -> Engine:
    """Choose the engine by the options, by the context, and by the work on the longest log of each cluster."""
    from kafkactl.dryrun.api.engines import chosen_engine, context_master

    master = None
    if common.context is not None or (common.master is None and common.engine != "local"):
        master = context_master(common.context)
    logs = [cluster.logs for cluster in clusters]
    engine = chosen_engine(common.engine, common.master, master, logs, passes=passes)
    detail(engine.why)
    return engine


def _give_several(common: Common, kind: str, question: Question, show: Show[Shown], opened: OpenedClusters) -> NoReturn:
    from kafkactl.core.errors import KafkactlError
    from kafkactl.dryrun.api import heaviest

    answers: list[Mapping[str, Any]] = []
    verdicts: list[Verdict] = []
    failed: list[tuple[Cluster, KafkactlError]] = []
    for cluster, result in zip(opened.clusters, _results(common, question, opened), strict=True):
        if isinstance(result, KafkactlError):
            failed.append((cluster, result))
        else:
            payload, verdict = result
            answers.append({"kind": kind, "schema_version": SCHEMA_VERSION, **payload})
            verdicts.append(verdict)
    if not answers:
        raise _none_answered(failed)
    for cluster, why in failed:
        say(f"{cluster.title}: {why.message}", "bad")
    verdict = heaviest(verdicts)
    fleet = _fleet(common, opened, answers, failed) if question.scenario is None else None
    envelope: dict[str, object] = {  # PredictionsDict or ReportsDict
        "engine": opened.engine.name,
        "verdict": verdict,
        _LISTINGS[kind]: answers,
        "failed": [{**_names(cluster), "error": error.to_dict()} for cluster, error in failed],
    }
    emit(
        f"{kind}s",
        envelope,
        render=lambda page, _: (
            _show_several(page, verdict, cast("Sequence[Shown]", answers), failed, show)
            if fleet is None
            else _show_fleet(page, verdict, fleet, show)
        ),
        exit_code=exit_codes.PARTLY_DONE if failed else verdict.exit_code,
        listing=_LISTINGS[kind],
    )


def _none_answered(failed: Sequence[tuple[Cluster, KafkactlError]]) -> KafkactlError:
    """Return the first error with the messages of all clusters: stderr must contain exactly one object."""
    first = failed[0][1]
    first.message = "; ".join(f"{cluster.title}: {error.message}" for cluster, error in failed)
    return first


def _names(cluster: Cluster) -> ClusterDict:
    return {"paths": list(cluster.paths), "cluster": cluster.name, "cluster_id": cluster.cluster_id}


def _show_several(
    page: Page,
    verdict: Verdict,
    answers: Sequence[Shown],
    failed: Sequence[tuple[Cluster, KafkactlError]],
    show: Show[Shown],
) -> None:
    page.heading(f"{len(answers) + len(failed)} clusters: {verdict}", TONES[verdict])
    rows = [(_title(each["source"]), Word(each["verdict"], TONES[each["verdict"]])) for each in answers]
    rows += [(_title(_names(cluster)), Word(f"no answer: {error.message}", "bad")) for cluster, error in failed]
    page.table(("cluster", "verdict"), rows)
    for each in answers:
        page.heading(_title(each["source"]))
        show(page, each)


def _fleet(
    common: Common,
    opened: OpenedClusters,
    answers: Sequence[Mapping[str, Any]],
    failed: Sequence[tuple[Cluster, KafkactlError]],
) -> list[FleetCluster]:
    """Return the reports of several clusters, the worst first, and write the page of all of them."""
    from kafkactl.core.answers import plain_values
    from kafkactl.dryrun.api.outputs import fleet_page, write_page
    from kafkactl.dryrun.page.fleet import FleetCluster, by_weight

    fleet = [
        FleetCluster(title=_title(answer["source"]), answer=plain_values(answer), page=answer["html"])
        for answer in answers
    ]
    fleet += [FleetCluster(title=_title(_names(cluster)), error=error.to_dict()) for cluster, error in failed]
    if common.html is not None:
        write_page(common.html, fleet_page(fleet, opened.engine.name))
        say(f"The report of all clusters is in {common.html}.")
    return by_weight(fleet)


def _show_fleet(page: Page, verdict: Verdict, fleet: Sequence[FleetCluster], show: Show[Shown]) -> None:
    from kafkactl.dryrun.page.fleet import COLUMNS

    page.heading(f"{len(fleet)} clusters: {verdict}", TONES[verdict])
    page.table(COLUMNS, [(each.title, Word(each.verdict, each.tone), each.in_short) for each in fleet])
    for each in fleet:
        if each.answer is not None and not each.is_ok:
            page.heading(each.title)
            show(page, cast("Shown", each.answer))


def _title(source: ClusterDict) -> str:
    return str(source["cluster"] or source["cluster_id"] or source["paths"][0])


def _tags(titles: Sequence[str]) -> list[str]:
    """Return words for file names, a different one for each cluster; none if there is one cluster only."""
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
