"""The cluster that is migrated as its operator writes it down: one TOML file, shown in docs/migration-inventory.md.

Invariant: a word that is misspelt, a node that is listed twice, a hook that uses what is not given is an error, and all
errors of the file are reported at once. What the file states about a running cluster is never believed: it names nodes,
and checks compare it with what is observed.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import PurePath
from typing import Any, Final

from kafkactl.change.hooks.inventory import HOOK_WORDS, a_table, an_address, host_of, read_hooks, read_node_tables
from kafkactl.change.hooks.node import Hooks
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role
from kafkactl.migration.zktree.connect import EXPECTED, check_servers, parse_connect_string
from kafkactl.protocol.text.toml_tables import (
    Key,
    a_node_id,
    a_text,
    a_version,
    invalid,
    one_of,
    parse_toml,
    read_table,
    some_texts,
)

_YEAR_HOURS: Final = 8_760


@frozen
class InventoryNode:
    """A node. `address` is where it answers Kafka's protocol (a broker's client listener, a controller's listener).

    `config` is the path of its configuration file on its host, `copy` that of a copy here, relative to the inventory.
    With the template `local` it is a path here, `log_dirs` too.
    `log_dirs` are its log directories on its host; `log` is where its metadata log, or a copy, can be read from here.
    """

    id: int
    role: Role
    host: str
    address: str
    config: str
    copy: str | None = None
    log_dirs: tuple[str, ...] = ()
    log: str | None = None
    kafka_version: str | None = None
    hooks: Hooks = field(default_factory=Hooks)

    @property
    def name(self) -> str:
        """Return the node's name in findings: `broker 2`."""
        return f"{self.role} {self.id}"

    @property
    def role_word(self) -> str:
        """Return the value of `{role}`."""
        return self.role.value


@frozen
class ZooKeeperPlace:
    """`connect` as in server.properties, chroot included. `config` names a file with `zookeeper.*` properties (TLS,
    SASL), relative to the inventory."""

    connect: str
    config: str | None = None


@frozen
class Inventory:
    """A whole cluster. `file` is where it was read from; paths in it are relative to its folder.

    `command_config` are client properties for brokers, `controller_command_config` those for controllers (the same
    ones if it is None). `journal` is the folder that the driver writes to. `cluster_id` None: as ZooKeeper has it.
    `soak_hours` have to pass in M8 before the migration may be ended.
    """

    file: str
    zookeeper: ZooKeeperPlace
    nodes: tuple[InventoryNode, ...]
    journal: str
    cluster_id: str | None = None
    soak_hours: float = 0
    command_config: str | None = None
    controller_command_config: str | None = None

    @property
    def brokers(self) -> tuple[InventoryNode, ...]:
        """Return the brokers, by id."""
        return self._of(Role.BROKER)

    @property
    def controllers(self) -> tuple[InventoryNode, ...]:
        """Return the KRaft controllers, by id."""
        return self._of(Role.CONTROLLER)

    def _of(self, role: Role) -> tuple[InventoryNode, ...]:
        return tuple(sorted((node for node in self.nodes if node.role is role), key=lambda node: node.id))

    def node(self, id: int) -> InventoryNode | None:
        """Return the node with this id; None if the inventory has none."""
        return next((node for node in self.nodes if node.id == id), None)


