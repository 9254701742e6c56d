"""Hooks of an inventory that reach the nodes of a test: a command each, which asks the process that owns the JVMs."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from tests.lab.harness.pool import shared_pool

HOOK = Path(__file__).with_name("hook.py")
PACE = ("--gate-interval", "1s", "--gate-timeout", "3m")


class HookedInventory(ABC):
    """Inventory whose hooks are answered by `answer_of`; a context manager writes the file and serves the hooks."""

    group: ClassVar[str]
    paced: ClassVar[tuple[str, ...]]

    def __init__(self, inventory: Path) -> None:
        self.inventory = inventory
        self._folder = tempfile.TemporaryDirectory(prefix="hooks-")
        self._path = str(Path(self._folder.name) / "s")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._path)
        self._listener.listen()
        self._lock = threading.Lock()
        self._owner = threading.get_ident()

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        self.inventory.write_text(self.inventory_text(), encoding="utf-8")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self._folder.cleanup()

    def command(self, verb: str, *words: str) -> list[str]:
        """Return a whole command line, with gates one second apart."""
        pace = PACE if verb in self.paced else ()
        program = [sys.executable, "-m", "kafkactl", self.group, verb, "--inventory", str(self.inventory)]
        return [*program, *pace, *words, "-o", "json"]

    def hook(self, verb: str, release: str = "-") -> list[str]:
        """Return the command of a verb, as the inventory names it."""
        # Without site packages a Python starts in two thirds of the time, and a test calls hundreds of hooks.
        return [sys.executable, "-I", "-S", str(HOOK), self._path, verb, "{node_id}", release]

    @abstractmethod
    def inventory_text(self) -> str:
        """Return the text of the inventory."""

    @abstractmethod
    def answer_of(self, verb: str, node_id: int, release: str) -> str | dict[str, Any]:
        """Carry out a verb; return the output of its hook, or an answer. An exception is a hook that fails."""

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer_one, args=(connection,), daemon=True).start()

    def _answer_one(self, connection: socket.socket) -> None:
        shared_pool().act_for(self._owner)  # the nodes are those of the test, which has room for them
        with connection, connection.makefile("rb") as lines, contextlib.suppress(OSError):
            if (line := lines.readline()).endswith(b"\n"):  # else the hook was killed before it had asked
                connection.sendall(json.dumps(self.answer(json.loads(line))).encode())

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the exit code and the output of a hook."""
        try:
            found = self.answer_of(str(asked["verb"]), int(asked["node"]), str(asked["release"]))
        except Exception as error:  # a hook that fails gives the reason
            found = {"exit": 1, "err": repr(error)}
        return {"exit": 0, "out": "", "err": ""} | ({"out": found} if isinstance(found, str) else found)
