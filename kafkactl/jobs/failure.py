"""Cause of a failed Spark application: the first cause in the output of pyspark and the JVM.

A failed task comes back as several exceptions of which each repeats those before it: the worker's Python traceback or
an exception of the executor, within the task's failure, within that of the job, each with its stack, and the one that
says why is in the middle. A JVM that does not start says why in what it writes, and nothing of it is in the exception.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from kafkactl.core.errors import FailedError, InputError, KafkactlError

_MOST_LETTERS: Final = 500
_NAME: Final = r"[A-Za-z_][\w.$]*(?:Error|Exception|Failure|Exit|Interrupt)"
_NAMED: Final = re.compile(rf'^(?:: |Caused by: |Exception in thread "[^"]*" )?({_NAME})(?::\s*(.*))?$')
_OF_PYTHON: Final = re.compile(r"^([A-Za-z_][\w.]*)(?::\s*(.*))?$")
_TASK: Final = re.compile(r",?(?: most recent failure:)? Lost task [^()]*\(TID \d+\) \([^()]*\): ")
_REFUSED_OPTION: Final = re.compile(r"^(?:Error: )?(Unrecognized .*option.*|Invalid .*|Could not reserve .*)$")
_ERROR_CLASS: Final = re.compile(r"^\[\w+\] ")
_HINT: Final = ". Consider setting"
_TRACEBACK: Final = "Traceback (most recent call last):"
_TOO_OLD: Final = "UnsupportedClassVersionError"
_NO_MASTER: Final = "Could not parse Master URL"
_SHUT_DOWN: Final = "SparkContext was shut down"
_NO_MEMORY: Final = re.compile("OutOf(Direct)?MemoryError")  # of the heap, or of buffers outside it
_NO_MEMORY_EXIT: Final = 52  # SparkExitCode.OOM
_ENDED_BY_YARN: Final = re.compile(r"YarnClientSchedulerBackend: Diagnostics message: (.+)")
_NO_JVM: Final = "JAVA_GATEWAY_EXITED"
_GONE: Final = ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError", "BrokenPipeError")
# What to do about a first cause, where more is known than that it is in the logs.
_ADVICE: Final = (
    (r"exceeding (physical |virtual )?memory limits",
     "Raise spark.executor.memoryOverhead: the Python of the workers is outside the JVM's memory."),
    (r"executor failures",
     "The executors' logs say why they ended, often for want of spark.executor.memory or of its memoryOverhead."),
    (r"maxResultSize", "Raise spark.driver.maxResultSize and SPARK_DRIVER_MEMORY, or name fewer sources."),
    (r"OutOf(Direct)?MemoryError|insufficient memory|Could not reserve",
     "Give the JVM more memory: SPARK_DRIVER_MEMORY on this machine, spark.executor.memory for executors."),
    (r"^MemoryError|worker exited unexpectedly|JVM of the driver ended|code 137",
     "Check whether memory ran out (the kernel's log then names the process), and use fewer cores or larger machines."),
    (r"above the max threshold",
     "Set spark.executor.memory and spark.executor.memoryOverhead to less, or raise the limit of the cluster."),
    (r"unknown queue|cannot submit applications? to queue",
     "Name a queue in which you may start applications: spark.yarn.queue in spark-defaults.conf."),
    (r"^(FileNotFound|Permission|IsADirectory|OS)Error",
     "Workers must be able to read the log under the same path as this machine."),
    (r"^(ModuleNotFound|Import)Error|PYTHON_VERSION_MISMATCH|pyspark\.daemon",
     "Workers need this machine's minor version of Python, and numpy and pyarrow in it: set PYSPARK_PYTHON."),
)  # fmt: skip
# Where an application's own logs are, by its master.
_LOGS: Final = (
    (r"local", ""),
    (r"spark://", "the web page of the master, or work/{id}/*/stderr on its workers, has the executors' logs"),
    (r"yarn", "`yarn logs -applicationId {id}` shows the executors' logs"),
    (r"k8s://", "`kubectl logs -l spark-app-selector={id}` shows the executors' logs while their pods are there"),
)


def causes(text: str) -> list[str]:
    """Return the exceptions that a text of Spark's names, the first cause first; without stacks, each once.

    >>> causes("x\\n: a.SparkException: Job aborted\\n\\tat a.B(C.scala:1)\\nCaused by: java.io.IOException: no space")
    ['IOException: no space', 'SparkException: Job aborted']
    """
    found: list[tuple[str, str]] = []
    for name, message in _named(text.splitlines()):
        cause = (name.rpartition(".")[2], message.partition(_HINT)[0].strip()[:_MOST_LETTERS])
        if cause not in found:
            found.append(cause)
    saying = [cause for cause in found if cause[1]] or found
    kept = [
        (name, message)
        for at, (name, message) in enumerate(saying)
        if not any(message in outer for _, outer in saying[:at])
    ]
    return [f"{name}: {message}" if message else name for name, message in reversed(kept)]


def _named(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names and messages of exceptions, the last one first: Java puts the cause of one after it.

    Python puts it before, so that of tracebacks the first exception counts.
    """
    in_traceback = had_traceback = False
    for line in map(str.rstrip, lines):
        if in_traceback and not line.endswith(_TRACEBACK):
            found = _OF_PYTHON.match(line)
            if found is not None and not had_traceback:
                yield found[1], found[2] or ""
            in_traceback, had_traceback = found is None, had_traceback or found is not None
            continue
        in_traceback = line.endswith(_TRACEBACK)
        outer, *inner = _TASK.split(line)
        if named := _NAMED.match(outer):
            message = (named[2] or "").removesuffix(_TRACEBACK).rstrip(": ")
            yield named[1], _ERROR_CLASS.sub("", message)
        elif refused := _REFUSED_OPTION.match(outer):
            yield "JVM", refused[1]
        for part in inner:
            within = _NAMED.match(part)
            yield (within[1], within[2] or "") if within else ("task", part)


