"""A cache of words for shell completion, renewed by a background process.

The user presses a key and waits for the words, so the caller waits some milliseconds at most. What takes longer
continues in a process of its own, without output and for a limited time, and is there at the next key press.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kafkactl.core.errors import InputError
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.files.whole_file import write_whole

FRESH_S = 60.0
EMPTY_FRESH_S = 5.0
KEPT_S = 24 * 3600.0
WAIT_S = 0.15
WORK_S = 10
_CHECK_EVERY_S = 0.005


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the completion cache (XDG)."""
    given = environment.get("XDG_CACHE_HOME") or ""
    home = Path(given) if Path(given).is_absolute() else Path(environment.get("HOME") or "/") / ".cache"
    return home / "kafkactl" / "completion"


def cached_words(key: Sequence[str], gather: Callable[[], dict[str, Any]], *, folder: Path) -> dict[str, Any]:
    """Return the result of `gather` for this key, at most a minute old if it arrives in time, else the cached one.

    The result is empty if nothing is known yet. An unavailable cluster and an unwritable cache raise nothing.
    """
    name = hashlib.sha256("\0".join(key).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    path = folder / f"{name}.json"
    known, age_s = _read(path)
    if age_s < (FRESH_S if known else EMPTY_FRESH_S):
        return known
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _wait_for(_gather_in_child(path, gather))
        known = _read(path)[0] or known
    return known


def _read(path: Path) -> tuple[dict[str, Any], float]:
    """Return the words and their age in seconds; what is too old, or cannot be read, is none."""
    try:
        document = json.loads(read_input(path, "the cache of completion", InputKind.DOCUMENT))
        age_s = time.time() - document["time_s"]
        words = document["words"]
    except (InputError, ValueError, TypeError, KeyError, RecursionError):
        return {}, KEPT_S
    return (words, age_s) if isinstance(words, dict) and 0 <= age_s < KEPT_S else ({}, KEPT_S)


def _gather_in_child(path: Path, gather: Callable[[], dict[str, Any]]) -> int:
    """Gather in a child process without output, which ends within `WORK_S`. Returns its process id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setsid()
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):  # a shell waits until everybody has closed what it reads from
            os.dup2(silent, stream)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(WORK_S)
        with _only_once(path):
            text = json.dumps({"time_s": time.time(), "words": gather()})
            write_whole(path, text.encode(), mode=0o600)
        code = 0
    finally:
        os._exit(code)


@contextlib.contextmanager
def _only_once(path: Path) -> Any:
    """Lock a file for one process at a time. Raise OSError in a second process."""
    lock = os.open(
        path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600
    )
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    yield


def _wait_for(child: int) -> None:
    until = time.monotonic() + WAIT_S
    while os.waitpid(child, os.WNOHANG) == (0, 0) and time.monotonic() < until:
        time.sleep(_CHECK_EVERY_S)
