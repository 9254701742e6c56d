"""Fuzz targets: all inputs of the corpus and all that ever failed pass, and each reader has a target."""

from __future__ import annotations

import subprocess
import sys
from types import FrameType
from typing import Any

import pytest

from tests.campaigns.fuzz.target import (
    CORPUS,
    FAILED,
    MOST_MEMORY_BYTES,
    Target,
    UndeclaredError,
    execute,
    little_memory,
)
from tests.campaigns.fuzz.targets import TARGETS
from tests.repository.tree import ROOT
from tests.sampling import one_in

MOST_CORPUS_BYTES = 2_000_000


@pytest.mark.parametrize(
    "target",
    [
        *one_in(3, [target for target in TARGETS.values() if not target.slow]),
        *(pytest.param(target, marks=pytest.mark.many) for target in TARGETS.values() if target.slow),
    ],
    ids=lambda target: target.name,
)
def test_every_input_is_read_or_refused(target: Target) -> None:
    # And the sound ones reach each module that the target is there for.
    feed, seeds = target.make()
    reached = entered(lambda: [execute(feed, target.declared, seed) for seed in seeds])
    for path in (*target.corpus, *target.failed):
        try:
            execute(feed, target.declared, path.read_bytes())
        except Exception as error:
            error.add_note(f"input: {path.relative_to(ROOT)}")
            raise
    missing = {name for name in target.reads if f"kafkactl/{name.replace('.', '/')}" not in reached}
    assert not missing, "the seeds do not get there"


def entered(work: Any) -> set[str]:
    """Return the modules of the library whose functions ran, as paths without their end."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        found.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return {f"kafkactl/{name.rpartition('/kafkactl/')[2].removesuffix('.py')}" for name in found}


def test_corpus_is_small_and_belongs_to_targets() -> None:
    for folder in (CORPUS, FAILED):
        assert {path.name for path in folder.iterdir()} <= set(TARGETS)
    files = [path for target in TARGETS.values() for path in (*target.corpus, *target.failed)]
    assert sum(path.stat().st_size for path in files) <= MOST_CORPUS_BYTES
    assert len(TARGETS) >= 20


def test_undeclared_error_a_strange_id_and_much_memory_are_failures() -> None:
    from kafkactl.core.errors import InputError

    def refuse(data: bytes) -> object:
        raise InputError("no", id=data.decode())

    assert execute(refuse, (InputError,), b"invalid-target") == "invalid-target"
    with pytest.raises(UndeclaredError):
        execute(refuse, (InputError,), b"no-such-id")
    with pytest.raises(ZeroDivisionError):
        execute(lambda data: 1 // len(data), (InputError,), b"")
    code = (
        "from tests.campaigns.fuzz.target import little_memory\n"
        f"bytes({MOST_MEMORY_BYTES} * 2)\n"
        f"with little_memory():\n bytes({MOST_MEMORY_BYTES} // 4)\n try:\n  bytes({MOST_MEMORY_BYTES} * 2)\n"
        " except MemoryError:\n  print('bounded')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "bounded\n"
    assert little_memory
