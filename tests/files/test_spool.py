"""Data from the network is kept in a file, and a full disk is reported."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
import tempfile
import tracemalloc
from pathlib import Path

import pytest

from kafkactl.core.errors import FailedError
from kafkactl.files.spool import Spool


def test_it_gives_what_it_got_as_often_as_it_is_asked() -> None:
    spool = Spool()
    assert list(spool.pieces()) == []
    spool.add(b"abc")
    first = spool.pieces()
    assert next(first) == b"abc"
    spool.add(b"d" * 9_000_000)
    assert b"".join(spool.pieces()) == b"abc" + b"d" * 9_000_000
    assert b"".join(first) == b"d" * 9_000_000
    assert spool.size_bytes == 9_000_003


def test_memory_does_not_grow_with_it() -> None:
    piece = bytes(1 << 20)
    tracemalloc.start()
    spool = Spool()
    for _ in range(64):
        spool.add(piece)
    assert sum(map(len, spool.pieces())) == 64 << 20
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 24 << 20


def test_file_has_no_name_and_goes_with_it() -> None:
    spool = Spool()
    spool.add(bytes(9_000_000))
    descriptor = spool._file.fileno()
    place = Path(f"/proc/self/fd/{descriptor}")
    assert str(place.readlink()).endswith("(deleted)")
    del spool
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_disk_that_is_full_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool()

    def full(_data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(spool._file, "write", full)
    with pytest.raises(FailedError, match="No space left") as caught:
        spool.add(b"x")
    assert caught.value.id == "fetched-log-not-written"


def test_disk_that_is_full_at_the_end_of_a_buffer_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            super().close()
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    unraisable: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    spool = Spool()
    with pytest.raises(FailedError) as caught:
        spool.add(bytes(9_000_000))
    del spool
    caught.value.__traceback__ = caught.value.__context__ = caught.value.__cause__ = None
    gc.collect()
    assert (caught.value.id, unraisable) == ("fetched-log-not-written", [])