def _a_connect(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(EXPECTED)
    check_servers(parse_connect_string(value))
    return value.strip()


def _some_hours(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _YEAR_HOURS:
        raise ValueError(f"hours, from 0 to {_YEAR_HOURS}")
    return value


_CLUSTER_KEYS: Final = {
    "zookeeper": Key(a_table, required=True),
    "hooks": Key(a_table),
    "journal": Key(a_text),
    "cluster_id": Key(a_text),
    "soak_hours": Key(_some_hours),
    "command_config": Key(a_text),
    "controller_command_config": Key(a_text),
}
_ZOOKEEPER_KEYS: Final = {"connect": Key(_a_connect, required=True), "config": Key(a_text)}
_NODE_KEYS: Final = {
    "id": Key(a_node_id, required=True),
    "role": Key(one_of(*Role), required=True),
    "host": Key(a_text),
    "address": Key(an_address, required=True),
    "config": Key(a_text, required=True),
    "copy": Key(a_text),
    "log_dirs": Key(some_texts),
    "log": Key(a_text),
    "kafka_version": Key(a_version),
    "hooks": Key(a_table),
}
# Words that people write for ours; nearness alone would not find them.
_OTHER_WORDS: Final = {
    "node": "nodes",
    "node_id": "id",
    "broker_id": "id",
    "hostname": "host",
    "listener": "address",
    "bootstrap_server": "address",
    "config_file": "config",
    "properties": "config",
    "log_dir": "log_dirs",
    "metadata_log_dir": "log",
    "zk": "zookeeper",
    "zookeeper_connect": "zookeeper",
    "journal_dir": "journal",
    "clusterid": "cluster_id",
    **HOOK_WORDS,
}


def parse_inventory(text: str | bytes, *, file: str = "inventory") -> Inventory:
    """Read an inventory.

    Raises InventoryError: `inventory-not-toml`, or `invalid-inventory` with every problem. `file` is for its words,
    and what the paths in it are relative to.
    """
    table = parse_toml(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text, file)
    problems: list[str] = []
    raw_nodes = table.pop("nodes", None)
    cluster = read_table(table, _CLUSTER_KEYS, "", problems, also=("nodes",), other_words=_OTHER_WORDS)
    place = _zookeeper(cluster.pop("zookeeper", None), problems)
    shared = cluster.pop("hooks", {})
    if shared:
        read_hooks(shared, {}, "hooks: ", problems, complete=False)
    nodes = tuple(_placed(node, file, problems) for node in _nodes(raw_nodes, shared, problems))
    problems += _twice(nodes)
    if not problems:
        problems += _missing(nodes)
    if problems or place is None:
        raise invalid(file, problems, "Correct the inventory; nothing was looked at or changed.")
    return Inventory(file=file, zookeeper=place, nodes=nodes, **{"journal": "journal", **cluster})


def _zookeeper(table: Mapping[str, Any] | None, problems: list[str]) -> ZooKeeperPlace | None:
    if table is None:
        return None
    values = read_table(table, _ZOOKEEPER_KEYS, "zookeeper: ", problems)
    return ZooKeeperPlace(**values) if "connect" in values else None


def _nodes(raw: object, shared: Mapping[str, Any], problems: list[str]) -> Iterator[InventoryNode]:
    for _, values, hooks, is_valid in read_node_tables(raw, shared, _NODE_KEYS, problems, other_words=_OTHER_WORDS):
        if is_valid:
            values["role"] = Role(values["role"])
            values.setdefault("host", host_of(values["address"]))
            yield InventoryNode(**values, hooks=hooks)


def _placed(node: InventoryNode, file: str, problems: list[str]) -> InventoryNode:
    """Return the path of a file: on this machine relative to the inventory, on a node absolute."""
    if node.hooks.is_local:
        folder = PurePath(file).parent
        log_dirs = tuple(str(folder / directory) for directory in node.log_dirs)
        return changed(node, config=str(folder / node.config), log_dirs=log_dirs)
    problems += [
        f"{node.name}: log_dirs: text {number} of the list is not an absolute path without '..'"
        for number, directory in enumerate(node.log_dirs, 1)
        if not directory.startswith("/") or ".." in directory.split("/")
    ]
    return changed(node, log_dirs=tuple(_normal(directory) for directory in node.log_dirs))


def _normal(directory: str) -> str:
    return "/" + posixpath.normpath(directory).lstrip("/")


def _twice(nodes: tuple[InventoryNode, ...]) -> Iterator[str]:
    roles: dict[int, set[Role]] = {}
    for node in nodes:
        roles.setdefault(node.id, set()).add(node.role)
    for id, count in Counter(node.id for node in nodes).items():
        if len(roles[id]) > 1:
            yield f"id {id} is that of a broker and of a controller: in a migration no two nodes share one"
        elif count > 1:
            yield f"{next(iter(roles[id]))} {id} occurs {count} times"
    for address, count in Counter(node.address for node in nodes).items():
        if count > 1:
            yield f"{address} is the address of {count} nodes"
    for (host, config), count in Counter((node.host, node.config) for node in nodes).items():
        if count > 1:
            yield f"{config} on {host} is the configuration of {count} nodes"


def _missing(nodes: tuple[InventoryNode, ...]) -> Iterator[str]:
    for role in Role:
        if not any(node.role is role for node in nodes):
            yield f"nodes: there is no {role}; all brokers and all new KRaft controllers belong here"


__all__ = ["Inventory", "InventoryNode", "ZooKeeperPlace", "parse_inventory"]
