"""The cluster of a roll as its operator writes it down: one TOML file, shown in docs/rolling-upgrade.md.

Invariant: an unknown key, a node that is listed twice, a hook with a placeholder that has no value is a problem, and
all problems of the file are reported at once. What the file states about a running cluster is compared with the
observation, and never trusted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import PurePath
from typing import Any, Final

from kafkactl.change.hooks.inventory import HOOK_WORDS, a_table, an_address, host_of, read_hooks, read_node_tables
from kafkactl.change.hooks.node import Hooks
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role
from kafkactl.core.wording import file_name_of
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

BETWEEN: Final = "between"


@frozen
class RollInventoryNode:
    """A node. `address` is a client listener of a broker, `controller_address` the listener of a controller.

    `config` is the path of its configuration file on its host, `copy` that of a copy here; with the template `local`
    it is a path here. `log` is where its metadata log, or a copy, is readable from here. `release` is the release that
    the operator believes to run. `installs_between`: `install` runs between stop and start, not before the stop.
    """

    id: int
    roles: tuple[Role, ...]
    host: str
    config: str
    address: str | None = None
    controller_address: str | None = None
    copy: str | None = None
    log_dirs: tuple[str, ...] = ()
    log: str | None = None
    rack: str | None = None
    release: str | None = None
    installs_between: bool = False
    hooks: Hooks = field(default_factory=Hooks)

    @property
    def role_word(self) -> str:
        """Return the value of `{role}`: as `process.roles`."""
        return ",".join(role.value for role in self.roles)

    @property
    def name(self) -> str:
        """Return the node as findings name it: `broker 2`; a combined node is `node 2`."""
        return f"{self.roles[0].value if len(self.roles) == 1 else 'node'} {self.id}"

    @property
    def is_controller(self) -> bool:
        """Return True for a controller or combined node."""
        return Role.CONTROLLER in self.roles


@frozen
class RollInventory:
    """A whole cluster. `file` is where it was read from; paths in it are relative to its folder.

    `command_config` are client properties for brokers, `controller_command_config` those for controllers, the same if
    None. `journal` is the folder that the driver writes to.
    """

    file: str
    nodes: tuple[RollInventoryNode, ...]
    journal: str
    cluster_id: str | None = None
    command_config: str | None = None
    controller_command_config: str | None = None

    def node(self, node_id: int) -> RollInventoryNode | None:
        """Return the node with this id; None if the inventory has none."""
        return next((node for node in self.nodes if node.id == node_id), None)

    @property
    def folder(self) -> PurePath:
        """Return the folder that relative paths start at."""
        return PurePath(self.file).parent

    def journal_file(self, cluster_id: str) -> str:
        """Return the path of the journal of a cluster."""
        return str(self.folder / self.journal / f"roll-{file_name_of(cluster_id)}.jsonl")


def _some_roles(value: object) -> tuple[Role, ...]:
    words = [value] if isinstance(value, str) else value
    known = {role.value for role in Role}
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word in known for word in words):
        raise ValueError('["broker"], ["controller"] or ["broker", "controller"]')
    return tuple(role for role in Role if role.value in words)


_INSTALL: Final = Key(one_of("before", BETWEEN))
_CLUSTER_KEYS: Final = {
    "hooks": Key(a_table),
    "journal": Key(a_text),
    "cluster_id": Key(a_text),
    "command_config": Key(a_text),
    "controller_command_config": Key(a_text),
    "install": _INSTALL,
}
_NODE_KEYS: Final = {
    "id": Key(a_node_id, required=True),
    "roles": Key(_some_roles, required=True),
    "host": Key(a_text),
    "address": Key(an_address),
    "controller_address": Key(an_address),
    "config": Key(a_text, required=True),
    "copy": Key(a_text),
    "log_dirs": Key(some_texts),
    "log": Key(a_text),
    "rack": Key(a_text),
    "release": Key(a_version),
    "install": _INSTALL,
    "hooks": Key(a_table),
}
# Words that people write instead of a key; similarity of spelling would not find them.
_OTHER_WORDS: Final = {
    "node": "nodes",
    "node_id": "id",
    "broker_id": "id",
    "role": "roles",
    "process_roles": "roles",
    "hostname": "host",
    "listener": "address",
    "bootstrap_server": "address",
    "bootstrap_controller": "controller_address",
    "config_file": "config",
    "properties": "config",
    "log_dir": "log_dirs",
    "metadata_log_dir": "log",
    "kafka_version": "release",
    "version": "release",
    "journal_dir": "journal",
    "clusterid": "cluster_id",
    **HOOK_WORDS,
}


def parse_roll_inventory(text: str | bytes, *, file: str = "inventory") -> RollInventory:
    """Read an inventory. `file` is its name in messages, and paths in it are relative to its folder.

    Raises InventoryError: `inventory-not-toml`, or `invalid-inventory` with every problem.
    """
    table = parse_toml(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text, file)
    problems: list[str] = []
    raw_nodes = table.pop("nodes", None)
    cluster = read_table(table, _CLUSTER_KEYS, "", problems, also=("nodes",), other_words=_OTHER_WORDS)
    shared = cluster.pop("hooks", {})
    install = cluster.pop("install", "before")
    if shared:
        read_hooks(shared, {}, "hooks: ", problems, complete=False)
    nodes = tuple(_placed(node, file) for node in _nodes(raw_nodes, shared, install, problems))
    problems += _twice(nodes)
    if problems:
        raise invalid(file, problems, "Correct the inventory; nothing was observed or changed.")
    return RollInventory(file=file, nodes=nodes, **{"journal": "journal", **cluster})


def _nodes(raw: object, shared: Mapping[str, Any], install: str, problems: list[str]) -> Iterator[RollInventoryNode]:
    for where, values, hooks, is_valid in read_node_tables(raw, shared, _NODE_KEYS, problems, other_words=_OTHER_WORDS):
        between = values.pop("install", install) == BETWEEN
        lacking = [where + problem for problem in _addresses(values)]
        problems += lacking
        if is_valid and not lacking:
            values.setdefault("host", host_of(values.get("address") or values["controller_address"]))
            yield RollInventoryNode(**values, installs_between=between, hooks=hooks)


def _addresses(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems of a node without the listener of one of its roles."""
    roles = values.get("roles", ())
    for role, key, what in (
        (Role.BROKER, "address", "a client listener"),
        (Role.CONTROLLER, "controller_address", "its controller listener"),
    ):
        if role in roles and key not in values:
            yield f"{key} is missing: for a {role.value} it is {what}, HOST:PORT"
        if roles and role not in roles and key in values:
            yield f"{key} is for nodes with the role {role.value}"


def _placed(node: RollInventoryNode, file: str) -> RollInventoryNode:
    """Return the node with its paths on this machine relative to the inventory."""
    if not node.hooks.is_local:
        return node
    folder = PurePath(file).parent
    log_dirs = tuple(str(folder / directory) for directory in node.log_dirs)
    return changed(node, config=str(folder / node.config), log_dirs=log_dirs)


def _twice(nodes: tuple[RollInventoryNode, ...]) -> Iterator[str]:
    for node_id, count in Counter(node.id for node in nodes).items():
        if count > 1:
            yield f"node {node_id} occurs {count} times; a combined node is one entry with both roles"
    listeners = Counter(
        address for node in nodes for address in (node.address, node.controller_address) if address is not None
    )
    for address, count in listeners.items():
        if count > 1:
            yield f"{address} is the address of {count} listeners"
    for (host, config), count in Counter((node.host, node.config) for node in nodes).items():
        if count > 1:
            yield f"{config} on {host} is the configuration of {count} nodes"


__all__ = ["BETWEEN", "RollInventory", "RollInventoryNode", "parse_roll_inventory"]
