"""Values of `observation.json`: each function reads one, and raises ValueError with the words for what was expected."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kafkactl.core.errors import DecodeError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.migration.observed.driver_lock import Holder, LockSeen
from kafkactl.migration.observed.observation import DirectorySeen, Mode, ServerSeen
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.storage.partition_folders import PartitionIds


@frozen
class RawAnswer:
    """The body of a response, and the version that it was asked in."""

    version: int
    body: bytes = field(repr=False)


def read_table(value: object) -> Mapping[str, Any]:
    """Read a table."""
    if not isinstance(value, dict):
        raise ValueError("table")
    return value


def read_text(value: object) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise ValueError("text")
    return value


def read_texts(value: object) -> tuple[str, ...]:
    """Read a list of texts."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError("list of texts")
    return tuple(value)


def read_boolean(value: object) -> bool:
    """Read a truth value."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def read_whole(value: object) -> int:
    """Read a whole number of 64 bits."""
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError("whole number")
    return value


def read_node_id(value: object) -> int:
    """Read the id of a node."""
    if type(value) is not int or not 0 <= value < 2**31:
        raise ValueError("node id")
    return value


def read_endpoints(value: object) -> Mapping[int, str]:
    """Read addresses by node id."""
    table = read_table(value)
    if not all(id.isascii() and id.isdigit() and isinstance(address, str) for id, address in table.items()):
        raise ValueError("table of addresses by node id")
    return {int(id): address for id, address in table.items()}


def read_number(value: object) -> float:
    """Read a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("number")
    return value


def read_role(value: object) -> Role:
    """Read the role of a node."""
    if value not in Role.__members__.values():
        raise ValueError(f"role ({', '.join(Role)})")
    return Role(str(value))


def read_mode(value: object) -> Mode:
    """Read the mode of a node."""
    if value not in Mode.__members__.values():
        raise ValueError(f"mode ({', '.join(Mode)})")
    return Mode(str(value))


def read_servers(value: object) -> tuple[ServerSeen, ...]:
    """Read ZooKeeper's servers."""
    if not isinstance(value, list):
        raise ValueError("list of servers")
    return tuple(_server(read_table(server)) for server in value)


def _server(table: Mapping[str, Any]) -> ServerSeen:
    address, mode, version = (table.get(name) for name in ("address", "mode", "version"))
    if not isinstance(address, str) or not all(text is None or isinstance(text, str) for text in (mode, version)):
        raise ValueError("list of servers")
    return ServerSeen(address=address, mode=mode, version=version)


def read_finding(value: object) -> Finding:
    """Read a finding in the one shape of findings."""
    table = read_table(value)
    words = {name: table.get(name) or "" for name in ("id", "subject", "message", "next_step")}
    if not words["id"] or not all(isinstance(word, str) for word in words.values()):
        raise ValueError("finding")
    if table.get("severity") not in Severity.__members__.values():
        raise ValueError("finding of a known severity")
    evidence = table.get("evidence")
    return Finding(
        severity=Severity(table["severity"]), evidence=evidence if isinstance(evidence, dict) else {}, **words
    )


def read_answer(value: object) -> RawAnswer:
    """Read the body of a response, in base64."""
    table = read_table(value)
    version, body = table.get("version"), table.get("body")
    if type(version) is not int or not 0 <= version < 2**15:
        raise ValueError("answer with the version that it was asked in")
    if not isinstance(body, str):
        raise ValueError("answer with a body in base64")
    try:
        return RawAnswer(version=version, body=base64.b64decode("".join(body.split()).encode("ascii"), validate=True))
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError("answer with a body in base64") from None


def read_meta_properties(value: object) -> Mapping[str, str]:
    """Read a table of texts, or the text of the file; of several directories the first one."""
    if isinstance(value, list):
        value = value[0] if value else {}
    if isinstance(value, str):
        try:
            return dict(parse_properties(value.encode("utf-8", "surrogatepass")).mapping)
        except DecodeError:
            raise ValueError("file of properties") from None
    table = read_table(value)
    if table and all(isinstance(element, dict) for element in table.values()):
        table = next(iter(table.values()))
    if any(isinstance(element, dict | list) or element is None for element in table.values()):
        raise ValueError("table of texts")
    return {name: element if isinstance(element, str) else json.dumps(element) for name, element in table.items()}


def read_directories(value: object) -> tuple[DirectorySeen, ...]:
    """Read the directories of a node that were listed."""
    if not isinstance(value, list):
        raise ValueError("list of directories")
    return tuple(_directory(read_table(directory)) for directory in value)


def _directory(table: Mapping[str, Any]) -> DirectorySeen:
    path, is_empty, directory_id = (table.get(name) for name in ("path", "empty", "directory_id"))
    if not isinstance(path, str) or not isinstance(is_empty, bool) or not isinstance(directory_id, str | None):
        raise ValueError("list of directories")
    return DirectorySeen(path=path, is_empty=is_empty, directory_id=directory_id)


def read_partition_ids(value: object) -> PartitionIds:
    """Read the topic ids in the partition folders of a node."""
    table = read_table(value)
    return PartitionIds(
        topic_ids=_texts_by_name(table.get("topics")),
        without_id=read_texts(table.get("without_id")),
        other_ids=_texts_by_name(table.get("other_ids")),
        stray_ids=_texts_by_name(table.get("stray_ids")),
        is_complete=read_boolean(table.get("complete")),
    )


def _texts_by_name(value: object) -> Mapping[str, str]:
    table = read_table(value)
    if not all(isinstance(text, str) for text in table.values()):
        raise ValueError("table of texts")
    return table


def read_lock(value: object) -> LockSeen:
    """Read the lock of the migration's driver: its holder, or that it is free."""
    holder = read_table(value).get("holder")
    if holder is None:
        return LockSeen(holder=None)
    return LockSeen(holder=Holder.from_table(read_table(holder)))
