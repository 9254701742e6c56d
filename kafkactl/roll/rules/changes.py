"""Settings that change their effect in a roll without stopping a node: keys that are ignored, defaults that differ.

Which release has which key and default is schemas/config/server.json; the consequences are schemas/config/changes.toml.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from kafkactl.core.data_files import read_data
from kafkactl.core.frozen import frozen
from kafkactl.protocol.catalog.releases import Release, find_release
from kafkactl.protocol.redact import BROKER, TOPIC, shown_config
from kafkactl.protocol.text.java_text import split_list, trim
from kafkactl.storage.config.keys import known_in, server_keys, topic_key_known_in, topic_keys

_ROLES: Final = "process.roles"


@frozen(kw_only=False)
class IgnoredSetting:
    """A key of a file or a topic that the release does not have; others had it from..to.

    `replaced_by` are the keys with its meaning. `effect` is what follows; None if nothing does, because the file sets
    them, or no KRaft node reads the key.
    """

    key: str
    value: str
    known_from: str
    known_to: str
    replaced_by: tuple[str, ...]
    effect: str | None


@frozen(kw_only=False)
class ChangedDefault:
    """A default that differs between two releases, for a key that the file does not set. None: no such key."""

    key: str
    before: str | None
    after: str | None
    effect: str


def ignored_settings(release: Release, properties: Mapping[str, str]) -> list[IgnoredSetting]:
    """Return the keys of a file, or of a stored configuration of brokers, that only other releases have."""
    found = []
    for key, value in properties.items():
        if key not in server_keys(release.name) and (span := known_in(key)) is not None:
            row = _table()["ignored" if _is_removed(span, release) else "not_yet"].get(key, {})
            found.append(_ignored(key, shown_config(BROKER, key, value), span, row, properties))
    return found


def ignored_topic_settings(release: Release, configs: Mapping[str, str]) -> list[IgnoredSetting]:
    """Return the stored settings of one topic that only earlier releases have."""
    found = []
    for key, value in configs.items():
        span = topic_key_known_in(key)
        if key not in topic_keys(release.name) and span is not None and _is_removed(span, release):
            row = _table()["ignored_topic"].get(key, {})
            found.append(_ignored(key, shown_config(TOPIC, key, value), span, row, configs))
    return found


def _ignored(
    key: str, value: str, span: tuple[str, str], row: Mapping[str, Any], given: Mapping[str, str]
) -> IgnoredSetting:
    replaced_by = tuple(row.get("replaced_by", ()))
    is_replaced = bool(replaced_by) and all(other in given for other in replaced_by)
    return IgnoredSetting(key, value, *span, replaced_by, None if is_replaced else row.get("effect"))


def _is_removed(span: tuple[str, str], release: Release) -> bool:
    return _line(find_release(span[1])) < _line(release)


def changed_defaults(from_release: Release, to_release: Release, properties: Mapping[str, str]) -> list[ChangedDefault]:
    """Return the defaults with a known effect that change on the way up, for keys that the file does not set."""
    effects: dict[str, list[str]] = {}
    before: dict[str, str | None] = {}
    for row in _table()["changed"]:
        key = row["key"]
        if key in properties or not _is_crossed(row["from"], from_release, to_release) or not _applies(row, properties):
            continue
        value = _value_before(from_release, row, properties)
        if value is None or value != _default(to_release, key):
            before[key] = value
            effects.setdefault(key, []).append(row["effect"])
    return [
        ChangedDefault(key, before[key], _default(to_release, key), " ".join(found)) for key, found in effects.items()
    ]


def _is_crossed(since: str, old: Release, new: Release) -> bool:
    return _line(old) < _line(find_release(since)) <= _line(new)


def _line(release: Release) -> tuple[int, ...]:
    return release.numbers[:2]


def _applies(row: Mapping[str, Any], properties: Mapping[str, str]) -> bool:
    roles = {trim(role) for role in split_list(properties.get(_ROLES, ""))}
    if roles and roles.isdisjoint(row.get("roles", ("broker",))):
        return False
    lacks = row.get("if_lacks", {}).items()
    if any(key not in properties or value in split_list(properties[key]) for key, value in lacks):
        return False
    conditions = row.get("if_set", ())
    return not conditions or any(_has(properties, condition) for condition in conditions)


def _has(properties: Mapping[str, str], condition: str) -> bool:
    """Return True if the file has the key, also for one listener, and its value if the condition names one."""
    key, _, value = condition.partition("=")
    given = [text for name, text in properties.items() if name == key or name.endswith(f".{key}")]
    return any(not value or trim(text).lower() == value for text in given)


def _value_before(release: Release, row: Mapping[str, Any], properties: Mapping[str, str]) -> str | None:
    """Return the value in effect before the roll: the default, or the value of the older key with the same meaning."""
    substitute = row.get("older_key", "")
    if substitute in server_keys(release.name) and substitute in properties:
        return properties[substitute]
    return row.get("before") if row["key"] not in server_keys(release.name) else _default(release, row["key"])


def _default(release: Release, key: str) -> str | None:
    setting = server_keys(release.name).get(key)
    return None if setting is None else setting.default


@functools.cache
def _table() -> Mapping[str, Any]:
    import tomli

    return tomli.loads(read_data("config/changes.toml").decode("utf-8"))
