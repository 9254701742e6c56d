"""Call of a node's hook: its arguments, environment and folder, the same for the driver and for observations.

A hook runs in the inventory's folder, so a relative command or file in its words is relative to the inventory, wherever
kafkactl was started. Its environment is that of kafkactl (ssh, kubectl and docker need theirs) without the variables of
kafkactl's own options, one of which may hold passwords, and with the facts of the contract.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from kafkactl.change.clock import Clock
from kafkactl.change.hooks.manual_commands import by_hand
from kafkactl.change.hooks.node import HookNode, Request
from kafkactl.change.hooks.run import HookEnd, HookRun
from kafkactl.change.hooks.templates import DERIVED
from kafkactl.change.hooks.words import Value, Verb, words_of
from kafkactl.core.errors import InputError
from kafkactl.files.run_hook import HookLimits, run_hook

LocalHook: TypeAlias = Callable[[HookNode, Request], HookRun]
_OURS: Final = "KAFKACTL_"
_SHOWS_STDOUT: Final = frozenset(
    {
        Verb.RESTART, Verb.STOP, Verb.START, Verb.DISABLE, Verb.FORMAT, Verb.WIPE, Verb.INSTALL, Verb.INSTALLED,
        Verb.RUNNING, Verb.JAVA,
    }
)  # fmt: skip
"""The output of these hooks may be shown: unlike that of others it is not a configuration file."""


def call_hook(
    folder: Path, node: HookNode, request: Request, *, limits: HookLimits, clock: Clock | None = None
) -> HookRun:
    """Run the command that the inventory has for the verb. `folder` is the directory of the inventory.

    Raises InputError `hook-template-invalid`, `hook-value-invalid` if its arguments cannot be made.
    """
    where = f"the hook {request.verb} of {node.name}"
    words = words_of(node.hooks.commands[request.verb], values_of(node, request), where=where)
    return run_hook(
        words,
        stdin=request.text,
        environment=environment_of(node, request),
        folder=folder,
        limits=limits,
        clock=clock,
        shows_stdout=request.verb in _SHOWS_STDOUT,
    )


def ask_node(
    folder: Path,
    node: HookNode,
    request: Request,
    *,
    tell: Callable[[str], None],
    local: Mapping[Verb, LocalHook],
    clock: Clock,
    timeout_ms: int = 0,
) -> HookRun:
    """Run the hook of a verb, or ask the operator with `tell`. Raise nothing for what the hook does.

    `local` are the verbs that kafkactl carries out itself with the template `local`. The limit of a hook is that of
    the inventory, or `timeout_ms` if that is longer.
    """
    if request.verb not in node.hooks.commands:
        if node.hooks.is_local and request.verb in local:
            return local[request.verb](node, request)
        lines = (f"{request.instruction} (on {node.host})", *(f"    {text}" for text in by_hand(node, request)))
        tell("\n".join(lines))
        return HookRun(end=HookEnd.ASKED)
    limits = HookLimits(timeout_ms=max(timeout_ms, node.hooks.timeout_s * 1000))
    try:
        return call_hook(folder, node, request, limits=limits, clock=clock)
    except InputError as error:
        return HookRun(end=HookEnd.NOT_STARTED, message=error.message)


def values_of(node: HookNode, request: Request) -> dict[str, Value]:
    """Return the values of the placeholders of a node's hook."""
    values: dict[str, Value] = {
        **node.hooks.variables,
        "node_id": str(node.id),
        "role": node.role_word,
        "host": node.host,
        "config_path": node.config,
        "phase": request.phase,
        "journal_seq": str(request.seq),
        **request.extra,
    }
    since = request.extra.get("since_ms")
    if isinstance(since, str):
        moment = datetime.datetime.fromtimestamp(int(since) / 1000, datetime.UTC)
        seconds, text = DERIVED
        values |= {seconds: str(int(since) // 1000), text: moment.strftime("%Y-%m-%dT%H:%M:%SZ")}
    return values


def environment_of(node: HookNode, request: Request) -> Mapping[str, str]:
    """Return the whole environment of a hook."""
    theirs = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {
        **theirs,
        "KAFKACTL_VERB": request.verb.value,
        "KAFKACTL_NODE_ID": str(node.id),
        "KAFKACTL_ROLE": node.role_word,
        "KAFKACTL_HOST": node.host,
        "KAFKACTL_CONFIG_PATH": node.config,
        "KAFKACTL_PHASE": request.phase,
        "KAFKACTL_JOURNAL_SEQ": str(request.seq),
    }
