"""Settings of tiered storage that end a broker's start, or stop it right after, and topics that still need it."""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.core.wording import counted, some
from kafkactl.metadata.log.stored_settings import TOPIC_SETTING
from kafkactl.protocol.text.java_text import parse_boolean
from kafkactl.storage.config.node_config import TieredSettings
from kafkactl.storage.verify.log_settings import stored_settings
from kafkactl.storage.verify.model import Phase, RuleResult, StartContext, stops, warns

_LISTENER = "remote.log.metadata.manager.listener.name"
_STORAGE_CLASS = "remote.log.storage.manager.class.name"
_TOPIC_BASED = "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager"


def tiered_rules(context: StartContext) -> Iterator[RuleResult]:
    """Yield what is wrong where tiered storage is switched on, and what needs it where it is not."""
    if not context.is_broker:
        return
    tiered = context.config.tiered
    if tiered is None:
        yield from _topics_without(context)
        return
    if tiered.storage_class is None:
        yield stops(
            "tiered-storage-class-missing",
            Phase.BROKER_SERVICES,
            context.config.file,
            f"remote.log.storage.system.enable is true, and {_STORAGE_CLASS} is not set: no default exists.",
            says="java.lang.NullPointerException",
        )
    yield from _listener(context, tiered)


def _listener(context: StartContext, tiered: TieredSettings) -> Iterator[RuleResult]:
    name = tiered.metadata_listener
    controllers = {listener.upper() for listener in context.config.controller_listener_names}
    names = {endpoint.listener for endpoint in context.config.advertised_listeners} - controllers
    if name is not None and name.upper() not in names:
        yield stops(
            "tiered-metadata-listener-unknown",
            Phase.BROKER_SERVICES,
            context.config.file,
            f"{_LISTENER} is {name}, and the broker advertises {some(names)}.",
            says="Should be set as a listener name within valid broker listener name list",
            next_step=f"Set {_LISTENER} to one of the broker's advertised listeners: {some(names)}.",
            listeners=sorted(names),
        )
    elif name is None and tiered.metadata_class == _TOPIC_BASED:
        yield _no_listener(context, sorted(names))


def _no_listener(context: StartContext, names: list[str]) -> RuleResult:
    """Return the result for a metadata manager without bootstrap servers of its own or of a listener."""
    message = f"{_LISTENER} is not set, so the metadata manager has no servers to connect to."
    step = f"Set {_LISTENER} to one of the broker's advertised listeners: {some(names)}."
    if not context.rules.stops_without_remote_metadata:
        more = " The broker logs an error, starts, and uploads nothing: tiered topics keep all their segments locally."
        return warns("tiered-metadata-listener-missing", context.config.file, message + more, next_step=step)
    return stops(
        "tiered-metadata-listener-missing",
        Phase.AFTER_REGISTRATION,
        context.config.file,
        f"{message} The broker reports that it has started, shuts its log manager down a moment later, and stays as a"
        " process that serves nothing and that no supervisor restarts.",
        says="Stopping the server as it failed to initialize topic-based RLMM resources",
        waits=True,
        next_step=step,
    )


def _topics_without(context: StartContext) -> Iterator[RuleResult]:
    tiered = sorted(
        name
        for (kind, name), values in stored_settings(context)
        if kind == TOPIC_SETTING and parse_boolean(values.get("remote.storage.enable", "false"))
    )
    if tiered:
        yield warns(
            "tiered-topics-without-tiered-storage",
            f"node {context.config.node_id}",
            f"In the metadata log {counted(len(tiered), 'topic')} with remote.storage.enable=true: {some(tiered)};"
            " remote.log.storage.system.enable is not true in this file.",
            topics=tiered[:20],
        )
