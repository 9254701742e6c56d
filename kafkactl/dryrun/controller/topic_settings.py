"""Errors of the active controller for a change of a topic's configuration (`LogConfig.validate`).

Keys and bounds of each release are in schemas/config/topics.json, the rest that differs in topic_rules.toml there.
What a topic does not set comes from the controller's own properties file; dynamic settings of the cluster do not count
here (measured on 3.9.2 and 4.3.1). Texts are those of the releases, the first error as they find it.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from kafkactl.core.frozen import frozen
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.metadata.image.model import TOPIC_CONFIG, Image
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.schema.release_table import ReleaseTable, read_release_table
from kafkactl.protocol.text.java_text import parse_boolean, split_list
from kafkactl.storage.config.keys import topic_keys, value_problem
from kafkactl.storage.config.release_rules import reading_rules

REMOTE: Final = "remote.storage.enable"
SYSTEM_ENABLE: Final = "remote.log.storage.system.enable"
POLICY: Final = "cleanup.policy"
DELETE_ON_DISABLE: Final = "remote.log.delete.on.disable"
FROM_PARENT: Final = -2  # local retention: as the whole retention
# Settings of a node that a topic inherits, with the unit in the topic's: the first that is set counts.
_INHERITED: Final = {
    "retention.ms": (("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)),
    "retention.bytes": (("log.retention.bytes", 1),),
    "local.retention.ms": (("log.local.retention.ms", 1),),
    "local.retention.bytes": (("log.local.retention.bytes", 1),),
    "min.compaction.lag.ms": (("log.cleaner.min.compaction.lag.ms", 1),),
    "max.compaction.lag.ms": (("log.cleaner.max.compaction.lag.ms", 1),),
}
_POLICIES: Final = {
    "not-compacted": "Remote log storage is unsupported for the compacted topics",
    "delete": "Remote log storage only supports topics with cleanup.policy=delete",
    "delete-or-none": (
        "Remote log storage only supports topics with cleanup.policy=delete or cleanup.policy being an empty list."
    ),
}
_DISABLED: Final = (
    "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
)
_KEEPS_REMOTE: Final = (
    "It is invalid to disable remote storage without deleting remote data. If you want to keep the remote data and "
    "turn to read only, please set `remote.storage.enable=true,remote.log.copy.disable=true`. If you want to disable "
    "remote storage and delete all remote data, please set "
    "`remote.storage.enable=false,remote.log.delete.on.disable=true`."
)
_COPIES_NO_MORE: Final = (
    "When `remote.log.copy.disable` is set to true, the `local.retention.{0}` and `retention.{0}` must be set to the "
    "identical value because there will be no more logs copied to the remote storage."
)


@frozen
class TopicRules:
    """Differences between releases; see schemas/config/topic_rules.toml."""

    stored_names_count: bool
    judges_tiered: bool
    tiered_policy: str
    disabling_deletes: bool
    copy_lag_within_local: bool
    finds_controllers: bool


def topic_rules(release: Release) -> TopicRules:
    """Return the rules of a release."""
    return TopicRules(**_table().at(release.numbers))


def tiered_known(image: Image, facts: Facts) -> bool | None:
    """Return whether the cluster has tiered storage, None if neither the file nor a topic shows that."""
    if facts.static_known:
        return facts.static.get(SYSTEM_ENABLE, "").strip().lower() == "true"
    topics = (values for (kind, _), values in image.configs.items() if kind == TOPIC_CONFIG)
    return True if any(_is_true(values, REMOTE) for values in topics) else None


def refused_by_controller(
    facts: Facts, stored: Mapping[str, str], wanted: Mapping[str, str | None], *, is_tiered: bool
) -> str | None:
    """Return the controller's first complaint about a topic's configuration after this change, None for none."""
    rules = topic_rules(facts.release)
    after = {key: value for key, value in {**stored, **wanted}.items() if value is not None}
    changed = {key for key, value in wanted.items() if value != stored.get(key)}
    return next(_complaints(facts, rules, stored, after, changed, is_tiered=is_tiered), None)


def _complaints(
    facts: Facts,
    rules: TopicRules,
    stored: Mapping[str, str],
    after: Mapping[str, str],
    changed: Collection[str],
    *,
    is_tiered: bool,
) -> Iterator[str]:
    keys, reading = topic_keys(facts.release.name), reading_rules(facts.release)
    for name in (*(key for key in after if key in changed), *(after if rules.stored_names_count else ())):
        if name not in keys:
            yield f"Unknown topic config name: {name}"
    for name, key in keys.items():
        if name in after and (problem := value_problem(key, after[name], reading)) is not None:
            yield problem.words
    values = _Values(facts, after)
    least, most = values.number("min.compaction.lag.ms"), values.number("max.compaction.lag.ms")
    if least > most:
        yield f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
    if rules.judges_tiered and values.flag(REMOTE):
        yield from _of_tiered(rules, values, is_tiered=is_tiered)
    elif rules.disabling_deletes and _is_true(stored, REMOTE) and not values.flag(DELETE_ON_DISABLE):
        yield _KEEPS_REMOTE


def _is_true(values: Mapping[str, str], name: str) -> bool:
    return bool(parse_boolean(values.get(name, "false")))


def _of_tiered(rules: TopicRules, values: _Values, *, is_tiered: bool) -> Iterator[str]:
    """Yield complaints about a topic in tiered storage, in the order of `validateTopicLogConfigValues`."""
    if not is_tiered:
        yield _DISABLED
    policy = set(values.list(POLICY))
    allowed = {"not-compacted": "compact" not in policy, "delete": policy == {"delete"}}
    if not allowed.get(rules.tiered_policy, policy <= {"delete"}):
        yield _POLICIES[rules.tiered_policy]
    for unit in ("bytes", "ms"):
        yield from _local_within_whole(unit, values)
    if rules.copy_lag_within_local:
        for unit in ("bytes", "ms"):
            yield from _lag_within_local(unit, values)
    if values.flag("remote.log.copy.disable"):
        for unit in ("bytes", "ms"):
            local = values.number(f"local.retention.{unit}")
            if local not in (FROM_PARENT, values.number(f"retention.{unit}")):
                yield _COPIES_NO_MORE.format(unit)


def _local_within_whole(unit: str, values: _Values) -> Iterator[str]:
    whole, local = values.number(f"retention.{unit}"), values.number(f"local.retention.{unit}")
    if whole < 0 or local == FROM_PARENT:
        return
    start = f"Invalid value {local} for configuration local.retention.{unit}: Value must not be"
    if local == -1:
        yield f"{start} -1 as retention.{unit} value is set as {whole}."
    elif local > whole:
        yield f"{start} more than retention.{unit} property value: {whole}"


def _lag_within_local(unit: str, values: _Values) -> Iterator[str]:
    lag, local = values.number(f"remote.copy.lag.{unit}"), values.number(f"local.retention.{unit}")
    held = values.number(f"retention.{unit}") if local == FROM_PARENT else local
    if lag > 0 and 0 <= held < lag:
        yield (
            f"Invalid value {lag} for configuration remote.copy.lag.{unit}: Value must not exceed "
            f"local.retention.{unit} (effective value: {held})"
        )


class _Values:
    """Values in force for a topic: its own, the controller's file's, Kafka's. They have been found readable."""

    def __init__(self, facts: Facts, own: Mapping[str, str]) -> None:
        self._own, self._static = own, facts.static
        self._keys = topic_keys(facts.release.name)

    def number(self, name: str) -> int:
        """Return a number of a topic, in the topic's unit."""
        if name in self._own:
            return int(self._own[name])
        for key, unit in _INHERITED.get(name, ()):
            text = self._static.get(key, "").strip()
            if text.lstrip("-").isdigit():
                return int(text) * unit if int(text) >= 0 else int(text)
        return int(self._keys[name].default or 0) if name in self._keys else 0

    def flag(self, name: str) -> bool:
        """Return the value of a switch of a topic."""
        return bool(parse_boolean(self._own.get(name, "false")))

    def list(self, name: str) -> list[str]:
        """Return a topic's setting as a list."""
        default = self._static.get("log.cleanup.policy", "delete") if name == POLICY else ""
        return split_list(self._own.get(name, default))


@functools.cache
def _table() -> ReleaseTable:
    return read_release_table("config/topic_rules.toml", TopicRules.__annotations__)
