"""The contexts of `kafkactl config`: named clusters in a file of the user's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from kafkactl.adapters.files.contexts import CONTEXT_KEYS, Contexts, contexts_file, load_contexts
from kafkactl.adapters.files.contexts_edit import change_contexts, with_context, without_context
from kafkactl.errors import KafkactlError
from kafkactl.findings import Finding, Outcome, Severity, error_finding
from kafkactl.frozen import frozen


@frozen
class ContextChange:
    """The file of contexts before a change and after it, and what is to be said of it."""

    name: str
    before: Contexts
    after: Contexts
    outcome: Outcome
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The answer `config.change`."""
        return {
            "outcome": self.outcome.value,
            "file": self.after.file,
            "name": self.name,
            "before": _shown(self.before, self.name),
            "after": _shown(self.after, self.name),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def list_contexts(name: str | None = None) -> dict[str, Any]:
    """The answer `config.view`: all contexts, or the one with this name. Raises InputError `unknown-context`."""
    contexts = load_contexts(contexts_file(os.environ))
    names = [name] if name else sorted(contexts.by_name)
    return {
        "file": contexts.file,
        "current": contexts.current,
        "contexts": [_context_dict(contexts, context) for context in names],
    }


def set_context(name: str, changes: Mapping[str, str], *, dry_run: bool = False) -> ContextChange:
    """Make a context, or change these keys of it. Raises InputError for addresses that are not understood."""
    from kafkactl.adapters.net.transport import parse_addresses

    for key in ("bootstrap_server", "bootstrap_controller"):
        if changes.get(key):
            parse_addresses(changes[key])
    findings = _remarks(changes.get("command_config"))
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
    outcome = Outcome.NOTHING_TO_DO if before == after else Outcome.PLANNED if dry_run else Outcome.DONE
    return ContextChange(name=name, before=before, after=after, outcome=outcome, findings=tuple(findings))


def _remarks(path: str | None) -> list[Finding]:
    """Whether the client properties can be read and understood now: they may come later, so it is not an error."""
    from kafkactl.adapters.kafka.client_config import load_client_config

    if path is None:
        return []
    try:
        return list(load_client_config(path).findings)
    except KafkactlError as error:
        return [error_finding("command_config", error, Severity.WARNING)]


def _context_dict(contexts: Contexts, name: str) -> dict[str, Any]:
    context = contexts.context(name)
    return {
        "name": name,
        "current": contexts.current == name,
        **{key: getattr(context, key) for key in CONTEXT_KEYS},
    }


def _shown(contexts: Contexts, name: str) -> dict[str, Any] | None:
    return _context_dict(contexts, name) if name in contexts.by_name else None
