"""The fold on Spark against the one in process: equal answers from the same logs, whatever shares they are read in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.tiered_generator import diverse, write_logs
from kafkactl.core.errors import FailedError, InputError
from kafkactl.spark import session
from kafkactl.tiered.api import Loaded, Request, audit, foresee, history, left_over, load, segments
from kafkactl.tiered.api.details import tables
from kafkactl.tiered.io import spark
from kafkactl.tiered.io.sources import MetadataReplica, SegmentFile
from kafkactl.tiered.io.spark import Task, fold_on_spark, tasks_of
from kafkactl.tiered.ledger import Ledger, fold, fold_log
from kafkactl.tiered.packed import packed, unpacked
from tests.hypothesis_profiles import examples
from tests.tiered.logs import (
    DELETING,
    FINISHED,
    TIERED,
    LogOf,
    Topic,
    observed,
    partition_seen,
    save_observation,
)
from tests.tiered.test_plain import values

A, B, GONE = Topic("orders", 1), Topic("clicks-\N{GREEK SMALL LETTER ALPHA}", 2), Topic("gone", 3)


class _Rows:
    """The one chain of calls that the driver makes of an RDD."""

    def __init__(self, found: Iterator[Any]) -> None:
        self._found = found

    def mapPartitions(self, work: Callable[[Iterator[Any]], Iterator[Any]]) -> _Rows:
        return _Rows(work(self._found))

    def collect(self) -> list[Any]:
        return list(self._found)[::-1]  # in any order


CONTEXT: Any = SimpleNamespace(
    defaultParallelism=3,
    master="local[3]",
    parallelize=lambda tasks, count: _Rows(iter(tasks)),
    broadcast=lambda value: SimpleNamespace(value=value),
)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of Spark run in this process, and every log is shared."""

    @contextmanager
    def context(master: str | None) -> Iterator[Any]:
        yield CONTEXT

    monkeypatch.setattr(session, "spark_context", context)
    monkeypatch.setattr(spark, "_SMALLEST_SHARE", 1)


def _answers(loaded: Loaded, *, with_bucket: bool) -> dict[str, Any]:
    found = {
        **audit(loaded).to_dict(),
        "segments": segments(loaded),
        "history": list(history(loaded)),
        "forecast": foresee(loaded).to_dict() if loaded.case.view.topics is not None else None,
        "leftovers": left_over(loaded, older_than_ms=0, include_orphans=True).to_dict() if with_bucket else None,
        "tables": {table.name: list(table.rows) for table in tables(loaded, filters=_ALL)},
    }
    assert found.pop("engine") == loaded.engine.name
    return found


_ALL: Any = SimpleNamespace(
    has=lambda partition: True, has_finding=lambda finding: True, states=(), segments=(), topics=(), partitions=()
)


def _same(request: dict[str, Any], *, with_bucket: bool = False) -> Loaded:
    local, shared = (load(Request(**request, engine=engine), keep_deleted=True) for engine in ("local", "spark"))
    assert shared.engine.name == "spark"
    assert _answers(shared, with_bucket=with_bucket) == _answers(local, with_bucket=with_bucket)
    return shared


def _odd() -> list[LogOf]:
    """Histories with every case that a fold distinguishes."""
    first = LogOf(0).add(
        A.copied(0, "a", 0, 9, epochs={0: 0, 1: 5}),
        A.copied(1, "b", 0, 9),
        A.started(1, "c", 10, 19),
        A.started(1, "d", 10, 19),
        [A.update(0, "a", DELETING), A.update(0, "a", DELETING)],
        B.copied(0, "e", 0, 9, at=7),
        A.update(0, "x", FINISHED),
        A.started(0, "a", 0, 9),
        b"\1\x63\0",
        B.partition_delete(0),
        B.copied(0, "f", 10, 19),
        GONE.copied(4, "g", 0, 5),
        GONE.deleted(4, "g"),
        GONE.copied(4, "h", 0, 5),
    )
    first.control().batch([*A.copied(0, "i", 10, 29, epochs={1: 10}), A.update(0, "i", FINISHED, custom=b"xyz")])
    second = LogOf(1, first_offset=3).add(
        A.copied(2, "j", 0, 9), A.copied(0, "k", 30, 39), A.started(2, "l", 10, 19, state=FINISHED), None
    )
    second.add(A.copied(2, "m", 10, 19, epochs={3: 10}), A.copied(2, "n", 10, 25, epochs={3: 10, 4: 20}))
    third = LogOf(2).add(A.copied(7, "o", 0, 9), A.copied(7, "p", 10, 19))
    third.data = third.data[:-20]
    return [first, second, third]


def _seen() -> dict[str, Any]:
    partitions = [partition_seen(number, latest=40, replicas=(1, 2)) for number in (0, 1, 2, 7)]
    return observed([(A, TIERED, partitions), (B, TIERED, [partition_seen(latest=30)])])


