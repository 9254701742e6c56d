"""A real cluster behind the driver's port: its inventory, its hooks, its ZooKeeper, and its brokers' own word.

Every call opens what it needs and closes it: a migration takes hours, and a session of last hour is worth nothing.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

from kafkactl.change.clock import Clock, Deadline
from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookRun
from kafkactl.change.hooks.words import Verb
from kafkactl.core.errors import InputError, UnknownOutcomeError, UnreachableError
from kafkactl.core.values import Role
from kafkactl.files.clock import SystemClock
from kafkactl.files.hook_calls import ask_node
from kafkactl.kafka.client_config import ClientConfig
from kafkactl.kafka.connection import connect
from kafkactl.migration.driver.ports import DriverLock
from kafkactl.migration.inventory import Inventory, InventoryNode
from kafkactl.migration.io.identity import identify
from kafkactl.migration.io.local_node import run_locally
from kafkactl.migration.io.lock import take_lock, this_driver
from kafkactl.migration.io.zookeeper.client import ZooKeeper, open_zookeeper
from kafkactl.migration.io.zookeeper.settings import ZooKeeperSettings
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.zktree.tree import Tree
from kafkactl.migration.zktree.znode import Znode
from kafkactl.net.transport import Address

_CALL_MS = 20_000.0
_KNOCK_S = 3.0
_ANSWER_MS = 5_000.0


class LiveWorld:
    """Live cluster as a `MigrationPort`. `look` observes the whole cluster; `tell` shows a message to the operator."""

    def __init__(
        self,
        inventory: Inventory,
        *,
        settings: ZooKeeperSettings,
        client: ClientConfig,
        controller_client: ClientConfig | None = None,
        observe: Callable[[], Observation],
        tell: Callable[[str], None],
    ) -> None:
        self._inventory = inventory
        self._settings = settings
        self._client = client
        self._controller_client = controller_client or client
        self._observe = observe
        self._tell = tell
        self._clock = SystemClock()

    @property
    def clock(self) -> Clock:
        """Return the machine's clock."""
        return self._clock

    def observe(self) -> Observation:
        """Return everything that can be observed now."""
        return self._observe()

    def has_hook(self, verb: Verb, node: int) -> bool:
        """Return True if the inventory has a command for a verb, or the files are of this machine."""
        hooks = self._node(node).hooks
        return verb in hooks.commands or (hooks.is_local and verb in LOCAL_VERBS)

    def ask(self, request: Request) -> HookRun:
        """Run the hook, or ask the operator."""
        node = self._node(request.node)
        folder = Path(self._inventory.file).parent
        local = dict.fromkeys(LOCAL_VERBS, lambda _node, asked: run_locally(node, asked))
        return ask_node(folder, node, request, tell=self._tell, local=local, clock=self._clock)

    def listens(self, node: int) -> bool | None:
        """Return True if a connection to the node is accepted; None if it is neither accepted nor refused."""
        address = _address(self._node(node))
        try:
            with socket.create_connection((address.host, address.port), timeout=_KNOCK_S):
                return True
        except ConnectionRefusedError:
            return False
        except OSError:
            return None

    def controller_of(self, broker: int) -> int | None:
        """Return the broker's answer to Metadata."""
        deadline = Deadline.after(_CALL_MS, self._clock)
        body = {"Topics": [], "AllowAutoTopicCreation": False}
        try:
            with connect(_address(self._node(broker)), self._client.access(), deadline) as connection:
                found = connection.ask("Metadata", body, deadline=deadline).body["ControllerId"]
        except (UnreachableError, UnknownOutcomeError):
            return None
        return found if isinstance(found, int) and found >= 0 else None

    def answers(self, node: int) -> bool:
        """Return True if the node answers on a new connection; a node that does not give its id counts by its port."""
        known = self._node(node)
        deadline = Deadline.after(_ANSWER_MS, self._clock)
        client = self._client if known.role is Role.BROKER else self._controller_client
        try:
            with connect(_address(known), client.access(), deadline) as connection:
                seen, error = identify(connection, expected_id=node, cluster_id=None, deadline=deadline)
        except (UnreachableError, UnknownOutcomeError):
            return False
        return error is None and seen.node_id in (None, node) and seen.role is known.role

    def lock(self, journal: str) -> DriverLock:
        """Take the lock in ZooKeeper, for as long as its own session lasts."""
        me = this_driver(journal, now_ms=time.time_ns() // 1_000_000)
        return take_lock(self._zookeeper, me)

    def tree(self) -> Tree:
        """Return the whole tree."""
        with self._zookeeper() as zookeeper:
            return zookeeper.read_tree()

    def znode(self, path: str) -> Znode | None:
        """Return one znode."""
        with self._zookeeper() as zookeeper:
            return zookeeper.read(path)

    def set_znode(self, path: str, data: bytes, version: int) -> None:
        """Write the data of one znode."""
        with self._zookeeper() as zookeeper:
            zookeeper.set(path, data, version)

    def delete_znode(self, path: str, version: int) -> None:
        """Delete one znode."""
        with self._zookeeper() as zookeeper:
            zookeeper.delete(path, version)

    def _zookeeper(self) -> ZooKeeper:
        connect_to = self._inventory.zookeeper.connect
        return open_zookeeper(connect_to, settings=self._settings, timeout_ms=_CALL_MS, clock=self._clock)

    def _node(self, id: int) -> InventoryNode:
        found = self._inventory.node(id)
        if found is None:
            raise InputError(f"the inventory has no node {id}", id="node-not-in-inventory")
        return found


LOCAL_VERBS = frozenset({Verb.GET_CONFIG, Verb.PUT_CONFIG, Verb.FORMAT, Verb.WIPE, Verb.FS_PROBE})


def _address(node: InventoryNode) -> Address:
    host, _, port = node.address.rpartition(":")
    return Address(host.strip("[]"), int(port))


def path_next_to(inventory: Inventory, name: str) -> Path:
    """Return a path of the inventory, relative to its folder."""
    return Path(inventory.file).parent / name
