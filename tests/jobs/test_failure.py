"""Report of a failed Spark application: its first cause, and where to see more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafkactl.core.errors import FailedError, InputError
from kafkactl.jobs import session as sessions
from kafkactl.jobs.failure import causes, failed, meets_end_of_jvm

ROOT = Path(__file__).parents[3]
CALLED = "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe."
STACK = "\tat org.apache.spark.SparkContext.runJob(SparkContext.scala:2499)\n\tat java.base/java.lang.Thread.run(T:840)"
LOST = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times,"
    " most recent failure: Lost task 0.3 in stage 0.0 (TID 6) (192.0.2.2 executor 1): "
)
UNREADABLE = f"""{CALLED}
: org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/x/pyspark/worker.py", line 4327, in invoke_udf
    run_process()
FileNotFoundError: [Errno 2] No such file or directory: '/log/00000000000000000000.log'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/x/read.py", line 12, in opened_anywhere
    return opened_segment(path)
           ^^^^^^^^^^^^^^^^^^^^
ValueError: something else
 SQLSTATE: 38000
{STACK}
"""  # noqa: E501
KILLED = f"""{CALLED}
: {LOST}org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider setting 'x' for more.
{STACK}
Caused by: java.io.EOFException
\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:398)
\t... 22 more

Driver stacktrace:
{STACK}
Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider setting 'x' for more.
"""
NO_MEMORY = f"{CALLED}\n: {LOST}java.lang.OutOfMemoryError: Java heap space\n{STACK}\n"
TOO_MUCH = (
    f"{CALLED}\n: org.apache.spark.SparkException: Job aborted due to stage failure: Total size of serialized results"
    f" of 1 tasks (37.6 KiB) is bigger than spark.driver.maxResultSize (20.0 KiB)\n{STACK}\n"
)
EXECUTOR = (
    f"{CALLED}\n: {LOST}ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: Command"
    f" exited with code 137\nDriver stacktrace:\n{STACK}\n"
)
# Of a ResourceManager, and of executors whose Python has no pyspark.
OVER_LIMIT = (
    f"{CALLED}\n: {LOST}ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: Container"
    " killed by YARN for exceeding physical memory limits. 700.1 MB of 640 MB physical memory used. Consider boosting"
    f" spark.executor.memoryOverhead.\nDriver stacktrace:\n{STACK}\n"
)
TOO_LARGE = (
    f"{CALLED}\n: java.lang.IllegalArgumentException: Required executor memory (20480 MB), offHeap memory (0) MB,"
    f" overhead (2048 MB), and PySpark memory (0 MB) is above the max threshold (6144 MB) of this cluster!\n{STACK}\n"
)
QUEUE = (
    f"{CALLED}\n: org.apache.hadoop.yarn.exceptions.YarnException: Failed to submit application_1_0009 to YARN :"
    f" Application application_1_0009 submitted by user root to unknown queue: nosuch\n{STACK}\n"
)
NO_DAEMON = (
    f"{CALLED}\n: {LOST}org.apache.spark.SparkException: EOFException occurred while reading the port number from"
    f" pyspark.daemon's stdout.\n{STACK}\n"
)
CLUSTER = f"""An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.
: io.fabric8.kubernetes.client.KubernetesClientException: An error has occurred.
{STACK}
Caused by: java.io.IOException: Connection refused: /127.0.0.1:1
\t... 20 more
Caused by: io.netty.channel.AbstractChannel$AnnotatedConnectException: Connection refused: /127.0.0.1:1
Caused by: java.net.ConnectException: Connection refused
{STACK}
"""


@pytest.mark.parametrize(
    "text, first, behind",
    [
        (UNREADABLE, "FileNotFoundError: [Errno 2] No such file or directory: '/log/00000000000000000000.log'", 1),
        (KILLED, "SparkException: Python worker exited unexpectedly (crashed)", 1),
        (NO_MEMORY, "OutOfMemoryError: Java heap space", 1),
        (EXECUTOR, "task: ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: Command"
         " exited with code 137", 1),
        (CLUSTER, "IOException: Connection refused: /127.0.0.1:1", 1),
        ("nothing that looks like one", None, 0),
    ],
    ids=["unreadable", "worker killed", "heap", "executor killed", "no cluster", "nothing"],
)  # fmt: skip
def test_first_cause_is_the_message(text: str, first: str | None, behind: int) -> None:
    found = causes(text)
    assert found[:1] == ([first] if first else [])
    assert len(found[1:]) == behind
    assert not any("\tat " in item or "java.base" in item for item in found)


def error_of(text: str, *, master: str = "local[2]", written: str = "", application: str | None = "app-1") -> Any:
    return failed(RuntimeError(text), written, application=application, master=master, log="/tmp/x.log")


@pytest.mark.parametrize(
    "text, advice",
    [
        (UNREADABLE, "under the same path"),
        (KILLED, "memory ran out"),
        (NO_MEMORY, "SPARK_DRIVER_MEMORY"),
        (TOO_MUCH, "Raise spark.driver.maxResultSize"),
        (EXECUTOR, "memory ran out"),
        (OVER_LIMIT, "Raise spark.executor.memoryOverhead"),
        (TOO_LARGE, "spark.executor.memoryOverhead to less"),
        (QUEUE, "spark.yarn.queue"),
        (NO_DAEMON, "set PYSPARK_PYTHON"),
    ],
)
def test_known_failure_has_its_advice(text: str, advice: str) -> None:
    error = error_of(text)
    assert (type(error), error.id, error.exit_code) == (FailedError, "spark-failed", 1)
    assert error.message.startswith("the Spark application app-1 failed: ")
    assert advice in error.next_step
    assert "/tmp/x.log" in error.next_step


def test_application_that_yarn_ended_is_reported_with_its_diagnostics() -> None:
    written = (
        "26/11/29 19:21:16 ERROR YarnClientSchedulerBackend: YARN application has exited unexpectedly\n"
        "26/11/29 19:21:16 ERROR YarnClientSchedulerBackend: Diagnostics message: Max number of executor failures (3)"
        " reached\n"
    )
    called = f'{CALLED}\n: java.lang.NullPointerException: "SparkEnv$.get()" is null\n{STACK}\n'
    error = error_of(called, master="yarn", written=written)
    assert error.message.endswith("failed: YARN ended it: Max number of executor failures (3) reached")
    assert "NullPointerException" in error.cause
    assert error.next_step.startswith("The executors' logs say why")
    of_task = error_of(OVER_LIMIT, master="yarn", written=written)
    assert "exceeding physical memory limits" in of_task.message


@pytest.mark.parametrize(
    "master, where",
    [
        ("spark://host:7077", "work/app-1/*/stderr"),
        ("yarn", "yarn logs -applicationId app-1"),
        ("k8s://https://host", "spark-app-selector=app-1"),
        ("local[2]", "the driver's JVM wrote is in /tmp/x.log"),
    ],
)
def test_next_step_names_the_place_of_the_logs(master: str, where: str) -> None:
    assert where in error_of(KILLED, master=master).next_step


def test_jvm_that_does_not_start_is_reported_with_its_output() -> None:
    gone = "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number."
    heap = 'Error: A JNI error\nException in thread "main" java.lang.OutOfMemoryError: Java heap space\n\tat x.Y(Z)'
    error = error_of(gone, written=heap, application=None)
    assert error.message == "Spark did not start: OutOfMemoryError: Java heap space"
    assert "SPARK_DRIVER_MEMORY" in error.next_step
    option = error_of(gone, written="Unrecognized VM option 'Bogus'\nError: Could not create the JVM", application=None)
    assert "Unrecognized VM option 'Bogus'" in option.message
    old = "\tjava.lang.UnsupportedClassVersionError: org/apache/spark/launcher/Main has been compiled by a more recent"
    assert error_of(gone, written=old.strip(), application=None).id == "spark-needs-java"
    assert "before Spark started" in error_of(gone, application=None).message


def test_driver_without_its_jvm_is_reported() -> None:
    error = failed(ConnectionRefusedError(111, "x"), "", application="local-1", master="local[*]", log=None)
    assert error.message == (
        "the Spark application local-1 failed: the JVM of the driver ended: it crashed, or was killed"
    )


def test_call_during_the_end_of_the_jvm_is_reported() -> None:
    met = Exception("PythonRDD does not exist in the JVM")
    error = failed(met, "", application="local-1", master="local[*]", log=None, is_gone=True)
    assert error.message.endswith("failed: the JVM of the driver ended: it crashed, or was killed")
    assert "PythonRDD" in failed(met, "", application="local-1", master="local[*]", log=None).message


@pytest.mark.parametrize("master", ["local[x]", "local[0]", "local[]", "localhost"])
def test_invalid_local_master_is_refused(master: str) -> None:
    with pytest.raises(InputError, match="is not a valid master") as caught:
        sessions.check_spark(master)
    assert caught.value.id == "invalid-spark-master"


@pytest.mark.parametrize("version, is_old", [("1.8.0_412", True), ("11.0.2", True), ("17", False), ("21.0.1", False)])
def test_java_that_is_too_old_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, is_old: bool
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch(mode=0o755)
    (tmp_path / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if not is_old:
        sessions.check_spark(None)
        return
    with pytest.raises(InputError, match=version) as caught:
        sessions.check_spark(None)
    assert caught.value.id == "spark-needs-java"


class OfTheJvmError(Exception):
    """Error as py4j's: the JVM has the text."""

    def __str__(self) -> str:
        raise ConnectionRefusedError(111, "Connection refused")


