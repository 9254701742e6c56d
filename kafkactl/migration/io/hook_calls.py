"""One call of a node's hook: its words, its environment and its folder, the same for the driver and for observations.

A hook runs in the inventory's folder, so a relative command or file in its words is relative to the inventory, wherever
kafkactl was started. Its environment is that of kafkactl (ssh, kubectl and docker need theirs) without the variables of
kafkactl's own options, one of which may hold passwords, and with the facts of the contract.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kafkactl.change.clock import Clock
from kafkactl.change.hooks.run import HookRun
from kafkactl.change.hooks.templates import DERIVED
from kafkactl.change.hooks.words import Value, Verb, words_of
from kafkactl.files.run_hook import HookLimits, run_hook
from kafkactl.migration.driver.ports import Request
from kafkactl.migration.inventory import Inventory, InventoryNode

_OURS: Final = "KAFKACTL_"
_SHOWS_STDOUT: Final = frozenset({Verb.RESTART, Verb.STOP, Verb.START, Verb.DISABLE, Verb.FORMAT, Verb.WIPE})
"""The output of these hooks may be shown: unlike that of others it is not a configuration file."""


def call_hook(
    inventory: Inventory, node: InventoryNode, request: Request, *, limits: HookLimits, clock: Clock | None = None
) -> HookRun:
    """Run the command that the inventory gives for the verb, which there must be.

    Raises InputError `hook-template-invalid`, `hook-value-invalid` where its words cannot be made.
    """
    where = f"the hook {request.verb} of {node.name}"
    words = words_of(node.hooks.commands[request.verb], values_of(node, request), where=where)
    return run_hook(
        words,
        stdin=request.text,
        environment=environment_of(node, request),
        folder=Path(inventory.file).parent,
        limits=limits,
        clock=clock,
        shows_stdout=request.verb in _SHOWS_STDOUT,
    )


def values_of(node: InventoryNode, request: Request) -> dict[str, Value]:
    """Return the values of the placeholders of a node's hook."""
    values: dict[str, Value] = {
        **node.hooks.variables,
        "node_id": str(node.id),
        "role": node.role.value,
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


def environment_of(node: InventoryNode, request: Request) -> Mapping[str, str]:
    """Return the whole environment of a hook."""
    theirs = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {
        **theirs,
        "KAFKACTL_VERB": request.verb.value,
        "KAFKACTL_NODE_ID": str(node.id),
        "KAFKACTL_ROLE": node.role.value,
        "KAFKACTL_HOST": node.host,
        "KAFKACTL_CONFIG_PATH": node.config,
        "KAFKACTL_PHASE": request.phase,
        "KAFKACTL_JOURNAL_SEQ": str(request.seq),
    }
