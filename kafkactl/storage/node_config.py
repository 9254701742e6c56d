"""`server.properties` as formatting and verifying a node need it: accepted or refused as Kafka's own tool would.

The law: a file that Kafka of the given release would not load is refused, with every reason at once in Kafka's
order; a file that it would load gives the same node id, directories, voters and listeners that Kafka would see.
The rules stand in config_rules*.py, the keys of each release in schemas/config/server.json.

Values from elsewhere (`${file:…}`, `${env:…}`) count as Kafka counts them: text like any other unless
config.providers names the provider; then `resolve` is asked, and where nobody can answer, a key that formatting
depends on is an error and any other key stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kafkactl.errors import DecodeError, InputError
from kafkactl.features.releases import Release
from kafkactl.plan import Finding, Severity
from kafkactl.protocol.java_text import split_list
from kafkactl.protocol.properties import Properties, parse_properties
from kafkactl.quorum.voters import StaticVoter
from kafkactl.storage.config_rules import check_config
from kafkactl.storage.config_rules_listeners import Listener
from kafkactl.storage.config_rules_values import (
    BOOTSTRAP_SERVERS,
    Problem,
    ReadingRules,
    ServerKey,
    known_in,
    read_values,
    server_keys,
)
from kafkactl.storage.config_rules_view import HOST_STANDS_ALONE, ConfigView
from kafkactl.values import Endpoint

Resolve = Callable[[str, str, str], str]
"""(provider name, path, key) -> value. Raises LookupError where it cannot tell."""

PROVIDERS = "config.providers"
# `${provider:[path:]key}`, as clients' ConfigTransformer finds it.
_VARIABLE = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")
_NEEDED = frozenset(
    {
        "advertised.listeners",
        "broker.id",
        "controller.listener.names",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.voters",
        "inter.broker.listener.name",
        "inter.broker.protocol.version",
        "listener.security.protocol.map",
        "listeners",
        "log.dir",
        "log.dirs",
        "metadata.log.dir",
        "node.id",
        "process.roles",
        "unstable.feature.versions.enable",
        "unstable.metadata.versions.enable",
        "zookeeper.connect",
        "zookeeper.metadata.migration.enable",
    }
)


class ConfigError(InputError):
    """Kafka would not load this configuration. `findings` has every reason, in the order in which Kafka meets them."""

    def __init__(self, file: str, findings: tuple[Finding, ...], *, id: str, message: str, next_step: str) -> None:
        super().__init__(message, id=id, next_step=next_step)
        self.file = file
        self.findings = findings


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """What a configuration says about its node.

    `log_dirs` are unique, in the order of the file; `all_directories` adds the metadata log directory where it
    stands apart. Paths are compared as text, as Kafka does. A listener's host is "" where none is written.
    `advertised_listeners` is what others are told, controllers' listeners included. `properties` is the whole
    file, secrets included, and stays out of the repr. `warnings` are findings that stop nothing.
    """

    file: str
    properties: Mapping[str, str] = field(repr=False)
    roles: tuple[str, ...]
    node_id: int
    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    static_voters: tuple[StaticVoter, ...]
    bootstrap_servers: tuple[str, ...]
    controller_listener_names: tuple[str, ...]
    listeners: tuple[Endpoint, ...]
    advertised_listeners: tuple[Endpoint, ...]
    controller_endpoints: tuple[Endpoint, ...]
    inter_broker_protocol_version: str | None
    unstable_features: bool
    zookeeper_connect: str | None
    zookeeper_migration: bool
    warnings: tuple[Finding, ...] = ()

    @property
    def all_directories(self) -> tuple[str, ...]:
        """Every directory that is formatted: log directories, then the metadata log directory if it is none of them."""
        extra = () if self.metadata_log_dir in self.log_dirs else (self.metadata_log_dir,)
        return self.log_dirs + extra

    @property
    def is_zookeeper_mode(self) -> bool:
        """Whether the node is a broker of a ZooKeeper cluster: no role (3.x). Such a node is not formatted."""
        return not self.roles

    def controller_endpoint(self) -> Endpoint | None:
        """Where the quorum reaches this controller (`--standalone`); None for a node without the role.

        The first of controller.listener.names, as advertised or else as it listens; host "" is localhost.
        """
        return self.controller_endpoints[0] if self.controller_endpoints and "controller" in self.roles else None


def read_node_config(data: bytes, *, file: str, release: Release, resolve: Resolve | None = None) -> NodeConfig:
    """Read a file as the storage tool of `release` would.

    `resolve` answers for config providers; without it nobody does. Raises ConfigError (exit code 2), whose id is
    that of its first finding.
    """
    try:
        properties = parse_properties(data, file=file)
    except DecodeError as error:
        raise _error(file, [_blocker(error.id, file, error.reason, error.next_step or "")]) from None
    resolved, unresolved, problems = _resolve_all(properties.mapping, resolve)
    given = _with_synonyms(resolved)
    keys = server_keys(release.name)
    values, found = read_values(given, keys, _reading_rules(release), unresolved=unresolved)
    view = ConfigView(values, release)
    problems += found + check_config(view)
    if problems:
        raise _error(file, [_finding(problem, properties, file) for problem in _hinted(problems, properties)])
    return _node_config(view, file, resolved, tuple(_warnings(properties, view, keys, file)))


def _reading_rules(release: Release) -> ReadingRules:
    return ReadingRules(anything_before_host=release.version < HOST_STANDS_ALONE, newest_level=release.testing_level)


def _with_synonyms(given: Mapping[str, str]) -> dict[str, str]:
    """node.id and broker.id stand for each other where one is missing."""
    filled = dict(given)
    for key, other in (("node.id", "broker.id"), ("broker.id", "node.id")):
        if key not in given and other in given:
            filled[key] = given[other]
    return filled


def _node_config(
    view: ConfigView, file: str, properties: Mapping[str, str], warnings: tuple[Finding, ...]
) -> NodeConfig:
    metadata_log_dir = view.get("metadata.log.dir")
    return NodeConfig(
        file=file,
        properties=properties,
        roles=tuple(role for role in ("broker", "controller") if role in view.roles),
        node_id=view.get("node.id"),
        log_dirs=tuple(dict.fromkeys(view.log_dirs)),
        metadata_log_dir=view.log_dirs[0] if metadata_log_dir is None else metadata_log_dir,
        static_voters=view.voters,
        bootstrap_servers=tuple(view.get(BOOTSTRAP_SERVERS) or ()),
        controller_listener_names=view.controller_listener_names,
        listeners=_endpoints(view.listeners),
        advertised_listeners=_endpoints(_advertised(view)),
        controller_endpoints=_endpoints(view.advertised_controller_listeners if view.is_controller else ()),
        inter_broker_protocol_version=view.values.given.get("inter.broker.protocol.version")
        if view.release.uses_inter_broker_protocol
        else None,
        unstable_features=bool(view.get(view.release.unstable_switch)) if view.release.unstable_switch else False,
        zookeeper_connect=view.get("zookeeper.connect"),
        zookeeper_migration=bool(view.get("zookeeper.metadata.migration.enable")),
        warnings=warnings,
    )


def _advertised(view: ConfigView) -> Iterator[Listener]:
    brokers = view.advertised_broker_listeners if view.serves_clients else ()
    controllers = view.advertised_controller_listeners if view.is_controller else ()
    yield from dict.fromkeys((*brokers, *controllers))


def _endpoints(listeners: Iterable[Listener]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(listener=one.name, host=one.host or "", port=one.port) for one in listeners)


# --- values from elsewhere --------------------------------------------------------------------------------------------


def _resolve_all(
    given: Mapping[str, str], resolve: Resolve | None
) -> tuple[dict[str, str], frozenset[str], list[Problem]]:
    """Put in what config providers know: (values, keys whose value nobody knows, problems)."""
    providers = frozenset(split_list(given.get(PROVIDERS, "")))
    values, unresolved = dict(given), set()
    problems = []
    for key, text in given.items():
        if key == PROVIDERS or not any(match[1] in providers for match in _VARIABLE.finditer(text)):
            continue
        try:
            values[key] = _resolved(text, providers, resolve)
        except LookupError as error:
            unresolved.add(key)
            if key in _NEEDED:
                problems.append(_unresolved(key, text, str(error.args[0]) if error.args else ""))
    for node_key, other in (("node.id", "broker.id"), ("broker.id", "node.id")):
        if node_key in unresolved and other not in given:
            unresolved.add(other)
    return values, frozenset(unresolved), problems


def _resolved(text: str, providers: frozenset[str], resolve: Resolve | None) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] not in providers:
            return match[0]
        if resolve is None:
            raise LookupError("it is not asked here")
        return resolve(match[1], match[3] or "", match[4])

    return _VARIABLE.sub(value, text)


def _unresolved(key: str, text: str, why: str) -> Problem:
    return Problem(
        id="unresolved-config-provider",
        key=key,
        words=f"{key}={text} comes from a config provider, and {why}",
        next_step=f"Write the value of {key} into the file; directories and ids are no secrets.",
    )


# --- findings ---------------------------------------------------------------------------------------------------------


def _error(file: str, findings: list[Finding]) -> ConfigError:
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return ConfigError(
        file,
        tuple(findings),
        id=first.id,
        message=f"{first.subject}: {first.message}{more}",
        next_step=first.next_step,
    )


def _hinted(problems: Iterable[Problem], properties: Properties) -> Iterator[Problem]:
    """Say why, where `${…}` stands in a value and no provider is named for it."""
    for problem in problems:
        text = properties.mapping.get(problem.key, "")
        if problem.id == "unresolved-config-provider" or not _VARIABLE.search(text):
            yield problem
            continue
        hint = f"{text} is not replaced: {PROVIDERS} does not name its provider, so Kafka takes it literally."
        yield Problem(id=problem.id, key=problem.key, words=problem.words, next_step=hint)


def _finding(problem: Problem, properties: Properties, file: str) -> Finding:
    line = properties.line_of(problem.key)
    subject = file if line is None else f"{file}, line {line}"
    return Finding(
        id=problem.id,
        severity=Severity.BLOCKER,
        subject=subject,
        message=problem.words,
        evidence={"key": problem.key, "line": line},
        next_step=problem.next_step or f"Set {problem.key}.",
    )


def _blocker(id: str, subject: str, message: str, next_step: str) -> Finding:
    return Finding(id=id, severity=Severity.BLOCKER, subject=subject, message=message, next_step=next_step)


def _warnings(properties: Properties, view: ConfigView, keys: Mapping[str, ServerKey], file: str) -> Iterator[Finding]:
    """What stops nothing and is probably not meant."""
    for warning in properties.warnings:
        if warning.id == "trailing-blank-in-value" and warning.key in keys:
            continue  # Kafka trims the values of the keys it knows
        yield warning.finding(file)
    for key in properties.mapping:
        if key not in keys and (finding := _unknown_key(key, keys, view.release, properties, file)):
            yield finding
    for path in dict.fromkeys(path for path in view.log_dirs if view.log_dirs.count(path) > 1):
        yield _warning(
            "duplicate-log-dir", file, properties, "log.dirs", f"log.dirs names {path} twice", "Remove one of them."
        )


def _unknown_key(
    key: str, keys: Mapping[str, ServerKey], release: Release, properties: Properties, file: str
) -> Finding | None:
    """A key of another release, or one that is nearly a key: plugins may have keys of their own, so nothing else."""
    if span := known_in(key):
        first, last = span
        message = f"Kafka {release.name} does not know {key} (known from {first} to {last}) and ignores it"
        return _warning("config-key-of-other-release", file, properties, key, message, "Remove it.")
    import difflib

    near = difflib.get_close_matches(key, keys, n=1, cutoff=0.9)
    if not near or key.startswith("listener.name."):
        return None
    message = f"{key} is no key of Kafka's, which ignores it; did you mean {near[0]}?"
    return _warning("misspelt-config-key", file, properties, key, message, f"Write {near[0]}.")


def _warning(id: str, file: str, properties: Properties, key: str, message: str, next_step: str) -> Finding:
    line = properties.line_of(key)
    return Finding(
        id=id,
        severity=Severity.WARNING,
        subject=file if line is None else f"{file}, line {line}",
        message=message,
        evidence={"key": key, "line": line},
        next_step=next_step,
    )
