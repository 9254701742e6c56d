"""The driver's JVM: of an installation that is known, in a folder of its own, with what it writes kept apart.

The current directory may be a support bundle of strangers. Python's `-m`, with which Spark starts its workers, imports
from it first; pyspark looks for an installation of Spark in the folder above it. So the JVM, and by it every Python
worker of this machine, runs in a new private folder and with PYTHONSAFEPATH, and SPARK_HOME is set before pyspark
looks. What the JVM writes (warnings of its start, tracebacks of workers) goes to a file: standard error belongs to the
answer.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from kafkactl.core.errors import InputError

if TYPE_CHECKING:
    from pyspark import SparkConf

SAFE_PATH: Final = "PYTHONSAFEPATH"
_HOME: Final = "SPARK_HOME"
_LOG: Final = "spark.log"
_TAIL_BYTES: Final = 64_000
_END_S: Final = 2.0
_ENDING_S: Final = 20.0
_INTERRUPTIONS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


def spark_home() -> Path:
    """Return the installation of Spark: SPARK_HOME, else the one that pyspark brings.

    Sets SPARK_HOME, so that pyspark, and the scripts that it starts, look no further. Raises InputError
    `spark-needs-extra` if there is none.
    """
    if given := os.environ.get(_HOME):
        return Path(given)
    spec = find_spec("pyspark")
    module = Path(spec.origin).resolve().parent if spec is not None and spec.origin else None
    for folder in (module / "spark-distribution", module) if module is not None else ():
        if (folder / "bin" / "spark-submit").is_file() and (folder / "jars").is_dir():
            os.environ[_HOME] = str(folder)
            return folder
    raise InputError(
        "the pyspark that is installed has no Spark with it, and SPARK_HOME is not set",
        id="spark-needs-extra",
        next_step="Install pyspark (not pyspark-client) of 4.1 or later, set SPARK_HOME, or omit --engine spark.",
    )


def start_jvm(conf: SparkConf) -> None:
    """Start the driver's JVM for this process, if it has none yet; `conf` are words of its command line."""
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    spark_home()
    if SparkContext._gateway is not None:
        return
    folder = _private_folder()
    with (folder / _LOG).open("ab") as log, _safe_path(), _ended_where_interrupted():
        gateway = launch_gateway(conf, popen_kwargs={"cwd": folder, "stdout": log, "stderr": log})
    SparkContext._ensure_initialized(gateway=gateway)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Set PYTHONSAFEPATH for the JVM and by it its workers, not for the children of this process."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


@contextmanager
def _ended_where_interrupted() -> Iterator[None]:
    """Handle signals while pyspark forks the JVM.

    No signal is lost, and no JVM survives one that comes before pyspark is connected to it.

    pyspark has work for the child before it becomes the JVM, so Python calls what modules registered for a fork. An
    exception of such a call is only printed: the signal would be lost, and the lock of `logging` never released. A
    JVM that has no file to write its address to any more would wait for connections until it is killed.
    """
    from pyspark import java_gateway

    names = vars(java_gateway)
    start = names["Popen"]
    started: list[subprocess.Popen[bytes]] = []

    def start_undisturbed(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        with _interruptions_kept():
            started.append(start(*arguments, **options))
        return started[-1]

    names["Popen"] = start_undisturbed
    try:
        yield
    except BaseException:
        for process in started:
            process.kill()
            process.wait()
        raise
    finally:
        names["Popen"] = start


@contextmanager
def _interruptions_kept() -> Iterator[None]:
    """Handle signals that this process handles in Python after the body; of several, the first that came."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def keep(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    handlers = {number: handler for number in _INTERRUPTIONS if callable(handler := signal.getsignal(number))}
    for number in handlers:
        signal.signal(number, keep)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def log_end() -> int:
    """Return the size in bytes of the log of this process's JVMs, which earlier applications may have written."""
    try:
        return (_private_folder() / _LOG).stat().st_size
    except OSError:
        return 0


def written(since: int = 0) -> str:
    """Return the end of what the JVM and its workers wrote after the first `since` bytes; empty if there is nothing."""
    try:
        log = (_private_folder() / _LOG).read_bytes()
    except OSError:
        return ""
    return (log[since:] if since <= len(log) else log)[-_TAIL_BYTES:].decode("utf-8", "replace").strip()


def exit_code(*, is_ending: bool = False) -> int | None:
    """Return the exit code of the driver's JVM, after a moment, because its connections close before it ends; None if
    it runs. A JVM that `is_ending` has more time, because one without memory ends slowly.
    """
    from pyspark import SparkContext

    process: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return None
    try:
        return process.wait(_ENDING_S if is_ending else _END_S)
    except subprocess.TimeoutExpired:
        return None


def kept_log() -> str | None:
    """Keep all that was written beyond this process, which only this user can read; the file, None for none."""
    try:
        if not (_private_folder() / _LOG).stat().st_size:
            return None
        handle, path = tempfile.mkstemp(prefix="kafkactl-spark-", suffix=".log")
        with os.fdopen(handle, "wb") as kept, (_private_folder() / _LOG).open("rb") as log:
            shutil.copyfileobj(log, kept)
    except OSError:
        return None  # no room, say: the error to show is Spark's
    return path


@cache
def _private_folder() -> Path:
    """Return a folder of mode 0700 that lasts as long as this process: the JVM outlives its applications."""
    folder = Path(tempfile.mkdtemp(prefix="kafkactl-jvm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
