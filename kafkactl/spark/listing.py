"""Files in the file systems of a session.

Names and sizes come from Spark's own listing, for disks of the driver from Python's; the small files that name the
owner of a log are read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from kafkactl.core.errors import DecodeError
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.core.uris import is_on_disk, is_uri
from kafkactl.jobs.failure import causes
from kafkactl.metadata.verify.folder import PARTITION_METADATA
from kafkactl.protocol.text.meta_properties import META_PROPERTIES, parse_meta_properties
from kafkactl.spark.disk import absolute_path, cluster_ids_on_disk, files_on_disk
from kafkactl.spark.globs import (
    alternative,
    divided,
    escaped,
    is_glob,
    normal,
    path_alternative,
    without_slashes_in_braces,
)
from kafkactl.spark.logs import (
    BUNDLE_SUFFIX,
    Paths,
    PlannedLog,
    by_cluster,
    find_logs,
    named,
    owner_files,
    path_list,
    place_on_disk,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAMES: Final = ("*.log", "*.checkpoint", META_PROPERTIES, PARTITION_METADATA, f"*{BUNDLE_SUFFIX}")
_MOST_META_BYTES: Final = 1 << 20
_MOST_LETTERS: Final = 500
_DEPTH: Final = 6  # folders between a path and a log directory below it
_TOO_DEEP: Final = f"folders more than {_DEPTH} below it are not searched; name one that is nearer to the logs"


def planned_logs(session: SparkSession, paths: Paths, cluster_of: str | None) -> list[PlannedLog]:
    """List the logs that paths lead to. Raises InputError as `logs.named`."""
    unlisted: dict[str, str] = {}
    given = path_list(paths)
    here = {path: absolute_path(path) for path in given if _is_on_disk(session, path)}
    others = [path for path in given if path not in here]
    listed = [*files_on_disk(here.values(), unlisted), *(_listed(session, others, unlisted) if others else ())]
    logs = find_logs([here.get(path, path) for path in given], listed, unlisted, partial(_place_of, session))
    local = [log for log in logs if here and log.is_local]
    remote = [log for log in logs if not (here and log.is_local)]
    return named(logs, cluster_of, {**cluster_ids_on_disk(local), **_cluster_ids(session, remote)})


def _is_on_disk(session: SparkSession, path: str) -> bool:
    """Return True if the driver is this process, and a path is on its disks.

    Python lists them without a job of Spark, and also what Hadoop refuses to list: a folder above one that this user
    may not read, or above one with a colon in its name.
    """
    if not _has_jvm(session):
        return False
    root = path if is_uri(path) else str(session._jsc.hadoopConfiguration().get("fs.defaultFS"))
    return is_on_disk(root)


def planned_clusters(session: SparkSession, paths: Paths, cluster_of: str | None) -> list[tuple[PlannedLog, ...]]:
    """List the logs of each cluster. Raises as `planned_logs` and `logs.by_cluster`."""
    return by_cluster(planned_logs(session, paths, cluster_of))


def _listed(session: SparkSession, given: Sequence[str], unlisted: dict[str, str]) -> list[tuple[str, int]]:
    """Return path and size of each file at or below the given paths whose name is that of a part of a log. A path that
    cannot be listed, because of its scheme, of a permission, or of a server that is gone, is added to `unlisted`."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    globs = {path: without_slashes_in_braces(_glob_of(session, normal(path).rstrip("/"))) for path in given}
    found: dict[tuple[str, int], None] = {}
    try:
        found |= dict.fromkeys(_found(session, [glob for several in globs.values() for glob in several]))
    except (Py4JJavaError, PySparkException):
        for path, glob in ((path, glob) for path, several in globs.items() for glob in several):
            try:
                found |= dict.fromkeys(_found(session, [glob]))
            except (Py4JJavaError, PySparkException) as error:
                _keep_reason(path, error, unlisted)
    deeper = "/*" * (_DEPTH + 3)  # a file in a log directory that is one level too deep
    for path, several in globs.items():
        if path not in unlisted and any(_is_there(session, f"{glob}{deeper}") for glob in several):
            unlisted[path] = _TOO_DEEP
    return list(found)


def _found(session: SparkSession, globs: Sequence[str]) -> list[tuple[str, int]]:
    searched = list(map(_searched, globs))
    files = _rows(_files(session, searched, [*_NAMES, *(alternative(divided(glob)[1]) for glob in globs)]))
    filled = {path.rpartition("/")[0] for path, _ in files}
    return [*files, *((f"{folder}/", 0) for folder in _folders(session, searched) if folder not in filled)]


def _folders(session: SparkSession, globs: Sequence[str]) -> Iterator[str]:
    """Yield the folders of metadata logs among the paths that globs match, which may be empty: Spark lists files alone.

    Connect has no way to ask for them.
    """
    for glob in globs if _has_jvm(session) else ():
        pattern, system = _hadoop(session, glob)
        for status in system.globStatus(pattern) or ():
            path = status.getPath()
            if path.getName() == METADATA_LOG and status.isDirectory():
                yield str(path.toString())


def _hadoop(session: SparkSession, path: str) -> tuple[Any, Any]:
    """Return a path as Hadoop has it, and its file system."""
    jvm: Any = session._jvm
    found = jvm.org.apache.hadoop.fs.Path(path)
    return found, found.getFileSystem(session._jsc.hadoopConfiguration())


