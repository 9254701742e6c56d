"""A Spark application, and what can be checked before it starts: the extra, Java, the master.

Spark's own settings (spark-defaults.conf, SPARK_CONF_DIR, SPARK_DRIVER_MEMORY, PYSPARK_PYTHON) take precedence; only
what they leave open is set here. Workers get kafkactl as a zip (`ship`) and do not need it installed; their Python
needs numpy, pyarrow and pandas. A session that the process has already is used as it is, and not stopped.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import kafkactl
from kafkactl.core.errors import InputError
from kafkactl.core.extras import install_advice
from kafkactl.jobs.failure import failed, meets_end_of_jvm, py4j_is_silent
from kafkactl.jobs.jvm import SAFE_PATH, exit_code, kept_log, log_end, spark_home, start_jvm, written
from kafkactl.jobs.masters import check_master, is_one_process

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

LOCAL_MASTER: Final = "local[*]"
NEEDED: Final = ("pyspark", "pyarrow", "pandas", "numpy")
_OLDEST_JAVA: Final = 17
_RELEASE: Final = re.compile(r'(?m)^JAVA_VERSION="(?P<version>(?:1\.)?(?P<major>\d+)[^"]*)"')
_DATA_SUFFIXES: Final = (".css", ".html", ".js", ".json", ".toml")
_OURS: Final = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.sql.adaptive.enabled": "false",
    # Rows that are kept on disk come in objects of up to 4 MB. A stream remembers 100 objects by default, with which a
    # heap of 512 MB was too small for the tables of a million partitions.
    "spark.serializer.objectStreamReset": "1",
}
# Arrays of a piece take some hundred kilobytes each: workers keep what one piece has freed for the next, if the C
# library is GNU's. Its own choice is to give such memory back, which costs a tenth of the time of a large log; what is
# kept is 17 MiB of the 210 that a worker has for 10 M records.
_KEPT_MEMORY: Final = {
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(64 << 20),
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(16 << 20),
}
# A command is over before a second compiler or a collector of its own threads pays: half the JVM's processor time. The
# JVM runs before its settings are read, so they have to stand on its command line.
_JAVA_OPTIONS: Final = ("spark.driver.defaultJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
_NAMES_JAVA_OPTIONS: Final = re.compile(r"JavaOptions|_OPT(ION)?S\b|-XX:")
# No other user may connect to an application that runs on this machine alone. Spark generates the secret for it.
_ALONE: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
}
_NAME: Final = "spark.app.name"
_UNNAMED: Final = "pyspark-shell"  # by spark-submit, with which pyspark starts the JVM
_SAFE_PATH: Final = f"spark.executorEnv.{SAFE_PATH}"
# The command spark-submit gives the workers of YARN the modules pyspark and py4j if it knows the master.
_PREPARED: Final = re.compile(r"yarn$|k8s://")
_JVM_VARIABLES: Final = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")


@contextmanager
def spark_session(master: str | None, name: str) -> Iterator[SparkSession]:
    """Yield the session of the caller, or one of an application `name` on `master` (a URL as spark-submit takes it; by
    default as Spark's settings say, or this machine), which is stopped at the end.

    Raises InputError `spark-needs-extra`, `spark-needs-java`, `invalid-spark-master`, UnreachableError
    `spark-master-unreachable`, FailedError `spark-failed`; the last also for what fails in it.
    """
    check_spark(master)
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    context: SparkContext | None = SparkContext._active_spark_context
    if context is not None and context._jsc is None:  # its JVM was gone when it was to be stopped
        context = SparkContext._active_spark_context = None
    is_own = context is None
    application, since = None, log_end()
    with py4j_is_silent():
        try:
            if context is None:
                context = _context(master, name)
            elif master not in (None, context.master):
                raise InputError(
                    f"the Spark master {master} was named, and this process has a session on {context.master}",
                    id="invalid-spark-master",
                )
            application, master = context.applicationId, context.master
            with _stopped(context) if is_own else nullcontext():
                yield SparkSession.getActiveSession() or SparkSession(context)
        except (Py4JError, PySparkException, OSError, RuntimeError) as error:
            if _is_of_the_caller(error):
                raise
            if _has_interrupted(error):  # what was called while the interruption was handled failed, too
                raise KeyboardInterrupt from error
            # Without an exception of Java's: the JVM has refused the call, or is gone in the middle of it. What it
            # wrote is complete after it has ended.
            if meets_end_of_jvm(error):
                ended = exit_code(is_ending=True)
            else:
                ended = None if isinstance(error, Py4JJavaError | PySparkException) else exit_code()
            is_gone = type(error) is Py4JError and ended is not None
            raise failed(
                error,
                written(since),
                application=application,
                master=master or LOCAL_MASTER,
                log=kept_log(),
                is_gone=is_gone,
                exit_code=ended,
            ) from error


def _is_of_the_caller(error: Exception) -> bool:
    """Return True for a kind of RuntimeError that Spark does not have: click ends a command with one."""
    from pyspark.errors import PySparkException

    kind = type(error)
    return issubclass(kind, RuntimeError) and kind is not RuntimeError and not issubclass(kind, PySparkException)


def _has_interrupted(error: BaseException) -> bool:
    found: BaseException | None = error
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__context__
    return found is not None


@contextmanager
def _stopped(context: SparkContext) -> Iterator[None]:
    """Stop an application at the end; if its JVM is gone, what failed before is the error."""
    try:
        yield
    except BaseException:
        with suppress(Exception):
            context.stop()  # with its wait, in which a JVM that is about to end does so
        raise
    else:
        context.stop()


def check_spark(master: str | None) -> None:
    """Raise the errors of `spark_session` that precede the start."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(
            f"the Spark engine needs the extra `spark`: {', '.join(missing)} cannot be imported",
            id="spark-needs-extra",
            next_step=f"{install_advice('spark')}, or leave out --engine spark and --master.",
        )
    java = _java()
    if java is None:
        home = os.environ.get("JAVA_HOME")
        why = f"JAVA_HOME is {home}, and there is no bin/java in it" if home else (
            "JAVA_HOME is not set, and there is no `java` on the PATH"
        )  # fmt: skip
        raise InputError(f"the Spark engine needs Java 17 or newer: {why}", id="spark-needs-java")
    release = _java_release(java)
    if release is not None and int(release["major"]) < _OLDEST_JAVA:
        raise InputError(
            f"the Spark engine needs Java 17 or newer: {java} is Java {release['version']}", id="spark-needs-java"
        )
    spark_home()
    if master is not None:
        check_master(master, _own_settings())


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")


