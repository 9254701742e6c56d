"""Choice of the engine that replays a log."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkactl.core.errors import InputError
from kafkactl.dryrun.api import engines
from kafkactl.jobs import session as spark_session
from kafkactl.metadata.io.source import LogSource, open_source


@pytest.fixture
def log(tmp_path: Path) -> LogSource:
    (tmp_path / f"{0:020d}.log").write_bytes(b"")
    return open_source(str(tmp_path))


@pytest.fixture(autouse=True)
def spark_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "check_spark", lambda master: None)


@pytest.mark.parametrize(
    "asked, master, context, name, used",
    [
        ("auto", None, None, "local", None),
        ("auto", "local[2]", None, "spark", "local[2]"),
        ("auto", None, "spark://a:1", "spark", "spark://a:1"),
        ("auto", "local[2]", "spark://a:1", "spark", "local[2]"),
        ("local", None, "spark://a:1", "local", None),
        ("spark", None, None, "spark", None),
        ("spark", None, "spark://a:1", "spark", "spark://a:1"),
    ],
)
def test_requested_engine_is_chosen(
    log: LogSource, asked: str, master: str | None, context: str | None, name: str, used: str | None
) -> None:
    found = engines.chosen_engine(asked, master, context, [[log]])
    assert (found.name, found.master) == (name, used)


def test_reason_of_a_choice_is_given(log: LogSource) -> None:
    def why(*given: str | None) -> str:
        return engines.chosen_engine(*given, [[log]], cores=2).why  # type: ignore[arg-type]

    assert why("local", None, None) == "in process: --engine local"
    assert why("spark", None, None) == "on Spark: --engine spark"
    assert why("auto", "yarn", None) == "on Spark: --master yarn"
    assert why("auto", None, "yarn") == "on Spark: the context names the Spark master yarn"
    assert why("auto", None, None) == (
        "in process: 0.00 GB of log, about 0 s of work in process and 10 s on Spark with 2 cores"
    )


def test_number_of_logs_decides_nothing(log: LogSource) -> None:
    # 32 small logs took 15 s in process and 299 s on Spark, on a busy machine.
    assert engines.chosen_engine("auto", None, None, [[log]] * 500, cores=8).name == "local"
    assert engines.chosen_engine("auto", None, None, [[log] * 500], cores=8).name == "local"


def test_work_on_several_logs_is_for_spark_and_on_one_log_never(log: LogSource) -> None:
    with Path(log.segments[0].name).open("wb") as file:
        file.truncate(500_000_000)
    assert engines.chosen_engine("auto", None, None, [[log]], passes=100, cores=8).name == "local"
    assert engines.chosen_engine("auto", None, None, [[log]] * 2, cores=8).name == "local"
    assert engines.chosen_engine("auto", None, None, [[log]] * 4, passes=6, cores=8).name == "spark"
    assert engines.chosen_engine("auto", None, None, [[log]] * 8, cores=8).name == "spark"
    assert engines.chosen_engine("auto", None, None, [[log]] * 8, cores=1).name == "local"


def test_without_spark_it_is_done_in_process(log: LogSource, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(master: str | None) -> None:
        raise InputError("no Java", id="spark-needs-java")

    monkeypatch.setattr(spark_session, "check_spark", missing)
    with Path(log.segments[0].name).open("wb") as file:
        file.truncate(2_000_000_000)
    found = engines.chosen_engine("auto", None, None, [[log]] * 8, cores=8)
    assert found.name == "local" and found.why.endswith("but no Java")
