"""Records made by several processes are those that one process makes: same bytes, same findings, same errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafkactl.core.errors import FailedError
from kafkactl.metadata.api import records
from kafkactl.metadata.api.records import dump_records
from kafkactl.protocol.record_batch import decode_batches, encode_batch
from tests.commands.captured_logs import unpacked
from tests.sampling import one_in

SEGMENT = "00000000000000000000.log"


@pytest.fixture(autouse=True)
def small_stretches(monkeypatch):
    in_stretches_of(SMALL, monkeypatch)


def in_stretches_of(size_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_FIRST_BYTES", 300)
    monkeypatch.setattr(records, "_STRETCH_BYTES", size_bytes)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return unpacked("4.4.0", tmp_path)


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def without_a_batch(data: bytes) -> bytes:
    headers = [batch.header for batch in decode_batches(data)]
    gone = headers[len(headers) // 2]
    return data[: gone.position] + data[gone.position + gone.size_bytes :]


def with_undecodable(data: bytes) -> bytes:
    """Return a record that no release knows, in the middle, in a batch whose CRC is right."""
    batches = list(decode_batches(data))
    odd = batches[len(batches) // 2].header
    epoch, time_ms = odd.partition_leader_epoch, odd.base_timestamp_ms
    made = encode_batch(
        [(None, b"\1\x7f\0nothing")], base_offset=odd.base_offset, partition_leader_epoch=epoch, timestamp_ms=time_ms
    )
    return data[: odd.position] + made + data[odd.position + odd.size_bytes :]


CHANGES = {
    "whole": lambda data: data,
    "torn": lambda data: data[:-3],
    "flipped early": lambda data: flipped(data, 100),
    "flipped": lambda data: flipped(data, len(data) // 2),
    "flipped twice": lambda data: flipped(flipped(data, len(data) // 3), 2 * len(data) // 3),
    "a batch missing": without_a_batch,
    "undecodable": with_undecodable,
    "twice": lambda data: data + data,
}
SMALL, LARGE = 1800, 4000  # a log in some 12 stretches, each of which is forked for, or in some 7
ASKED = {
    "everything": (SMALL, {}),
    "types": (LARGE, {"types": ["TopicRecord", "PartitionRecord"]}),
    "offsets": (LARGE, {"from_offset": 20, "to_offset": 60}),
    "checkpoints": (LARGE, {"checkpoints": True}),
}


ALL_LINES = one_in(4, [("everything", change) for change in CHANGES])
CHOSEN_LINES = one_in(4, [(name, change) for name in list(ASKED)[1:] for change in CHANGES], pytest.mark.campaign)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "change"), [*ALL_LINES, *CHOSEN_LINES])
def test_several_processes_print_the_same_lines_and_findings(log: Path, monkeypatch, name: str, change: str):
    size_bytes, asked = ASKED[name]
    in_stretches_of(size_bytes, monkeypatch)
    segment = log / SEGMENT
    segment.write_bytes(CHANGES[change](segment.read_bytes()))
    alone, together = dump_records(log, **asked), dump_records(log, **asked)
    expected = "".join(alone.texts()).encode()
    assert b"".join(together.encoded(3)) == expected
    assert together.findings == alone.findings


@pytest.mark.slow
def test_most_of_it_was_made_by_others(log: Path, monkeypatch):
    seen = []
    monkeypatch.setattr(records.LineMaker, "pass_over", _counted(records.LineMaker.pass_over, seen))
    assert list(dump_records(log).encoded(2))
    assert len(seen) > 5


def _counted(method, seen):
    def counted(self, run):
        seen.append(run)
        return method(self, run)

    return counted


@pytest.mark.slow
def test_file_that_goes_away_raises_after_the_lines_before(log: Path, monkeypatch):
    whole = b"".join(dump_records(log).encoded(1))

    def pieces(name):
        yield (log / SEGMENT).read_bytes()[:5000]
        raise FailedError("gone", id="input-file-unreadable")

    monkeypatch.setattr("kafkactl.metadata.io.source.read_pieces", pieces)
    found = []
    with pytest.raises(FailedError):
        found.extend(dump_records(log).encoded(2))
    assert found and whole.startswith(b"".join(found))


RUN = """
import sys
from kafkactl.metadata.api import records
from kafkactl.files import children as processes
records._FIRST_BYTES, records._STRETCH_BYTES = 300, 900
records.useful_processes = lambda: 3
from kafkactl.__main__ import run
run()
"""


def started(*words: str, **more) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", RUN, *words], start_new_session=True, **more)


@pytest.mark.slow
def test_reader_that_goes_away_changes_nothing(log: Path):
    with started("log", "dump", str(log), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.read(1)
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 0


def test_ctrl_c_ends_it_and_every_child(log: Path):
    # The pipe is not read, so that it hangs in writing; the signal goes to the whole group, as a terminal sends it.
    data = (log / SEGMENT).read_bytes()
    (log / SEGMENT).write_bytes(data * 40)
    with started("log", "dump", str(log), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.read(1)
        time.sleep(0.3)
        os.killpg(child.pid, signal.SIGINT)
        error = child.stderr.read().decode()
        child.stdout.read()
    assert child.returncode == 130
    assert "Traceback" not in error
    ends = time.monotonic() + 30
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < ends:  # who is killed stays for a moment, until the system has cleared it away
            os.killpg(child.pid, 0)
            time.sleep(0.02)
