"""Records of a range of times: batches that have none of them are passed over, and the rows are the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kafkactl.core.errors import KafkactlError
from kafkactl.metadata.dump.lines import LineMaker, RecordFilter
from kafkactl.metadata.io.source import open_source
from kafkactl.protocol.log.batch_runs import BatchRun
from kafkactl.spark.record_rows import record_rows
from kafkactl.spark.record_times import Times
from tests.spark.logs import write_all_logs

TIME_AT = 3


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return captured logs of two releases, and the odd and damaged ones."""
    return write_all_logs(tmp_path_factory.mktemp("logs"), releases=("3.9.2", "4.4.0"))


def test_rows_are_those_of_all_records_whose_time_is_in_the_range(logs: list[Path]) -> None:
    choice, compared = random.Random(7), 0
    for log in logs:
        try:
            source = open_source(str(log))
            rows = list(record_rows(source, RecordFilter()))
        except KafkactlError:
            continue
        moments = sorted({row[TIME_AT] for row in rows}) or [0]
        for first, last in ((None, None), (0, 1), *(sorted(choice.choices(moments, k=2)) for _ in range(4))):
            for times in (Times(first, last), Times(first, None), Times(None, last)):
                found = list(record_rows(source, RecordFilter(), times=times))
                assert found == [row for row in rows if times.has(row[TIME_AT])], (log, times)
                compared += len(found)
    assert compared > 10_000


def test_batches_of_other_times_are_not_decoded(logs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    source = open_source(str(next(log for log in logs if log.parent.name == "4.4.0")))
    rows = list(record_rows(source, RecordFilter()))
    last = rows[-1][TIME_AT]
    decoded = 0
    lines_of = LineMaker.lines_of

    def counted(maker: LineMaker, found: BatchRun, *, file: str) -> object:
        nonlocal decoded
        decoded += len(found.positions)
        return lines_of(maker, found, file=file)

    monkeypatch.setattr(LineMaker, "lines_of", counted)
    few = list(record_rows(source, RecordFilter(), times=Times(last, None)))
    assert few and 0 < decoded <= len({row[4] for row in few}) < len({row[4] for row in rows})


def test_batch_with_several_times_is_decoded() -> None:
    header = bytearray(61)
    header[27:43] = (5).to_bytes(8, "big") + (9).to_bytes(8, "big")
    run = BatchRun(bytes(header), 0, [0])
    assert list(Times(20, None).divided(run)) == [(True, run)]
    header[27:43] = (9).to_bytes(8, "big") * 2
    assert [is_wanted for is_wanted, _ in Times(20, None).divided(BatchRun(bytes(header), 0, [0]))] == [False]
