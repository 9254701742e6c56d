"""The cluster that is migrated as its operator writes it down: one TOML file, shown in docs/migration-inventory.md.

Invariant: a word that is misspelt, a node that is listed twice, a hook that uses what is not given is an error, and all
errors of the file are reported at once. What the file says of a running cluster is never believed: it names nodes, and
checks compare it with what is observed.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import PurePath
from typing import Any, Final

from kafkactl.change.hooks.templates import COMMAND, DERIVED, LOCAL, MANUAL, TEMPLATES, VARIABLES
from kafkactl.change.hooks.words import Verb, check_template, parse_template
from kafkactl.core.errors import InputError
from kafkactl.core.frozen import changed, frozen
from kafkactl.migration.observed.observation import NodeRole
from kafkactl.protocol.text.toml_lines import in_line
from kafkactl.storage.fleet.inventory_tables import (
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
from kafkactl.zookeeper.connect import EXPECTED, parse_connect_string

_HOST: Final = r"(?:\[[0-9A-Fa-f:.%]+\]|[^\[\]:/,\s]+)"
_ADDRESS: Final = re.compile(rf"({_HOST}):(\d{{1,5}})")
_DEFAULT_TIMEOUT_S: Final = 300
_SSH_USER: Final = "ssh_user"
_YEAR_HOURS: Final = 8_760


@frozen
class Hooks:
    """Hooks of a node.

    `commands` are those of the template, replaced by the inventory's own, by verb; for a verb that is missing the
    operator is asked. `variables` are what commands may use in addition to the contract.
    """

    template: str = MANUAL
    commands: Mapping[Verb, tuple[str, ...]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    timeout_s: int = _DEFAULT_TIMEOUT_S

    @property
    def is_local(self) -> bool:
        """Return True if the node's files are files of this machine."""
        return self.template == LOCAL


@frozen
class InventoryNode:
    """A node. `address` is where it answers Kafka's protocol (a broker's client listener, a controller's listener).

    `config` is the path of its configuration file on its host, `copy` that of a copy here, relative to the inventory.
    With the template `local` it is a path here, `log_dirs` too.
    `log_dirs` are its log directories on its host; `log` is where its metadata log, or a copy, can be read from here.
    """

    id: int
    role: NodeRole
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
    ones where it is None). `journal` is the folder that the driver writes to. `cluster_id` None: as ZooKeeper has it.
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
        return self._of(NodeRole.BROKER)

    @property
    def controllers(self) -> tuple[InventoryNode, ...]:
        """Return the KRaft controllers, by id."""
        return self._of(NodeRole.CONTROLLER)

    def _of(self, role: NodeRole) -> tuple[InventoryNode, ...]:
        return tuple(sorted((node for node in self.nodes if node.role is role), key=lambda node: node.id))

    def node(self, id: int) -> InventoryNode | None:
        """Return the node with this id; None if the inventory has none."""
        return next((node for node in self.nodes if node.id == id), None)


# --- the keys -------------------------------------------------------------------------------------------------------


