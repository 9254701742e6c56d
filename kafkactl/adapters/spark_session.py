"""A Spark session for the dry run, and what can be told before there is one: the extra, Java, the master.

Spark's own settings (spark-defaults.conf, SPARK_CONF_DIR, SPARK_DRIVER_MEMORY, PYSPARK_PYTHON) hold; what is set here
is only what they leave open. Workers get kafkactl as a zip and need nothing of it installed, but a Python with pyarrow
and numpy.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import kafkactl
from kafkactl.errors import FailedError, InputError, UnreachableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL_MASTER: Final = "local[*]"
_NEEDED: Final = ("pyspark", "pyarrow", "numpy")
_STANDALONE = re.compile(r"spark://(.+)")
_CONNECT_TIMEOUT_S: Final = 5.0
_DATA_SUFFIXES: Final = (".json", ".toml")
_OURS: Final = {
    "spark.app.name": "kafkactl dryrun",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    # A command is over before a second compiler or a change of plan in the middle pays: half the JVM's processor time.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.adaptive.enabled": "false",
}
_SHUFFLES: Final = "spark.sql.shuffle.partitions"


@contextmanager
def spark_session(master: str | None) -> Iterator[SparkSession]:
    """A session on `master` (a URL as spark-submit takes it; default: what Spark's settings say, else this machine).

    It is stopped at the end. Raises InputError `spark-needs-extra`, `spark-needs-java`, `invalid-spark-master`,
    UnreachableError `spark-master-unreachable`, FailedError `spark-failed`; the last also for what fails in it.
    """
    check_spark(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with tempfile.TemporaryDirectory(prefix="kafkactl-spark-") as folder:
        archive = write_zip(Path(folder) / "kafkactl.zip")
        try:
            session = _session(master)
            try:
                session.sparkContext.addPyFile(str(archive))
                yield session
            finally:
                session.stop()
        except (Py4JError, PySparkException, OSError, RuntimeError) as error:
            raise _failed(error) from error


def check_spark(master: str | None) -> None:
    """Raise what `spark_session` raises before it starts anything."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(
            f"the Spark engine needs the extra `dryrun`: {', '.join(missing)} cannot be imported",
            id="spark-needs-extra",
            next_step="pip install 'kafkactl[dryrun]', or leave out --engine spark and --master.",
        )
    if not _java():
        raise InputError(
            "the Spark engine needs Java 17 or newer: JAVA_HOME is not set, and there is no `java` on the PATH",
            id="spark-needs-java",
            next_step="Install a JRE (apt-get install openjdk-17-jre-headless), or leave out --engine spark.",
        )
    standalone = None if master is None else _STANDALONE.fullmatch(master)
    if standalone is not None:
        _check_reachable(standalone[1])


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")


def _check_reachable(addresses: str) -> None:
    """A standalone master answers at one of its addresses; Spark itself would try for a minute."""
    errors = []
    for address in addresses.split(","):
        host, colon, port = address.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit():
            raise InputError(
                f"spark://{addresses} names no address", id="invalid-spark-master", next_step="Write spark://HOST:PORT."
            )
        try:
            socket.create_connection((host, int(port)), _CONNECT_TIMEOUT_S).close()
            return
        except (OSError, OverflowError) as error:
            errors.append(f"{address}: {error}")
    raise UnreachableError(
        f"no Spark master answers ({'; '.join(errors)})",
        id="spark-master-unreachable",
        next_step="Check that the master runs and that its port can be reached from here.",
    )


def _session(master: str | None) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()  # reads Spark's own settings
    conf = SparkConf()
    for name, value in _OURS.items():
        conf.setIfMissing(name, value)
    if master is not None:
        conf.setMaster(master)
    conf.setIfMissing("spark.master", LOCAL_MASTER)
    conf.set("spark.ui.showConsoleProgress", "false")  # pyspark turns it on, whatever the settings say
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    if not conf.contains(_SHUFFLES):
        session.conf.set(_SHUFFLES, max(2, session.sparkContext.defaultParallelism))
    return session


def write_zip(path: Path) -> Path:
    """The library and its data as a zip that workers import from; the command line is left out."""
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


def _failed(error: Exception) -> FailedError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b.*:", line)]
    return FailedError(
        f"Spark could not do it: {(causes or lines or [type(error).__name__])[-1][:500]}",
        id="spark-failed",
        cause=lines[0][:500] if lines else None,
        next_step="Look into the logs of the Spark application; `--engine local` replays the log in process.",
    )
