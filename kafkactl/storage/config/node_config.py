"""`server.properties` as formatting and verifying a node need it: accepted or refused as Kafka's own tool would.

Invariant: a file that Kafka of the given release would not load is refused, with every reason at once in Kafka's
order; a file that it would load gives the same node id, directories, voters and listeners that Kafka would see.
The rules stand in config_rules*.py, the keys of each release in schemas/config/server.json.

Values from elsewhere (`${file:…}`, `${env:…}`) count as Kafka counts them (config_values.py): they are text like
any other unless config.providers names their provider.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from kafkactl.cluster.quorum.voters import StaticVoter
from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.core.values import Endpoint
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.redact import is_secret_text
from kafkactl.protocol.text.config_values import Problem, Resolve, named_variables, resolve_values
from kafkactl.protocol.text.config_variables import has_variable
from kafkactl.protocol.text.properties import NOTHING, Properties, PropertyWarning, parse_properties
from kafkactl.storage.config.ignored_keys import ignored_keys
from kafkactl.storage.config.keys import BOOTSTRAP_SERVERS, ServerKey, read_values, server_keys
from kafkactl.storage.config.listeners import Listener
from kafkactl.storage.config.release_rules import reading_rules
from kafkactl.storage.config.rules import check_config
from kafkactl.storage.config.view import ConfigView

_COPIES = {"node.id": "broker.id", "broker.id": "node.id"}


class ConfigError(InputError):
    """Kafka would not load this configuration.

    `findings` has every reason, in the order in which Kafka meets them, and then the warnings that may explain them
    (a misspelt key, a byte order mark).
    """

    def __init__(self, file: str, findings: tuple[Finding, ...], *, id: str, message: str, next_step: str) -> None:
        super().__init__(message, id=id, next_step=next_step)
        self.file = file
        self.findings = findings

    def to_dict(self) -> dict[str, Any]:
        """Return the error object, with every reason in the shape of findings."""
        return super().to_dict() | {"findings": [finding.to_dict() for finding in self.findings]}


@frozen
class TieredSettings:
    """Settings of tiered storage that a broker needs in its start; None for a value that is neither given nor default.

    A class path is None if Kafka's own libraries are all there is.
    """

    storage_class: str | None
    storage_class_path: str | None
    metadata_class: str | None
    metadata_class_path: str | None
    metadata_listener: str | None


@frozen
class NodeConfig:
    """Configuration of a node.

    `log_dirs` are unique, in the order of the file; `all_directories` adds the metadata log directory where it
    stands apart. Paths are compared as text, as Kafka does. A listener's host is "" if none is written.
    `controller_protocol` is the security protocol of the first of `controller_listener_names`, over which this node
    connects to the controllers; None if there is none. `listener_protocols` are the security protocols by listener
    name in upper case. `advertised_listeners` is what others get, controllers' listeners included. `tiered` is None
    where tiered storage is not switched on. `properties` is the whole file, secrets included, and stays out of the
    repr. `warnings` are findings that stop nothing.
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
    controller_protocol: str | None
    listener_protocols: Mapping[str, str]
    listeners: tuple[Endpoint, ...]
    advertised_listeners: tuple[Endpoint, ...]
    controller_endpoints: tuple[Endpoint, ...]
    inter_broker_protocol_version: str | None
    unstable_features: bool
    zookeeper_connect: str | None
    zookeeper_migration: bool
    tiered: TieredSettings | None = None
    warnings: tuple[Finding, ...] = ()

    @property
    def all_directories(self) -> tuple[str, ...]:
        """Return every directory that is formatted: log directories, then the metadata log directory if it is none of
        them."""
        extra = () if self.metadata_log_dir in self.log_dirs else (self.metadata_log_dir,)
        return self.log_dirs + extra

    @property
    def is_zookeeper_mode(self) -> bool:
        """Return True if the node is a broker of a ZooKeeper cluster: no role (3.x). Such a node is not formatted."""
        return not self.roles

    def controller_endpoint(self) -> Endpoint | None:
        """Return the endpoint at which the quorum reaches this controller (`--standalone`); None if the node is a
        broker only.

        The first of controller.listener.names, as advertised or else as it listens; host "" is localhost.
        """
        return self.controller_endpoints[0] if self.controller_endpoints and "controller" in self.roles else None


