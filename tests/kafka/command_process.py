"""A command line of kafkactl as a process of its own that starts at once: forked from one that has the modules.

The time limit of a command is a signal to its main thread, so a command with `--timeout` needs a process. For how long
that thread and the one that waits for its end could run and got no processor is measured: a busy machine did that, not
the command.
"""

from __future__ import annotations

import functools
import importlib
import json
import multiprocessing
import os
import pkgutil
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LOADED = (
    "dryrun",
    "cluster",
    "features",
    "metadata",
    "quorum",
    *(f"commands.{name}" for name in ("quorum", "features", "nodes", "log", "dryrun")),
)
_KILLED_AFTER_S = 60.0
_LOADING = threading.Lock()


@dataclass(frozen=True)
class Ended:
    """End of a command: `code` is None if it crashed or was killed; `seconds` is the time of its process,
    `starved_s` what of it the process, and the thread that waited for its end, spent waiting for a processor."""

    code: int | None
    seconds: float
    stdout: str
    stderr: str
    starved_s: float = 0.0

    @property
    def own_seconds(self) -> float:
        """Return what the command would have taken with a processor to itself."""
        return self.seconds - self.starved_s

    @property
    def answer(self) -> dict[str, Any] | None:
        """Return the answer of `-o json`, None if there is none. Raises ValueError if it is something else."""
        found: dict[str, Any] | None = json.loads(self.stdout) if self.stdout.strip() else None
        return found

    @property
    def error(self) -> dict[str, Any] | None:
        """Return the error object on stderr, if there is one. It follows progress, if there is any."""
        at = self.stderr.find("{\n")
        found: dict[str, Any] | None = json.loads(self.stderr[at:]) if at >= 0 else None
        return found


def run(words: Sequence[str], folder: Path, places: Mapping[tuple[str, int], tuple[str, int]] | None = None) -> Ended:
    """Run `kafkactl WORDS`, with what it keeps in `folder`; `places` has other addresses for those that it names."""
    _await_modules()
    folder.mkdir(parents=True, exist_ok=True)
    process = _SERVER.Process(target=_be_kafkactl, args=(list(words), str(folder), dict(places or {})))
    began, starved_before = time.monotonic(), _starved_s("thread-self")
    process.start()
    process.join(_KILLED_AFTER_S)
    seconds, starved = time.monotonic() - began, _starved_s("thread-self") - starved_before
    if killed := process.is_alive():
        process.kill()
        process.join()
    # Not `exitcode`: each start of a process in another thread asks after all of them, and either may miss the code.
    end = folder / "end"
    code = None
    if end.exists() and not killed:
        text, process_starved = end.read_text(encoding="utf-8").split()
        code, starved = int(text), starved + float(process_starved)
    end.unlink(missing_ok=True)
    said = ((folder / name).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
    return Ended(code, seconds, *said, starved_s=starved)


def _starved_s(who: str) -> float:
    """Return how long a thread has been ready to run without a processor; 0 if the kernel does not count it."""
    try:
        return int(Path("/proc", who, "schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except OSError:
        return 0.0


@functools.cache
def _await_modules() -> None:
    """Wait for the first process, which is there only when all modules are loaded."""
    with _LOADING:
        process = _SERVER.Process(target=int)
        process.start()
        process.join()


def _be_kafkactl(words: list[str], folder: str, places: dict[tuple[str, int], tuple[str, int]]) -> None:
    """Run kafkactl in the process: stdin is empty, stdout and stderr are files of the folder."""
    os.environ |= {"XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder, "NO_COLOR": "1"}
    for number, name in ((1, "stdout"), (2, "stderr")):
        opened = os.open(Path(folder) / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, number)
        setattr(sys, name, os.fdopen(number, "w", encoding="utf-8"))
    sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")
    sys.argv = ["kafkactl", *words]
    if places:
        from kafkactl.net import transport
        from kafkactl.net.transport import Address

        def resolved(address: Address) -> list[Any]:
            return [(socket.AF_INET, places.get((address.host, address.port), (address.host, address.port)))]

        transport._resolved = resolved
    try:
        importlib.import_module("kafkactl.__main__").run()
    except SystemExit as ended:
        (Path(folder) / "end").write_text(f"{ended.code} {_starved_s('self')}", encoding="utf-8")


def _modules() -> Iterator[str]:
    """Yield what the commands load, by the names of the packages."""
    yield from ("numpy", "pyarrow", "pyarrow.parquet", "kafkactl.commands.main")
    for name in _LOADED:
        package = importlib.import_module(f"kafkactl.{name}")
        yield from (found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))


_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(list(_modules()))
