"""The tables of `--details`: every partition, record and part of the state as sorted rows, without secrets.

A table is a name, its columns with their kinds, and rows as plain tuples; who writes them knows the file format. Equal
states give equal rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafkactl.core.safe_text import json_text
from kafkactl.core.values import Uuid
from kafkactl.dryrun.prediction import Change
from kafkactl.metadata.image.json import image_parts
from kafkactl.metadata.image.model import Image, Topic
from kafkactl.protocol.redact import redacted_part

# Kinds of columns.
TEXT, INT, BOOL, FLOAT, INTS, TEXTS, OUTCOMES = "text", "int", "bool", "float", "ints", "texts", "outcomes"


class Table(NamedTuple):
    """`columns` are names with kinds; `rows` has a value for each, None if there is none."""

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: Iterable[tuple[Any, ...]]


CHANGES: Final = (
    ("topic", TEXT), ("partition", INT), ("leader_before", INT), ("leader_after", INT), ("isr_before", INTS),
    ("isr_after", INTS), ("elr_after", INTS), ("last_known_elr_after", INTS), ("leader_epoch_after", INT),
    ("recovering_after", BOOL), ("replicas_after", INTS), ("min_isr", INT), ("certain", BOOL),
    ("alternatives", OUTCOMES),
)  # fmt: skip
RECORDS: Final = (
    ("offset", INT), ("epoch", INT), ("timestamp_ms", INT), ("type", TEXT), ("version", INT), ("data", TEXT),
)  # fmt: skip
PARTITIONS: Final = (
    ("topic", TEXT), ("partition", INT), ("topic_id", TEXT), ("replicas", INTS), ("isr", INTS),
    ("removing_replicas", INTS), ("adding_replicas", INTS), ("leader", INT), ("leader_recovery_state", INT),
    ("leader_epoch", INT), ("partition_epoch", INT), ("directories", TEXTS), ("elr", INTS), ("last_known_elr", INTS),
)  # fmt: skip
# Parts of an image (`image_json`): the column, its kind, and the field that it shows; what is nested is JSON text.
_PARTS: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "voters": (
        ("voter_id", INT, "voterId"), ("directory_id", TEXT, "voterDirectoryId"), ("endpoints", TEXT, "endpoints"),
        ("kraft_version", TEXT, "kRaftVersionFeature"),
    ),
    "brokers": (
        ("broker_id", INT, "brokerId"), ("broker_epoch", INT, "brokerEpoch"), ("incarnation_id", TEXT, "incarnationId"),
        ("fenced", BOOL, "fenced"), ("in_controlled_shutdown", BOOL, "inControlledShutdown"),
        ("is_migrating_zk_broker", BOOL, "isMigratingZkBroker"), ("rack", TEXT, "rack"),
        ("directories", TEXTS, "logDirs"), ("cordoned_directories", TEXTS, "cordonedLogDirs"),
        ("endpoints", TEXT, "endPoints"), ("features", TEXT, "features"),
    ),
    "controllers": (
        ("controller_id", INT, "controllerId"), ("incarnation_id", TEXT, "incarnationId"),
        ("zk_migration_ready", BOOL, "zkMigrationReady"), ("endpoints", TEXT, "endPoints"),
        ("features", TEXT, "features"),
    ),
    "acls": (
        ("id", TEXT, "id"), ("resource_type", INT, "resourceType"), ("resource_name", TEXT, "resourceName"),
        ("pattern_type", INT, "patternType"), ("principal", TEXT, "principal"), ("host", TEXT, "host"),
        ("operation", INT, "operation"), ("permission_type", INT, "permissionType"),
    ),
    "scram": (("name", TEXT, "name"), ("mechanism", INT, "mechanism"), ("iterations", INT, "iterations")),
    "delegation_tokens": (
        ("owner", TEXT, "owner"), ("requester", TEXT, "requester"), ("renewers", TEXTS, "renewers"),
        ("issue_timestamp_ms", INT, "issueTimestamp"), ("max_timestamp_ms", INT, "maxTimestamp"),
        ("expiration_timestamp_ms", INT, "expirationTimestamp"),
    ),
}  # fmt: skip
COLUMNS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "changes": CHANGES,
    "records": RECORDS,
    "state": (("name", TEXT), ("value", TEXT)),
    "counts": (("type", TEXT), ("count", INT)),
    "topics": (("name", TEXT), ("topic_id", TEXT), ("partitions", INT)),
    "partitions": PARTITIONS,
    "features": (("name", TEXT), ("level", INT)),
    "configs": (("resource_type", INT), ("resource_name", TEXT), ("name", TEXT), ("value", TEXT)),
    "client_quotas": (("entity", TEXT), ("key", TEXT), ("value", FLOAT)),
    **{part: tuple((column, kind) for column, kind, _ in columns) for part, columns in _PARTS.items()},
}
"""The columns of each table of a dry run, by its name."""
NAMES: Final = frozenset((*COLUMNS, "segments", "findings", "objects"))
"""Names of all tables, those of `tiered` included. A folder with any other file is not replaced."""


def changes_table(changes: Sequence[Change]) -> Table:
    """Return a table of every partition that changes, by topic and number."""

    def row(change: Change) -> tuple[Any, ...]:
        ends = change.alternatives
        outcomes = [(end.leader, list(end.isr), list(end.elr), list(end.last_known_elr)) for end in ends]
        return (*(getattr(change, name) for name, _ in CHANGES[:-1]), outcomes)

    ordered = sorted(changes, key=lambda change: (change.topic, change.partition))
    return Table("changes", CHANGES, map(row, ordered))


def records_table(records: Iterable[Mapping[str, Any]]) -> Table:
    """Return the records that would be appended, as `log dump` writes them, in their order."""
    names = [name for name, _ in RECORDS[:-1]]
    rows = ((*(record[name] for name in names), _json(record["data"])) for record in records)
    return Table("records", RECORDS, rows)


def state_tables(image: Image, counts: Mapping[str, int], sha256: str) -> Iterator[Table]:
    """Yield the tables of the whole state, and of the counts of records by type."""
    topics = sorted(image.topics.values(), key=lambda topic: (topic.name, topic.id.raw))
    parts = image_parts(image)
    rows: dict[str, Iterable[tuple[Any, ...]]] = {
        "state": _scalars(parts, sha256),
        "counts": sorted(counts.items()),
        "topics": ((topic.name, str(topic.id), len(topic.partitions)) for topic in topics),
        "partitions": _partitions(topics),
        "features": sorted(image.features.items()),
        "configs": _configs(redacted_part("configs", parts["configs"])),
        "client_quotas": _quotas(image),
        **{name: _rows(redacted_part(name, parts[name] or []), columns) for name, columns in _PARTS.items()},
    }
    yield from (Table(name, COLUMNS[name], held) for name, held in rows.items())


def _partitions(topics: Iterable[Topic]) -> Iterator[tuple[Any, ...]]:
    known: dict[bytes, list[str]] = {}
    for topic in topics:
        states, id = topic.partitions.states, str(topic.id)
        for number in sorted(states):
            *front, directories, elr, last_known = states[number]
            if directories not in known:
                ids = range(0, len(directories), 16)
                known[directories] = [str(Uuid(directories[at : at + 16])) for at in ids]
            yield (topic.name, number, id, *front, known[directories], elr, last_known)


def _configs(held: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for resource in held:
        for name, value in resource["configs"].items():
            yield resource["resourceType"], resource["resourceName"], name, value


def _quotas(image: Image) -> list[tuple[Any, ...]]:
    rows = [
        (_json([{"type": kind, "name": name} for kind, name in entity]), key, value)
        for entity, quotas in image.client_quotas.items()
        for key, value in quotas.items()
    ]
    return sorted(rows, key=lambda row: row[:2])


def _rows(held: Iterable[Mapping[str, Any]], columns: Sequence[tuple[str, str, str]]) -> Iterator[tuple[Any, ...]]:
    for entry in held:
        yield tuple(
            _json(entry[field]) if kind == TEXT and isinstance(entry[field], list | dict) else entry[field]
            for _, kind, field in columns
        )


def _scalars(parts: Mapping[str, Any], sha256: str) -> list[tuple[str, str | None]]:
    names = ("kraft_version", "producer_ids", "transaction", "zk_migration_state")
    rows = [(name, None if parts[name] is None else _json(parts[name])) for name in names]
    return sorted([*rows, ("image_sha256", sha256)])


def _json(value: Any) -> str:
    return json_text(value, compact=True)
