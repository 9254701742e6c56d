"""The Spark engine without Spark: the same values as the local engine, for any division into stretches."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from kafkactl.core.errors import FailedError, InputError
from kafkactl.dryrun.detail_tables import state_tables
from kafkactl.dryrun.engine import patches
from kafkactl.dryrun.engine.columns import Columns, Window
from kafkactl.dryrun.engine.local import Loaded, load
from kafkactl.dryrun.engine.spark import engine as spark_engine
from kafkactl.dryrun.engine.spark import read as spark_read
from kafkactl.dryrun.engine.spark.engine import load_logs
from kafkactl.dryrun.engine.spark.files import opened_segment
from kafkactl.dryrun.engine.spark.plan import ClusterLog
from kafkactl.dryrun.io.detail_files import write_details
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.model import PackedTopics
from kafkactl.metadata.io.source import LogSource, open_source
from kafkactl.protocol.batch_bounds import MOST_BATCH_BYTES
from kafkactl.protocol.record_batch import encode_batch
from tests.dryrun.engine.spark.in_process import CONTEXT, jobs_in_process
from tests.dryrun.odd_logs import (
    ABORT,
    BEGIN,
    CASES,
    CLEAR_ALL,
    DIRECTORIES,
    END,
    LEVEL,
    change,
    damaged,
    encoded,
    generated,
    partition,
    record,
    topic,
)  # fmt: skip
from tests.sampling import one_in


def log_of(folder: Path, name: str, data: bytes) -> LogSource:
    log = folder / name.replace(" ", "-") / "__cluster_metadata-0"
    log.mkdir(parents=True)
    (log / f"{0:020d}.log").write_bytes(data)
    return open_source(str(log))


def cluster(log: LogSource, at: int | None = None) -> ClusterLog:
    return ClusterLog(segments=log.segments, checkpoints=log.checkpoints, at=at)


def same(log: LogSource, found: object, at: int | None = None) -> bool:
    ours = load(log.segments, log.checkpoints, at=at)
    assert isinstance(found, Loaded), found
    assert {name for name in ours.__annotations__ if getattr(ours, name) != getattr(found, name)} == set(), log.name
    return image_sha256(ours.image) == image_sha256(found.image)


@pytest.mark.slow
@pytest.mark.parametrize(
    "few, split_bytes, piece_bytes", [(0, 700, 300), (1 << 30, 1_500, None), (1 << 30, 1 << 20, 900)]
)
def test_stretches_and_pieces_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int, split_bytes: int, piece_bytes: int | None
) -> None:
    monkeypatch.setattr(spark_engine, "_FEW_STRETCHES", few)
    logs = [log_of(tmp_path, name, encoded(batches)) for name, batches in CASES.items()]
    logs += [log_of(tmp_path, name, data) for name, data in damaged()]
    logs += [log_of(tmp_path, f"generated {seed}", generated(seed)) for seed in range(2)]
    wanted = [*(cluster(log) for log in logs), *(cluster(logs[-1], at) for at in (0, 700, 1_501))]
    with jobs_in_process(piece_bytes=piece_bytes) as jobs:
        found = load_logs(CONTEXT, wanted, split_bytes=split_bytes)
    assert all(job.is_packed == bool(few) for job in jobs)
    assert all(same(log, item) for log, item in zip(logs, found, strict=False))
    assert all(same(logs[-1], entry, at) for entry, at in zip(found[-3:], (0, 700, 1_501), strict=True))


SOUND = [[LEVEL], [topic(1), partition(1), partition(1, 1)], [BEGIN, change(1, Leader=2), ABORT], [change(1, Leader=3)]]


def test_a_plain_log_is_read_once(tmp_path: Path) -> None:
    log = log_of(tmp_path, "plain", encoded(SOUND))
    with jobs_in_process() as jobs:
        (found,) = load_logs(CONTEXT, [cluster(log)])
    assert same(log, found)
    assert len(jobs) == 1


@pytest.mark.parametrize(
    "batches",
    [
        [*SOUND, [CLEAR_ALL], [change(1, Leader=2)]],
        [*SOUND, [BEGIN], [change(1, Leader=1)], [ABORT]],
        [*SOUND, [BEGIN], [change(1, Leader=1)]],
        [*SOUND, [change(1, Replicas=[2, 3])]],
    ],
    ids=["a clear", "aborted in another stretch", "never ended", "replicas without directories"],
)
def test_what_was_unknown_is_read_again(tmp_path: Path, batches: list[list[bytes]]) -> None:
    """Only the log that it is about."""
    plain, odd = log_of(tmp_path, "plain", encoded(SOUND)), log_of(tmp_path, "odd", encoded(batches))
    with jobs_in_process() as jobs:
        found = load_logs(CONTEXT, [cluster(plain), cluster(odd)], split_bytes=80)
    assert all(same(log, item) for log, item in zip((plain, odd), found, strict=True))
    assert [sorted({stretch.log for stretch in job.stretches}) for job in jobs] == [[0, 1], [1]]


FAR = 2**31 - 1


def clear(name: str) -> bytes:
    return record("ClearElrRecord", TopicName=name)


@pytest.mark.slow
def test_log_keeps_its_columns(tmp_path: Path) -> None:
    """The image makes no object of a partition before the partition is read."""
    for seed in range(2):
        log = log_of(tmp_path, f"large {seed}", generated(seed))
        with jobs_in_process():
            (found,) = load_logs(CONTEXT, [cluster(log)], split_bytes=5_000)
        assert isinstance(found, Loaded) and isinstance(found.image.topics, PackedTopics)
        assert same(log, found)
    for name, batches in CASES.items():
        log = log_of(tmp_path, name, encoded(batches))
        with jobs_in_process():
            (found,) = load_logs(CONTEXT, [cluster(log)], split_bytes=200)
        assert same(log, found)


@pytest.mark.parametrize(
    "records",
    [
        [partition(1, FAR)],
        [partition(1, 50_000), change(1, 50_000, Leader=2)],
        [partition(1, -1)],
        [partition(1, 2, Leader=-7), change(1, 2, Isr=[1])],
        [change(1, Leader=-7)],
        [change(1, Leader=-2)],
        [change(1, Leader=-1)],
        [change(1, Leader=2**31 - 1)],
        [partition(1, 2, Replicas=list(range(200)), Isr=[5], Directories=[])],
        [change(1, Isr=list(range(130)))],
        [change(1, LeaderRecoveryState=7)],
        [change(1, LeaderRecoveryState=1)],
        [change(1)[:-1] + bytes([1, 3, 1, 0])],
        [change(1)[:20]],
        [change(1, 1, Replicas=[2, 3], EligibleLeaderReplicas=[2]), topic(2), partition(2), CLEAR_ALL],
        [topic(2), partition(2), topic(3), partition(3, EligibleLeaderReplicas=[2]), clear("t1"), clear("t3")],
        [change(1, 9, Leader=1)],
        [partition(1), partition(1)],
    ],
    ids=lambda records: str(len(records)) + records[0].hex()[:12] + records[0].hex()[-8:],
)
@pytest.mark.parametrize("few", one_in(2, [0, 16]))
def test_records_that_columns_cannot_fold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: list[bytes], few: int
) -> None:
    """They are replayed one by one, wherever stretches end."""
    monkeypatch.setattr(spark_engine, "_FEW_STRETCHES", few)
    late = [[change(1, 1, Isr=[2], EligibleLeaderReplicas=[1])], [change(1, Leader=1)]]
    log = log_of(tmp_path, "odd", encoded([*SOUND, records, *late, [change(1, Directories=DIRECTORIES[:1])]]))
    with jobs_in_process():
        for split in (80, 1 << 20):
            (found,) = load_logs(CONTEXT, [cluster(log)], split_bytes=split)
            assert same(log, found)


def test_a_hostile_number_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition has a row only where the records of the stretch make its number likely."""
    monkeypatch.setattr(patches, "_MOST_ROWS", 1_000)
    columns = Columns(Window(first=0, end=1 << 40))
    data = encoded([[partition(1, 1_500), partition(2, 900)]])
    columns.take(data, [0], 0)
    assert [other.number for other in columns.others] == [0]
    assert (columns.partitions, columns.changes) == (1, 0)
    assert columns.patches()[0].keys["number"].tolist() == [900]


