"""Records that become events are found in usual batches without making the others; the careful way finds the same."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bench.log_generator import LogGenerator, Shape
from kafkactl.protocol.compiled_runtime import IrregularError
from kafkactl.report import events
from tests.dryrun import odd_logs
from tests.dryrun.odd_logs import CASES, encoded
from tests.metadata.goldens import BATCH_FILES, golden
from tests.metadata.image.goldens import log
from tests.protocol.batches import batch, gzipped, record

LEVEL = b"\1\x0c\0" + b"\x11metadata.version" + b"\0\x1d\0"
SHORT = b"\1\x0c"
ODD = batch(gzipped(record(None, LEVEL)), attributes=1) + batch(record(None, LEVEL, time_delta=3), attributes=8)
LOGS = {
    **{name: golden(name) for name in BATCH_FILES},
    **{name: encoded(case) for name, case in CASES.items()},
    **dict(odd_logs.damaged()),
    "generated": b"".join(LogGenerator(Shape(records=2_000, partitions=200)).batches()),
    "4.4.0": log("4.4.0"),
    "odd": ODD + batch(record(None, SHORT) + record(None, LEVEL, delta=1) + record(None, None, delta=2), count=3),
}


def found_in(data: bytes) -> list[object]:
    pieces = [data[at : at + 5_000] for at in range(0, len(data), 5_000)]
    return list(events._wanted([SimpleNamespace(name="log", pieces=lambda: pieces)]))


@pytest.mark.parametrize("name", LOGS)
def test_same_records_are_found_without_plain_spans(name, monkeypatch):
    found = found_in(LOGS[name])

    def never(*_):
        raise IrregularError

    monkeypatch.setattr(events, "_plain_spans", never)
    assert found == found_in(LOGS[name])


def test_events_of_the_test_logs_are_found():
    assert len(found_in(LOGS["odd"])) == 3
    assert len(found_in(LOGS["generated"])) > 10
