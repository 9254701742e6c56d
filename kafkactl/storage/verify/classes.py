"""Classes that the file names: whether the release, or the class path that the file gives, has them.

A class that cannot be loaded ends a node: the configuration itself, the controller's or the broker's services, each in
its turn (measured on 3.9.2, 4.3.1 and 4.4.0). Which classes a release has is a table from its jars; a class of another
maker is looked for only if the file states where it lies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Severity
from kafkactl.core.frozen import frozen
from kafkactl.protocol.redact import is_secret_text
from kafkactl.protocol.text.config_values import PROVIDERS
from kafkactl.protocol.text.java_text import split_list, trim
from kafkactl.storage.config.keys import server_keys
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.config.plugin_classes import is_missing, is_named_as_kafkas, releases_with
from kafkactl.storage.verify.model import Phase, RuleResult, StartContext, finding, informs, stops

_ACL_AUTHORIZER: Final = "kafka.security.authorizer.AclAuthorizer"
_CLASS_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*")
_LISTENER_KEY: Final = re.compile(r"listener\.name\.([^.]+)\.(.+)")


@frozen
class NamedClass:
    """A class that the node loads in a phase of its start; `class_path` is what the file gives for it alone."""

    key: str
    name: str
    phase: Phase
    class_path: str | None = None

    @property
    def shown(self) -> str:
        """Return the name as answers show it: a value that is not a class name may be a password."""
        is_name = _CLASS_NAME.fullmatch(self.name) is not None and not is_secret_text(self.name)
        return self.name if is_name else "[hidden]"


def class_rules(context: StartContext) -> Iterator[RuleResult]:
    """Yield the missing classes, then the unknown ones."""
    unknown = []
    for named in _named_classes(context):
        yield from _judged(context, named)
        if not is_named_as_kafkas(named.name) and named.class_path is None:
            unknown.append(f"{named.key} ({named.shown})")
    if unknown:
        yield informs(
            "classes-not-checked",
            context.config.file,
            f"The class path of the node has to have the classes of {', '.join(unknown[:10])}, which are not Kafka's:"
            " without one of them the node ends.",
            classes=unknown[:20],
        )


def classes_with_path(config: NodeConfig) -> Iterator[tuple[str, str, str]]:
    """Yield key, class and class path of each plugin whose class path is in the file of a broker."""
    tiered = config.tiered if "broker" in config.roles else None
    if tiered is None:
        return
    for kind, name, path in (
        ("storage", tiered.storage_class, tiered.storage_class_path),
        ("metadata", tiered.metadata_class, tiered.metadata_class_path),
    ):
        if name and path:
            yield f"remote.log.{kind}.manager.class.name", name, path


def _named_classes(context: StartContext) -> Iterator[NamedClass]:
    given = context.config.properties
    inner = Phase.CONTROLLER_SERVICES if context.is_controller else Phase.BROKER_SERVICES
    outer = Phase.BROKER_SERVICES if context.is_broker else Phase.CONTROLLER_SERVICES
    for provider in split_list(given.get(PROVIDERS, "")):
        yield from _single(context, f"{PROVIDERS}.{provider}.class", Phase.CONFIG)
    for key in given:
        if (setting := server_keys(context.release.name).get(key)) is not None and setting.type == "CLASS":
            yield from _single(context, key, Phase.CONFIG)
    for key, phase in (("kafka.metrics.reporters", Phase.CONFIG), ("metric.reporters", outer)):
        for name in split_list(given.get(key, "")):
            if trim(name):
                yield NamedClass(key=key, name=trim(name), phase=phase)
    yield from _single(context, "authorizer.class.name", inner)
    yield from _of_listeners(context)
    if context.is_broker:
        yield from _single(context, "replica.selector.class", Phase.BROKER_SERVICES)
        yield from _of_tiered_storage(context)


def _single(context: StartContext, key: str, phase: Phase) -> Iterator[NamedClass]:
    if name := trim(context.config.properties.get(key, "")):
        yield NamedClass(key=key, name=name, phase=phase)


def _of_listeners(context: StartContext) -> Iterator[NamedClass]:
    """Yield classes that one listener of the node has for itself."""
    keys = server_keys(context.release.name)
    own = {endpoint.listener for endpoint in context.config.listeners}
    controllers = {name.upper() for name in context.config.controller_listener_names}
    for key in context.config.properties:
        match = _LISTENER_KEY.fullmatch(key)
        if match is None or match[1].upper() not in own:
            continue
        setting = keys.get(match[2]) or keys.get(match[2].partition(".")[2])
        if setting is not None and setting.type == "CLASS":
            of_controller = match[1].upper() in controllers and context.is_controller
            yield from _single(context, key, Phase.CONTROLLER_SERVICES if of_controller else Phase.BROKER_SERVICES)


def _of_tiered_storage(context: StartContext) -> Iterator[NamedClass]:
    tiered = context.config.tiered
    if tiered is None:
        return
    paths = {key: path for key, _, path in classes_with_path(context.config)}
    for kind, name in (("storage", tiered.storage_class), ("metadata", tiered.metadata_class)):
        key = f"remote.log.{kind}.manager.class.name"
        if name:
            yield NamedClass(key=key, name=name, phase=Phase.BROKER_SERVICES, class_path=paths.get(key))


def _judged(context: StartContext, named: NamedClass) -> Iterator[RuleResult]:
    if is_missing(named.name, context.release.name):
        known = releases_with(named.name)
        yield _stops(
            context,
            "class-not-in-release",
            named,
            f"{named.key} names {named.shown}, which Kafka {known[0]} to {known[-1]} have and {context.release.name}"
            " does not.",
        )
    elif releases_with(named.name):
        yield from _needs_zookeeper(context, named)
    elif named.class_path is not None:
        yield from _on_class_path(context, named)
    elif is_named_as_kafkas(named.name):
        text = (
            f"{named.key} names {named.shown}, which no known release has: the node ends unless its class path has it."
        )
        found = finding("class-not-known", Severity.WARNING, context.config.file, text, key=named.key)
        yield RuleResult(finding=found, unknown=True)


def _stops(context: StartContext, id: str, named: NamedClass, message: str) -> RuleResult:
    return stops(id, named.phase, context.config.file, message, says=named.shown, key=named.key, class_name=named.shown)


def _needs_zookeeper(context: StartContext, named: NamedClass) -> Iterator[RuleResult]:
    if named.key == "authorizer.class.name" and named.name == _ACL_AUTHORIZER and not context.config.zookeeper_connect:
        yield stops(
            "authorizer-needs-zookeeper",
            named.phase,
            context.config.file,
            f"{named.name} keeps its rules in ZooKeeper, and zookeeper.connect is not set.",
            says='because "connectString" is null',
        )


def _on_class_path(context: StartContext, named: NamedClass) -> Iterator[RuleResult]:
    """Report a class that the host's class path lacks; the result is unknown if a part of it cannot be read."""
    facts = context.observed.class_paths.get(named.key)
    if facts is None or facts.has_class:
        return
    if facts.unreadable:
        text = f"{named.key} names {named.shown}; of its class path {', '.join(facts.unreadable)} cannot be read"
        found = finding("class-path-not-readable", Severity.WARNING, context.config.file, f"{text}.", key=named.key)
        yield RuleResult(finding=found, unknown=True)
        return
    missing = f"; {', '.join(facts.missing)} does not exist" if facts.missing else ""
    yield _stops(
        context,
        "class-not-on-class-path",
        named,
        f"{named.key} names {named.shown}, and the class path {named.class_path} does not have it{missing}.",
    )