def test_a_transaction_that_ends_elsewhere_needs_no_second_pass(tmp_path: Path) -> None:
    log = log_of(tmp_path, "ended", encoded([*SOUND, [BEGIN], [change(1, Leader=1)], [END]]))
    with jobs_in_process() as jobs:
        (found,) = load_logs(CONTEXT, [cluster(log)], split_bytes=80)
    assert same(log, found)
    assert len(jobs) == 1


@pytest.mark.slow
def test_many_logs_of_one_stretch_need_no_merging_by_spark(tmp_path: Path) -> None:
    logs = [log_of(tmp_path, f"cluster {number}", encoded(SOUND)) for number in range(40)]
    with jobs_in_process() as jobs:
        found = load_logs(CONTEXT, [cluster(log) for log in logs])
        assert same(logs[7], found[7])
        load_logs(CONTEXT, [cluster(log_of(tmp_path, "long", generated(1)))], split_bytes=500)
    assert jobs[0].is_packed and not jobs[-1].is_packed
    assert len(jobs[0].tasks()) < 40 < len(jobs[-1].stretches)


def test_one_log_without_a_beginning_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    whole, late = log_of(tmp_path, "whole", encoded(SOUND)), log_of(tmp_path, "late", encoded(SOUND))
    Path(late.segments[0].name).rename(Path(late.segments[0].name).with_name(f"{5:020d}.log"))
    late = open_source(late.name)
    with jobs_in_process():
        error, found = load_logs(CONTEXT, [cluster(late), cluster(whole)])
    assert isinstance(error, InputError) and error.id == "log-start-missing"
    assert same(whole, found)


