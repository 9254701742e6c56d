"""The fold in tasks of Spark against the one in process: equal answers from the same logs. Without a JVM."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.tiered_generator import diverse, write_logs
from kafkactl.core.errors import FailedError, InputError
from kafkactl.jobs import session as sessions
from kafkactl.jobs import tasks
from kafkactl.tiered.api.details import tables
from kafkactl.tiered.api.verbs import Loaded, Request, audit, foresee, history, left_over, load, segments
from kafkactl.tiered.io.sources import MetadataReplica, SegmentFile
from kafkactl.tiered.io.spark import fold_on_spark
from kafkactl.tiered.ledger import Ledger, fold, fold_log
from kafkactl.tiered.ledger_bytes import packed, unpacked
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
from tests.tiered.test_plain_records import values

A, B, GONE = Topic("orders", 1), Topic("clicks-\N{GREEK SMALL LETTER ALPHA}", 2), Topic("gone", 3)


SESSION: Any = SimpleNamespace(sparkContext=SimpleNamespace(master="local[3]"))


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run tasks of Spark in this process, on pickled items."""

    @contextmanager
    def session(master: str | None, name: str) -> Iterator[Any]:
        yield SESSION

    monkeypatch.setattr(sessions, "spark_session", session)
    monkeypatch.setattr(tasks, "done_in_tasks", done_here)


def done_here(session: Any, work: Any, items: Any, sizes: Any) -> list[Any]:
    assert len(items) == len(sizes)
    return [pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(work))(item))) for item in items]


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
    """Return histories with every case that a fold distinguishes."""
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


def test_odd_histories_have_equal_answers_on_both_engines(tmp_path: Path, in_process: None) -> None:
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
def test_generated_histories_have_equal_answers_on_both_engines(tmp_path: Path, in_process: None) -> None:
    write_logs(tmp_path, diverse(40))
    _same({"sources": (str(tmp_path),)})


@settings(max_examples=examples(30))
@given(st.lists(st.lists(values(), min_size=1, max_size=2), min_size=1, max_size=14))
def test_packed_fold_of_any_log_equals_the_fold(batches: list[list[bytes | None]]) -> None:
    log = LogOf(0)
    for batch in batches:
        log.batch(batch)
    whole = Ledger(keep_deleted=True)
    fold_log(whole, log.log(), log.log().read())
    back = unpacked(packed(whole, whole.logs[0]))
    assert back.facts["records"] == whole.logs[0].records
    assert {partition.key: _shown(partition) for partition in back.partitions} == {
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


def test_fetched_logs_are_written_for_the_workers(in_process: None) -> None:
    logs = []
    for number, log in enumerate(_odd()):
        file = SegmentFile(
            path=f"cluster:m{number}", base_offset=log.base_offset, size=0, fetched=lambda data=log.data: [data]
        )
        replica = MetadataReplica(partition=number, path=file.path, files=(file,), log_start=0)
        logs.append((replica, log.log()))
    joined = fold_on_spark(None, "kafkactl", logs, keep_deleted=True)
    local = fold([log for _, log in logs], keep_deleted=True)
    assert {key: _shown(found) for key, found in joined.partitions.items()} == {
        key: _shown(found) for key, found in local.partitions.items()
    }
    records = {at: facts.records for at, facts in local.logs.items()}
    assert {at: facts.records for at, facts in joined.logs.items()} == records
    assert all(records.values())


def test_file_that_is_removed_or_a_folder_is_an_error(
    tmp_path: Path, in_process: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = LogOf(0).add(A.copied(0, "a", 0, 9)).save(tmp_path)
    file = place / "00000000000000000000.log"
    request = Request(sources=(str(tmp_path),), engine="spark")
    monkeypatch.setattr(tasks, "done_in_tasks", lambda *given: (file.unlink(), done_here(*given))[1])
    with pytest.raises(FailedError) as raised:
        load(request)
    assert (raised.value.id, str(file) in raised.value.message) == ("log-changed-while-read", True)
    file.mkdir()
    with pytest.raises(InputError):
        load(request)
