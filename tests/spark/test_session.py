"""How Spark's driver and its Python workers are started; the rest needs a JVM, and is tested in tests/dryrun."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from socketserver import BaseRequestHandler, BaseServer, TCPServer
from threading import Event

import pytest

from kafkactl.spark import daemon as spark_daemon
from kafkactl.spark import session as sessions
from tests.installed import place_of

ROOT = Path(__file__).parents[3]
ZIP = place_of("pyspark") / "python" / "lib" / "pyspark.zip"


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of Spark's settings, with nothing in it."""
    for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    return tmp_path


def jvm_options() -> str:
    return dict(sessions._of_the_jvm().getAll()).get("spark.driver.defaultJavaOptions", "")


def test_the_jvm_is_configured_to_start_quickly(settings: Path) -> None:
    (settings / "spark-defaults.conf").write_text(
        "# spark.driver.extraJavaOptions -XX:+UseZGC\nspark.driver.memory 2g\n"
    )
    assert "TieredStopAtLevel=1" in jvm_options()


@pytest.mark.parametrize(
    "file, text",
    [
        ("spark-defaults.conf", "spark.driver.extraJavaOptions -XX:+UseZGC"),
        ("spark-defaults.conf", "spark.driver.defaultJavaOptions=-Dx=y"),
        ("spark-env.sh", 'export SPARK_SUBMIT_OPTS="-XX:+UseG1GC"'),
    ],
)
def test_the_jvm_of_a_file_of_settings_is_left_alone(settings: Path, file: str, text: str) -> None:
    (settings / file).write_text(f"{text}\n")
    assert not jvm_options()


@pytest.mark.parametrize(
    "name, value",
    [
        ("PYSPARK_SUBMIT_ARGS", "--driver-java-options -XX:+UseG1GC pyspark-shell"),
        ("SPARK_SUBMIT_OPTS", "-XX:+UseG1GC"),
        ("JAVA_TOOL_OPTIONS", "-Xlog:gc"),
        ("JDK_JAVA_OPTIONS", "-Xlog:gc"),
    ],
)
def test_the_jvm_of_the_environment_is_left_alone(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert not jvm_options()


def daemon(monkeypatch: pytest.MonkeyPatch, **settings: str) -> str | None:
    from pyspark import SparkConf

    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name.replace("_", "."), value)
    sessions._set_python(conf)
    return conf.get("spark.python.daemon.module", None)


def test_whose_daemon_starts_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = spark_daemon.__name__
    assert [daemon(monkeypatch, spark_master=master) for master in ("local", "local[2]", "local[*]")] == [ours] * 3
    assert daemon(monkeypatch, spark_master="spark://host:7077") is None
    assert daemon(monkeypatch, spark_master="local[2]", spark_pyspark_python="/usr/bin/python3") is None
    assert daemon(monkeypatch, spark_master="local[2]", spark_executorEnv_PYTHONPATH="/mine") is None
    assert daemon(monkeypatch, spark_master="local[2]", spark_python_daemon_module="mine") == "mine"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert daemon(monkeypatch, spark_master="local[2]") is None
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python3")
    assert daemon(monkeypatch, spark_master="local[2]") is None


@pytest.mark.slow
@pytest.mark.parametrize("module", [spark_daemon.WORKER, "pyspark.sql.worker.create_data_source"])
def test_the_daemon_forks_without_threads_and_takes_what_is_installed(module: str) -> None:
    code = f"""if True:
        import os, sys, threading
        sys.path.insert(0, {str(ZIP)!r})
        from kafkactl.spark import daemon as spark_daemon
        sys.path[:] = spark_daemon.installed(sys.path)
        import pyspark.daemon
        def manager():
            assert threading.active_count() == 1
            if os.path.isdir("/proc/self/task"):
                assert len(os.listdir("/proc/self/task")) == 1
            loaded = {{"kafkactl.dryrun.engine.spark.read", "pyspark.worker", "pyarrow"}} & set(sys.modules)
            print(".zip" in pyspark.__file__, *sorted(loaded))
        pyspark.daemon.manager = manager
        spark_daemon.main([{module!r}])
    """
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    loaded = ["kafkactl.dryrun.engine.spark.read", "pyspark.worker"] if module == spark_daemon.WORKER else []
    assert run.stdout.split() == ["False", *loaded]


class Receiver(TCPServer):
    """A server of accumulators whose thread does not end before it is allowed to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), BaseRequestHandler)
        self.may_end = Event()
        self.ended = Event()

    def shutdown(self) -> None:
        assert self.may_end.wait(30)
        self.server_close()
        self.ended.set()


class UnixReceiver(Receiver):
    """The same for Spark's Unix sockets."""

    address_family = socket.AF_UNIX

    def __init__(self) -> None:
        BaseServer.__init__(self, "/nowhere", BaseRequestHandler)
        self.may_end = Event()
        self.ended = Event()

    def server_close(self) -> None:
        """There is no socket."""


class Application:
    """What `SparkContext.stop` does about its receiver of accumulators."""

    def __init__(self, server: Receiver) -> None:
        self._accumulatorServer: Receiver | None = server
        self.is_stopped = False

    def stop(self) -> None:
        if self._accumulatorServer:
            self._accumulatorServer.shutdown()
        self.is_stopped = True


def test_the_end_of_an_application_does_not_wait_for_its_receiver() -> None:
    server = Receiver()
    application = Application(server)
    sessions._stop(application)  # type: ignore[arg-type]
    assert application.is_stopped and not server.ended.is_set()
    server.may_end.set()
    assert server.ended.wait(30)


def test_the_file_of_a_unix_socket_is_removed_before_the_end() -> None:
    server = UnixReceiver()
    server.may_end.set()
    application = Application(server)
    sessions._stop(application)  # type: ignore[arg-type]
    assert application.is_stopped and server.ended.is_set()