def test_several_segments_and_no_log_at_all(tmp_path: Path) -> None:
    write_log(tmp_path / "segments", Shape(records=3_000, partitions=200, segment_bytes=60_000))
    log = open_source(str(tmp_path / "segments"))
    with jobs_in_process():
        assert load_logs(CONTEXT, []) == []
        (found,) = load_logs(CONTEXT, [cluster(log)], split_bytes=20_000)
    assert same(log, found)


@pytest.mark.parametrize("few", [0, 16])
def test_a_segment_that_shrinks_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """Workers raise nothing: Spark would have them read it again, and tell the error in its own words."""
    monkeypatch.setattr(spark_engine, "_FEW_STRETCHES", few)
    log = log_of(tmp_path, "shrinks", generated(1))
    path = Path(log.segments[0].name)
    real = spark_read.Job.from_json.__func__

    def cut(cls: type[spark_read.Job], text: str) -> spark_read.Job:
        path.write_bytes(path.read_bytes()[:-100])
        return real(cls, text)

    monkeypatch.setattr(spark_read.Job, "from_json", classmethod(cut))
    with jobs_in_process(), pytest.raises(FailedError) as caught:
        load_logs(CONTEXT, [cluster(log)])
    assert caught.value.id == "log-changed-while-read"


@pytest.mark.slow
def test_tables_of_the_state_are_the_same_bytes(tmp_path: Path) -> None:
    write_log(tmp_path / "log", Shape(records=3_000, partitions=200))
    log = open_source(str(tmp_path / "log"))
    with jobs_in_process():
        (found,) = load_logs(CONTEXT, [cluster(log)], split_bytes=20_000)
    assert isinstance(found, Loaded)
    for name, loaded in (("local", load(log.segments, log.checkpoints)), ("spark", found)):
        write_details(tmp_path / name, state_tables(loaded.image, loaded.counts, image_sha256(loaded.image)))
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("local", "spark")]
    assert files[0] == files[1]
    assert len(files[0]) > 10


@pytest.mark.slow
def test_a_batch_beyond_the_bound_is_damage_as_for_the_local_engine(tmp_path: Path) -> None:
    """Headers alone would lead over it, and a worker would read all of it at once."""
    before = encoded(SOUND[:2])
    long = encode_batch([(None, bytes(MOST_BATCH_BYTES))], base_offset=4, timestamp_ms=1)
    log = log_of(tmp_path, "long", before + long)
    with jobs_in_process() as jobs:
        (found,) = load_logs(CONTEXT, [cluster(log)])
    assert same(log, found)
    assert max(stretch.end for job in jobs for stretch in job.stretches) == len(before)


def test_a_worker_reads_no_more_than_a_batch_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file may have been replaced: a stretch in which no batch ends is reported as gone."""
    path = tmp_path / "segment"
    path.write_bytes(bytes(8) + (1 << 30).to_bytes(4, "big") + bytes(100_000))
    monkeypatch.setattr(spark_read, "MOST_BATCH_BYTES", 1_000)
    monkeypatch.setattr(spark_read, "_PIECE_BYTES", 500)
    sizes: list[int] = []
    real = spark_read.bytes_of

    def counted(file: BinaryIO, start: int, size: int) -> bytes:
        sizes.append(size)
        return real(file, start, size)

    monkeypatch.setattr(spark_read, "bytes_of", counted)
    stretch = spark_read.Stretch(log=0, number=0, file=0, path=str(path), start=0, end=100_012)
    with opened_segment(str(path)) as file:
        assert spark_read._read_all(file, stretch, Columns(Window(first=0, end=1))) == (spark_read.GONE, 0)
    assert max(sizes) <= 2_000


def test_what_became_another_thing_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (str(tmp_path / "fifo"), "/dev/zero"):
        with pytest.raises(OSError, match="not a regular file"):
            opened_segment(path)