@pytest.mark.parametrize(
    ("written", "first"),
    [
        ("java.lang.OutOfMemoryError: Java heap space\n\tat x.y(Z.java:1)\n", "OutOfMemoryError: Java heap space"),
        ("", "the JVM of the driver ended"),
        ("java.io.IOException: Broken pipe\n", "the JVM of the driver ended"),
    ],
)
def test_error_without_text_is_explained_by_the_output_of_the_jvm(written: str, first: str) -> None:
    found = failed(OfTheJvmError(), written, application="local-1", master="local[2]", log=None)
    assert str(found).startswith(f"the Spark application local-1 failed: {first}")


def test_jvm_without_memory_to_write_its_error_is_known_by_its_exit_code() -> None:
    gone = OfTheJvmError()
    found = failed(gone, "", application="local-1", master="local[2]", log=None, exit_code=52)
    assert str(found).endswith("failed: OutOfMemoryError: the JVM of the driver ended with exit code 52")
    assert "SPARK_DRIVER_MEMORY" in (found.next_step or "")
    killed = failed(gone, "", application="local-1", master="local[2]", log=None, exit_code=-9)
    assert "OutOfMemoryError" not in str(killed)


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        (OfTheJvmError(), True),
        (RuntimeError("Job 0 cancelled because SparkContext was shut down"), True),
        (ConnectionResetError(104, "x"), True),
        (RuntimeError("Job aborted"), False),
    ],
)
def test_error_that_the_end_of_the_jvm_caused_is_known(error: Exception, ends: bool) -> None:
    assert meets_end_of_jvm(error) is ends


