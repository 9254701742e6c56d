"""The znodes about the cluster as a whole: its id, controller, brokers, features, and the migration itself.

Sources: core `ZkData.scala` (ClusterIdZNode, ControllerZNode, ControllerEpochZNode, BrokerIdZNode, FeatureZNode,
MigrationZNode), `KafkaZkClient.getSortedBrokerList`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkactl.core.findings import Severity
from kafkactl.migration.zktree.json import (
    MISSING,
    BrokenError,
    as_int,
    as_list,
    as_long,
    as_object,
    as_text,
    given,
    needed,
    parse_json,
)
from kafkactl.migration.zktree.reading import TreeReader
from kafkactl.migration.zktree.values import ZkBroker, ZkController, ZkFeatures, ZkMigration
from kafkactl.migration.zktree.znode import Znode
from kafkactl.protocol.text.java_text import parse_int

BROKER_IDS: Final = "/brokers/ids"
_FEATURE_VERSIONS: Final = (1, 2)


def read_cluster_id(reader: TreeReader) -> str | None:
    """Read the cluster id; KRaft controllers must be formatted with it."""
    return reader.read(
        "/cluster/id",
        lambda znode: needed(as_object(parse_json(znode.data)), "id", as_text),
        id="broken-cluster-id-znode",
        then="brokers cannot start, and the id to format the controllers with is unknown",
    )


def read_controller(reader: TreeReader) -> ZkController | None:
    """Read the holder of `/controller`."""
    return reader.read(
        "/controller",
        _controller,
        id="broken-controller-znode",
        then="no KRaft controller can take over from it",
    )


def _controller(znode: Znode) -> ZkController:
    fields = as_object(parse_json(znode.data))
    return ZkController(
        broker_id=needed(fields, "brokerid", as_int),
        kraft_epoch=given(fields, "kraftControllerEpoch", as_int),
        ephemeral=None if "ephemeral_owner" in znode.untold else znode.ephemeral_owner != 0,
        version=znode.version,
    )


def read_controller_epoch(reader: TreeReader) -> int | None:
    """Read the epoch of the ZooKeeper controller."""
    return reader.read(
        "/controller_epoch",
        _epoch,
        id="broken-controller-epoch-znode",
        then="no controller can be elected, and no KRaft controller can take over",
    )


def _epoch(znode: Znode) -> int:
    epoch = parse_int(_text(znode))
    if epoch is None:
        raise BrokenError("it is not a 32-bit whole number")
    return epoch


def _text(znode: Znode) -> str:
    if znode.data is None:
        raise BrokenError("it has null data")
    return znode.data.decode("utf-8", "replace")


def read_migration(reader: TreeReader) -> ZkMigration | None:
    """Read `/migration`. An empty one is reported by its own id (KAFKA-19480)."""
    znode = reader.tree.get("/migration")
    if znode is not None and znode.hidden is None and not (znode.data or b"").strip():
        text = "/migration is empty, so the migration driver hangs before its first step (KAFKA-19480); delete it"
        reader.note("empty-migration-znode", Severity.BLOCKER, "/migration", text, version=znode.version)
        return None
    return reader.read(
        "/migration",
        _migration,
        id="broken-migration-znode",
        then="the migration driver hangs before its first step",
    )


def _migration(znode: Znode) -> ZkMigration:
    fields = as_object(parse_json(znode.data))
    version = needed(fields, "version", as_int)
    if version != 0:
        raise BrokenError(f"its version is {version}; only 0 is known")
    return ZkMigration(
        controller_id=needed(fields, "kraft_controller_id", as_int),
        controller_epoch=needed(fields, "kraft_controller_epoch", as_int),
        metadata_offset=needed(fields, "kraft_metadata_offset", as_long),
        metadata_epoch=needed(fields, "kraft_metadata_epoch", as_int),
        version=znode.version,
        mtime_ms=znode.mtime_ms,
    )


def read_brokers(reader: TreeReader) -> dict[int, ZkBroker]:
    """Read the live brokers by id."""
    found = {}
    for name in reader.tree.children(BROKER_IDS):
        path = f"{BROKER_IDS}/{name}"
        number = parse_int(name)
        if number is None:
            text = "its name is not a broker id; every read of the broker list fails"
            reader.note("broken-broker-znode", Severity.BLOCKER, path, text)
            continue
        broker = reader.read(
            path,
            lambda znode, id=number: _broker(id, znode),  # type: ignore[misc]
            id="broken-broker-znode",
            then="controllers and clients that read it fail",
        )
        if broker is not None:
            found[number] = broker
    return found


def _broker(id: int, znode: Znode) -> ZkBroker:
    fields = as_object(parse_json(znode.data))
    version = needed(fields, "version", as_int)
    needed(fields, "jmx_port", as_int)
    if version < 1:
        raise BrokenError(f"its version is {version}; versions begin with 1")
    if version == 1:
        port = needed(fields, "port", as_int)
        endpoints: tuple[str, ...] = (f"PLAINTEXT://{needed(fields, 'host', as_text)}:{port}",)
    else:
        listed = needed(fields, "endpoints", as_list)
        endpoints = tuple(as_text(endpoint, "an entry of endpoints") for endpoint in listed)
    rack = fields.get("rack")
    return ZkBroker(
        id=id,
        epoch=znode.czxid,
        version=version,
        endpoints=endpoints,
        security_protocols=given(fields, "listener_security_protocol_map", _texts) or {},
        rack=None if rack is None else as_text(rack, "rack"),
        features=_ranges(fields.get("features")),
    )


def _texts(value: object, what: str) -> dict[str, str]:
    return {name: as_text(text, f"{what}.{name}") for name, text in as_object(value, what).items()}


def _ranges(value: object) -> dict[str, tuple[int, int]]:
    if value is None:
        return {}
    found = {}
    for name, feature in as_object(value, "features").items():
        levels = as_object(feature, f"features.{name}")
        found[name] = needed(levels, "min_version", as_int), needed(levels, "max_version", as_int)
    return found


def read_features(reader: TreeReader) -> ZkFeatures | None:
    """Read `/feature`, which is not migrated."""
    return reader.read(
        "/feature",
        _features,
        id="broken-feature-znode",
        then="every broker that reads it stops",
    )


def _features(znode: Znode) -> ZkFeatures:
    parsed = parse_json(znode.data)
    if parsed is MISSING:
        raise BrokenError("it is empty")
    fields = as_object(parsed)
    version = needed(fields, "version", as_int)
    if version not in _FEATURE_VERSIONS:
        raise BrokenError(f"its version is {version}; 1 and 2 are known")
    status = needed(fields, "status", as_int)
    if status not in (0, 1):
        raise BrokenError(f"its status is {status}; 0 and 1 are known")
    levels = needed(fields, "features", as_object)
    return ZkFeatures(
        version=version,
        enabled=status == 1,
        levels={name: _level(version, name, as_object(level, f"features.{name}")) for name, level in levels.items()},
    )


def _level(version: int, name: str, levels: Mapping[str, object]) -> int:
    highest = needed(levels, "max_version_level", as_int)
    lowest = needed(levels, "min_version_level", as_int) if version == 1 else 1
    if not 1 <= lowest <= highest:
        raise BrokenError(f"the levels of {name} are {lowest} to {highest}")
    return highest
