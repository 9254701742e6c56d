"""Settings that must fit each other: timeouts, intervals and sizes, as data.

Sources: core `KafkaConfig.validateValues`, group-coordinator `GroupCoordinatorConfig` and `ShareGroupConfig`. A rule
holds if the release has both keys.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kafkactl.core.frozen import frozen
from kafkactl.protocol.text.config_values import Problem
from kafkactl.protocol.text.java_text import split_list
from kafkactl.storage.config.keys import Unusable
from kafkactl.storage.config.release_rules import ConfigRules
from kafkactl.storage.config.view import ConfigView

_OPERATORS: Mapping[str, tuple[Callable[[float, float], bool], str]] = MappingProxyType(
    {
        ">=": (operator.ge, "greater than or equal to"),
        "<=": (operator.le, "less than or equal to"),
        "<": (operator.lt, "less than"),
    }
)


@frozen(kw_only=False)
class Limit:
    """`left relation right`, both keys of the configuration; only in releases whose rules say so (`holds_in`)."""

    left: str
    relation: str
    right: str
    holds_in: Callable[[ConfigRules], bool] = lambda _: True


def _group_limits(kind: str, setting: str) -> tuple[Limit, ...]:
    """Return the limits of a group setting between its minimum and maximum: `group.<kind>.[min.|max.]<setting>`."""
    value, low, high = (f"group.{kind}.{part}{setting}" for part in ("", "min.", "max."))
    return (Limit(high, ">=", low), Limit(value, ">=", low), Limit(value, "<=", high))


_CODEC_KEYS = ("offsets.topic.compression.codec", "share.coordinator.state.topic.compression.codec")
_LAST_CODEC = 4  # clients' CompressionType: none, gzip, snappy, lz4, zstd
_KINDS = ("consumer", "share", "streams")

GROUP_LIMITS: tuple[Limit, ...] = (
    *(limit for kind in _KINDS for limit in _group_limits(kind, "heartbeat.interval.ms")),
    *(limit for kind in _KINDS for limit in _group_limits(kind, "session.timeout.ms")),
    *(limit for kind in _KINDS for limit in _group_limits(kind, "assignment.interval.ms")),
    *(
        Limit(
            f"group.{kind}.heartbeat.interval.ms",
            "<",
            f"group.{kind}.session.timeout.ms",
            lambda rules: rules.heartbeat_within_session,
        )
        for kind in _KINDS
    ),
    Limit("group.streams.num.standby.replicas", "<=", "group.streams.max.standby.replicas"),
    Limit("group.streams.num.warmup.replicas", "<=", "group.streams.max.warmup.replicas"),
    Limit("group.streams.task.offset.interval.ms", ">=", "group.streams.min.task.offset.interval.ms"),
    Limit("group.share.record.lock.duration.ms", ">=", "group.share.min.record.lock.duration.ms"),
    Limit("group.share.max.record.lock.duration.ms", ">=", "group.share.record.lock.duration.ms"),
    Limit("group.share.max.share.sessions", ">=", "group.share.max.size"),
    Limit("group.share.delivery.count.limit", ">=", "group.share.min.delivery.count.limit"),
    Limit("group.share.max.delivery.count.limit", ">=", "group.share.delivery.count.limit"),
    Limit("group.share.partition.max.record.locks", ">=", "group.share.min.partition.max.record.locks"),
    Limit("group.share.max.partition.max.record.locks", ">=", "group.share.partition.max.record.locks"),
)
REPLICA_LIMITS: tuple[Limit, ...] = (
    Limit("replica.fetch.wait.max.ms", "<=", "replica.socket.timeout.ms"),
    Limit("replica.fetch.wait.max.ms", "<=", "replica.lag.time.max.ms"),
)


def check_limits(view: ConfigView, limits: tuple[Limit, ...]) -> Iterator[Problem]:
    """Report the limits that the values exceed."""
    keys = view.values.keys
    for limit in limits:
        if limit.left not in keys or limit.right not in keys or not limit.holds_in(view.rules):
            continue
        try:
            left, right = view.get(limit.left), view.get(limit.right)
        except Unusable:
            continue
        holds, words = _OPERATORS[limit.relation]
        if not holds(left, right):
            yield _conflict(limit.left, f"{limit.left} ({left}) must be {words} {limit.right} ({right})")


def check_codecs(view: ConfigView) -> Iterator[Problem]:
    """Check numbers that are ids of compression types: the key has no range, reading the id fails (`forId`)."""
    for key in _CODEC_KEYS:
        try:
            id = view.get(key)
        except Unusable:
            continue
        if id is not None and not 0 <= id <= _LAST_CODEC:
            words = f"{key}: Unknown compression type id: {id}"
            step = f"Set {key} to 0 (none), 1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)."
            yield Problem(id="unknown-compression-id", key=key, words=words, next_step=step)


# Bounds that a class checks in its constructor before a later release writes them into the key's definition.
_BOUNDS_OF_CONSTRUCTORS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"share.coordinator.snapshot.update.records.per.snapshot": (0, 500)}  # ShareCoordinatorConfig, 4.0 to 4.2
)


def check_constructor_bounds(view: ConfigView) -> Iterator[Problem]:
    """Yield values out of bounds that no definition of the release names."""
    for key, (lowest, highest) in _BOUNDS_OF_CONSTRUCTORS.items():
        try:
            value = view.get(key)
        except Unusable:
            continue
        if value is not None and not lowest <= value <= highest:
            yield _conflict(key, f"{key} must be between [{lowest}, {highest}]")


def check_group_limits(view: ConfigView) -> Iterator[Problem]:
    """Check settings of the group coordinator."""
    yield from check_limits(view, GROUP_LIMITS)
    assignors = view.get("group.share.assignors")
    if assignors is not None and len(assignors) != 1:
        words = f"group.share.assignors must contain exactly one assignor, but found {len(assignors)}"
        yield _conflict("group.share.assignors", words)


def check_rack_tags(view: ConfigView) -> Iterator[Problem]:
    """Check the text for duplicates, as Kafka does; the parsed list has lost them."""
    key = "group.streams.rack.aware.assignment.tags"
    tags = split_list(view.values.given.get(key, "")) if key in view.values.keys else []
    if len(set(tags)) < len(tags):
        yield _conflict(key, f"{key} must not contain duplicate tag keys.")


def check_cordoned(view: ConfigView) -> Iterator[Problem]:
    """Check the paths as they are written (KIP-1066), on brokers only; controllers do not check them."""
    key = "cordoned.log.dirs"
    named = view.get(key) or []
    if "broker" not in view.roles or not named:
        return
    missing = [path for path in named if path not in view.log_dirs]
    if "*" in named:
        if len(named) > 1:
            yield _conflict(key, f"When {key} is set to *, it must not contain other values")
    elif missing:
        text = f"All entries in {key} must be present in log.dirs or log.dir. Missing entries : {', '.join(missing)}"
        yield _conflict(key, text)


def check_log_limits(view: ConfigView) -> Iterator[Problem]:
    """Check settings of logs and replicas."""
    if _in_ms(view, "log.roll.ms", hours="log.roll.hours") < 1:
        yield _conflict("log.roll.ms", "log.roll.ms must be greater than or equal to 1")
    if _in_ms(view, "log.roll.jitter.ms", hours="log.roll.jitter.hours") < 0:
        yield _conflict("log.roll.jitter.ms", "log.roll.jitter.ms must be greater than or equal to 0")
    if _retention_ms(view) == 0:
        yield _conflict("log.retention.ms", "log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
    if not view.log_dirs:
        words = "At least one log directory must be defined via log.dirs or log.dir."
        yield Problem(id="no-log-directory", key="log.dirs", words=words)
    if (
        view.rules.tiered_storage_needs_one_directory
        and view.get("remote.log.storage.system.enable")
        and len(view.log_dirs) > 1
    ):
        words = (
            f"Multiple log directories `{','.join(view.log_dirs)}` are not supported when remote log storage is enabled"
        )
        yield Problem(id="tiered-storage-requires-one-directory", key="log.dirs", words=words)
    if view.get("metadata.log.dir") == "":
        words = "metadata.log.dir is empty: Kafka would take the directory that it happens to be started in"
        yield Problem(id="empty-metadata-log-dir", key="metadata.log.dir", words=words)
    threads = view.get("log.cleaner.threads")
    if threads == 0:
        yield _conflict("log.cleaner.threads", "log.cleaner.threads must be at least 1 (Kafka fails with: / by zero)")
    elif view.get("log.cleaner.dedupe.buffer.size") < (1024 * 1024 + 1) * threads:
        words = "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
        yield _conflict("log.cleaner.dedupe.buffer.size", words)
    yield from check_limits(view, REPLICA_LIMITS)
    acks = view.get("offsets.commit.required.acks")  # gone in 4.0
    if acks is not None and not -1 <= acks <= view.get("offsets.topic.replication.factor"):
        words = "offsets.commit.required.acks must be greater or equal -1 and less or equal to"
        yield _conflict("offsets.commit.required.acks", f"{words} offsets.topic.replication.factor")


def check_connection_limits(view: ConfigView) -> Iterator[Problem]:
    """Check settings of the socket server."""
    if 0 < view.get("queued.max.request.bytes") < view.get("socket.request.max.bytes"):
        words = "queued.max.request.bytes must be larger or equal to socket.request.max.bytes"
        yield _conflict("queued.max.request.bytes", words)
    idle_ms = view.get("connections.max.idle.ms")
    delay_ms = view.get("connection.failed.authentication.delay.ms")
    if 0 <= idle_ms <= delay_ms:
        words = f"connection.failed.authentication.delay.ms={delay_ms} should always be less than"
        yield _conflict("connection.failed.authentication.delay.ms", f"{words} connections.max.idle.ms={idle_ms}")


def _in_ms(view: ConfigView, key: str, *, hours: str) -> int:
    value: int | None = view.get(key)
    return view.get(hours) * 3_600_000 if value is None else value


def _retention_ms(view: ConfigView) -> int:
    """Return the retention time in ms. Every negative number means unlimited."""
    value: int | None = view.get("log.retention.ms")
    if value is None and (minutes := view.get("log.retention.minutes")) is not None:
        value = minutes * 60_000
    return view.get("log.retention.hours") * 3_600_000 if value is None else value


def _conflict(key: str, words: str) -> Problem:
    return Problem(id="config-values-conflict", key=key, words=words)
