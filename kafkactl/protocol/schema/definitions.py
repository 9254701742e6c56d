"""Message definitions by name, by api key, by control record type.

`schemas/index.json` has the file of each, so that one message costs one small file. Index and files are made by
scripts/import_definitions.py from released Kafka. A message is known by the name in its definition, which is not
always that of Kafka's file (ZkMigrationRecord.json defines ZkMigrationStateRecord).
"""

from __future__ import annotations

import functools
from typing import Any

from kafkactl.core.data_files import read_data
from kafkactl.core.errors import SchemaError
from kafkactl.protocol.schema.build import build_message
from kafkactl.protocol.schema.dialect import parse_definition
from kafkactl.protocol.schema.spec import MessageSpec


@functools.cache
def message(name: str) -> MessageSpec:
    """Return the message of that name, `FetchRequest` or `PartitionRecord`. Raises SchemaError `unknown-definition`."""
    folder = _folder_of().get(name)
    if folder is None:
        raise _unknown(f"the message {name!r}")
    spec = build_message(parse_definition(read_data(f"{folder}/{name}.json").decode("utf-8")))
    if spec.name != name:
        raise SchemaError(f"schemas/{folder}/{name}.json defines {spec.name}", id="invalid-definition")
    return spec


def metadata_record(api_key: int) -> MessageSpec:
    """Return a record of the metadata log. Raises SchemaError `unknown-definition`."""
    return _by_key("metadata", api_key, "metadata record")


def metadata_record_names() -> tuple[str, ...]:
    """Return the names of all metadata records by api key, including those removed in newer releases."""
    return tuple(_index()["metadata"].values())


def remote_log_record(api_key: int) -> MessageSpec:
    """Return a record of the topic `__remote_log_metadata` (KIP-405). Raises SchemaError `unknown-definition`."""
    return _by_key("tiered", api_key, "remote log metadata record")


def request(api_key: int) -> MessageSpec:
    """Return a request. Raises SchemaError `unknown-definition`."""
    return _by_key("request", api_key, "request")


def response(api_key: int) -> MessageSpec:
    """Return a response. Raises SchemaError `unknown-definition`."""
    return _by_key("response", api_key, "response")


def control_record(record_type: int) -> MessageSpec:
    """Return the message that the value of a control record holds (2 is a LeaderChangeMessage).

    Source: `clients/.../ControlRecordType.java`. Raises SchemaError `unknown-definition`.
    """
    return _by_key("control_records", record_type, "control record")


def message_names() -> tuple[str, ...]:
    """Return the names of all messages, sorted."""
    return tuple(sorted(_folder_of()))


def releases() -> tuple[str, ...]:
    """Return the Kafka releases from whose jars the definitions were made, oldest first."""
    return tuple(_index()["releases"])


def _by_key(table: str, key: int, what: str) -> MessageSpec:
    name = _index()[table].get(str(key))
    if name is None:
        raise _unknown(f"a {what} with the number {key}")
    return message(name)


def _unknown(what: str) -> SchemaError:
    return SchemaError(
        f"kafkactl has no definition of {what} (it knows Kafka up to {releases()[-1]})",
        id="unknown-definition",
        next_step="If a newer Kafka wrote this, use a newer kafkactl.",
    )


@functools.cache
def _index() -> dict[str, Any]:
    return parse_definition(read_data("index.json").decode("utf-8"))


@functools.cache
def _folder_of() -> dict[str, str]:
    return {name: folder for folder, names in _index()["folders"].items() for name in names}
