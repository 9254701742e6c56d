"""The fleet as its operator writes it down: one TOML file that says which nodes there will be.

What this file guards: a word that is misspelt must not be silently without effect (`scram_fle` would give a
cluster without users), so every unknown key is an error, and all errors of the file are reported at once.

    cluster_id = "new"                # or the id of the cluster
    kafka_version = "4.3.1"           # the binary that will start on these disks (default: the newest known)
    release_version = "4.3"           # as `format -r`; `metadata_version` is the same word
    features = { "share.version" = 1 }
    scram_file = "scram.txt"          # credentials by file only
    mode = "dynamic"                  # optional: what the configuration files are expected to say

    [[nodes]]
    id = 1
    host = "controller-1.example"
    config = "configs/controller-1.properties"

The storage runbook lists every key; `FLEET_KEYS` and `NODE_KEYS` are where they are defined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from kafkactl.core.frozen import frozen
from kafkactl.protocol.text.toml_tables import (
    Key,
    a_boolean,
    a_node_id,
    a_text,
    a_version,
    invalid,
    one_of,
    parse_toml,
    read_table,
    some_texts,
)

NEW_CLUSTER = "new"


class VoterRole(StrEnum):
    """Role of a controller of a dynamic quorum when the cluster first starts (KIP-853).

    `initial` controllers are formatted with the list of all of them (`-I`), a `standalone` one with itself
    alone (`-s`), a `later` one joins by add-controller (`-N`).
    """

    INITIAL = "initial"
    STANDALONE = "standalone"
    LATER = "later"


@frozen
class InventoryNode:
    """A node. `config` is the path on the node's host; the planning machine reads `root` + `config`.

    `voter` None: decided by the others. `kafka_version` None: the fleet's. `directory_id` fixes the id of the
    metadata log directory; `mounts` are directories that must be mount points of their own when the plan is
    applied.
    """

    id: int
    host: str
    config: str
    root: str | None = None
    kafka_version: str | None = None
    voter: VoterRole | None = None
    directory_id: str | None = None
    mounts: tuple[str, ...] = ()


@frozen
class Inventory:
    """A whole fleet. `file` is where it was read from; relative paths inside are relative to its folder.

    `existing_cluster`: the cluster runs already and these nodes join it, so no controller here is an initial
    voter. `controller_addresses` are further `host:port` names under which the controllers answer (a load
    balancer).
    """

    file: str
    cluster_id: str
    nodes: tuple[InventoryNode, ...]
    kafka_version: str | None = None
    release_version: str | None = None
    features: tuple[str, ...] = ()
    scram_file: str | None = None
    mode: str | None = None
    existing_cluster: bool = False
    controller_addresses: tuple[str, ...] = ()


def _scram_file(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or value.lstrip().startswith("SCRAM-"):
        raise ValueError("the path of a file of credentials (they do not stand in an inventory)")
    return value


def _voter(value: object) -> VoterRole:
    return VoterRole(one_of(*VoterRole)(value))


def _features(value: object) -> tuple[str, ...]:
    """Parse either a table of levels or Kafka's own `name=level` texts."""
    if isinstance(value, list):
        return some_texts(value)
    if not isinstance(value, dict):
        raise ValueError('a table such as { "share.version" = 1 }')
    # An unquoted key with a dot is a nested table in TOML: share.version = 1 means {share: {version: 1}}.
    return tuple(f"{name}={level}" for name, level in _flat(value, ""))


def _flat(table: Mapping[str, Any], prefix: str) -> Iterable[tuple[str, int]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"a whole number as the level of {prefix}{name}")
        else:
            yield prefix + name, value


FLEET_KEYS: dict[str, Key] = {
    "cluster_id": Key(a_text, required=True),
    "kafka_version": Key(a_version),
    "release_version": Key(a_version),
    "metadata_version": Key(a_version),
    "features": Key(_features),
    "scram_file": Key(_scram_file),
    "mode": Key(one_of("static", "dynamic")),
    "existing_cluster": Key(a_boolean),
    "controller_addresses": Key(some_texts),
}

NODE_KEYS: dict[str, Key] = {
    "id": Key(a_node_id, required=True),
    "host": Key(a_text, required=True),
    "config": Key(a_text, required=True),
    "root": Key(a_text),
    "kafka_version": Key(a_version),
    "voter": Key(_voter),
    "directory_id": Key(a_text),
    "mounts": Key(some_texts),
}

# Words that people write for ours; nearness alone would not find them.
_OTHER_WORDS = {
    "node": "nodes",
    "node_id": "id",
    "broker_id": "id",
    "hostname": "host",
    "config_file": "config",
    "clusterid": "cluster_id",
    "version": "kafka_version",
    "scram": "scram_file",
    "add_scram": "scram_file",
    "feature": "features",
}


def parse_inventory(data: bytes, *, file: str) -> Inventory:
    """Read an inventory. Raises InventoryError: `inventory-not-toml`, or `invalid-inventory` with every
    problem."""
    table = parse_toml(data, file)
    problems: list[str] = []
    raw_nodes = table.pop("nodes", None)
    fleet = read_table(table, FLEET_KEYS, "", problems, also=("nodes",), other_words=_OTHER_WORDS)
    nodes = _read_nodes(raw_nodes, problems)
    problems += _conflicts(fleet)
    if problems:
        raise invalid(file, problems, "Correct the inventory; nothing was planned.")
    other_word = fleet.pop("metadata_version", None)
    return Inventory(file=file, nodes=nodes, **{"release_version": other_word, **fleet})


def _read_nodes(raw: object, problems: list[str]) -> tuple[InventoryNode, ...]:
    if not isinstance(raw, list) or not raw or not all(isinstance(item, dict) for item in raw):
        problems.append("nodes: expected at least one [[nodes]] table")
        return ()
    nodes: list[InventoryNode] = []
    for position, item in enumerate(raw):
        before = len(problems)
        values = read_table(item, NODE_KEYS, _where(position, item), problems, other_words=_OTHER_WORDS)
        if "root" in values and not str(values.get("config", "/")).startswith("/"):
            problems.append(f"{_where(position, item)}with root, config is an absolute path (as on the host)")
        if len(problems) == before:
            nodes.append(InventoryNode(**values))
    return tuple(nodes)


def _where(position: int, item: Mapping[str, object]) -> str:
    named = item.get("id")
    return f"nodes[{position}]" + (f" (id {named})" if isinstance(named, int) else "") + ": "


def _conflicts(fleet: Mapping[str, object]) -> list[str]:
    problems = []
    if "release_version" in fleet and "metadata_version" in fleet:
        problems.append("release_version and metadata_version are two words for one thing: keep one")
    if fleet.get("existing_cluster") and fleet.get("cluster_id") == NEW_CLUSTER:
        problems.append('existing_cluster = true needs the id of that cluster, not cluster_id = "new"')
    return problems
