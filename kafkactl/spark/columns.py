"""The tables of the pipeline as data: each column with its type in Spark's DDL and one line about its content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafkactl.core.errors import InputError
from kafkactl.core.wording import did_you_mean


class Column(NamedTuple):
    """A column: its name, its type as Spark's DDL writes it, and a comment."""

    name: str
    type: str
    comment: str


Columns = tuple[Column, ...]


def _columns(*rows: tuple[str, str, str]) -> Columns:
    return tuple(Column(*row) for row in rows)


_ENDPOINTS: Final = "array<struct<name:string,host:string,port:int,security_protocol:string>>"
_FEATURES: Final = "array<struct<name:string,min:int,max:int>>"
CLUSTER: Final = _columns(
    (
        "cluster_id",
        "string",
        "Cluster id of the meta.properties in or above the folder of the log; null if there is none",
    ),
    ("cluster", "string", "Name by cluster_of, else the cluster id, else the folder above the log directory"),
)
_NODE: Final = _columns(("node_id", "int", "Node id of the meta.properties in or above the folder of the log"))
AS_OF: Final = _columns(
    ("as_of_offset", "bigint", "Offset of the last record in this state"),
    ("as_of_epoch", "int", "Epoch of the leader that wrote this record"),
    ("as_of_time", "timestamp", "Time of this record"),
)
ERROR: Final = Column("error", "string", "Id and message of the error, in the one row of a log that cannot be read")

