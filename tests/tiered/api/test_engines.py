"""Choice of the engine that folds the metadata topic."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import InputError
from kafkactl.jobs import session as spark_session
from kafkactl.tiered.api.engines import chosen_engine
from kafkactl.tiered.io.sources import MetadataReplica, SegmentFile


@pytest.fixture(autouse=True)
def spark_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "check_spark", lambda master: None)


def replicas(count: int, size: int) -> list[MetadataReplica]:
    file = SegmentFile(path="x", base_offset=0, size=size)
    return [MetadataReplica(partition=at, path=f"m{at}", files=(file,), log_start=0) for at in range(count)]


@pytest.mark.parametrize(
    "asked, master, context, name, used",
    [
        ("auto", None, None, "local", None),
        ("auto", "local[2]", None, "spark", "local[2]"),
        ("auto", None, "spark://a:1", "spark", "spark://a:1"),
        ("local", None, "spark://a:1", "local", None),
        ("spark", None, None, "spark", None),
    ],
)
def test_requested_engine_is_chosen(
    asked: str, master: str | None, context: str | None, name: str, used: str | None
) -> None:
    found = chosen_engine(asked, master, context, replicas(5, 1000))
    assert (found.name, found.master) == (name, used)


def test_work_decides_and_is_reported() -> None:
    large = replicas(50, 40_000_000)
    found = chosen_engine("auto", None, None, large, cores=8)
    assert found.name == "spark"
    assert found.why == (
        "on Spark: 2.00 GB of metadata logs, about 84 s of work in process and 54 s on Spark with 8 cores"
    )
    assert chosen_engine("auto", None, None, large, cores=1).name == "local"
    assert chosen_engine("auto", None, None, replicas(500, 1000), cores=64).name == "local"
    assert chosen_engine("auto", None, None, replicas(1, 4_000_000_000), cores=64).name == "local"


def test_without_spark_it_is_done_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(master: str | None) -> None:
        raise InputError("no Java", id="spark-needs-java")

    monkeypatch.setattr(spark_session, "check_spark", missing)
    found = chosen_engine("auto", None, None, replicas(50, 1 << 33), cores=8)
    assert found.name == "local" and found.why.endswith("but no Java")
