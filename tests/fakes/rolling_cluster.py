"""A cluster in a roll as the driver's port shows it: processes, registrations, ISRs, and hooks that can misbehave.

The safety of the driver is asserted here, at every call of a hook: no node is stopped while another one is down, while
an ISR is not whole, or without a leader; and no process that runs the goal is stopped a second time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookEnd, HookRun
from kafkactl.change.hooks.words import Verb
from kafkactl.core.findings import Outcome
from kafkactl.core.values import Role
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.roll.driver.ports import LevelChange
from kafkactl.roll.observation import RollObservation
from kafkactl.roll.planning import levels_of
from kafkactl.roll.rules.binaries import ranges
from tests.roll.rolls import Roll

FAIL, LIE, LATE = "fail", "lie", "late"


class FakeClock:
    """A clock on which time passes when the code under test sleeps."""

    def __init__(self) -> None:
        self._now_ms = 0.0

    def now_ms(self) -> float:
        return self._now_ms

    def sleep_ms(self, duration_ms: float) -> None:
        self._now_ms += max(0.0, duration_ms)


class FakeRoll:
    """Fake cluster as a `RollPort`. `wrong` is the fault of a node's hook, `then` a function called at an observation.

    A stopped broker needs one observation to be gone, a started one one observation to register, one more to be
    unfenced and one more to be in sync.
    """

    def __init__(self, roll: Roll, *, fuse: Callable[..., None] = lambda *_: None) -> None:
        self.roll, self.fuse = roll, fuse
        self.clock = FakeClock()
        self.stopped: list[int] = []
        self.started: list[int] = []
        self.wrong: dict[tuple[Verb, int], str] = {}
        self.then: dict[int, Callable[[], None]] = {}
        self.harm: list[str] = []
        self.observations = 0
        self.release = {id: str(node.release) for id, node in roll.nodes.items()}
        self.raised: list[str] = []
        self.bad_release: str | None = None
        self.hangs: set[int] = set()
        self.kept: dict[tuple[str, int], bytes] = {}
        self.log = b""
        self._installed = dict(self.release)
        self._together: set[int] = set()
        self._stopping: dict[int, int] = {}
        self._starting: dict[int, int] = {}
        for id in roll.nodes:
            roll.change(id, installed=self._installed[id])

    @property
    def down(self) -> set[int]:
        return {id for id, node in self.roll.nodes.items() if node.alive is False}

    @property
    def has_leader(self) -> bool:
        return 2 * len([id for id in self.roll.voters if id not in self.down]) > len(self.roll.voters)

    def crash(self, *ids: int) -> None:
        """Kill processes."""
        for id in ids:
            self._go(id)

    def install(self, id: int, release: str) -> None:
        """Put a release where the next start of a node takes it from."""
        self._installed[id] = release
        self.roll.change(id, installed=release)

    def _go(self, id: int) -> None:
        self.roll.change(id, alive=False, release=None, features=None)
        self.roll.dead.add(id)
        self._stopping.pop(id, None)
        self._starting.pop(id, None)
        held = self.roll.registered[id]
        held["stopping"] = False
        if Role.BROKER in self.roll.nodes[id].roles and self.has_leader:
            held["fenced"] = True
            self._leave(id)
        if id == self.roll.leader and self.has_leader:
            self.roll.leader = max(other for other in self.roll.voters if other not in self.down)
            self.roll.leader_epoch = self.roll.log_epoch = self.roll.leader_epoch + 1

    def _leave(self, id: int) -> None:
        self._set_isr(lambda replicas, isr: [each for each in isr if each != id] or isr)

    def _join(self, id: int) -> None:
        self._set_isr(lambda replicas, isr: [each for each in replicas if each in isr or each == id])

    def _set_isr(self, change: Callable[[Sequence[int], Sequence[int]], list[int]]) -> None:
        self.roll.topics = [
            (name, [(row[0], tuple(change(row[0], row[1]))) for row in rows]) for name, rows in self.roll.topics
        ]

    def _advance(self) -> None:
        for id in list(self._stopping):
            self._stopping[id] -= 1
            if self._stopping[id] <= 0 and self.has_leader:
                self._go(id)
                # The registration keeps the flag of a controlled shutdown until the next one.
                self.roll.registered[id]["stopping"] = Role.BROKER in self.roll.nodes[id].roles
        for id in list(self._starting):
            self._starting[id] += 1
            self._come_up(id, self._starting[id])

    def _come_up(self, id: int, age: int) -> None:
        release = self._installed[id]
        if age == 1:
            self.roll.change(id, alive=True, release=release, features=ranges(find_release(release)))
            self.roll.dead.discard(id)
            if not self.has_leader or release == self.bad_release or id in self.hangs:
                return
        held = self.roll.registered[id]
        if release == self.bad_release or id in self.hangs or not self.has_leader:
            return
        if not held.get("new"):
            held |= {"run": held.get("run", 0) + 1, "new": True, "ranges": ranges(find_release(release)),
                     "stopping": False, "fenced": Role.BROKER in self.roll.nodes[id].roles}  # fmt: skip
            return
        if held.get("fenced"):
            held["fenced"] = False
            return
        self._join(id)
        held["new"] = False
        del self._starting[id]

    def observe(self, refresh: frozenset[int] | None) -> RollObservation:
        self.fuse()
        self.observations += 1
        if (event := self.then.pop(self.observations, None)) is not None:
            event()
        self._advance()
        self.roll.quorum = {} if self.has_leader else {"leader_id": -1, "leader_epoch": self.roll.leader_epoch}
        return self.roll.observation()

    def ask(self, requests: Sequence[Request]) -> Mapping[int, HookRun]:
        self._together = {request.node for request in requests}
        return {request.node: self._ask(request) for request in requests}

    def _ask(self, request: Request) -> HookRun:
        self.fuse()
        wrong = self.wrong.get((request.verb, request.node))
        if request.verb is Verb.LOGS:
            return HookRun(end=HookEnd.DONE, exit_code=0, stdout=self.log)
        if wrong == LATE:
            return HookRun(end=HookEnd.TIMED_OUT, message="it was ended after 20 s")
        if wrong == FAIL:
            return HookRun(end=HookEnd.FAILED, exit_code=1, message="no such unit")
        if wrong != LIE:
            self._act(request)
        self.fuse()
        return HookRun(end=HookEnd.DONE, exit_code=0)

    def _act(self, request: Request) -> None:
        id = request.node
        match request.verb:
            case Verb.STOP:
                self._check_stop(id)
                self.stopped.append(id)
                if self.roll.nodes[id].alive:
                    self._stopping[id] = 2
                    if Role.BROKER in self.roll.nodes[id].roles and not self.roll.registered[id].get("fenced"):
                        self.roll.registered[id]["stopping"] = True
            case Verb.START:
                self.started.append(id)
                if not self.roll.nodes[id].alive:
                    self._starting.setdefault(id, 0)
            case Verb.INSTALL:
                self.install(id, str(request.extra["release"]))
            case Verb.PUT_CONFIG:
                self.roll.change(id, config=request.text.decode())

    def _check_stop(self, id: int) -> None:
        if not self.has_leader:
            self.harm.append(f"{id} stopped without a leader")
        others = self.down - self._together
        if others:
            self.harm.append(f"{id} stopped while {sorted(others)} is down")
        away = [other for other in self._starting if other not in self._together]
        if away:
            self.harm.append(f"{id} stopped while {away} is starting")
        for name, rows in self.roll.topics:
            for replicas, isr in rows:
                if id in isr and set(isr) != set(replicas):
                    self.harm.append(f"{id} stopped while an ISR of {name} is {isr}")

    def has_hook(self, verb: Verb, node_id: int) -> bool:
        return True

    def is_running(self, node_id: int) -> bool | None:
        return bool(self.roll.nodes[node_id].alive) or node_id in self._starting

    def kept_folder(self, seq: int) -> str:
        return f"/kept/roll-{seq}"

    def keep(self, content: bytes, *, folder: str | None, node_id: int) -> str:
        self.kept.setdefault((str(folder), node_id), content)
        return hashlib.sha256(content).hexdigest()

    def raise_levels(self, release: str) -> LevelChange:
        self.fuse()
        self.raised.append(release)
        levels = dict(levels_of(find_release(release)))
        self.roll.level = levels.pop("metadata.version")
        self.roll.features |= {name: level for name, level in levels.items() if level}
        return LevelChange(outcome=Outcome.DONE, findings=())


def runs(world: FakeRoll) -> dict[int, Any]:
    """Return the release that each node runs."""
    return {id: node.release for id, node in world.roll.nodes.items()}
