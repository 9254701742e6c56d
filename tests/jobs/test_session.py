"""The settings of an application of kafkactl's own, and what is checked before it starts."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from kafkactl.core.errors import FailedError, InputError, UnreachableError
from kafkactl.jobs import session as sessions
from tests.lab.harness.ports import free_port


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder of Spark's settings, with nothing in it."""
    for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    return tmp_path


def jvm_options() -> str:
    return dict(sessions._of_the_jvm(None).getAll()).get("spark.driver.defaultJavaOptions", "")


def test_jvm_of_a_session_is_configured_to_start_quickly(settings: Path) -> None:
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
def test_jvm_options_of_a_settings_file_are_kept(settings: Path, file: str, text: str) -> None:
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
def test_jvm_options_of_the_environment_are_kept(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert not jvm_options()


@pytest.mark.parametrize("master, is_prepared", [("yarn", True), ("k8s://https://host", True), ("local[2]", False)])
def test_jvm_knows_the_master_for_which_it_prepares_an_application(master: str, is_prepared: bool) -> None:
    found = dict(sessions._of_the_jvm(master).getAll())
    assert found.get("spark.master") == (master if is_prepared else None)
    assert found.get("spark.submit.deployMode") == ("client" if is_prepared else None)


def test_application_has_the_name_of_the_command_unless_settings_name_it() -> None:
    assert sessions.application_name("pyspark-shell", "kafkactl dryrun replay") == "kafkactl dryrun replay"
    assert sessions.application_name("nightly", "kafkactl dryrun replay") == "nightly"


def test_missing_package_of_the_extra_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "find_spec", lambda name: None if name == "pandas" else object())
    with pytest.raises(InputError, match="pandas") as caught:
        sessions.check_spark(None)
    assert (caught.value.id, caught.value.exit_code) == ("spark-needs-extra", 2)
    assert ".whl[spark]" in str(caught.value.next_step)


def test_missing_java_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError) as caught:
        sessions.check_spark(None)
    assert caught.value.id == "spark-needs-java"


@pytest.mark.parametrize("master", ["spark://nowhere", "spark://127.0.0.1:x"])
def test_master_without_an_address_is_refused(master: str) -> None:
    with pytest.raises(InputError) as caught:
        sessions.check_spark(master)
    assert caught.value.id == "invalid-spark-master"


def test_unreachable_master_is_reported() -> None:
    with pytest.raises(UnreachableError) as caught:
        sessions.check_spark(f"spark://127.0.0.1:{free_port()}")
    assert (caught.value.id, caught.value.exit_code) == ("spark-master-unreachable", 4)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> object:
    """Return a session that a caller is taken to have."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    made = object()
    context = SimpleNamespace(_jsc=object(), applicationId="app-1", master="local[2]")
    monkeypatch.setattr(sessions, "check_spark", lambda master: None)
    monkeypatch.setattr(SparkContext, "_active_spark_context", context)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: made)
    return made


def test_error_while_an_interruption_is_handled_is_the_interruption(session: object) -> None:
    from py4j.protocol import Py4JError

    with pytest.raises(KeyboardInterrupt), sessions.spark_session(None, "x") as given:
        assert given is session
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise Py4JError("o1 does not exist in the JVM")  # noqa: B904


def test_error_of_spark_alone_is_reported_as_spark_failed(session: object) -> None:
    with pytest.raises(FailedError) as caught, sessions.spark_session(None, "x"):
        raise RuntimeError("no more")
    assert caught.value.id == "spark-failed"


@pytest.mark.parametrize("code", [0, 3])
def test_exit_of_a_command_passes_through_its_session(session: object, code: int) -> None:
    # It is a RuntimeError; a dry run of logs in another file system keeps a session until the command ends.
    with pytest.raises(click.exceptions.Exit) as caught, sessions.spark_session(None, "x"):
        raise click.exceptions.Exit(code)
    assert caught.value.exit_code == code


def test_context_whose_jvm_was_gone_is_not_a_session_of_a_caller(
    session: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark import SparkContext

    monkeypatch.setattr(SparkContext, "_active_spark_context", SimpleNamespace(_jsc=None))
    monkeypatch.setattr(sessions, "_context", lambda master, name: (_ for _ in ()).throw(RuntimeError("a new one")))
    with (
        pytest.raises(FailedError, match="Spark did not start: RuntimeError: a new one"),
        sessions.spark_session(None, "x"),
    ):
        pass