def test_odd_histories_scattered_partitions_poison_and_damage(tmp_path: Path, in_process: None) -> None:
    save_observation(tmp_path / "saved", _seen(), *_odd())
    listing = tmp_path / "listing.txt"
    names = [(A, 0, "a", 0), (A, 0, "i", 10), (GONE, 4, "g", 0), (GONE, 4, "h", 0), (B, 0, "e", 0), (A, 9, "zz", 0)]
    listing.write_text(
        "".join(
            f"t/{topic.name}-{number}-{topic.id}/{start:020}-{topic_segment(name)}.log 1000\n"
            for topic, number, name, start in names
        )
        + "strange 5\n"
    )
    loaded = _same({"observation": str(tmp_path / "saved"), "bucket": str(listing)}, with_bucket=True)
    assert loaded.case.ledger.scattered == {A.key(0)}
    assert {poison.why for poison in loaded.case.ledger.poison} >= {"undecodable", "after-partition-delete"}


def topic_segment(name: str) -> str:
    from tests.tiered.logs import segment_uuid

    return str(segment_uuid(name))


@pytest.mark.slow
def test_generated_histories_without_a_cluster(tmp_path: Path, in_process: None) -> None:
    write_logs(tmp_path, diverse(40))
    _same({"sources": (str(tmp_path),)})


@settings(max_examples=examples(30))
@given(st.lists(st.lists(values(), min_size=1, max_size=2), min_size=1, max_size=14), st.integers(1, 4))
def test_shares_of_any_log_come_to_the_whole(batches: list[list[bytes | None]], shares: int) -> None:
    """Packed and joined, they are the ledger that was folded at once."""
    log = LogOf(0)
    for batch in batches:
        log.batch(batch)
    whole = Ledger(keep_deleted=True)
    fold_log(whole, log.log(), log.log().read())
    task = Task(0, 0, (), 0, 0, shares=shares)
    joined: dict[Any, Any] = {}
    for share in range(shares):
        part = Ledger(keep_deleted=True)
        wanted = task._replace(share=share).wanted
        fold_log(part, log.log(), log.log().read(), wanted)
        back = unpacked(packed(part, part.logs[0]))
        assert back.facts["records"] == whole.logs[0].records
        joined |= {partition.key: partition for partition in back.partitions}
    assert {key: _shown(partition) for key, partition in joined.items()} == {
        key: _shown(partition) for key, partition in whole.partitions.items()
    }


def _shown(partition: Any) -> Any:
    def of(segment: Any) -> Any:
        return tuple(getattr(segment, name) for name in (*segment.NUMBERS, "segment_id", "leader_epochs",
                                                         "custom_metadata", "forgotten_by"))  # fmt: skip

    return (
        partition.topic, partition.first_ms, partition.records_in, partition.drops, partition.drop_counts,
        [of(segment) for segment in partition.table.values()], [of(segment) for segment in partition.forgotten],
        [of(segment) for segment in partition.deleted.values()],
        {
            epoch: (
                state.highest, [(start, of(segment)) for start, segment in state.in_order()],
                [of(segment) for segment in state.unreferenced.values()],
            )
            for epoch, state in partition.epochs.items()
        },
    )  # fmt: skip


def test_what_was_fetched_is_written_where_workers_read_it(in_process: None) -> None:
    logs = []
    for number, log in enumerate(_odd()):
        file = SegmentFile(
            path=f"cluster:m{number}", base_offset=log.base_offset, size=0, fetched=lambda data=log.data: [data]
        )
        replica = MetadataReplica(partition=number, path=file.path, files=(file,), log_start=0)
        logs.append((replica, log.log()))
    joined = fold_on_spark(CONTEXT, logs, keep_deleted=True)
    local = fold([log for _, log in logs], keep_deleted=True)
    assert {key: _shown(found) for key, found in joined.partitions.items()} == {
        key: _shown(found) for key, found in local.partitions.items()
    }
    records = {at: facts.records for at, facts in local.logs.items()}
    assert {at: facts.records for at, facts in joined.logs.items()} == records
    assert all(records.values())


def test_a_large_log_is_shared_and_small_ones_are_not() -> None:
    sizes = [100 << 20, 10 << 20, 1 << 20, 0]
    logs = [Task(at, at, (("a", "a", 0, size),), 0, 0) for at, size in enumerate(sizes)]
    tasks = tasks_of(logs, cores=4)
    assert [(task.log, task.share, task.shares) for task in tasks if task.log == 0] == [(0, at, 4) for at in range(4)]
    assert [(task.log, task.shares) for task in tasks if task.log] == [(1, 1), (2, 1), (3, 1)]
    assert [task.shares for task in tasks_of(logs, cores=1)] == [1] * 4


def test_a_file_that_is_gone_or_shorter_is_an_error(
    tmp_path: Path, in_process: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = LogOf(0).add(A.copied(0, "a", 0, 9)).save(tmp_path)
    file = place / "00000000000000000000.log"
    request = Request(sources=(str(tmp_path),), engine="spark")
    monkeypatch.setattr(CONTEXT, "parallelize", lambda tasks, count: (file.unlink(), _Rows(iter(tasks)))[1])
    with pytest.raises(FailedError) as raised:
        load(request)
    assert (raised.value.id, str(file) in raised.value.message) == ("log-changed-while-read", True)
    file.mkdir()
    with pytest.raises(InputError):
        load(request)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_on_spark_itself(tmp_path: Path) -> None:
    save_observation(tmp_path / "saved", _seen(), *_odd())
    local, shared = (
        load(Request(observation=str(tmp_path / "saved"), engine=engine, master=master), keep_deleted=True)
        for engine, master in (("local", None), ("spark", "local[2]"))
    )
    assert _answers(shared, with_bucket=False) == _answers(local, with_bucket=False)