def _place_of(session: SparkSession, path: str) -> str:
    """Return the place that mounts and links lead to from a path; the path itself if its file system does not know."""
    from py4j.protocol import Py4JJavaError

    if not is_on_disk(path) and _has_jvm(session):
        with suppress(Py4JJavaError):
            found, system = _hadoop(session, path)
            path = str(system.resolvePath(found).toString())
    return place_on_disk(path)


def _is_there(session: SparkSession, glob: str) -> bool:
    """Return True if a glob matches anything."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        if _has_jvm(session):
            pattern, system = _hadoop(session, glob)
            return bool(system.globStatus(pattern))
        _ = _files(session, [glob], ["*"]).schema  # Connect lists with the first question
    except (Py4JJavaError, PySparkException):
        return False
    return True


def _has_jvm(session: SparkSession) -> bool:
    """Return True if the driver is this process, as with every session but one of Connect."""
    return getattr(session, "_jsc", None) is not None


def _keep_reason(path: str, error: Exception, unlisted: dict[str, str]) -> None:
    condition = getattr(error, "getCondition", lambda: None)()
    if condition != "PATH_NOT_FOUND":
        text = str(error)
        unlisted[path] = next(iter(causes(text)), text.strip())[:_MOST_LETTERS]


def _glob_of(session: SparkSession, path: str) -> str:
    """Return a path as a glob: the escaped path if it exists under its very name."""
    literal = escaped(path)
    return literal if not is_glob(path) or _is_there(session, literal) else path


def _searched(glob: str) -> str:
    """Return a glob for the files that a path leads to: itself, the metadata logs below it, and the meta.properties
    next to it and next to its folder, which is the log's own for a single file.

    Spark passes over folders whose name begins with an underscore, unless a path names them.
    """
    above, name = divided(glob)
    if above.endswith("://"):  # the root of an object store
        above, name = f"{glob}/", "*"
    name = path_alternative(name)
    below = [f"{name}{'/*' * depth}/{METADATA_LOG}" for depth in range(_DEPTH + 1)]
    alternatives = [name, *below, META_PROPERTIES]
    outer, folder = divided(above.rstrip("/"))
    if outer and not outer.endswith("//"):
        folder = path_alternative(folder)
        above, alternatives = outer, [*(f"{folder}/{each}" for each in alternatives), META_PROPERTIES]
    return f"{above}{{{','.join(alternatives)}}}"


def _files(session: SparkSession, paths: Sequence[str], names: Sequence[str]) -> DataFrame:
    """Return the files as rows; one that is gone or cannot be read has none, and the task that misses it reports it."""
    reader = session.read.format("binaryFile").option("pathGlobFilter", f"{{{','.join(names)}}}")
    reader = reader.option("ignoreCorruptFiles", "true").option("ignoreMissingFiles", "true")
    return reader.option("recursiveFileLookup", "true").load(list(paths))


def _rows(files: DataFrame) -> list[tuple[str, int]]:
    """Return path and size of all files: Spark reads no rows of empty ones, but lists them."""
    found = dict.fromkeys(map(_path_of, files.inputFiles()), 0)
    found |= {row["path"]: row["length"] for row in files.select("path", "length").collect()}
    return list(found.items())


def _path_of(uri: str) -> str:
    """Return a URI as the column `path` of `binaryFile` shows it.

    >>> _path_of("file:///logs/a%20b")
    'file:/logs/a b'
    """
    return re.sub(r"^file:/+", "file:/", unquote(uri))


def _cluster_ids(session: SparkSession, logs: Sequence[PlannedLog]) -> dict[str, str]:
    """Return the cluster id by the path of the meta.properties that has it."""
    metas = owner_files(logs)
    if not metas:
        return {}
    files = _files(session, list(map(escaped, metas)), [META_PROPERTIES])
    small = files.where(files["length"] <= _MOST_META_BYTES).select("path", "content")
    found: dict[str, str] = {}
    for row in small.collect():
        try:
            cluster_id = parse_meta_properties(bytes(row["content"]), file=row["path"]).cluster_id
        except DecodeError:
            continue
        if cluster_id is not None:
            found[row["path"]] = cluster_id
    return found


def contents(session: SparkSession, places: Sequence[tuple[int, str, int]]) -> DataFrame:
    """Return the content of files as rows (unit, path, content), those of one unit in one task, one after the other.

    `places` has the unit, path and size of each file. The number of a unit is also that of its task. A unit begins with
    a row without a path, so that it has one if none of its files can be read.
    """
    from pyspark.sql import functions as sql

    count = max(unit for unit, _, _ in places) + 1
    units = session.createDataFrame([(unit, path) for unit, path, _ in places], "unit long, wanted string")
    files = _files(session, [escaped(path) for path in dict.fromkeys(path for _, path, _ in places)], ["*"])
    joined = files.select("path", "content").join(sql.broadcast(units), files["path"] == units["wanted"])
    rows = joined.select("unit", "path", "content")
    begins = [(unit, "", b"") for unit in range(count)]
    empty = [(unit, path, b"") for unit, path, size in places if size == 0]
    rows = rows.unionByName(session.createDataFrame([*begins, *empty], "unit long, path string, content binary"))
    return rows.repartitionById(count, sql.col("unit").cast("int")).sortWithinPartitions("unit", "path")
