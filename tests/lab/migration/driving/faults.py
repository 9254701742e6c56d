"""Faults in a driven migration: hooks that misbehave, things that happen at a hook, a ZooKeeper that is slow or gone.

::

    with MigrationCluster("3.9.2", tmp_path) as cluster, FaultyDriven(cluster) as driven:
        driven.at("start", 2, lambda: cluster.zookeeper.kill())
        driven.strikes("stop", 1, FAIL)
        with UnderWay(driven, "run") as run:
            run.until(lambda entries: "wait-copy" in begun(entries))
        assert run.code == 0
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.lab.harness.errors import LabError
from tests.lab.harness.pool import shared_pool
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.driving.driven import ACCEPTED, Driven

FAIL, HANG, LIE, TWICE, ANOTHER = "fail", "hang", "lie", "twice", "another"
ANY: Final = 0
FAULT_TIMEOUT_S: Final = 240.0
_POLL_S: Final = 0.05


class FaultyDriven(Driven):
    """A driver whose hooks misbehave once each, in the order that they were given."""

    def __init__(
        self, cluster: MigrationCluster, *, connect: str | None = None, hook_timeout_s: int = 120,
        verbs: tuple[str, ...] | None = None,
    ) -> None:  # fmt: skip
        """Take a cluster: `connect` is another way to the same ZooKeeper; `verbs` replace stop, start and
        is_running."""
        super().__init__(cluster)
        self.connect = connect or cluster.connect
        self.hook_timeout_s = hook_timeout_s
        self.verbs = verbs
        self.served: list[tuple[str, int]] = []
        self._faults: list[tuple[str, int, str]] = []
        self._happenings: list[tuple[str, int, str, Callable[[], object]]] = []

    def __enter__(self) -> Self:
        super().__enter__()
        self.rewrite()
        return self

    def rewrite(self, *, verbs: tuple[str, ...] | None = None, hook_timeout_s: int | None = None) -> None:
        """Write the inventory with other hooks."""
        self.verbs = verbs or self.verbs
        self.hook_timeout_s = hook_timeout_s or self.hook_timeout_s
        text = self.inventory_text().replace("timeout_s = 120", f"timeout_s = {self.hook_timeout_s}")
        text = text.replace(json.dumps(self.cluster.connect), json.dumps(self.connect))
        if self.verbs is not None:
            lines = text.splitlines()
            first = next(line for line in lines if line.startswith("stop = "))
            kept = [line for line in lines if not line.startswith(("stop = ", "start = ", "is_running = "))]
            at = next(number for number, line in enumerate(kept) if line.startswith("timeout_s"))
            made = [first.replace("stop = ", f"{verb} = ").replace('"stop"', f'"{verb}"') for verb in self.verbs]
            text = "\n".join([*kept[: at + 1], *made, *kept[at + 1 :]]) + "\n"
        self.inventory.write_text(text, encoding="utf-8")

    def strikes(self, verb: str, node: int, fault: str) -> None:
        """Spoil the next hook of this verb for this node."""
        self._faults.append((verb, node, fault))

    def mend(self) -> None:
        """Mend the hooks from here on."""
        self._faults.clear()

    def at(self, verb: str, node: int, happens: Callable[[], object], *, when: str = "before") -> None:
        """Run a fault before or after the next such hook (of ANY node)."""
        self._happenings.append((verb, node, when, happens))

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        verb, node = asked["verb"], asked["node"]
        self.served.append((verb, node))
        self._happen(verb, node, "before")
        fault = next((fault for fault in self._faults if fault[:2] == (verb, node)), None)
        if fault is None:
            answer = self._well(asked)
        else:
            self._faults.remove(fault)
            answer = self._badly(asked, fault[2])
        self._happen(verb, node, "after")
        return answer

    def _happen(self, verb: str, node: int, when: str) -> None:
        mine = ((verb, node, when), (verb, ANY, when))
        for happening in [happening for happening in self._happenings if happening[:3] in mine]:
            self._happenings.remove(happening)
            happening[3]()

    def _well(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked["verb"] != "restart":
            return super().answer(asked)
        stopped = super().answer(asked | {"verb": "stop"})
        if asked["node"] in self.cluster.broker_ids and self.cluster.connect:  # as a good hook waits
            gone = f"/brokers/ids/{asked['node']}"
            self.cluster.wait_for(lambda: self.cluster.znode(gone) is None, "forgotten the broker")
        return stopped if stopped["exit"] else super().answer(asked | {"verb": "start"})

    def _badly(self, asked: dict[str, Any], fault: str) -> dict[str, Any]:
        fine: dict[str, Any] = {"exit": 0, "out": "", "err": ""}
        if fault == FAIL:
            return fine | {"exit": 1, "err": "the service manager does not answer"}
        if fault == HANG:
            time.sleep(self.hook_timeout_s + 3)
            return fine
        if fault == LIE:
            return fine | ({"out": "gone"} if asked["verb"] == "is_running" else {})
        if fault == TWICE:
            self._well(asked)
            return self._well(asked)
        assert fault == ANOTHER, fault
        others = [broker_id for broker_id in self.cluster.broker_ids if broker_id != asked["node"]]
        return self._well(asked | {"node": others[0]})

    @property
    def journal(self) -> list[dict[str, Any]]:
        """Return the entries of the journal; a line that is being written is left out."""
        return journal_in(self.cluster.workdir / "journal")

    def with_other_journal(self, folder: str, *, is_copy: bool = False) -> OtherDriver:
        """Return another operator with the same hooks and another journal, a new one or a copy of ours."""
        if is_copy:
            shutil.copytree(self.cluster.workdir / "journal", self.cluster.workdir / folder)
        return OtherDriver(self, folder)

    def words(self, verb: str, *more: str) -> list[str]:
        """Return the command line of an operator who has checked what cannot be observed."""
        accepted = [word for finding in ACCEPTED for word in ("--accept", finding)] if verb == "run" else []
        return self.command(verb, "--yes", *accepted, *more)


class OtherDriver:
    """Driver of the same cluster, from another place."""

    def __init__(self, driven: FaultyDriven, folder: str) -> None:
        self._driven = driven
        self.cluster = driven.cluster
        self._folder = driven.cluster.workdir / folder
        self._inventory = driven.cluster.workdir / f"{folder}.toml"
        text = driven.inventory.read_text(encoding="utf-8")
        ours = json.dumps(str(driven.cluster.workdir / "journal"))
        self._inventory.write_text(text.replace(ours, json.dumps(str(self._folder))), encoding="utf-8")

    @property
    def journal(self) -> list[dict[str, Any]]:
        """Return the driver's own journal."""
        return journal_in(self._folder)

    def words(self, verb: str, *more: str) -> list[str]:
        """Return the words, as the first driver's."""
        ours = str(self._driven.inventory)
        return [str(self._inventory) if word == ours else word for word in self._driven.words(verb, *more)]


