"""Settings of tiered storage that end a broker's start, or stop it right after, and topics that still need it."""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.core.wording import counted, some
from kafkactl.metadata.log.stored_settings import TOPIC_SETTING
from kafkactl.protocol.text.config_values import Problem
from kafkactl.protocol.text.java_text import parse_boolean
from kafkactl.storage.config.tiered import (
    METADATA_LISTENER,
    STORAGE_CLASS,
    broker_listeners,
    lacks_metadata_servers,
    tiered_problems,
)
from kafkactl.storage.verify.log_settings import stored_settings
from kafkactl.storage.verify.model import Phase, RuleResult, StartContext, stops, warns

_NO_SERVERS = f"{METADATA_LISTENER} is not set, so the metadata manager has no servers to connect to."


def tiered_rules(context: StartContext) -> Iterator[RuleResult]:
    """Yield problems of enabled tiered storage, and settings that need it if it is disabled."""
    if not context.is_broker:
        return
    if context.config.tiered is None:
        yield from _topics_without(context)
        return
    for problem in tiered_problems(context.config, context.release):
        yield _stopped(context, problem)
    if lacks_metadata_servers(context.config) and not context.rules.stops_without_remote_metadata:
        more = " The broker logs an error, starts, and uploads nothing: tiered topics keep all their segments locally."
        message, step = f"{_NO_SERVERS}{more}", _one_of(context)
        yield warns("tiered-metadata-listener-missing", context.config.file, message, next_step=step)


def _stopped(context: StartContext, problem: Problem) -> RuleResult:
    file, tiered, names = context.config.file, context.config.tiered, broker_listeners(context.config)
    assert tiered is not None
    if problem.key == STORAGE_CLASS:
        text = f"remote.log.storage.system.enable is true, and {STORAGE_CLASS} is not set: no default exists."
        return stops(problem.id, Phase.BROKER_SERVICES, file, text, says=problem.words)
    if tiered.metadata_listener is not None:
        text = f"{METADATA_LISTENER} is {tiered.metadata_listener}, and the broker advertises {some(names)}."
        return stops(
            problem.id,
            Phase.BROKER_SERVICES,
            file,
            text,
            says=problem.words,
            next_step=_one_of(context),
            listeners=names,
        )
    text = (
        f"{_NO_SERVERS} The broker reports that it has started, shuts its log manager down a moment later, and stays as"
        " a process that serves nothing and that no supervisor restarts."
    )
    return stops(
        problem.id, Phase.AFTER_REGISTRATION, file, text, says=problem.words, waits=True, next_step=_one_of(context)
    )


def _one_of(context: StartContext) -> str:
    listeners = some(broker_listeners(context.config))
    return f"Set {METADATA_LISTENER} to one of the broker's advertised listeners: {listeners}."


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