def read_node_config(
    data: bytes,
    *,
    file: str,
    release: Release,
    resolve: Resolve | None = None,
    overrides: Mapping[str, str] | None = None,
) -> NodeConfig:
    """Read a file as the storage tool of `release` would.

    `resolve` answers for config providers (files/config_providers.py); without it they have no answer. `overrides` are
    settings of the node's command line, which count before the file. Raises ConfigError (exit code 2), whose id is that
    of its first finding.
    """
    if resolve or overrides:
        return _read(data, file, release, resolve, overrides or {})
    return _read_once(data, file, release)


@functools.lru_cache(maxsize=2048)  # plans and checks of a migration look at the same files many times
def _read_once(data: bytes, file: str, release: Release) -> NodeConfig:
    return _read(data, file, release, None, {})


def _read(
    data: bytes, file: str, release: Release, resolve: Resolve | None, overrides: Mapping[str, str]
) -> NodeConfig:
    try:
        properties = parse_properties(data, file=file)
    except DecodeError as error:
        problem = Problem(id=error.id, key="", words=error.reason, next_step=error.advice)
        raise _error(file, [_finding(problem, NOTHING, file)]) from None
    elsewhere = resolve_values({**properties.mapping, **overrides}, resolve)
    keys = server_keys(release.name)
    given, unresolved = _with_synonyms(elsewhere.given), elsewhere.unresolved
    values, found = read_values(given, keys, reading_rules(release), unresolved=_with_synonym_keys(unresolved, given))
    view = ConfigView(values, release)
    problems = _as_written([*elsewhere.problems, *found, *check_config(view)], properties)
    warnings = [warning.finding(file) for warning in properties.warnings if _matters(warning, keys)]
    suspect = [*elsewhere.warnings, *ignored_keys(properties, view), *([] if problems else _odd_directories(view))]
    suspect = _as_written(suspect, properties)
    warnings += [_finding(problem, properties, file, severity=Severity.WARNING) for problem in suspect]
    if problems:
        raise _error(file, [_finding(problem, properties, file) for problem in problems], warnings)
    return _node_config(view, file, elsewhere.given, tuple(warnings))


def _with_synonyms(given: Mapping[str, str]) -> dict[str, str]:
    """Return the keys with node.id and broker.id, either in place of the other if one is missing."""
    filled = dict(given)
    for key, other in _COPIES.items():
        if key not in given and other in given:
            filled[key] = given[other]
    return filled


def _with_synonym_keys(unresolved: frozenset[str], given: Mapping[str, str]) -> frozenset[str]:
    """Add both ids to the unresolved keys if one of them is unresolved and the other is its copy."""
    ids = {"node.id", "broker.id"}
    copies = ids if unresolved & ids and given["node.id"] == given["broker.id"] else set()
    return unresolved | copies


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
        controller_protocol=_controller_protocol(view),
        listener_protocols=view.protocols,
        listeners=_endpoints(view.listeners),
        advertised_listeners=_endpoints(_advertised(view)),
        controller_endpoints=_endpoints(view.advertised_controller_listeners if view.is_controller else ()),
        inter_broker_protocol_version=view.values.given.get("inter.broker.protocol.version")
        if view.release.uses_inter_broker_protocol
        else None,
        unstable_features=bool(view.get(view.release.unstable_switch)) if view.release.unstable_switch else False,
        zookeeper_connect=view.get("zookeeper.connect"),
        zookeeper_migration=bool(view.get(MIGRATION_ENABLE)),
        tiered=_tiered(view),
        warnings=warnings,
    )