def journal_in(folder: Path) -> list[dict[str, Any]]:
    """Return the entries of the one journal in a folder, oldest first."""
    entries = []
    for file in folder.glob("*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                entries.append(json.loads(line))
    return entries


def begun(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the actions that a journal says were begun, with their targets."""
    return [f"{entry['data']['action']} {entry['data']['target']}" for entry in entries if entry["entry"] == "intent"]


class UnderWay:
    """A run of kafkactl in a process of its own. Left, it has ended: `code`, `answer` and `said` tell how."""

    def __init__(self, driven: FaultyDriven | OtherDriver, verb: str, *words: str) -> None:
        self._driven = driven
        self._command = driven.words(verb, *words)
        self._out = driven.cluster.workdir / f"answer-{time.monotonic_ns()}.json"
        self._err = self._out.with_suffix(".txt")
        self.code: int | None = None
        self.answer: dict[str, Any] = {}
        self.took_s = 0.0

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(self._command, stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.process.kill()
        self.code = self.process.wait(900)
        self.took_s = time.monotonic() - self._began
        said = self.said
        for text in (self._out.read_text(encoding="utf-8"), said[said.find("{\n") :]):  # an error is printed on stderr
            with contextlib.suppress(ValueError):
                self.answer = self.answer or json.loads(text)

    @property
    def said(self) -> str:
        """Return what it reported while it ran."""
        return self._err.read_text(encoding="utf-8")

    @property
    def ids(self) -> list[str]:
        """Return the ids of the findings that stopped it, or of the error."""
        found = [finding["id"] for finding in self.answer.get("findings", ()) if finding["severity"] == "blocker"]
        return found or [str(self.answer.get("id", ""))]

    def until(self, holds: Callable[[list[dict[str, Any]]], bool]) -> Self:
        """Wait until the journal has the entry."""
        deadline = time.monotonic() + FAULT_TIMEOUT_S
        while not holds(self._driven.journal):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise LabError(f"that did not come about:\n{self.said[-4000:]}\n{self._out.read_text()[-4000:]}")
            time.sleep(_POLL_S)
        return self


def ended(driven: FaultyDriven | OtherDriver, verb: str, *words: str) -> UnderWay:
    """Return a run from its beginning to its end."""
    with UnderWay(driven, verb, *words) as run:
        pass
    return run


def later(seconds: float, does: Callable[[], object]) -> threading.Timer:
    """Run a fault after a while; nodes that it starts are the caller's."""
    owner = threading.get_ident()

    def act() -> None:
        shared_pool().act_for(owner)
        does()

    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
    return timer
