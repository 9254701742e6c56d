"""Which engine replays a log."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from kafkactl.core.errors import InputError
from kafkactl.dryrun.api import engines
from kafkactl.metadata.io.source import LogSource, open_source
from kafkactl.spark import session as spark_session


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
def test_what_was_asked_for(
    log: LogSource, asked: str, master: str | None, context: str | None, name: str, used: str | None
) -> None:
    found = engines.chosen_engine(asked, master, context, [[log]])
    assert (found.name, found.master) == (name, used)


def test_number_of_logs_decides_nothing(log: LogSource) -> None:
    """32 small logs took 15 s in process and 299 s on Spark, on a busy machine."""
    assert engines.chosen_engine("auto", None, None, [[log]] * 500, cores=8).name == "local"
    assert engines.chosen_engine("auto", None, None, [[log] * 500], cores=8).name == "local"


def test_logs_of_several_clusters_weigh_together(log: LogSource) -> None:
    with Path(log.segments[0].name).open("wb") as file:
        file.truncate(int(engines.worth_bytes(8)) // 3 + 1)
    assert engines.chosen_engine("auto", None, None, [[log]] * 2, cores=8).name == "local"
    assert engines.chosen_engine("auto", None, None, [[log]] * 3, cores=8).name == "spark"


def test_a_large_log_on_many_cores(log: LogSource) -> None:
    with Path(log.segments[0].name).open("wb") as file:
        file.truncate(int(engines.worth_bytes(8)) + 1)
    found = engines.chosen_engine("auto", None, None, [[log]], cores=8)
    assert (found.name, found.why) == ("spark", "Spark is sooner done with 0.54 GB of log")
    found = engines.chosen_engine("auto", None, None, [[log]], cores=1)
    assert (found.name, found.why) == (
        "local",
        "in process: 0.54 GB of log, and Spark is never sooner done on 1 core",
    )
    found = engines.chosen_engine("auto", None, None, [[log]], cores=4)
    assert found.why == "in process: 0.54 GB of log, and Spark is sooner done from 0.6 GB on 4 cores"
    assert engines.chosen_engine("local", None, None, [[log]], cores=8).why == ""


def test_more_cores_pay_sooner() -> None:
    sizes = [engines.worth_bytes(cores) for cores in (2, 4, 8, 32)]
    assert sizes == sorted(sizes, reverse=True)
    assert math.isinf(engines.worth_bytes(1))


def test_without_spark_it_is_done_in_process(log: LogSource, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(master: str | None) -> None:
        raise InputError("no Java", id="spark-needs-java")

    monkeypatch.setattr(spark_session, "check_spark", missing)
    with Path(log.segments[0].name).open("wb") as file:
        file.truncate(int(engines.worth_bytes(8)) + 1)
    found = engines.chosen_engine("auto", None, None, [[log]], cores=8)
    assert found.name == "local" and found.why.endswith("but no Java")
