"""Fixtures of all tests: a command line runs in this process as the installed command would."""

from __future__ import annotations

import gc
import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from kafkactl.commands.framework.settings import peek_settings
from kafkactl.files import processes
from kafkactl.storage.io import host_nodes
from tests.answers import check_answer
from tests.fakes.engine_checker import attach_to_every_engine
from tests.hypothesis_profiles import load
from tests.secrets_scan import (
    ASKED_FOR,
    check,
    no_secret_is_written,
    processes_are_listened_to,
    pytest_runtest_makereport,
)
from tests.workers import pytest_xdist_make_scheduler

__all__ = [
    "Run",
    "kafkactl",
    "no_secret_is_written",
    "processes_are_listened_to",
    "pytest_runtest_makereport",
    "pytest_xdist_make_scheduler",
]

# A suite in the background of a shell is born deaf to SIGINT, and so would be every process that it starts and ends so.
signal.signal(signal.SIGINT, signal.default_int_handler)
gc.disable()  # thousands of tests are collected and none is garbage: pytest_collection_finish enables it
attach_to_every_engine()
# The suite starts hundreds of Python processes: each module is compiled once, whatever the environment says.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
load()  # property tests follow the profile that KAFKACTL_HYPOTHESIS names


def pytest_collection_finish() -> None:
    """Freeze what was collected so far: from here on only objects of the tests are collected."""
    gc.freeze()
    gc.enable()


@dataclass(frozen=True)
class Run:
    """Exit of a command line, and what it printed."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Return stdout as one JSON object."""
        return json.loads(self.stdout)

    @property
    def error(self) -> Any:
        """Return stderr as one JSON error object."""
        return json.loads(self.stderr)


@pytest.fixture
def kafkactl(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Run `kafkactl ARGS` in this process: stdin is `input`, no terminal, no colour, no KAFKACTL_ variables.

    Every answer under `-o json` is checked against its published schema.
    """
    for name in [name for name in os.environ if name.startswith("KAFKACTL_")]:
        monkeypatch.delenv(name)
    # Kafka on the machine of the tests, the lab's nodes among it, is not that of the command.
    monkeypatch.setattr(processes, "kafka_nodes", lambda: iter(()))
    monkeypatch.setattr(host_nodes, "FOLDERS", ())
    for name in ("NO_COLOR", "FORCE_COLOR", "LC_CTYPE", "KAFKA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: object, input: str = "") -> Run:
        from kafkactl.commands.main import main

        words = [str(argument) for argument in arguments]
        with _streams(input) as (stdout, stderr):
            code = main(words)
        run = Run(code, _text(stdout), _text(stderr))
        if not set(words) & set(ASKED_FOR):
            check(run.stdout + run.stderr, f"kafkactl {' '.join(words[:2])}")
        if peek_settings(words).output == "json" and run.stdout.startswith("{"):
            check_answer(run.stdout)
        return run

    return run


@contextmanager
def _streams(text: str) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    kept = sys.stdin, sys.stdout, sys.stderr
    stdout, stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(text.encode())), stdout, stderr
    try:
        yield stdout, stderr
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