@pytest.mark.parametrize("after", ["", "java.util.concurrent.RejectedExecutionException: Task x rejected from y\n"])
def test_application_that_the_jvm_shut_down_is_reported_with_its_cause(after: str) -> None:
    error = RuntimeError(": org.apache.spark.SparkException: Job 0 cancelled because SparkContext was shut down")
    written = f"java.lang.OutOfMemoryError: Java heap space\n{after}"
    found = failed(error, written, application="local-1", master="local[2]", log=None)
    assert str(found).endswith("failed: OutOfMemoryError: Java heap space")
    assert found.cause is not None and "SparkContext was shut down" in found.cause


FAILING = """
import json, os, signal, sys
from kafkactl.jobs.session import spark_session
from kafkactl.jobs.tasks import done_in_tasks
from kafkactl.core.errors import KafkactlError

def unreadable(_):
    return open("/nowhere/00000000000000000000.log").read()

def killed(_):
    os.kill(os.getpid(), signal.SIGKILL)

def memory(_):
    raise MemoryError("Unable to allocate 3.5 GiB")

def heap(_):
    return bytes(400_000_000)

def run(master, work):
    with spark_session(master, "failing") as session:
        if work is None:
            os.kill(session.sparkContext._jvm.java.lang.ProcessHandle.current().pid(), signal.SIGKILL)
        done_in_tasks(session, work or str, [0, 1])

for master, work in json.loads(sys.argv[1]):
    try:
        run(master, None if work == "no JVM" else globals().get(work))
    except KafkactlError as error:
        print(json.dumps({**error.to_dict(), "work": work}))
"""


