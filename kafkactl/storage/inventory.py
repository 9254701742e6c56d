"""The fleet as its operator writes it down: one TOML file that says which nodes there will be.

What this file guards: a word that is misspelt must not be silently without effect (`scram_fle` would give a
cluster without users), so every unknown key is an error, and all errors of the file are told at once.

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

import difflib
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any

from kafkactl.errors import InputError
from kafkactl.frozen import frozen

NEW_CLUSTER = "new"


class VoterRole(StrEnum):
    """What a controller of a dynamic quorum is when the cluster first starts (KIP-853).

    `initial` controllers are formatted with the list of all of them (`-I`), a `standalone` one with itself
    alone (`-s`), a `later` one joins by add-controller (`-N`).
    """

    INITIAL = "initial"
    STANDALONE = "standalone"
    LATER = "later"


@frozen
class InventoryNode:
    """One node. `config` is the path on the node's host; the planning machine reads `root` + `config`.

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


class InventoryError(InputError):
    """The inventory cannot be used; `problems` are all of them, one sentence each."""

    def __init__(self, message: str, *, id: str, problems: tuple[str, ...] = (), next_step: str | None = None) -> None:
        """As InputError; the message holds the problems too."""
        super().__init__(message, id=id, next_step=next_step)
        self.problems = problems


# --- the keys -----------------------------------------------------------------------------------------------

# A reader takes the TOML value and gives ours, or raises ValueError with what was expected.
Reader = Callable[[object], Any]


@frozen(kw_only=False)
class Key:
    """One key of a table: how its value is read, whether it must be there, and whether an error may show
    it."""

    read: Reader
    required: bool = False
    secret: bool = False


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a non-empty text in quotes")
    return value


def _scram_file(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or value.lstrip().startswith("SCRAM-"):
        raise ValueError("the path of a file of credentials (they do not stand in an inventory)")
    return value


def _version(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError('a version in quotes, such as "4.3.1" (TOML reads 4.10 without quotes as 4.1)')
    return value


def _node_id(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 2**31 - 1:
        raise ValueError("a whole number from 0 to 2147483647, without quotes")
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ValueError('a list of texts, such as ["a", "b"]')
    return tuple(value)


def _choice(*words: str) -> Reader:
    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"one of: {', '.join(words)}")
        return value

    return read


def _voter(value: object) -> VoterRole:
    return VoterRole(_choice(*VoterRole)(value))


def _features(value: object) -> tuple[str, ...]:
    """Either a table of levels or Kafka's own `name=level` texts."""
    if isinstance(value, list):
        return _texts(value)
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
    "cluster_id": Key(_text, required=True),
    "kafka_version": Key(_version),
    "release_version": Key(_version),
    "metadata_version": Key(_version),
    "features": Key(_features),
    "scram_file": Key(_scram_file, secret=True),
    "mode": Key(_choice("static", "dynamic")),
    "existing_cluster": Key(_boolean),
    "controller_addresses": Key(_texts),
}

NODE_KEYS: dict[str, Key] = {
    "id": Key(_node_id, required=True),
    "host": Key(_text, required=True),
    "config": Key(_text, required=True),
    "root": Key(_text),
    "kafka_version": Key(_version),
    "voter": Key(_voter),
    "directory_id": Key(_text),
    "mounts": Key(_texts),
}

# Words that people write for ours; difflib alone would not find them.
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


# --- reading ------------------------------------------------------------------------------------------------


def parse_inventory(data: bytes, *, file: str) -> Inventory:
    """Read an inventory. Raises InventoryError: `inventory-not-toml`, or `invalid-inventory` with every
    problem."""
    table = _parse_toml(data, file)
    problems: list[str] = []
    raw_nodes = table.pop("nodes", None)
    fleet = _read_table(table, FLEET_KEYS, "", problems, also=("nodes",))
    nodes = _read_nodes(raw_nodes, problems)
    problems += _conflicts(fleet)
    if problems:
        raise InventoryError(
            f"{file}: " + ("\n" + " " * len(file) + "  ").join(problems),
            id="invalid-inventory",
            problems=tuple(problems),
            next_step="Correct the inventory; nothing was planned.",
        )
    other_word = fleet.pop("metadata_version", None)
    return Inventory(file=file, nodes=nodes, **{"release_version": other_word, **fleet})


def _parse_toml(data: bytes, file: str) -> dict[str, Any]:
    import tomli

    try:
        return tomli.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InventoryError(
            f"{file}, byte {error.start}: not UTF-8", id="inventory-not-toml", next_step="Save it as UTF-8."
        ) from None
    except tomli.TOMLDecodeError as error:
        raise InventoryError(
            f"{file}: {error}", id="inventory-not-toml", next_step="Correct the line; the inventory is TOML."
        ) from None
    except RecursionError:
        raise InventoryError(f"{file}: nested too deeply", id="inventory-not-toml") from None


def _read_nodes(raw: object, problems: list[str]) -> tuple[InventoryNode, ...]:
    if not isinstance(raw, list) or not raw or not all(isinstance(item, dict) for item in raw):
        problems.append("nodes: expected at least one [[nodes]] table")
        return ()
    nodes: list[InventoryNode] = []
    for position, item in enumerate(raw):
        before = len(problems)
        values = _read_table(item, NODE_KEYS, _where(position, item), problems)
        if "root" in values and not str(values.get("config", "/")).startswith("/"):
            problems.append(f"{_where(position, item)}with root, config is an absolute path (as on the host)")
        if len(problems) == before:
            nodes.append(InventoryNode(**values))
    return tuple(nodes)


def _where(position: int, item: Mapping[str, object]) -> str:
    named = item.get("id")
    return f"nodes[{position}]" + (f" (id {named})" if isinstance(named, int) else "") + ": "


def _read_table(
    table: Mapping[str, object],
    keys: Mapping[str, Key],
    where: str,
    problems: list[str],
    also: tuple[str, ...] = (),
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in table.items():
        key = keys.get(name)
        if key is None:
            problems.append(f"{where}unknown key {name!r}{_did_you_mean(name, (*keys, *also))}")
            continue
        try:
            values[name] = key.read(value)
        except ValueError as error:
            shown = "" if key.secret else f" = {_shown(value)}"
            problems.append(f"{where}{name}{shown}: expected {error}")
    problems.extend(f"{where}{name} is missing" for name, key in keys.items() if key.required and name not in table)
    return values


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    words = list(known)
    simple = name.lower().replace("-", "_")
    guess = _OTHER_WORDS.get(simple)
    if guess not in words:
        close = difflib.get_close_matches(simple, words, n=1)
        guess = close[0] if close else None
    return f" (did you mean {guess!r}?)" if guess else f" (known: {', '.join(words)})"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _conflicts(fleet: Mapping[str, object]) -> list[str]:
    problems = []
    if "release_version" in fleet and "metadata_version" in fleet:
        problems.append("release_version and metadata_version are two words for one thing: keep one")
    if fleet.get("existing_cluster") and fleet.get("cluster_id") == NEW_CLUSTER:
        problems.append('existing_cluster = true needs the id of that cluster, not cluster_id = "new"')
    return problems