_STATE: Final[Mapping[str, Columns]] = {
    "partitions": _columns(
        ("topic", "string", "Name of the topic"),
        ("topic_id", "string", "Id of the topic"),
        ("partition", "int", "Number of the partition"),
        ("leader", "int", "Node id of the leader; -1 if there is none"),
        ("leader_epoch", "int", "Grows with each change of the leader"),
        ("partition_epoch", "int", "Grows with each change of the partition"),
        ("leader_recovery_state", "string", "RECOVERED, or RECOVERING after an unclean election"),
        ("replicas", "array<int>", "Node ids in the order of preference"),
        ("isr", "array<int>", "In-sync replicas"),
        ("elr", "array<int>", "Eligible leader replicas (KIP-966)"),
        ("last_known_elr", "array<int>", "Last known eligible leader replicas (KIP-966)"),
        ("adding_replicas", "array<int>", "Replicas that a reassignment adds"),
        ("removing_replicas", "array<int>", "Replicas that a reassignment removes"),
        ("directories", "array<string>", "Directory id of each replica"),
    ),
    "topics": _columns(
        ("name", "string", "Name of the topic"),
        ("topic_id", "string", "Id of the topic"),
        ("partitions", "int", "Number of partitions"),
    ),
    "brokers": _columns(
        ("broker_id", "int", "Node id"),
        ("broker_epoch", "bigint", "Offset of the registration"),
        ("incarnation_id", "string", "Id of the process"),
        ("fenced", "boolean", "Whether the broker is fenced"),
        ("in_controlled_shutdown", "boolean", "Whether the broker hands over its leaders"),
        ("is_migrating_zk_broker", "boolean", "Whether the broker runs in ZooKeeper mode"),
        ("rack", "string", "Rack; null if there is none"),
        ("directories", "array<string>", "Ids of the log directories that are online"),
        ("cordoned_directories", "array<string>", "Ids of directories without new partitions; null before 4.3-IV0"),
        ("endpoints", _ENDPOINTS, "Listeners"),
        ("features", _FEATURES, "Supported levels"),
    ),
    "controllers": _columns(
        ("controller_id", "int", "Node id"),
        ("incarnation_id", "string", "Id of the process"),
        ("zk_migration_ready", "boolean", "Whether the controller can take part in a migration"),
        ("endpoints", _ENDPOINTS, "Listeners"),
        ("features", _FEATURES, "Supported levels"),
    ),
    "voters": _columns(
        ("voter_id", "int", "Node id"),
        ("directory_id", "string", "Id of the directory with the metadata log"),
        ("endpoints", "array<struct<name:string,host:string,port:int>>", "Listeners of the voter"),
        ("kraft_version", "struct<min:int,max:int>", "Supported levels of kraft.version"),
    ),
    "features": _columns(("name", "string", "Name of the feature"), ("level", "int", "Finalized level")),
    "configs": _columns(
        ("resource_type", "string", "TOPIC, BROKER, CLIENT_METRICS or GROUP"),
        ("resource_name", "string", "Name of the resource; empty for all brokers"),
        ("name", "string", "Name of the setting"),
        ("value", "string", "Value; secrets are redacted"),
    ),
    "acls": _columns(
        ("id", "string", "Id of the entry"),
        ("resource_type", "string", "TOPIC, GROUP, CLUSTER …"),
        ("resource_name", "string", "Name or prefix of the resource"),
        ("pattern_type", "string", "LITERAL or PREFIXED"),
        ("principal", "string", "Principal, such as User:app"),
        ("host", "string", "Host, or * for all hosts"),
        ("operation", "string", "READ, WRITE …"),
        ("permission_type", "string", "ALLOW or DENY"),
    ),
    "quotas": _columns(
        ("entity", "array<struct<type:string,name:string>>", "Parts of the entity; a null name is the default"),
        ("key", "string", "Name of the quota"),
        ("value", "double", "Limit"),
    ),
    "scram_users": _columns(
        ("name", "string", "Name of the user"),
        ("mechanism", "string", "SCRAM-SHA-256 or SCRAM-SHA-512"),
        ("iterations", "int", "Number of iterations"),
    ),
    "delegation_tokens": _columns(
        ("owner", "string", "Principal of the owner"),
        ("requester", "string", "Principal that created the token"),
        ("renewers", "array<string>", "Principals that can renew the token"),
        ("issue_time", "timestamp", "Time of creation"),
        ("max_time", "timestamp", "End of the last possible renewal"),
        ("expiration_time", "timestamp", "Time at which the token expires"),
    ),
}
STATE_TABLES: Final = tuple(_STATE)
TABLES: Final[Mapping[str, Columns]] = {
    "records": (
        *CLUSTER,
        *_NODE,
        *_columns(
            ("file", "string", "Whole path of the segment or checkpoint"),
            ("offset", "bigint", "Offset of the record"),
            ("epoch", "int", "Epoch of the leader that wrote the record"),
            ("time", "timestamp", "Time of the record"),
            ("batch_offset", "bigint", "First offset of the batch"),
            ("kind", "string", "record, control or undecodable"),
            ("type", "string", "Type, such as PartitionChangeRecord"),
            ("version", "int", "Version of the type"),
            ("key", "string", "First name by which --key of log dump finds the record; null if there is none"),
            ("data", "string", "Fields as JSON, as in log dump"),
        ),
        ERROR,
    ),
    "findings": (
        *CLUSTER,
        *_NODE,
        *_columns(
            ("source", "string", "Path of the log"),
            ("finding", "string", "Id; `kafkactl explain` describes it"),
            ("severity", "string", "blocker, warning or info"),
            ("subject", "string", "Subject of the finding"),
            ("message", "string", "What was found"),
            ("evidence", "string", "Values of the finding as JSON"),
        ),
        ERROR,
    ),
    "changes": (
        *CLUSTER,
        *_columns(
            ("offset", "bigint", "Offset of the record"),
            ("epoch", "int", "Epoch of the leader that wrote the record"),
            ("time", "timestamp", "Time of the record"),
            ("what", "string", "leader, isr, replicas, config, level or registration"),
            ("subject", "string", "Partition, resource, feature or node"),
            ("topic", "string", "Topic of a partition or setting"),
            ("partition", "int", "Number of the partition"),
            ("key", "string", "Name of the setting or feature"),
            ("before", "string", "Value before as JSON; null if there was none"),
            ("after", "string", "Value after as JSON; null if there is none"),
        ),
        ERROR,
    ),
    "predictions": (
        *CLUSTER,
        *_columns(
            ("scenario", "string", "Name of the scenario"),
            ("input", "string", "Fields of the input as JSON"),
            ("verdict", "string", "ok, degraded, refused, unavailable, wedged or unknown"),
            ("findings", "array<string>", "Ids of the findings"),
            ("leader_changes", "int", "Partitions with another leader, or none"),
            ("offline", "int", "Partitions without a leader"),
            ("under_min_isr", "int", "Partitions that refuse writes with acks=all"),
            ("at_min_isr", "int", "Partitions that refuse them after one more loss"),
            ("records_appended", "bigint", "Records that would be appended"),
            ("answer", "string", "Answer of kafkactl dryrun as JSON"),
        ),
        ERROR,
    ),
    "remote_segments": (
        *CLUSTER,
        *_columns(
            ("topic", "string", "Name of the topic"),
            ("topic_id", "string", "Id of the topic"),
            ("partition", "int", "Number of the partition"),
            ("segment_id", "string", "Id of the segment"),
            ("state", "string", "Last state by the records"),
            ("start_offset", "bigint", "First offset of the segment"),
            ("end_offset", "bigint", "Last offset of the segment"),
            ("bytes", "bigint", "Size of the segment"),
            ("leader_epochs", "array<struct<leader_epoch:int,start_offset:bigint>>", "Leader epochs in the segment"),
            ("broker_id", "int", "Broker that copied the segment"),
            ("event_timestamp_ms", "bigint", "Time of the last record about the segment"),
            ("max_timestamp_ms", "bigint", "Greatest time of a record in the segment"),
            ("custom_metadata", "string", "Metadata of the plugin in base64"),
            ("txn_index_empty", "boolean", "Whether the segment has aborted transactions"),
            ("metadata_partition", "int", "Partition of the metadata topic"),
            ("first_offset", "bigint", "Offset of the first record about the segment"),
            ("last_offset", "bigint", "Offset of the last record about the segment"),
            ("records", "int", "Number of records about the segment"),
            ("epoch_index", "string", "Whether brokers find the segment by its epochs"),
            ("forgotten_by", "string", "Segment that replaced this one for brokers"),
        ),
        ERROR,
    ),
    "remote_findings": (
        *CLUSTER,
        *_columns(
            ("finding", "string", "Id; `kafkactl explain` describes it"),
            ("severity", "string", "blocker, warning or info"),
            ("subject", "string", "Subject of the finding"),
            ("message", "string", "What was found"),
            ("evidence", "string", "Values of the finding as JSON"),
        ),
        ERROR,
    ),
    "errors": (*CLUSTER, *_NODE, *_columns(("source", "string", "Path of the log")), ERROR),
    **{name: (*CLUSTER, *AS_OF, *columns, ERROR) for name, columns in _STATE.items()},
}


def check_state_table(name: str) -> None:
    """Raise InputError `unknown-table` for a name that is not a table of the state."""
    if name not in _STATE:
        raise InputError(
            f"the state has no table {name!r}.{did_you_mean(name, list(STATE_TABLES))}",
            id="unknown-table",
            next_step=f"Tables of the state are: {', '.join(STATE_TABLES)}.",
        )


def ddl(columns: Columns) -> str:
    """Return the columns as a schema in Spark's DDL, with their comments.

    Spark's `timestamp` is a time without a zone in a session whose settings say so; ours always has one.

    >>> ddl((Column("name", "string", "Name of the user's topic"),))
    "`name` string COMMENT 'Name of the user\\\\'s topic'"
    """
    return ", ".join(
        f"`{name}` {'timestamp_ltz' if type == 'timestamp' else type} COMMENT '{_quoted(comment)}'"
        for name, type, comment in columns
    )


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
