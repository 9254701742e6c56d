"""The contexts of `kafkactl config`: named clusters in a file of the user's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Literal, TypedDict

from kafkactl.core.answers import json_of
from kafkactl.core.errors import KafkactlError
from kafkactl.core.findings import Finding, Outcome, Severity, error_finding
from kafkactl.core.frozen import frozen
from kafkactl.files.contexts import ADDRESS_KEYS, Contexts, contexts_file, load_contexts
from kafkactl.files.contexts_edit import change_contexts, with_context, without_context

ContextOutcome = Literal[Outcome.DONE, Outcome.NOTHING_TO_DO, Outcome.PLANNED]


class ContextDict(TypedDict):
    """A cluster under a name."""

    name: str
    current: bool
    """True if the context is used if no node and no context is named."""
    bootstrap_server: str | None
    bootstrap_controller: str | None
    bootstrap: str | None
    """Addresses of nodes that are asked if they are brokers or controllers."""
    command_config: str | None
    """The path of the client properties."""
    controller_command_config: str | None
    """Client properties for controllers, if they differ."""
    cluster_id: str | None
    """The id that the cluster must have before anything is changed."""
    spark_master: str | None
    """The Spark master on which `dryrun` replays logs."""


class ContextsDict(TypedDict):
    """`config.view`."""

    file: str
    current: str | None
    """The current context; it may name one that is not there."""
    contexts: list[ContextDict]


@frozen
class ContextChange:
    """File of contexts before and after a change, and the findings about it."""

    name: str
    before: Contexts
    after: Contexts
    outcome: ContextOutcome
    findings: tuple[Finding, ...] = ()

    def shown(self) -> tuple[ContextDict | None, ContextDict | None]:
        """Return the context before the change and after it; None if there is none."""
        before, after = (
            _context_dict(contexts, self.name) if self.name in contexts.by_name else None
            for contexts in (self.before, self.after)
        )
        return before, after

    @property
    def context_before(self) -> ContextDict | None:
        """Return the context as it was; None if there was none."""
        return self.shown()[0]

    @property
    def context_after(self) -> ContextDict | None:
        """Return the context after the change; None if the change removes the context."""
        return self.shown()[1]

    to_dict = json_of(
        "outcome", "file=after.file", "name", "before=context_before", "after=context_after", "findings",
        kind="config.change",
    )  # fmt: skip


def list_contexts(name: str | None = None) -> ContextsDict:
    """Return the answer `config.view`: all contexts, or the one with this name. Raises InputError `unknown-context`."""
    contexts = load_contexts(contexts_file(os.environ))
    names = [name] if name else sorted(contexts.by_name)
    return {
        "file": contexts.file,
        "current": contexts.current,
        "contexts": [_context_dict(contexts, context) for context in names],
    }


def set_context(name: str, changes: Mapping[str, str], *, dry_run: bool = False) -> ContextChange:
    """Make a context, or change these keys of it. Raises InputError for addresses that are not understood."""
    from kafkactl.net.transport import parse_addresses

    for key in ADDRESS_KEYS:
        if changes.get(key):
            parse_addresses(changes[key])
    findings = [
        finding
        for key in ("command_config", "controller_command_config")
        for finding in _remarks(key, changes.get(key))
    ]
    return _changed(lambda contexts: with_context(contexts, name, changes), name, dry_run, findings)


def unset_context(name: str, keys: Iterable[str], *, dry_run: bool = False) -> ContextChange:
    """Remove keys from a context. Raises InputError `unknown-context`."""
    removed = dict.fromkeys(keys)

    def unset(contexts: Contexts) -> Contexts:
        contexts.context(name)
        return with_context(contexts, name, removed)

    return _changed(unset, name, dry_run)


def delete_context(name: str, *, dry_run: bool = False) -> ContextChange:
    """Remove a context. Raises InputError `unknown-context`."""
    return _changed(lambda contexts: without_context(contexts, name), name, dry_run)


def use_context(name: str, *, dry_run: bool = False) -> ContextChange:
    """Make a context the current one. Raises InputError `unknown-context`."""

    def used(contexts: Contexts) -> Contexts:
        contexts.context(name)
        return replace(contexts, current=name)

    return _changed(used, name, dry_run)


def _changed(
    change: Callable[[Contexts], Contexts], name: str, dry_run: bool, findings: Iterable[Finding] = ()
) -> ContextChange:
    before, after = change_contexts(contexts_file(os.environ), change, dry_run=dry_run)
    outcome: ContextOutcome = Outcome.NOTHING_TO_DO if before == after else Outcome.PLANNED if dry_run else Outcome.DONE
    return ContextChange(name=name, before=before, after=after, outcome=outcome, findings=tuple(findings))


def _remarks(key: str, path: str | None) -> list[Finding]:
    """Report unreadable client properties; the file may be created later, so this is not an error."""
    from kafkactl.kafka.client_config import load_client_config

    if path is None:
        return []
    try:
        return list(load_client_config(path).findings)
    except KafkactlError as error:
        return [error_finding(key, error, Severity.WARNING)]


def _context_dict(contexts: Contexts, name: str) -> ContextDict:
    context = contexts.context(name)
    return {
        "name": name,
        "current": contexts.current == name,
        "bootstrap_server": context.bootstrap_server,
        "bootstrap_controller": context.bootstrap_controller,
        "bootstrap": context.bootstrap,
        "command_config": context.command_config,
        "controller_command_config": context.controller_command_config,
        "cluster_id": context.cluster_id,
        "spark_master": context.spark_master,
    }
