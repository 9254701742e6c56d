"""Settings and classes with which a node of a release does not start, from its file and from the metadata log.

The judge of a file is that of `storage verify` (`read_node_config`), the judge of a stored setting is its table of
bounds: nothing is validated twice. A value that is not in the file (a config provider has it, or it was redacted) is
unknown: it is listed by `unread_settings` and never refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.redact import BROKER, REDACTED, TOPIC, is_defined_setting, shown_config
from kafkactl.protocol.text.config_values import PROVIDERS
from kafkactl.protocol.text.java_text import split_list, trim
from kafkactl.protocol.text.properties import render_property
from kafkactl.storage.config.keys import ServerKey, known_in, server_keys, topic_keys, value_problem
from kafkactl.storage.config.node_config import ConfigError, NodeConfig, read_node_config
from kafkactl.storage.config.oauth import oauth_problems
from kafkactl.storage.config.plugin_classes import is_missing, releases_with
from kafkactl.storage.config.release_rules import reading_rules
from kafkactl.storage.config.tiered import tiered_problems
from kafkactl.storage.config.voter_addresses import unroutable_voters

_UNRESOLVED: Final = "unresolved-config-provider"


@frozen(kw_only=False)
class RefusedSetting:
    """A setting that a release refuses. `error` is Kafka's message; `value` is redacted, None for a missing key."""

    key: str
    value: str | None
    error: str


@frozen(kw_only=False)
class MissingClass:
    """A class of Kafka that a setting names and that the release does not have; others had it from..to."""

    key: str
    class_name: str
    known_from: str
    known_to: str


def refused_settings(release: Release, properties: Mapping[str, str]) -> list[RefusedSetting]:
    """Return the settings of a node's file with which the release does not start, in the order of Kafka's checks.

    Settings of listeners, voters and tiered storage that end a start after the file was read come last. A class that
    the release does not have is left to `missing_classes`.
    """
    without = {missing.key for missing in missing_classes(release, properties)}
    config, findings = _read(release, properties)
    refused = [
        RefusedSetting(key, shown_config(BROKER, key, properties.get(key)), finding.message)
        for key, finding in findings
        if finding.severity is Severity.BLOCKER and finding.id != _UNRESOLVED
        if key not in without and not _is_redacted(properties.get(key))
    ]
    later = list(oauth_problems(properties, release))
    if config is not None:
        later += [*unroutable_voters(config, release), *tiered_problems(config, release)]
    return refused + [
        RefusedSetting(found.key, shown_config(BROKER, found.key, properties.get(found.key)), found.words)
        for found in later
    ]


def node_config(release: Release, properties: Mapping[str, str]) -> NodeConfig | None:
    """Return a node's file as the release reads it; None if the release refuses it."""
    return _read(release, properties)[0]


def unread_settings(release: Release, properties: Mapping[str, str]) -> list[str]:
    """Return the keys that the release checks and whose values are unknown: redacted, or held by a config provider.

    Passwords are not among them: a release takes any text as one.
    """
    hidden = [key for key, value in properties.items() if _is_redacted(value)]
    provided = [key for key, finding in _read(release, properties)[1] if finding.id == _UNRESOLVED]
    keys = server_keys(release.name)
    return sorted(key for key in {*hidden, *provided} if key in keys and not keys[key].is_secret)


def _read(release: Release, properties: Mapping[str, str]) -> tuple[NodeConfig | None, list[tuple[str, Finding]]]:
    """Return the configuration as the release reads it, None if it is refused, and the findings about it by key."""
    text = "".join(render_property(key, value, ascii_only=True) + "\n" for key, value in properties.items())
    try:
        config = read_node_config(text.encode("ascii"), file="", release=release)
    except ConfigError as error:
        return None, _by_key(error.findings)
    return config, _by_key(config.warnings)


def _by_key(findings: Iterable[Finding]) -> list[tuple[str, Finding]]:
    return [(str(finding.evidence["key"]), finding) for finding in findings]


def refused_topic_settings(release: Release, configs: Mapping[str, str]) -> list[RefusedSetting]:
    """Return the stored settings of one topic with which no broker of the release starts. Unknown keys stop nothing."""
    return list(_out_of_bounds(release, topic_keys(release.name), configs, TOPIC))


def refused_broker_settings(release: Release, configs: Mapping[str, str]) -> list[RefusedSetting]:
    """Return the stored settings of brokers that the release refuses: it logs an error, starts and ignores them."""
    return list(_out_of_bounds(release, server_keys(release.name), configs, BROKER))


def missing_classes(release: Release, properties: Mapping[str, str]) -> list[MissingClass]:
    """Return the classes of Kafka that settings of a file or of a stored configuration name and the release lacks."""
    found = []
    for key, text in properties.items():
        if not _loads_classes(release, key):
            continue
        for name in dict.fromkeys(trim(item) for item in split_list(text)):
            if is_missing(name, release.name):
                known = releases_with(name)
                found.append(MissingClass(key, name, known[0], known[-1]))
    return found


def _out_of_bounds(
    release: Release, keys: Mapping[str, ServerKey], configs: Mapping[str, str], kind: int
) -> Iterator[RefusedSetting]:
    rules = reading_rules(release)
    for key, text in configs.items():
        if key in keys and not _is_redacted(text) and (problem := value_problem(keys[key], text, rules)) is not None:
            yield RefusedSetting(key, shown_config(kind, key, text), problem.words)


def _loads_classes(release: Release, key: str) -> bool:
    """Return True unless the release ignores the key: it is of another release, or of a plugin."""
    if key.startswith(f"{PROVIDERS}."):
        return key.endswith(".class")
    return key in server_keys(release.name) if known_in(key) else is_defined_setting(key)


def _is_redacted(value: str | None) -> bool:
    return value is not None and REDACTED in value