def _java_release(java: str) -> re.Match[str] | None:
    """Return the version as a file of the installation says it, for which no JVM has to start; None without one."""
    try:
        text = (Path(java).resolve().parents[1] / "release").read_text("utf-8", errors="replace")
    except OSError:
        return None
    return _RELEASE.search(text)


def _context(master: str | None, name: str) -> SparkContext:
    from pyspark import SparkConf, SparkContext

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    start_jvm(_of_the_jvm(master))
    conf = SparkConf()  # with Spark's own settings
    conf.setAppName(application_name(conf.get(_NAME, _UNNAMED), name))
    for setting, value in (_OURS | _KEPT_MEMORY).items():
        conf.setIfMissing(setting, value)
    if master is not None:
        conf.setMaster(master)
    else:
        check_master(conf.get("spark.master", LOCAL_MASTER), _own_settings())
    conf.setIfMissing("spark.master", LOCAL_MASTER)
    if is_one_process(conf.get("spark.master", "")):
        for setting, value in _ALONE.items():
            conf.setIfMissing(setting, value)
    conf.set(_SAFE_PATH, "1")  # no imports from the working directory, in which any user may have put a module
    conf.set("spark.ui.showConsoleProgress", "false")  # pyspark turns it on, whatever the settings say
    context = SparkContext.getOrCreate(conf)
    # The JVM reports here what workers counted. If the JVM is gone, socketserver would write a traceback.
    context._accumulatorServer.handle_error = lambda *_: None
    return context


def application_name(known: str | None, name: str) -> str:
    """Return the name that Spark's settings give an application, else `name`."""
    return name if known in (None, _UNNAMED) else str(known)


def _of_the_jvm(master: str | None) -> SparkConf:
    """Return settings to start the JVM of the driver with: a collector and compiler, unless any of Spark's own settings
    has options for it, and the master of a cluster for which spark-submit prepares the application.
    """
    from pyspark import SparkConf

    conf = SparkConf(loadDefaults=False)
    if not any(map(os.environ.get, _JVM_VARIABLES)) and not _NAMES_JAVA_OPTIONS.search(_own_settings()):
        conf.set(*_JAVA_OPTIONS)
    if master is not None and _PREPARED.match(master):
        conf.set("spark.master", master)
        conf.set("spark.submit.deployMode", "client")
    return conf


def _own_settings() -> str:
    """Return the text of Spark's own settings."""
    folder = Path(os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf")
    files = [_settings(folder / name) for name in ("spark-defaults.conf", "spark-env.sh")]
    return "\n".join((*files, os.environ.get("PYSPARK_SUBMIT_ARGS", "")))


def _settings(file: Path) -> str:
    """Return the lines of a settings file without comments; "" if it cannot be read, which Spark itself reports."""
    try:
        lines = file.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def write_zip(path: Path) -> Path:
    """Write the library and its data as a zip that workers import from; the command line is left out."""
    package = Path(kafkactl.__file__).parent
    data = package / "schemas"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(package.rglob("*.py")):
            inside = file.relative_to(package)
            if inside.parts[0] not in ("commands", "schemas"):
                archive.write(file, f"kafkactl/{inside.as_posix()}")
        root = data if data.is_dir() else package.parent / "schemas"
        for file in sorted(root.rglob("*")):
            if file.suffix in _DATA_SUFFIXES:
                archive.write(file, f"kafkactl/schemas/{file.relative_to(root).as_posix()}")
    return path
