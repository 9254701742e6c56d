"""The fake cluster behind the driver's port: its time, and its hooks, which may fail, hang, lie or be late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookEnd, HookRun
from kafkactl.change.hooks.words import Verb
from kafkactl.core.errors import RefusedError, UnreachableError
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.migration.driver.actions import sha256
from kafkactl.migration.observed.observation import NodeSeen, Observation
from kafkactl.migration.zktree.tree import Tree
from kafkactl.migration.zktree.znode import Znode
from tests.fakes.interruption import Killed
from tests.fakes.migrating_cluster import FakeCluster
from tests.migration.zk_trees import CLUSTER_ID

ALL = frozenset(Verb) - {Verb.LOGS, Verb.JMX}
DONE = HookRun(end=HookEnd.DONE, exit_code=0)
FAIL, HANG, LIE, TWICE, LATE = "fail", "hang", "lie", "twice", "late"


class FakeClock:
    """A clock on which time passes, for the cluster too, when the code under test sleeps."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    def now_ms(self) -> float:
        return self._cluster.now_ms

    def sleep_ms(self, duration_ms: float) -> None:
        self._cluster.advance(max(0.0, duration_ms))


class FakeLock:
    """The cluster's lock; a driver that is killed leaves it to the next one with its journal."""

    def __init__(self, world: FakeWorld, journal: str) -> None:
        holder = world.cluster.driver
        if holder is not None and holder[0] != journal:
            raise RefusedError(f"it is driven with {holder[0]}", id="concurrent-migration-run")
        self._mine = world.cluster.driver = (journal, object())
        self._cluster = world.cluster
        self.words = journal

    def __enter__(self) -> FakeLock:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._cluster.driver is self._mine and kind is not Killed:
            self._cluster.driver = None

    def check(self) -> None:
        if self._cluster.driver is not self._mine:
            raise RefusedError("the lock is lost", id="migration-lock-lost")


