"""Reuse of the memory that a piece of a log has freed."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

_PIECES = """
import resource
import numpy as np
{before}
def piece():
    return [np.ones(1 << 19) for _ in range(8)]
piece()
begin = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    piece()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - begin)
"""
_KEEP = "from kafkactl.commands.framework.log_memory import keep_freed_memory as keep; keep(); keep()"


def _pages(before: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", _PIECES.format(before=before)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library has no mallopt")
def test_pages_are_used_again():
    assert _pages(_KEEP) < _pages("") / 4


def test_without_a_c_library_to_ask_nothing_is_changed(monkeypatch: pytest.MonkeyPatch):
    from kafkactl.commands.framework.log_memory import keep_freed_memory

    def refuse(name: object) -> object:
        raise TypeError(name)

    keep_freed_memory.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", refuse)
    keep_freed_memory()
    keep_freed_memory.cache_clear()