def _a_table(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a table")
    return value


def _an_address(value: object) -> str:
    found = _ADDRESS.fullmatch(value) if isinstance(value, str) else None
    if found is None or not 0 < int(found[2]) < 1 << 16:
        raise ValueError('HOST:PORT, such as "kafka-1.example:9092"')
    return found[0]


def _a_connect(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(EXPECTED)
    parse_connect_string(value)
    return value.strip()


def _some_seconds(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= 86_400:
        raise ValueError("seconds, from 1 to 86400")
    return value


def _some_hours(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _YEAR_HOURS:
        raise ValueError(f"hours, from 0 to {_YEAR_HOURS}")
    return value


_CLUSTER_KEYS: Final = {
    "zookeeper": Key(_a_table, required=True),
    "hooks": Key(_a_table),
    "journal": Key(a_text),
    "cluster_id": Key(a_text),
    "soak_hours": Key(_some_hours),
    "command_config": Key(a_text),
    "controller_command_config": Key(a_text),
}
_ZOOKEEPER_KEYS: Final = {"connect": Key(_a_connect, required=True), "config": Key(a_text)}
_NODE_KEYS: Final = {
    "id": Key(a_node_id, required=True),
    "role": Key(one_of(*NodeRole), required=True),
    "host": Key(a_text),
    "address": Key(_an_address, required=True),
    "config": Key(a_text, required=True),
    "copy": Key(a_text),
    "log_dirs": Key(some_texts),
    "log": Key(a_text),
    "kafka_version": Key(a_version),
    "hooks": Key(_a_table),
}
_HOOK_KEYS: Final = {
    "template": Key(one_of(*TEMPLATES)),
    "variables": Key(_a_table),
    "timeout_s": Key(_some_seconds),
    **{verb.value: Key(lambda value: value) for verb in Verb},
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
    "kind": "template",
    "type": "template",
    "timeout": "timeout_s",
    "clusterid": "cluster_id",
}


# --- reading --------------------------------------------------------------------------------------------------------


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
        _hooks(shared, {}, "hooks: ", problems, complete=False)
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


def _nodes(raw: object, shared: Mapping[str, Any], problems: list[str]) -> tuple[InventoryNode, ...]:
    if not isinstance(raw, list) or not raw or not all(isinstance(item, dict) for item in raw):
        problems.append("nodes: expected at least one [[nodes]] table")
        return ()
    nodes: list[InventoryNode] = []
    for position, item in enumerate(raw):
        named = item.get("id")
        where = f"nodes[{position}]" + (f" (id {named})" if isinstance(named, int) else "") + ": "
        before = len(problems)
        values = read_table(item, _NODE_KEYS, where, problems, other_words=_OTHER_WORDS)
        hooks = _hooks(shared, values.pop("hooks", {}), f"{where}hooks: ", problems, complete=True)
        if len(problems) == before:
            values["role"] = NodeRole(values["role"])
            values.setdefault("host", _ADDRESS.fullmatch(values["address"])[1].strip("[]"))  # type: ignore[index]
            nodes.append(InventoryNode(**values, hooks=hooks))
    return tuple(nodes)


def _placed(node: InventoryNode, file: str, problems: list[str]) -> InventoryNode:
    """Files of this machine are relative to the inventory, wherever kafkactl is run; those of a node are absolute."""
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


# --- hooks ----------------------------------------------------------------------------------------------------------


def _hooks(
    shared: Mapping[str, Any], own: Mapping[str, Any], where: str, problems: list[str], *, complete: bool
) -> Hooks:
    """Return the hooks of a node: its own take precedence over the shared ones.

    Problems of the shared ones are reported once, when they are read without a node (`complete` false).
    """
    shared_problems: list[str] = [] if complete else problems
    base = read_table(shared, _HOOK_KEYS, where, shared_problems, other_words=_OTHER_WORDS)
    mine = read_table(own, _HOOK_KEYS, where, problems, other_words=_OTHER_WORDS)
    of_all = base.get("template", COMMAND if shared else MANUAL)
    template = mine.get("template", COMMAND if own and not shared else of_all)
    # Commands and variables of all are made for the template of all.
    kept = base if template == of_all else {}
    known = VARIABLES[template]
    variables = {name: value for name, value in known.items() if value is not None}
    for table, into in ((kept, shared_problems), (mine, problems)):
        variables |= _variables(table.get("variables", {}), where, into)
    if (user := variables.get(_SSH_USER, "")) and not user.endswith("@"):
        variables[_SSH_USER] = f"{user}@"  # it stands right before the host
    if complete:
        problems += [
            f"{where}variables: {name} is missing, the template {template} needs it"
            for name in known
            if name not in variables
        ]
    commands = dict(TEMPLATES[template])
    for table, into in ((kept, shared_problems), (mine, problems)):
        commands |= _commands(table, where, into)
    if complete:
        problems += _unknown_places(commands, {*variables, *DERIVED}, where)
    timeout_s = mine.get("timeout_s", base.get("timeout_s", _DEFAULT_TIMEOUT_S))
    return Hooks(template=template, commands=commands, variables=variables, timeout_s=timeout_s)


def _variables(table: Mapping[str, Any], where: str, problems: list[str]) -> dict[str, str]:
    found = {}
    for name, value in table.items():
        if isinstance(value, bool) or not isinstance(value, str | int):
            problems.append(f"{where}variables: {name}{in_line(table, name)}: expected a text or a whole number")
        elif not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            problems.append(
                f"{where}variables: {name!r}{in_line(table, name)} is not a name: letters, digits and _ only"
            )
        else:
            found[name] = str(value)
    return found


def _commands(table: Mapping[str, Any], where: str, problems: list[str]) -> Iterator[tuple[Verb, tuple[str, ...]]]:
    for verb in Verb:
        if verb.value not in table:
            continue
        try:
            yield verb, parse_template(table[verb.value], where=verb.value)
        except InputError as error:
            problems.append(f"{where}{error.message}{in_line(table, verb.value)}")


def _unknown_places(commands: Mapping[Verb, tuple[str, ...]], variables: Iterable[str], where: str) -> Iterator[str]:
    for verb, words in commands.items():
        try:
            check_template(words, verb, variables, where=verb.value)
        except InputError as error:
            yield where + error.message


# --- all nodes together ---------------------------------------------------------------------------------------------


def _twice(nodes: tuple[InventoryNode, ...]) -> Iterator[str]:
    roles: dict[int, set[NodeRole]] = {}
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
    for role in NodeRole:
        if not any(node.role is role for node in nodes):
            yield f"nodes: there is no {role}; all brokers and all new KRaft controllers belong here"


__all__ = ["Hooks", "Inventory", "InventoryNode", "ZooKeeperPlace", "parse_inventory"]
