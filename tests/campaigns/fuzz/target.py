"""Fuzzing target: a function that takes bytes, and the outcomes that it may have.

It may give a value or raise a declared error, whose words can be shown, and nothing else. While it reads one input the
process may take at most 64 MiB more than before. The same `execute` serves Atheris (tests.campaigns.fuzz.guided) and
`make test`, which runs the corpus.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kafkactl.core.errors import DecodeError, InputError, KafkactlError
from kafkactl.core.explanations import explanations

HERE = Path(__file__).parent
CORPUS, FAILED = HERE / "corpus", HERE / "failed"
MOST_MEMORY_BYTES = 64 << 20
MOST_INPUT_BYTES = 64 << 20
Feed = Callable[[bytes], object]
Errors = tuple[type[KafkactlError], ...]


@dataclass(frozen=True, kw_only=True)
class Target:
    """A reader that is fuzzed.

    `make` gives the function that takes an input (everything else that it needs is made once) and the valid inputs to
    start from. `reads` are the modules of the library that it covers, without `kafkactl.`; the replay proves that the
    corpus reaches each. `most_bytes` is the longest input that a campaign makes; `slow` says why executions are few.
    """

    name: str
    make: Callable[[], tuple[Feed, Sequence[bytes]]]
    reads: tuple[str, ...]
    declared: Errors = (DecodeError, InputError)
    most_bytes: int = 4096
    is_json: bool = False
    slow: str = ""

    @property
    def corpus(self) -> tuple[Path, ...]:
        """Return the inputs in the tree that campaigns found, each of which reaches something of its own."""
        return _files(CORPUS / self.name)

    @property
    def failed(self) -> tuple[Path, ...]:
        """Return the inputs that ever failed."""
        return _files(FAILED / self.name)


def _files(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.iterdir())) if folder.is_dir() else ()


class UndeclaredError(AssertionError):
    """A reader did what it must not."""


@cache
def _known_ids() -> frozenset[str]:
    return frozenset(explanations())


def execute(feed: Feed, declared: Errors, data: bytes) -> str | None:
    """Read one input; the id of the declared error, None for a value. Anything else comes out as it was raised.

    Raises UndeclaredError for an error that no page explains or that cannot be shown.
    """
    try:
        feed(data)
    except declared as error:
        if error.id not in _known_ids():
            raise UndeclaredError(f"no explanation of {error.id}") from error
        json.dumps(error.to_dict())
        str(error).encode("utf-8", "surrogatepass")
        return error.id
    return None


@contextmanager
def little_memory() -> Iterator[None]:
    """Limit the process to 64 MiB more address space than it has, for the block: a larger input is a MemoryError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MOST_MEMORY_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


_STATM = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
_PAGE = resource.getpagesize()


def _address_space() -> int:
    return int(os.pread(_STATM, 64, 0).split(b" ", 1)[0]) * _PAGE


def document_of(data: bytes) -> Any:
    """Return a JSON value if the input is one, else None."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


@cache
def _scratch() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="kafkactl-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def scratch(*names: str) -> Path:
    """Return a place for the files of a target, in memory if there is such a file system; its folder is made."""
    path = _scratch().joinpath(*names)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
