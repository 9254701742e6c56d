"""Findings about the topic `__remote_log_metadata` itself: whether it exists, and which settings delete its records.

A record of the metadata topic is needed as long as its segment. Retention that is shorter than that of a tiered topic
therefore loses data, after the fact with `metadata-log-start-moved`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.kafka_names import REMOTE_LOG_METADATA
from kafkactl.core.wording import age_text, counted, first_few
from kafkactl.tiered.audit.case import AuditCase
from kafkactl.tiered.cluster_view import TopicView

MISSING: Final = "metadata-topic-missing"
EXPIRES: Final = "metadata-topic-expires"
COMPACTED: Final = "metadata-topic-compacted"
_RETENTION_MS, _RETENTION_BYTES, _CLEANUP = "retention.ms", "retention.bytes", "cleanup.policy"
_COMPACT, _DELETE = "compact", "delete"
_UNLIMITED: Final = -1
_DEFAULT_MS: Final = 7 * 24 * 3_600_000  # log.retention.hours of brokers if nothing else is set
_SUBJECT: Final = f"topic {REMOTE_LOG_METADATA}"
_KEEP: Final = (
    f"Set retention.ms=-1 and retention.bytes=-1 on the topic {REMOTE_LOG_METADATA} with kafka-configs.sh: "
    "see docs/tiered.md, «A metadata topic that loses records»."
)


def topic_findings(case: AuditCase) -> Iterator[Finding]:
    """Return the findings about the metadata topic and its settings; nothing if topics are not known."""
    tiered = [topic for topic in (case.view.topics or {}).values() if topic.is_tiered]
    topic = case.view.metadata_topic
    if case.lacks_metadata_topic:
        yield _missing(tiered)
    if topic is None or topic.configs is None:
        return
    policies = {word.strip() for word in topic.configs.get(_CLEANUP, _DELETE).split(",")}
    if _COMPACT in policies:
        yield blocker(
            COMPACTED,
            _SUBJECT,
            f"{_CLEANUP} is {topic.configs[_CLEANUP]}: a compacted topic accepts no record without a key, and records "
            "of remote segments have no key, so that brokers can copy and delete no segment",
            f"Set {_CLEANUP}=delete, retention.ms=-1 and retention.bytes=-1 on the topic with kafka-configs.sh, now: "
            "the log cleaner removes records without a key. Restart no leader before `kafkactl tiered forecast` shows "
            "nothing in `loses`, or before the data that it shows was consumed.",
            setting=_CLEANUP,
            value=topic.configs[_CLEANUP],
        )
    if _DELETE not in policies:
        return
    yield from _by_time(topic.configs.get(_RETENTION_MS), tiered)
    size = _number(topic.configs.get(_RETENTION_BYTES))
    if size is not None and size != _UNLIMITED:
        yield blocker(
            EXPIRES,
            _SUBJECT,
            f"{_RETENTION_BYTES} is {size}: the oldest records are deleted when a partition of the topic exceeds that "
            "size, and brokers that restart then do not know the segments of these records",
            _KEEP,
            setting=_RETENTION_BYTES,
            value=size,
        )


def _missing(tiered: list[TopicView]) -> Finding:
    names = sorted(topic.name for topic in tiered)
    return blocker(
        MISSING,
        _SUBJECT,
        f"the topic does not exist, and {counted(len(names), 'topic')} ({first_few(names, 5)}) have "
        "remote.storage.enable=true: the brokers' metadata managers have not started, no segment is copied, and no "
        "local segment is deleted, so that the disks of these topics fill",
        "Look for the metadata manager's error in a broker's log (its listener, its login, its right to create the "
        "topic): `kafkactl storage verify` checks the settings.",
        topics=names[:100],
        topics_total=len(names),
    )


def _by_time(own: str | None, tiered: list[TopicView]) -> Iterator[Finding]:
    kept_ms = _number(own)
    if kept_ms == _UNLIMITED:
        return
    if kept_ms is None:
        yield warning(
            EXPIRES,
            _SUBJECT,
            f"the topic has no {_RETENTION_MS} of its own, so that the brokers' default deletes its records (7 days "
            "unless log.retention.* is set), and brokers that restart then do not know the segments of these records",
            _KEEP,
            setting=_RETENTION_MS,
            value=None,
        )
        return
    longer = sorted(topic.name for topic in tiered if _is_kept_longer(topic, kept_ms))
    if not longer:
        yield note(
            EXPIRES,
            _SUBJECT,
            f"{_RETENTION_MS} is {kept_ms} ({age_text(kept_ms)}), longer than the retention of each tiered topic",
            setting=_RETENTION_MS,
            value=kept_ms,
        )
        return
    yield blocker(
        EXPIRES,
        _SUBJECT,
        f"{_RETENTION_MS} is {kept_ms} ({age_text(kept_ms)}), and {counted(len(longer), 'tiered topic')} "
        f"({first_few(longer, 5)}) may keep segments longer: their records are deleted first, a leader that restarts "
        "does not know these segments, and moves the log start past them",
        _KEEP,
        setting=_RETENTION_MS,
        value=kept_ms,
        topics=longer[:100],
        topics_total=len(longer),
    )


def _is_kept_longer(topic: TopicView, kept_ms: int) -> bool:
    """Return True if a topic's segments may outlive records that are kept for `kept_ms`."""
    configs = topic.configs or {}
    own_ms = _number(configs.get(_RETENTION_MS))
    return own_ms == _UNLIMITED or (_DEFAULT_MS if own_ms is None else own_ms) >= kept_ms


def _number(value: str | None) -> int | None:
    """Return a setting as a number; None if it is not set, or no number."""
    try:
        return None if value is None else int(value)
    except ValueError:
        return None