def failed(
    error: Exception,
    written: str,
    *,
    application: str | None,
    master: str,
    log: str | None,
    is_gone: bool = False,
    exit_code: int | None = None,
) -> KafkactlError:
    """Return pyspark's exception as an error of kafkactl.

    `written` is what the JVM wrote, which counts if the error reports nothing; `application` is the id of the
    application, None if it did not start; `master` that of the context; `log` is the file that keeps `written`.
    `is_gone`: the JVM has ended, so that what the error reports is about the call that it met, and not why. `exit_code`
    is that of a JVM that has ended.
    """
    said = None if is_gone else _said(error)
    if said is None or type(error).__name__ in _GONE:
        memory, others = _written_causes(written, exit_code)
        ended = "the JVM of the driver ended: it crashed, or was killed"
        found = [*memory, ended, *others]
    elif _NO_JVM in said:
        found = [*causes(written), "the JVM ended before Spark started"]
    else:
        found = causes(said) or [f"{type(error).__name__}: {said.strip()[:_MOST_LETTERS]}"]
        if _SHUT_DOWN in found[0]:  # by the JVM, which is about to end; why is in what it wrote
            memory, others = _written_causes(written, exit_code)
            found = [*memory, *others, *found]
    ended_by_yarn = [f"YARN ended it: {text[:_MOST_LETTERS]}" for text in _ENDED_BY_YARN.findall(written)]
    found = [*found, *ended_by_yarn] if found[0].startswith("task: ") else [*ended_by_yarn, *found]
    first, behind = found[0], "; ".join(found[1:])
    if _TOO_OLD in first:
        return InputError(f"the Spark engine needs Java 17 or newer: {first}", id="spark-needs-java")
    if _NO_MASTER in first:
        return InputError(f"Spark knows no such master: {first}", id="invalid-spark-master")
    logs = _where(application, master, log)
    what = "Spark did not start" if application is None else f"the Spark application {application} failed"
    advice = next((text for pattern, text in _ADVICE if re.search(pattern, first)), "")
    return FailedError(
        f"{what}: {first}",
        id="spark-failed",
        cause=f"it was reported as: {behind}" if behind else None,
        next_step=f"{advice} {logs} `--engine local` gives the same answers without Spark.".strip(),
    )


def _written_causes(written: str, exit_code: int | None) -> tuple[list[str], list[str]]:
    """Return the JVM's messages about insufficient memory, and the other causes.

    Spark ends a JVM whose task had no memory, after it has passed the task's error on; errors of its end may follow. If
    memory is missing also to write the error, only the exit code shows the reason.
    """
    found = causes(written)
    memory = [cause for cause in found if _NO_MEMORY.search(cause)]
    others = [cause for cause in found if cause not in memory]
    if exit_code == _NO_MEMORY_EXIT and not memory:
        memory = [f"OutOfMemoryError: the JVM of the driver ended with exit code {exit_code}"]
    return memory, others


def meets_end_of_jvm(error: Exception) -> bool:
    """Return True if an error shows that the JVM has ended, or that it ends now."""
    said = _said(error)
    return said is None or type(error).__name__ in _GONE or _SHUT_DOWN in said


def _said(error: Exception) -> str | None:
    """Return the text of an error; None if only the JVM has it, and is gone: py4j asks the JVM for the text."""
    try:
        with py4j_is_silent():
            return str(error)
    except Exception:
        return None


@contextmanager
def py4j_is_silent() -> Iterator[None]:
    """Keep py4j from writing tracebacks to stderr in the body, which it does if its JVM is gone."""
    quiet = logging.NullHandler()  # without any handler the root logger, which py4j uses, writes to stderr
    logging.getLogger().addHandler(quiet)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(quiet)


def _where(application: str | None, master: str, log: str | None) -> str:
    """Return the way to the logs of an application."""
    own = next((text for pattern, text in _LOGS if re.match(pattern, master)), "") if application else ""
    found = [own.format(id=application)] if own else []
    if log is not None:
        found.append(f"what the driver's JVM wrote is in {log}")
    if not found:
        return ""
    text = "; ".join(found)
    return f"{text[0].upper()}{text[1:]}."
