"""`observation.json`: what nodes answered, as they answered it, before it is interpreted.

Invariant: what is absent or null is unknown; a field that cannot be read is unknown too, and a finding reports this;
only a file that is not an observation at all is an error. Unknown keys are of a newer kafkactl and are ignored.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Final, TypeVar

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.json_input import JsonInputError, parse_json
from kafkactl.core.values import Role
from kafkactl.migration.observed.driver_lock import LockSeen
from kafkactl.migration.observed.fields import (
    RawAnswer,
    read_answer,
    read_boolean,
    read_directories,
    read_endpoints,
    read_finding,
    read_lock,
    read_meta_properties,
    read_mode,
    read_node_id,
    read_number,
    read_partition_ids,
    read_role,
    read_servers,
    read_table,
    read_text,
    read_texts,
    read_whole,
)
from kafkactl.migration.observed.observation import DirectorySeen, IdentitySeen, Mode, ServerSeen
from kafkactl.storage.partition_folders import PartitionIds

KIND: Final = "migrate.observation"
SCHEMA_VERSION: Final = 1
CLOSED: Final = "closed"
_MOST_LISTED: Final = 10_000  # nodes, findings
_MOST_NOTED: Final = 100
T = TypeVar("T")


@frozen
class RawNode:
    """A node as the file has it. `quorum_error` is why there is no answer: `closed` if the node hung up."""

    id: int
    role: Role
    address: str | None = None
    identity: IdentitySeen | None = None
    alive: bool | None = None
    kafka_version: str | None = None
    mode: Mode | None = None
    config: str | None = field(default=None, repr=False)
    meta_properties: Mapping[str, str] | None = None
    api_versions: RawAnswer | None = None
    describe_quorum: RawAnswer | None = None
    quorum_error: str | None = None
    metrics: Mapping[str, float] | None = None
    strays: tuple[str, ...] | None = None
    directories: tuple[DirectorySeen, ...] | None = None
    partition_ids: PartitionIds | None = None


@frozen
class RawObservation:
    """The file. `time_ms` is 0 if it does not say; `chroot` None if it does not. `cluster_id` is the inventory's.

    The zxids are those of the tree (`Tree.zxid_before`); `findings` are the observer's own: what it could not see.
    """

    time_ms: int = 0
    cluster_id: str | None = None
    connect: str | None = None
    chroot: str | None = None
    zxid_before: int | None = None
    zxid_after: int | None = None
    servers: tuple[ServerSeen, ...] | None = None
    lock: LockSeen | None = None
    nodes: tuple[RawNode, ...] = ()
    findings: tuple[Finding, ...] = ()


def render_observation(raw: RawObservation) -> bytes:
    """Return the bytes of `observation.json`; the same observation always gives the same bytes."""
    table = {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "time_ms": raw.time_ms,
        "cluster_id": raw.cluster_id,
        "zookeeper": {
            "connect": raw.connect,
            "chroot": raw.chroot,
            "zxid_before": raw.zxid_before,
            "zxid_after": raw.zxid_after,
            "members": None if raw.servers is None else [_server_table(server) for server in raw.servers],
            "driver_lock": _lock_table(raw.lock),
        },
        "nodes": [_node_table(node) for node in raw.nodes],
        "findings": [finding.to_dict() for finding in raw.findings],
    }
    return json.dumps(table, indent=2).encode("ascii") + b"\n"


def _server_table(server: ServerSeen) -> dict[str, Any]:
    return {"address": server.address, "mode": server.mode, "version": server.version}


def _lock_table(lock: LockSeen | None) -> dict[str, Any] | None:
    return None if lock is None else {"holder": None if lock.holder is None else lock.holder.to_dict()}


def _directory_table(directory: DirectorySeen) -> dict[str, Any]:
    return {"path": directory.path, "empty": directory.is_empty, "directory_id": directory.directory_id}


def _node_table(node: RawNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "role": node.role.value,
        "address": node.address,
        "identity": _identity_table(node.identity),
        "alive": node.alive,
        "kafka_version": node.kafka_version,
        "mode": None if node.mode is None else node.mode.value,
        "config": node.config,
        "meta_properties": None if node.meta_properties is None else dict(node.meta_properties),
        "api_versions": _answer_table(node.api_versions),
        "describe_quorum": _answer_table(node.describe_quorum)
        if node.quorum_error is None
        else {"error": node.quorum_error},
        "metrics": None if node.metrics is None else dict(node.metrics),
        "stray_directories": None if node.strays is None else list(node.strays),
        "directories": None
        if node.directories is None
        else [_directory_table(directory) for directory in node.directories],
        "partition_ids": _partition_ids_table(node.partition_ids),
    }


def _partition_ids_table(ids: PartitionIds | None) -> dict[str, Any] | None:
    if ids is None:
        return None
    return {
        "topics": dict(ids.topic_ids),
        "without_id": list(ids.without_id),
        "other_ids": dict(ids.other_ids),
        "stray_ids": dict(ids.stray_ids),
        "complete": ids.is_complete,
    }


def _identity_table(seen: IdentitySeen | None) -> dict[str, Any] | None:
    if seen is None:
        return None
    return {
        "role": None if seen.role is None else seen.role.value,
        "cluster_id": seen.cluster_id,
        "asked_cluster_id": seen.asked_cluster_id,
        "is_of_asked": seen.is_of_asked,
        "node_id": seen.node_id,
        "endpoints": {str(id): address for id, address in seen.endpoints.items()},
        "denied": list(seen.denied),
        "principal": seen.principal,
    }


def _answer_table(answer: RawAnswer | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    return {"version": answer.version, "body": base64.b64encode(answer.body).decode("ascii")}


def parse_observation(data: bytes, *, file: str) -> tuple[RawObservation, tuple[Finding, ...]]:
    """Read `observation.json`, and say what of it could not be read.

    Raises InputError `invalid-observation` for anything but JSON of this kind, `unsupported-observation-version`.
    """
    table = _parsed(data, file)
    reader = _FieldReader(file)
    reader.check_count(table.get("nodes"), "nodes")
    reader.check_count(table.get("findings"), "findings")
    zookeeper = reader.table(table, "zookeeper", "") or {}
    nodes = reader.nodes(table.get("nodes"))
    raw = RawObservation(
        time_ms=reader.value(table, "time_ms", "", read_whole) or 0,
        cluster_id=reader.value(table, "cluster_id", "", read_text),
        connect=reader.value(zookeeper, "connect", "zookeeper.", read_text),
        chroot=reader.value(zookeeper, "chroot", "zookeeper.", read_text),
        zxid_before=reader.value(zookeeper, "zxid_before", "zookeeper.", read_whole),
        zxid_after=reader.value(zookeeper, "zxid_after", "zookeeper.", read_whole),
        servers=reader.value(zookeeper, "members", "zookeeper.", read_servers),
        lock=reader.value(zookeeper, "driver_lock", "zookeeper.", read_lock),
        nodes=nodes,
        findings=reader.saved_findings(table.get("findings")),
    )
    return raw, tuple(reader.findings)


def _parsed(data: bytes, file: str) -> Mapping[str, Any]:
    try:
        table = parse_json(data, any_number=True)
    except JsonInputError as error:
        raise InputError(f"{file} is not JSON: {error}", id="invalid-observation") from None
    if not isinstance(table, dict) or table.get("kind") not in (None, KIND):
        raise InputError(f"{file} is not an observation of a migration", id="invalid-observation")
    if table.get("schema_version") not in (None, SCHEMA_VERSION) or table.get("schema_version") is True:
        raise InputError(
            f"{file} is an observation of another version than {SCHEMA_VERSION}", id="unsupported-observation-version"
        )
    return table


class _FieldReader:
    """Reader of fields of tables; a field that cannot be read is unknown and noted."""

    def __init__(self, file: str) -> None:
        self.findings: list[Finding] = []
        self._file = file

    def check_count(self, value: object, what: str) -> None:
        """Raise InputError for a list that is longer than any cluster makes it."""
        if isinstance(value, list) and len(value) > _MOST_LISTED:
            raise InputError(
                f"{self._file} holds {len(value)} {what}; at most {_MOST_LISTED} are read", id="invalid-observation"
            )

    def note(self, where: str, expected: str) -> None:
        if len(self.findings) > _MOST_NOTED:
            return
        if len(self.findings) == _MOST_NOTED:
            where, expected = f"what follows {where}", "observation as kafkactl writes it, and more is not listed"
        self.findings.append(
            warning(
                "observation-field-unreadable",
                self._file,
                f"{where} is not {expected}; it is treated as unknown",
                field=where,
            )
        )

    def value(self, table: Mapping[str, Any], name: str, where: str, read: Callable[[Any], T]) -> T | None:
        if table.get(name) is None:
            return None
        try:
            return read(table[name])
        except ValueError as error:
            self.note(where + name, str(error))
            return None

    def table(self, table: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any] | None:
        return self.value(table, name, where, read_table)

    def saved_findings(self, value: object) -> tuple[Finding, ...]:
        """Read the observer's findings, in the one shape of findings."""
        if value is not None and not isinstance(value, list):
            self.note("findings", "list")
            return ()
        found = []
        for number, element in enumerate(value or ()):
            try:
                found.append(read_finding(element))
            except ValueError as error:
                self.note(f"findings[{number}]", str(error))
        return tuple(found)

    def nodes(self, value: object) -> tuple[RawNode, ...]:
        if value is None:
            return ()
        if not isinstance(value, list):
            self.note("nodes", "list")
            return ()
        found: dict[tuple[int, Role], RawNode] = {}
        for number, table in enumerate(value):
            node = self._node(table, f"nodes[{number}]")
            if node is not None and (node.id, node.role) in found:
                self.note(f"nodes[{number}]", f"new node, {node.role} {node.id} is already there")
            elif node is not None:
                found[node.id, node.role] = node
        return tuple(found.values())

    def _node(self, table: object, where: str) -> RawNode | None:
        if not isinstance(table, dict):
            self.note(where, "table")
            return None
        id, role = self.value(table, "id", f"{where}.", read_node_id), self.value(table, "role", f"{where}.", read_role)
        if id is None or role is None:
            self.note(where, "node with an id and the role broker or controller")
            return None
        at = f"{where}."
        answer = table.get("describe_quorum")
        quorum = answer if isinstance(answer, dict) and "error" in answer else {}
        return RawNode(
            id=id,
            role=role,
            address=self.value(table, "address", at, read_text),
            identity=self._identity(table, at),
            alive=self.value(table, "alive", at, read_boolean),
            kafka_version=self.value(table, "kafka_version", at, read_text),
            mode=self.value(table, "mode", at, read_mode),
            config=self.value(table, "config", at, read_text),
            meta_properties=self.value(table, "meta_properties", at, read_meta_properties),
            api_versions=self.value(table, "api_versions", at, read_answer),
            describe_quorum=None if quorum else self.value(table, "describe_quorum", at, read_answer),
            quorum_error=self.value(quorum, "error", f"{at}describe_quorum.", read_text),
            metrics=self._metrics(table, at),
            strays=self.value(table, "stray_directories", at, read_texts),
            directories=self.value(table, "directories", at, read_directories),
            partition_ids=self.value(table, "partition_ids", at, read_partition_ids),
        )

    def _identity(self, table: Mapping[str, Any], at: str) -> IdentitySeen | None:
        known = self.table(table, "identity", at)
        if known is None:
            return None
        inside = f"{at}identity."
        return IdentitySeen(
            role=self.value(known, "role", inside, read_role),
            cluster_id=self.value(known, "cluster_id", inside, read_text),
            asked_cluster_id=self.value(known, "asked_cluster_id", inside, read_text),
            is_of_asked=self.value(known, "is_of_asked", inside, read_boolean),
            node_id=self.value(known, "node_id", inside, read_node_id),
            endpoints=self.value(known, "endpoints", inside, read_endpoints) or {},
            denied=self.value(known, "denied", inside, read_texts) or (),
            principal=self.value(known, "principal", inside, read_text),
        )

    def _metrics(self, table: Mapping[str, Any], at: str) -> dict[str, float] | None:
        metrics = self.table(table, "metrics", at)
        if metrics is None:
            return None
        read = {name: self.value(metrics, name, f"{at}metrics.", read_number) for name in metrics}
        return {name: value for name, value in read.items() if value is not None}