def _controller_protocol(view: ConfigView) -> str | None:
    names = view.controller_listener_names
    return view.protocols.get(names[0].upper()) if names else None


def _tiered(view: ConfigView) -> TieredSettings | None:
    if not view.get("remote.log.storage.system.enable"):
        return None
    path = "class.path"
    return TieredSettings(
        storage_class=view.get("remote.log.storage.manager.class.name"),
        storage_class_path=view.get(f"remote.log.storage.manager.{path}") or None,
        metadata_class=view.get("remote.log.metadata.manager.class.name"),
        metadata_class_path=view.get(f"remote.log.metadata.manager.{path}") or None,
        metadata_listener=view.get("remote.log.metadata.manager.listener.name"),
    )


def _advertised(view: ConfigView) -> Iterator[Listener]:
    brokers = view.advertised_broker_listeners if view.serves_clients else ()
    controllers = view.advertised_controller_listeners if view.is_controller else ()
    yield from dict.fromkeys((*brokers, *controllers))


def _endpoints(listeners: Iterable[Listener]) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(listener=listener.name, host=listener.host or "", port=listener.port) for listener in listeners
    )


def _error(file: str, findings: list[Finding], warnings: Iterable[Finding] = ()) -> ConfigError:
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return ConfigError(
        file,
        (*findings, *warnings),
        id=first.id,
        message=f"{first.subject}: {first.message}{more}",
        next_step=first.next_step,
    )


def _as_written(problems: Iterable[Problem], properties: Properties) -> list[Problem]:
    """Return the problems in terms of the file.

    One of two ids that is a copy of the other is left out. If `${…}` is in a value that Kafka takes literally, the next
    step says so. No problem shows a value that looks like a secret.
    """
    found = []
    for problem in problems:
        key = problem.key
        if key in _COPIES and key not in properties.mapping and _COPIES[key] in properties.mapping:
            key = _COPIES[key]
        words, next_step = problem.words.replace(problem.key, key), problem.next_step.replace(problem.key, key)
        text = properties.mapping.get(key, "")
        if problem.id != "unresolved-config-provider" and has_variable(text):
            next_step = (
                f"Kafka takes {named_variables(text)} literally: config.providers does not name its provider, or not"
                " its class."
            )
        if is_secret_text(text):  # behind a lost line break, the value of any key holds the login that follows
            words = f"Invalid value [hidden] for configuration {key}: a part of it looks like a password"
            next_step = f"Correct {key}."
        found.append(Problem(id=problem.id, key=key, words=words, next_step=next_step))
    return list(dict.fromkeys(found))


def _finding(problem: Problem, properties: Properties, file: str, *, severity: Severity = Severity.BLOCKER) -> Finding:
    line = properties.line_of(problem.key)
    subject = file if line is None else f"{file}, line {line}"
    return Finding(
        id=problem.id,
        severity=severity,
        subject=subject,
        message=problem.words,
        evidence={"key": problem.key, "line": line},
        next_step=problem.next_step,
    )


def _matters(warning: PropertyWarning, keys: Mapping[str, ServerKey]) -> bool:
    """Return True if a value has an effect: Kafka trims the values of the keys it knows."""
    return warning.id != "trailing-blank-in-value" or warning.key not in keys


def _odd_directories(view: ConfigView) -> Iterator[Problem]:
    """Report directories that stop nothing and are probably not meant."""
    for path in (path for path, times in Counter(view.log_dirs).items() if times > 1):
        words = f"log.dirs names {path} twice"
        yield Problem(id="duplicate-log-dir", key="log.dirs", words=words)
    for key, paths in (("log.dirs", view.log_dirs), ("metadata.log.dir", (view.get("metadata.log.dir"),))):
        for path in paths:
            if path is not None and not path.startswith("/"):
                words = f"{key}: {path} is relative to the directory that a process happens to be started in"
                yield Problem(id="relative-log-dir", key=key, words=words)