class FakeWorld:
    """A `MigrationPort`. `verbs` are those with a command; `faults` strike the next hook of a verb, each once.

    `operator` is called for steps without a command; by default it does nothing.
    """

    def __init__(self, cluster: FakeCluster, *, verbs: frozenset[Verb] = ALL) -> None:
        self.cluster = cluster
        self.clock = FakeClock(cluster)
        self.verbs = verbs
        self.faults: list[tuple[Verb, int, str]] = []
        self.asked: list[tuple[Verb, int]] = []
        self.operator: Callable[[Request], None] = lambda request: None
        self.on_act: Callable[[], None] = lambda: None
        self.unreachable = 0  # so many of the next calls of ZooKeeper fail
        self.before_write: Callable[[str], None] = lambda path: None

    def observe(self) -> Observation:
        self.on_act()
        self._pass()
        seen = self.cluster.observe()
        return changed(seen, nodes=tuple(self._listed(node) for node in seen.nodes))

    def _listed(self, node: NodeSeen) -> NodeSeen:
        """Return the listing with what an fs_probe hook shows of a broker's disks."""
        if node.role is not Role.BROKER or Verb.FS_PROBE not in self.verbs:
            return node
        return changed(node, strays=("/data/orders-0-stray",) if self.cluster.nodes[node.id].strays else ())

    def tree(self) -> Tree:
        self._pass()
        return self.cluster.tree()

    def znode(self, path: str) -> Znode | None:
        self._pass()
        return self.cluster.read(path)

    def set_znode(self, path: str, data: bytes, version: int) -> None:
        self._changed(path, version, lambda: self.cluster.put(path, data))

    def delete_znode(self, path: str, version: int) -> None:
        self._changed(path, version, lambda: self.cluster.remove(path))

    def has_hook(self, verb: Verb, node: int) -> bool:
        return verb in self.verbs

    def listens(self, node: int) -> bool | None:
        return self.cluster.nodes[node].running

    def answers(self, node: int) -> bool:
        self.on_act()
        return self.cluster.nodes[node].running and not self.cluster.nodes[node].paused

    def lock(self, journal: str) -> FakeLock:
        return FakeLock(self, journal)

    def controller_of(self, broker: int) -> int | None:
        node = self.cluster.nodes[broker]
        return node.follows if node.running else None

    def ask(self, request: Request) -> HookRun:
        self.on_act()
        self.asked.append((request.verb, request.node))
        if request.verb not in self.verbs:
            self.operator(request)
            return HookRun(end=HookEnd.ASKED)
        struck = next((fault for fault in self.faults if fault[:2] == (request.verb, request.node)), None)
        if struck is None:
            run = self.carry_out(request)
        else:
            self.faults.remove(struck)
            run = self._badly(request, struck[2])
        self.on_act()
        return run

    def carry_out(self, request: Request) -> HookRun:
        """Do what a good hook does."""
        node = self.cluster.nodes[request.node]
        match request.verb:
            case Verb.GET_CONFIG:
                return DONE if node.file is None else _out(node.file)
            case Verb.PUT_CONFIG:
                return self._swap(request)
            case Verb.RESTART:
                return self._stop(request.node) or self._start(request.node)
            case Verb.STOP:
                return self._stop(request.node) or DONE
            case Verb.START:
                return self._start(request.node)
            case Verb.DISABLE:
                node.enabled = False
            case Verb.IS_RUNNING:
                return _out("running" if node.running else "gone")
            case Verb.FORMAT:
                return self._format(request)
            case Verb.WIPE:
                self.cluster.wipe(request.node)
        return DONE

    def _swap(self, request: Request) -> HookRun:
        node = self.cluster.nodes[request.node]
        now = "absent" if node.file is None else sha256(node.file.encode())
        if now == request.extra["sha_after"]:
            return DONE
        if now != request.extra["sha_before"]:
            return HookRun(end=HookEnd.CHANGED_MEANWHILE, exit_code=65)
        node.file = request.text.decode()
        return DONE

    def _stop(self, node: int) -> HookRun | None:
        return None if self.cluster.stop(node) else HookRun(end=HookEnd.TIMED_OUT, message="it does not end")

    def _start(self, node: int) -> HookRun:
        self.cluster.start(node)
        return DONE

    def _format(self, request: Request) -> HookRun:
        node = self.cluster.nodes[request.node]
        wanted: Any = request.extra["cluster_id"]
        if node.formatted not in (None, wanted):
            return HookRun(end=HookEnd.FAILED, exit_code=1, message="formatted for another cluster")
        if node.formatted is None:
            self.cluster.format(request.node, wanted)
        return DONE

    def _badly(self, request: Request, how: str) -> HookRun:
        if how == FAIL:
            return HookRun(end=HookEnd.FAILED, exit_code=1, message="hook: exit 1: no")
        if how == HANG:
            return HookRun(end=HookEnd.TIMED_OUT, message="hook: not ended after 300 s")
        if how == LIE:
            return DONE
        run = self.carry_out(request)
        if how == TWICE:
            return self.carry_out(request)
        return (
            HookRun(end=HookEnd.TIMED_OUT, message="hook: not ended, and did it all the same") if how == LATE else run
        )

    def _changed(self, path: str, version: int, change: Callable[[], None]) -> None:
        self.on_act()
        self._pass()
        self.before_write(path)
        self.cluster.write(path, version, change)
        self.on_act()

    def _pass(self) -> None:
        if self.unreachable > 0:
            self.unreachable -= 1
            raise UnreachableError("ZooKeeper does not answer", id="zookeeper-unreachable")


def _out(text: str) -> HookRun:
    return HookRun(end=HookEnd.DONE, exit_code=0, stdout=text.encode())


def format_all(cluster: FakeCluster) -> None:
    """Format and start every controller."""
    for node in cluster.controllers:
        cluster.format(node.id, CLUSTER_ID)
        cluster.start(node.id)
    assert all(node.running for node in cluster.nodes.values() if node.role is Role.CONTROLLER)
