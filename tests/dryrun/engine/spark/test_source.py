"""The Spark engine against the local one: the same value from every log, all of them in the same jobs."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from kafkactl.core.errors import InputError, UnreachableError
from kafkactl.dryrun.engine.local import Loaded, load
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.io.source import LogSource, open_source
from kafkactl.spark import daemon as spark_daemon
from kafkactl.spark import session as sessions
from tests.commands.captured import RELEASES, unpacked, with_hole
from tests.dryrun.odd_logs import CASES, damaged, encoded, generated
from tests.lab.harness.ports import free_port

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


def _segment(folder: Path, name: str, data: bytes) -> LogSource:
    log = folder / name.replace(" ", "-") / "__cluster_metadata-0"
    log.mkdir(parents=True)
    (log / f"{0:020d}.log").write_bytes(data)
    return open_source(str(log))


def _logs(folder: Path) -> Iterator[tuple[str, LogSource, int | None]]:
    for name, batches in CASES.items():
        yield name, _segment(folder, name, encoded(batches)), None
    for name, data in damaged():
        yield name, _segment(folder, name, data), None
    for seed in range(3):
        yield f"generated {seed}", _segment(folder, f"generated {seed}", generated(seed)), None
    yield "an earlier point", open_source(str(folder / "generated-1")), 1_500
    shape = Shape(records=3_000, partitions=200, segment_bytes=60_000)
    write_log(folder / "segments", shape)
    yield "several segments", open_source(str(folder / "segments")), None
    for release in RELEASES:
        log = open_source(str(unpacked(release, folder, release)))
        yield release, log, None
        yield f"{release} without checkpoints", LogSource(
            name=log.name, segments=log.segments, checkpoints=(), is_folder=True
        ), None  # fmt: skip
        if log.checkpoints:
            at = (log.checkpoints[0].base_offset or 0) + 5
            yield f"{release} at {at}", log, at

    holed = unpacked("4.4.0", folder, "holed")
    with_hole(holed, 40, 60)
    yield "a hole below a checkpoint", open_source(str(holed)), None
    yield "a hole and no checkpoint yet", open_source(str(holed)), 70


def _parent(_: int) -> str:
    """The module that the parent of a worker runs."""
    return Path(f"/proc/{os.getppid()}/cmdline").read_bytes().split(b"\0")[2].decode()


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, tuple[Loaded, Loaded]]:
    """What both engines say of every log."""
    from kafkactl.dryrun.engine.spark.engine import load_logs
    from kafkactl.dryrun.engine.spark.plan import ClusterLog

    logs = list(_logs(folder))
    os.environ.setdefault("SPARK_DRIVER_MEMORY", "512m")
    wanted = [ClusterLog(segments=log.segments, checkpoints=log.checkpoints, at=at) for _, log, at in logs]
    with sessions.spark_context("local[2]") as spark, sessions.results_folder(spark) as results:
        assert spark.getConf().get("spark.ui.enabled") == "false"
        machine = spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()  # type: ignore[union-attr]
        assert "-XX:TieredStopAtLevel=1" in list(machine.getInputArguments())
        assert spark.parallelize([0], 1).map(_parent).collect() == [spark_daemon.__name__]
        found = load_logs(spark, wanted, split_bytes=40_000, results=results)
    ours = [load(log.segments, log.checkpoints, at=at) for _, log, at in logs]
    return {name: both for (name, _, _), *both in zip(logs, ours, found, strict=True)}  # type: ignore[misc]


@pytest.mark.lab
def test_both_engines_say_the_same_of_every_log(answers: dict[str, tuple[Loaded, Loaded]]) -> None:
    differ = {
        name: [
            annotation for annotation in ours.__annotations__ if getattr(ours, annotation) != getattr(found, annotation)
        ]
        for name, (ours, found) in answers.items()
        if ours != found or image_sha256(ours.image) != image_sha256(found.image)
    }
    assert not differ
    assert len(answers) > 50


@pytest.mark.lab
def test_the_logs_are_as_odd_as_their_names(answers: dict[str, tuple[Loaded, Loaded]]) -> None:
    ids = {finding.id for ours, _ in answers.values() for finding in ours.findings}
    assert {
        "aborted-transaction", "damaged-log", "directories-do-not-match-replicas", "duplicate-topic",
        "leader-epoch-regression", "no-metadata-version", "offset-gap", "torn-tail", "transaction-inside-transaction",
        "transaction-not-open", "undecodable-record", "unknown-partition-in-record", "unknown-topic-in-record",
        "unknown-value-in-record",
    } <= ids  # fmt: skip
    assert answers["never ended"][1].image.transaction is not None


# --- what is known before Spark starts ----------------------------------------------------------------------------


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "find_spec", lambda name: None if name == "pyspark" else object())
    with pytest.raises(InputError, match="pyspark") as caught:
        sessions.check_spark(None)
    assert (caught.value.id, caught.value.exit_code) == ("spark-needs-extra", 2)
    assert ".whl[spark]" in str(caught.value.next_step)


def test_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError) as caught:
        sessions.check_spark(None)
    assert caught.value.id == "spark-needs-java"


@pytest.mark.parametrize("master", ["spark://nowhere", "spark://127.0.0.1:x"])
def test_a_master_without_an_address(master: str) -> None:
    with pytest.raises(InputError) as caught:
        sessions.check_spark(master)
    assert caught.value.id == "invalid-spark-master"


def test_a_master_that_is_not_there() -> None:
    with pytest.raises(UnreachableError) as caught:
        sessions.check_spark(f"spark://127.0.0.1:{free_port()}")
    assert (caught.value.id, caught.value.exit_code) == ("spark-master-unreachable", 4)


@pytest.mark.slow
def test_workers_need_nothing_but_the_zip(tmp_path: Path) -> None:
    archive = sessions.write_zip(tmp_path / "kafkactl.zip")
    assert not [name for name in zipfile.ZipFile(archive).namelist() if "/commands/" in name]
    (tmp_path / "segment").write_bytes(gzip.decompress(gzip.compress(generated(3, 500))))
    packages = Path(zipfile.__file__).parent, next(Path(item) for item in sys.path if item.endswith("site-packages"))
    code = f"""if True:
        import sys; sys.path[:0] = [{str(archive)!r}, {str(packages[1])!r}]
        import kafkactl.dryrun.engine.spark.read as read
        from kafkactl.dryrun.engine.columns import Window
        size = {len(generated(3, 500))}
        stretch = read.Stretch(log=0, number=0, file=0, path={str(tmp_path / "segment")!r}, start=0, end=size)
        job = read.Job(stretches=(stretch,), windows=(Window(first=0, end=1 << 62),), eras=((),))
        kinds = sorted(kind for _, kind, _ in read.packed_rows(job.to_json(), iter(job.tasks())))
        assert kinds == [1, 2, 3, 5], kinds  # patches, others, lists, counts
        assert ".zip" in read.__file__
        assert not {{"pyspark", "pyarrow"}} & set(sys.modules)
        import kafkactl.dryrun.engine.spark.source as spark
        reader = spark.KraftLogReader(read.Job.from_json(job.to_json()))
        rows = sum(one.num_rows for split in reader.partitions() for one in reader.read(split))
        assert rows > 20, rows
    """
    run = subprocess.run(
        [sys.executable, "-S", "-I", "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert run.returncode == 0, run.stderr