def failing(folder: Path, *cases: tuple[str, str], **environment: str) -> dict[str, Any]:
    """Return the errors of applications by what they do; kept logs go to the folder."""
    run = subprocess.run(
        [sys.executable, "-c", FAILING, json.dumps(cases)],
        capture_output=True, text=True, cwd=ROOT, check=False, timeout=1200,
        env={**os.environ, "SPARK_DRIVER_MEMORY": "512m", "TMPDIR": str(folder), **environment},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr, run.stderr
    return {error["work"]: error for error in map(json.loads, run.stdout.splitlines())}


@pytest.mark.lab
@pytest.mark.timeout(2400)
def test_applications_that_fail_say_why(tmp_path: Path) -> None:
    kinds = {
        "unreadable": "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/00000000000000000000.log'",
        "killed": "Python worker exited unexpectedly",
        "memory": "MemoryError: Unable to allocate 3.5 GiB",
        "heap": "MemoryError: ",
        "no JVM": "the JVM of the driver ended",
    }
    others = [("local[2]", kind) for kind in kinds if kind != "heap"]
    found = failing(tmp_path, ("foo://x", "no master"), *others)
    # Spark ends a JVM whose heap was full, so that the next application of its process may meet the end.
    found |= failing(tmp_path, ("local[2]", "heap"))
    refused = found.pop("no master")
    assert (refused["id"], refused["exit_code"]) == ("invalid-spark-master", 2)
    assert "foo://x" in refused["message"]
    assert {kind: found[kind]["message"] for kind, text in kinds.items() if text not in found[kind]["message"]} == {}
    for error in found.values():
        assert (error["id"], error["exit_code"]) == ("spark-failed", 1)
        kept = Path(next(word.rstrip(".;") for word in error["next_step"].split() if word.startswith(str(tmp_path))))
        assert kept.stat().st_mode & 0o777 == 0o600
        assert kept.stat().st_size


@pytest.mark.lab
@pytest.mark.timeout(2400)
def test_jvms_that_do_not_start_say_why(tmp_path: Path) -> None:
    found = failing(tmp_path, ("local[1]", "unreadable"), SPARK_DRIVER_MEMORY="16m")["unreadable"]
    assert "OutOfMemoryError: Java heap space" in found["message"]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text(
        "#!/bin/sh\necho 'java.lang.UnsupportedClassVersionError: compiled by a more recent version' >&2\nexit 1"
    )
    (tmp_path / "bin" / "java").chmod(0o755)
    found = failing(tmp_path, ("local[1]", "unreadable"), JAVA_HOME=str(tmp_path))["unreadable"]
    assert (found["id"], found["exit_code"]) == ("spark-needs-java", 2)
