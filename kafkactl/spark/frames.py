"""The functions of the pipeline: each returns a DataFrame of the caller's session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

from kafkactl.core.errors import InputError
from kafkactl.jobs.pickled import PICKLED, collected
from kafkactl.jobs.ship import ship_code, shipped
from kafkactl.jobs.tasks import grouped
from kafkactl.metadata.api.records import record_types
from kafkactl.metadata.dump.lines import RecordFilter
from kafkactl.spark.columns import TABLES, check_state_table, ddl
from kafkactl.spark.job import Build, Failures, Job, Units
from kafkactl.spark.listing import contents, planned_clusters, planned_logs
from kafkactl.spark.logs import MOST_SEGMENT_BYTES, Paths, PlannedLog, path_list, without_too_large
from kafkactl.spark.prediction_rows import questions_of
from kafkactl.spark.record_times import Times
from kafkactl.spark.remote_rows import FoldJob, Listing, ListingJob, RemoteJob, RemoteRequest, disk_paths
from kafkactl.spark.tables import Changes, Findings, Predictions, Records, State

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
OnError = Literal["rows", "raise"]
_MOST_CONTENT: Final = "spark.sql.sources.binaryFile.maxLength"  # Spark ends a query that reads a larger file


def records(
    session: SparkSession,
    paths: Paths,
    *,
    types: str | Iterable[str] | None = None,
    from_offset: int | None = None,
    to_offset: int | None = None,
    from_time: datetime | str | None = None,
    to_time: datetime | str | None = None,
    secrets: bool = False,
    cluster_of: str | None = None,
    on_error: OnError = "rows",
) -> DataFrame:
    """Return the records of the logs, one a row, as `log dump` shows them: the segments of a folder, and a checkpoint
    that is named.

    `types` are names as `--type` takes them; both offsets are included, and both times (a datetime, or ISO 8601 text;
    without a zone UTC). With `secrets` nothing is redacted. Raises InputError `no-such-record-type`, `invalid-time`,
    and as all functions of this module: `input-file-unreadable`, `invalid-cluster-pattern`, `cluster-not-named`,
    `spark-needs-extra`.
    """
    wanted, times = limits_of(types, from_offset, to_offset, from_time, to_time)
    build = Records(wanted, not secrets, failures_of("records", on_error), times)
    return _frame(session, "records", _single(planned_logs(session, paths, cluster_of)), build)


def state(
    session: SparkSession,
    paths: Paths,
    table: str,
    *,
    at_offset: int | None = None,
    at_time: datetime | str | None = None,
    cluster_of: str | None = None,
    on_error: OnError = "rows",
) -> DataFrame:
    """Return a table of the state of each cluster: at the end of its log, after the record at `at_offset`, or at a
    time (a datetime, or ISO 8601 text; without a zone UTC).

    Raises InputError `unknown-table`, `invalid-time`, `cluster-named-twice`, `several-clusters`; ValueError for both
    points, or a negative offset.
    """
    check_state_table(table)
    build = State(table, *point_of(at_offset, at_time), failures_of(table, on_error))
    return _frame(session, table, planned_clusters(session, paths, cluster_of), build)


def changes(
    session: SparkSession,
    paths: Paths,
    *,
    topic: str | None = None,
    since: datetime | str | None = None,
    cluster_of: str | None = None,
    on_error: OnError = "rows",
) -> DataFrame:
    """Return the changes in each cluster, one value a row: leaders, ISRs, replicas, settings, levels, registrations.

    `since` is included (a datetime, or ISO 8601 text; without a zone UTC). Raises as `state`.
    """
    since_ms = None if since is None else milliseconds(since, round_up=True)
    build = Changes(topic, since_ms, failures_of("changes", on_error))
    return _frame(session, "changes", planned_clusters(session, paths, cluster_of), build)


def predictions(
    session: SparkSession,
    paths: Paths,
    scenarios: Iterable[Mapping[str, Any]],
    *,
    cluster_of: str | None = None,
    on_error: OnError = "rows",
) -> DataFrame:
    """Return the answers of `kafkactl dryrun`, one a cluster and scenario.

    A scenario is a mapping as in a file of `--after`: `{"name": "broker-loss", "brokers": [3]}`. A scenario without an
    answer for a cluster has a row with its error. Raises InputError `unknown-scenario`, `invalid-scenario-input`, and
    as `state`.
    """
    build = Predictions(questions_of(scenarios), failures_of("predictions", on_error))
    return _frame(session, "predictions", planned_clusters(session, paths, cluster_of), build)


def findings(
    session: SparkSession, paths: Paths, *, cluster_of: str | None = None, on_error: OnError = "rows"
) -> DataFrame:
    """Return the findings of `log verify` and `log lint` about each log."""
    build = Findings(failures_of("findings", on_error))
    return _frame(session, "findings", _single(planned_logs(session, paths, cluster_of)), build)


def remote_segments(
    session: SparkSession,
    paths: Paths,
    *,
    metadata: str | None = None,
    cluster: str | None = None,
    on_error: OnError = "rows",
) -> DataFrame:
    """Return the rows of `tiered segments` for the metadata partitions of one cluster.

    `paths` are as SOURCE of `kafkactl tiered`, on disks that all workers have; `metadata` is the cluster's metadata
    log, `cluster` the name in the rows. Raises InputError `path-needs-copy`.
    """
    failures = failures_of("remote_segments", on_error)
    places = disk_paths(path_list(paths))
    return _remote(session, RemoteRequest("remote_segments", places, cluster, metadata, None, failures))


def remote_findings(
    session: SparkSession,
    paths: Paths,
    *,
    metadata: str | None = None,
    bucket: str | None = None,
    cluster: str | None = None,
    on_error: OnError = "rows",
) -> DataFrame:
    """Return the findings of `tiered audit`; `bucket` is a listing of the object store. Otherwise as
    `remote_segments`."""
    failures = failures_of("remote_findings", on_error)
    places = disk_paths(path_list(paths))
    return _remote(session, RemoteRequest("remote_findings", places, cluster, metadata, bucket, failures))


def _remote(session: SparkSession, asked: RemoteRequest) -> DataFrame:
    ship_code(session)
    parts = collected(session.range(0, 1, 1, 1).mapInArrow(shipped(ListingJob(asked)), PICKLED))
    listing: Listing = parts.pop(-1, Listing())
    fold = FoldJob(watched=listing.watched, tasks=tuple(parts.values()))
    count = len(fold.tasks) + 1
    folds = session.range(0, count, 1, count).mapInArrow(shipped(fold), PICKLED)
    return folds.repartition(1).mapInArrow(shipped(RemoteJob(asked, listing.comparison)), ddl(TABLES[asked.table]))


def errors(session: SparkSession, paths: Paths, *, cluster_of: str | None = None) -> DataFrame:
    """Return the logs that cannot be read, with the error of each."""
    build = Findings(failures_of("errors", "rows"), errors_only=True)
    return _frame(session, "errors", _single(planned_logs(session, paths, cluster_of)), build)


def limits_of(
    types: str | Iterable[str] | None,
    from_offset: int | None,
    to_offset: int | None,
    from_time: datetime | str | None,
    to_time: datetime | str | None,
) -> tuple[RecordFilter, Times]:
    """Return the limits of records. Raises InputError `no-such-record-type`, `invalid-time`."""
    names = [types] if isinstance(types, str) else types or ()
    wanted = RecordFilter(types=record_types(names), from_offset=from_offset, to_offset=to_offset)
    first_ms = None if from_time is None else milliseconds(from_time, round_up=True)
    return wanted, Times(first_ms, None if to_time is None else milliseconds(to_time))


def point_of(at_offset: int | None, at_time: datetime | str | None) -> tuple[int | None, int | None]:
    """Return a point of a log as an offset and a time in ms.

    Raises ValueError for both, or a negative offset; InputError `invalid-time`.
    """
    if at_offset is not None and at_time is not None:
        raise ValueError("state: at_offset and at_time exclude each other")
    if at_offset is not None and at_offset < 0:
        raise ValueError(f"state: at_offset is {at_offset}; an offset is 0 or greater")
    return at_offset, None if at_time is None else milliseconds(at_time)


def milliseconds(time: datetime | str, *, round_up: bool = False) -> int:
    """Return a time in milliseconds since 1970, the unit of records: the last one that is not later, or with `round_up`
    the first one that is not earlier. Raises InputError `invalid-time`.

    >>> milliseconds("1970-01-01T00:00:01Z"), milliseconds("1970-01-01T01:00:00+01:00")
    (1000, 0)
    >>> milliseconds("1970-01-01T00:00:00.0019"), milliseconds("1970-01-01T00:00:00.0011", round_up=True)
    (1, 2)
    """
    try:
        given = datetime.fromisoformat(time) if isinstance(time, str) else time
    except ValueError:
        given = None
    if not isinstance(given, datetime) or given != given:  # noqa: PLR0124  # NaT of pandas is a datetime
        raise InputError(
            f"{time!r} is not a time",
            id="invalid-time",
            next_step="Write a datetime, or a time in ISO 8601, such as 2026-11-28T03:00:00Z.",
        )
    aware = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
    since_1970 = aware - datetime(1970, 1, 1, tzinfo=UTC)
    millisecond = timedelta(milliseconds=1)
    return -(-since_1970 // millisecond) if round_up else since_1970 // millisecond


def failures_of(table: str, on_error: str) -> Failures:
    """Return the treatment of logs that cannot be read. Raises ValueError for another word than `rows` and `raise`."""
    if on_error not in ("rows", "raise"):
        raise ValueError(f"on_error is {on_error!r}; expected 'rows' or 'raise'")
    return Failures(table, raises=on_error == "raise")


Groups = Sequence[tuple[PlannedLog, ...]]


def _single(logs: Iterable[PlannedLog]) -> Groups:
    return [(log,) for log in logs]


def _frame(session: SparkSession, table: str, groups: Groups, build: Build) -> DataFrame:
    return frame_of(session, groups, lambda units: Job(table, build, units), ddl(TABLES[table]))


def frame_of(session: SparkSession, groups: Groups, job: Callable[[Units], Task], schema: str) -> DataFrame:
    """Return the rows that a job makes of all groups of logs: those whose files workers can open, and those whose
    content Spark has to bring. Raises InputError `spark-needs-extra`."""
    ship_code(session)
    most = int(session.conf.get(_MOST_CONTENT, str(MOST_SEGMENT_BYTES)) or MOST_SEGMENT_BYTES)
    checked = [tuple(without_too_large(log, most) for log in group) for group in groups]
    local = tuple(group for group in checked if all(log.is_local for log in group))
    remote = tuple(group for group in checked if not all(log.is_local for log in group))
    frames = []
    if local or not remote:
        tasks = grouped([sum(log.size for log in group) for group in local])
        count = len(tasks)
        frames.append(session.range(0, count, 1, max(count, 1)).mapInArrow(shipped(job(Units(local, tasks))), schema))
    if remote:
        places = [(unit, path, size) for unit, logs in enumerate(remote) for log in logs for path, size in log.files]
        frames.append(contents(session, places).mapInArrow(shipped(job(Units(remote))), schema))
    return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])
