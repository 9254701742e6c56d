"""Broker's answer to settings that are changed while the broker runs (`DynamicBrokerConfig.validateConfigs`).

Where each key may be set is data, taken from the jars of each release (schemas/config/dynamic.json). A broker refuses a
change that breaks a rule here; a controller stores it, and each broker ignores the key (measured on 3.9.2 and 4.3.1).
Texts are those of 3.9.2 and 4.3.1 without the brackets around keys, which differ.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from kafkactl.core.data_files import read_data
from kafkactl.core.frozen import frozen
from kafkactl.storage.config.keys import ReadingRules, ServerKey, rows_of, server_keys, value_problem

_OF_LISTENER: Final = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)
_POOL: Final = re.compile(r"threads$|threads\.per|\.fetchers$|thread\.pool\.size$")
_OF_HOST: Final = re.compile(
    r"listeners|listener\.security\.protocol\.map|metric\.reporters|config\.providers|(ssl|sasl)\..*"
)
_ADVERTISED: Final = "advertised.listeners"
_NOT_IN_KRAFT: Final = "Advertised listeners cannot be altered when using a Raft-based metadata quorum."
_TO_FILE: Final = "Set it in each broker's file, and restart the brokers one by one (`kafkactl roll`)."


@frozen
class SettingProblem:
    """Setting that a broker refuses. `voids_others`: a broker that finds it stored ignores all its dynamic settings."""

    key: str
    words: str
    next_step: str = ""
    voids_others: bool = False


@frozen
class DynamicKey:
    """Dynamic key in one release.

    `scope`: cluster, broker, listener or listener-of-all (scripts/DynamicConfigs.java). `definition`: type and bounds.
    """

    scope: str
    definition: ServerKey


@functools.cache
def dynamic_keys(release_name: str) -> Mapping[str, DynamicKey]:
    """Return the keys that may be set while a broker of the release (`4.3`) runs."""
    in_files = server_keys(release_name)
    keys = {}
    for row in rows_of(json.loads(read_data("config/dynamic.json")), release_name):
        name, scope = row["name"], row.pop("scope")
        keys[name] = DynamicKey(scope=scope, definition=in_files[name] if name in in_files else ServerKey(**row))
    return MappingProxyType(keys)


def setting_problems(
    release_name: str, settings: Mapping[str, str], rules: ReadingRules, *, of_cluster: bool
) -> Iterator[SettingProblem]:
    """Yield the settings that a broker refuses, in the order of Kafka's checks. Unknown keys are accepted.

    `of_cluster`: they are set for all brokers, not for one.
    """
    dynamic, in_files = dynamic_keys(release_name), server_keys(release_name)
    for key in sorted(settings):
        if key in in_files and key not in dynamic:
            yield SettingProblem(key=key, words=f"Cannot update these configs dynamically: {key}", next_step=_TO_FILE)
    for key in sorted(settings):
        if key in dynamic and dynamic[key].scope == "listener":
            words = "These security configs can be dynamically updated only per-listener using the listener prefix"
            step = f"Set listener.name.NAME.{key} of one broker (`broker:ID`)."
            yield SettingProblem(key=key, words=f"{words}: {key}", next_step=step)
    for key, value in settings.items():
        found = _OF_LISTENER.fullmatch(key)
        base = found[1] if found else key
        problem = value_problem(dynamic[base].definition, value, rules) if base in dynamic else None
        if problem is not None:
            yield SettingProblem(key=key, words=problem.words)
    for key in sorted(settings):
        if of_cluster and _is_of_one_broker(key, dynamic):
            words = "Cannot update these configs at default cluster level, broker id must be specified"
            yield SettingProblem(key=key, words=f"{words}: {key}", next_step="Set it for each broker (`broker:ID`).")
        elif key == _ADVERTISED and key in dynamic:
            yield SettingProblem(key=key, words=_NOT_IN_KRAFT, next_step=_TO_FILE, voids_others=True)


def _is_of_one_broker(key: str, dynamic: Mapping[str, DynamicKey]) -> bool:
    """Return True if a key may not be set for all brokers at once. Keys of listeners may, if they limit connections."""
    found = _OF_LISTENER.fullmatch(key)
    if found is None:
        return key in dynamic and dynamic[key].scope == "broker"
    return found[1] not in dynamic or dynamic[found[1]].scope != "listener-of-all"


def bound_by_present(release_name: str, settings: Mapping[str, str]) -> Iterator[str]:
    """Return the keys of pools of threads, which a broker changes by a factor of two at most (`DynamicThreadPool`)."""
    dynamic = dynamic_keys(release_name)
    return (key for key in sorted(settings) if _base(key) in dynamic and _POOL.search(_base(key)))


def bound_by_host(release_name: str, settings: Mapping[str, str]) -> Iterator[str]:
    """Return the keys that a broker compares with its own file, class path and files: listeners, classes and stores."""
    dynamic = dynamic_keys(release_name)
    for key in sorted(settings):
        found = dynamic.get(_base(key))
        if found is not None and (found.definition.type == "CLASS" or _OF_HOST.fullmatch(_base(key))):
            yield key


def _base(key: str) -> str:
    """Return the key without the prefix of a listener."""
    found = _OF_LISTENER.fullmatch(key)
    return found[1] if found else key
