"""A driver of a real roll that is killed with SIGKILL at every kind of act, and the person who comes afterwards.

A kill point is a call of a hook (before, during or after its effect), a line of progress, or an entry of the journal.
At each point that was not tried yet, the driver is killed. Then `roll status` is asked, and its next action is carried
out as it is printed.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from kafkactl.core.errors import KafkactlError
from kafkactl.core.values import Role
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.errors import LabError
from tests.lab.harness.services.hooks import PACE
from tests.lab.roll.rolled import Rolled

_TOPICS = {"Topics": None, "AllowAutoTopicCreation": False}
_COMMAND = re.compile(r"kafkactl roll (run|rollback) .*$")
_KILLED = ("install", "stop", "start", "is_running")
_POLL_S = 0.002
_STATUS_S = 180
_OK = (0, 7)


class KilledRoll(Rolled):
    """Roll whose driver is killed. `kills` are the points tried, `harm` what must not happen, `statuses` the answers.

    `waits` counts the times that a status asked to wait; `odd` are next actions that neither wait nor are a command.
    """

    def __init__(self, cluster: KafkaCluster) -> None:
        super().__init__(cluster)
        self.kills: list[str] = []
        self.harm: list[str] = []
        self.statuses: list[tuple[str, dict[str, Any]]] = []
        self.waits = 0
        self.odd: list[str] = []
        self.terminated: list[int] = []
        self.way = ""
        self._tried: set[str] = set()
        self._driver: subprocess.Popen[str] | None = None
        self._is_killed = threading.Event()
        self._entries = 0

    def _is_point(self, name: str) -> bool:
        """Return True if a driver runs and was not killed at this point before; it is killed at once."""
        point = f"{self.way} {name}"
        with self._lock:
            if self._driver is None or self._is_killed.is_set() or point in self._tried:
                return False
            self._tried.add(point)
            self._is_killed.set()
            self.kills.append(point)
            self._driver.send_signal(signal.SIGKILL)
            self._driver.wait()
        return True

    def _kind(self, node_id: int) -> str:
        return "controller" if node_id in self.cluster.controller_ids else "broker"

    def answer_of(self, verb: str, node_id: int, release: str) -> str | dict[str, Any]:
        """Return the answer of a verb; the driver that asks may be killed before, during or after it."""
        if verb not in _KILLED:
            return super().answer_of(verb, node_id, release)
        name = f"hook {verb} of a {self._kind(node_id)}"
        if self._is_point(f"{name}, before"):
            return {"exit": 1, "err": "the host of the driver is gone"}
        self._is_point(f"{name}, during")
        found = super().answer_of(verb, node_id, release)
        self._is_point(f"{name}, after")
        return found

    def _act(self, verb: str, node_id: int, release: str) -> str:
        if verb == "stop" and self.cluster.node(node_id).alive:
            self._note_stop(node_id)
        return super()._act(verb, node_id, release)

    def _note_stop(self, node_id: int) -> None:
        """Note a stop that reaches a process, and what is wrong with the others at this moment."""
        self.terminated.append(node_id)
        others = dict.fromkeys((*self.cluster.controller_ids, *self.cluster.broker_ids))
        down = [id for id in others if id != node_id and not self.cluster.node(id).alive]
        if down:
            self.harm.append(f"{self.way}: node {node_id} was stopped while {down} was down")
        if node_id in self.cluster.broker_ids and (bad := self._unfit(node_id)):
            self.harm.append(f"{self.way}: node {node_id} was stopped while partitions lacked replicas: {bad[:3]}")

    def _unfit(self, node_id: int) -> list[str]:
        """Return the partitions that lack a replica in their ISR, as another broker knows it within a second."""
        addresses = [self.cluster.broker_address(id) for id in self.cluster.broker_ids if id != node_id]
        until = time.monotonic() + 1
        while True:
            try:
                with self.cluster.client(Role.BROKER) as client:
                    topics = client.ask_node(addresses[0], "Metadata", _TOPICS).body["Topics"]
            except KafkactlError as error:
                return [str(error)]
            bad = [
                f"{topic['Name']}-{each['PartitionIndex']}"
                for topic in topics
                for each in topic["Partitions"]
                if set(each["IsrNodes"]) != set(each["ReplicaNodes"])
            ]
            if not bad or time.monotonic() > until:
                return bad

    @property
    def journal(self) -> Path:
        """Return the file of the journal."""
        (found,) = (self.cluster.disks.workdir / "journal").glob("roll-*.jsonl")
        return found

    def _new_entries(self) -> list[str]:
        """Return the names of whole entries that the journal got since the last call."""
        try:
            lines = self.journal.read_text(encoding="utf-8").split("\n")[:-1]
        except ValueError:  # no journal yet
            return []
        held = [json.loads(line) for line in lines]
        acts = {entry["seq"]: entry["data"] for entry in held if entry.get("entry") == "intent"}
        found = []
        for entry in held[self._entries :]:
            of = entry["data"].get("of", entry["seq"]) if "data" in entry else -1
            act = acts.get(of, {})
            kinds = {self._kind(int(id)) for id in act.get("nodes", ())}
            words = [str(act["action"]), *(f"of a {kind}" for kind in sorted(kinds))] if act else []
            found.append(" ".join(["journal", str(entry.get("entry", "header")), *words]))
        self._entries = len(held)
        return found

    def _watch_journal(self) -> None:
        while self._driver is not None and self._driver.poll() is None:
            for name in self._new_entries():
                self._is_point(name)
            time.sleep(_POLL_S)

    def _watch_lines(self, process: subprocess.Popen[str], lines: list[str]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            found = re.search(r"waiting for (.*)", line)
            if found:
                self._is_point(f"line {self._general(found[1].split(';')[0])}")

    def _general(self, text: str) -> str:
        """Return a line with the kinds of nodes in place of their numbers."""
        return re.sub(r"node (\d+)", lambda found: f"a {self._kind(int(found[1]))}", text)

    def drive(self, command: list[str]) -> tuple[int, dict[str, Any] | None, str]:
        """Run a driver until it ends or is killed; return its exit code, its answer and its progress."""
        self._is_killed.clear()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._driver = process
        lines: list[str] = []
        threads = [
            threading.Thread(target=self._watch_lines, args=(process, lines)),
            threading.Thread(target=self._watch_journal),
        ]
        for thread in threads:
            thread.start()
        assert process.stdout is not None
        out = process.stdout.read()
        code = process.wait()
        for thread in threads:
            thread.join()
        process.stdout.close()
        assert process.stderr is not None
        process.stderr.close()
        with self._lock:
            self._driver = None
        return code, json.loads(out) if out.strip() else None, "".join(lines)

    def status(self, to: str) -> dict[str, Any]:
        """Return the answer of `roll status`."""
        done = subprocess.run(
            self.command("status", "--to", to), capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode not in _OK:
            raise LabError(f"status ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def next_command(self, to: str, point: str) -> list[str]:
        """Return the command that `roll status` names after a kill; what it asks to wait for is waited for."""
        until = time.monotonic() + _STATUS_S
        while True:
            answer = self.status(to)
            text = answer["next_action"]
            self.statuses.append((point, answer))
            print(f"{time.strftime('%H:%M:%S')} {len(self.kills)} {point}: {answer['phase']}: {text}", flush=True)
            if text.startswith("Nothing") or (text.startswith("Raise") and "levels" not in self.way):
                return []
            if found := _COMMAND.search(text):
                return [sys.executable, "-m", *shlex.split(found[0])]
            if text.startswith("Wait until"):
                self.waits += 1
            elif text not in self.odd:
                self.odd.append(f"{point}: {text}")
            if time.monotonic() > until:
                raise LabError(f"after {point} the status names no command for {_STATUS_S} s: {text}")

    def to_the_end(self, verb: str, to: str, accepted: tuple[str, ...], *words: str) -> dict[str, Any]:
        """Drive a roll to its end, with a kill at every point that was not tried; return the last answer."""
        self.way = f"{verb} to the levels" if words else verb
        command = self.command(verb, "--to", to, *accepted, *words)
        while True:
            code, answer, progress = self.drive(command)
            if not self._is_killed.is_set():
                if code or answer is None:
                    raise LabError(f"{command} ended with {code}: {answer}\n{progress[-6000:]}")
                return answer
            named = self.next_command(to, self.kills[-1])
            if named and verb not in named:
                raise LabError(f"after {self.kills[-1]} the status names {named}")
            extra = [word for word in words if word not in named]
            command = [*named, *PACE, *accepted, *extra, "-o", "json"] if named else command
