"""`meta.properties`: which node and cluster a log directory belongs to.

Invariant: what is written has the bytes of Kafka's own writer (JDK 17, UTC), and what is read is believed or refused
as a starting node would. Sources: metadata `MetaProperties`, `MetaPropertiesVersion`, `PropertiesUtils`; up to 3.6
core `BrokerMetadataCheckpoint`. Version 0 is ZooKeeper's (broker.id), version 1 is KRaft's (node.id).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final, NoReturn

from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.protocol.text.java_text import date_text, parse_int, trim
from kafkactl.protocol.text.properties import Properties, PropertyWarning, parse_properties, render_property

META_PROPERTIES: Final = "meta.properties"
VERSION = "version"
CLUSTER_ID = "cluster.id"
NODE_ID = "node.id"
BROKER_ID = "broker.id"
DIRECTORY_ID = "directory.id"
FIRST_LAYOUT_WITH_DIRECTORY_ID = 2
# The order in which JDK 17's Properties (a hash table) walks these keys; JDK 18 and later sort them.
_JDK17_ORDER = (NODE_ID, DIRECTORY_ID, VERSION, CLUSTER_ID)


@frozen
class MetaProperties:
    """Content of a `meta.properties`. `version` 0 may lack every key; version 1 has cluster_id and node_id.

    `node_id` is None in version 0, whose id is `broker_id`; `stored_id` is whichever counts. `properties` holds the
    file as it is, unknown keys included.
    """

    version: int
    cluster_id: str | None
    node_id: int | None
    broker_id: int | None
    directory_id: Uuid | None
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    warnings: tuple[PropertyWarning, ...] = ()

    @property
    def stored_id(self) -> int | None:
        """Return the node id that Kafka compares with the configuration: broker.id in version 0, node.id in
        version 1."""
        return self.broker_id if self.version == 0 else self.node_id


def parse_meta_properties(data: bytes, *, file: str | None = None) -> MetaProperties:
    """Read a file as nodes of 3.7 and later do (3.3 to 3.6 agree on every file that Kafka wrote).

    An empty file is a version 0 without ids. `version` is trimmed, ids are not. Raises DecodeError with the field in
    `path`, Kafka's words in `reason` and one of the ids malformed-unicode-escape, unknown-meta-properties-version,
    unreadable-meta-properties-id, missing-meta-properties-id.
    """
    source = _Source(properties=parse_properties(data, file=file), file=file)
    version = _read_version(source)
    id_key = BROKER_ID if version == 0 else NODE_ID
    number = _read_id(source, id_key, required=version > 0)
    directory_id = _read_directory_id(source)
    cluster_id = source.properties.mapping.get(CLUSTER_ID)
    if version > 0 and cluster_id is None:
        source.refuse("missing-meta-properties-id", CLUSTER_ID, "cluster.id was not found.")
    return MetaProperties(
        version=version,
        cluster_id=cluster_id,
        node_id=number if version else None,
        broker_id=None if version else number,
        directory_id=directory_id,
        properties=source.properties.mapping,
        warnings=source.properties.warnings,
    )


def render_meta_properties(
    *, layout: int, cluster_id: str, node_id: int, directory_id: Uuid | None, now_ms: int
) -> bytes:
    """Return the bytes of a version 1 file as the tool of `layout` (1 to 4) writes them on JDK 17 in UTC.

    `directory_id` is left out in layout 1, and needed from layout 2 on (ValueError).
    """
    values = {VERSION: "1", CLUSTER_ID: cluster_id, NODE_ID: str(node_id)}
    if layout >= FIRST_LAYOUT_WITH_DIRECTORY_ID:
        if directory_id is None:
            raise ValueError(f"layout {layout} needs a directory id")
        values[DIRECTORY_ID] = str(directory_id)
    byte_stream = layout < FIRST_LAYOUT_WITH_DIRECTORY_ID  # later writers encode UTF-8 themselves
    lines = ["#", f"#{date_text(now_ms)}"]
    lines += [render_property(key, values[key], ascii_only=byte_stream) for key in _JDK17_ORDER if key in values]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


@frozen
class _Source:
    properties: Properties
    file: str | None

    def refuse(self, id: str, key: str, words: str) -> NoReturn:
        line = self.properties.line_of(key)
        raise DecodeError(
            words if line is None else f"{words} (line {line})",
            id=id,
            offset=self.properties.offset_of(key),
            path=key,
            file=self.file,
            next_step="Compare it with the meta.properties of the node's other directories before changing anything.",
        )


def _read_version(source: _Source) -> int:
    text = source.properties.mapping.get(VERSION, "0")
    version = parse_int(trim(text))
    if version is None:
        source.refuse("unknown-meta-properties-version", VERSION, f"Invalid meta.properties version string '{text}'")
    if version not in (0, 1):
        source.refuse("unknown-meta-properties-version", VERSION, f"Unknown meta.properties version number {version}")
    return version


def _read_id(source: _Source, key: str, *, required: bool) -> int | None:
    text = source.properties.mapping.get(key)
    if text is None:
        if required:
            source.refuse("missing-meta-properties-id", key, f"Failed to find {key}")
        return None
    number = parse_int(text)
    if number is None:
        words = f"Unable to read {key} as a base-10 number."
        hint = " A blank at the end is enough for that." if parse_int(trim(text)) is not None else ""
        source.refuse("unreadable-meta-properties-id", key, f"{words} Found {text!r}.{hint}")
    return number


def _read_directory_id(source: _Source) -> Uuid | None:
    text = source.properties.mapping.get(DIRECTORY_ID)
    if text is None:
        return None
    try:
        return Uuid.parse(text)
    except InputError as error:
        words = f"Unable to read directory.id as a Uuid: {error.message}"
        source.refuse("unreadable-meta-properties-id", DIRECTORY_ID, words)
