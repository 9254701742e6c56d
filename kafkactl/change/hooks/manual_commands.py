"""Commands that replace a hook: an operator can paste them as a whole into a shell of the node's host."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from kafkactl.change.hooks.node import HookNode, Request
from kafkactl.change.hooks.words import Verb

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_STOP = "kafka-server-stop.sh    # of {name} only, until its process is gone; or stop its service"
_START = "kafka-server-start.sh -daemon {config}    # or start its service"


def by_hand(node: HookNode, request: Request) -> Iterator[str]:
    """Yield the commands for a request; none if only the operator knows how it is done."""
    config, extra = shlex.quote(node.config), request.extra
    match request.verb:
        case Verb.PUT_CONFIG if extra.get("copy"):
            copy = shlex.quote(str(extra["copy"]))
            host = f"[{node.host}]" if ":" in node.host else node.host  # the colons of IPv6 would end it
            target = f"{host}:{node.config}"
            yield f"cp {copy} {config}" if node.host in _HERE else f"scp {copy} {shlex.quote(target)}"
        case Verb.FORMAT:
            flags = " ".join(shlex.quote(flag) for flag in extra["format_flags"])
            yield (
                f"kafka-storage.sh format --config {config} --cluster-id {shlex.quote(str(extra['cluster_id']))}"
                f" --release-version {shlex.quote(str(extra['release']))} {flags}"
            ).rstrip()
        case Verb.START:
            yield _START.format(config=config)
        case Verb.RESTART:
            yield _STOP.format(name=node.name)
            yield _START.format(config=config)
        case Verb.STOP:
            yield _STOP.format(name=node.name)
        case Verb.INSTALL:
            yield f"# so that the next start of {node.name} runs Kafka {extra['release']}; leave the process alone"
        case Verb.WIPE:
            folder = str(extra["metadata_dir"])
            yield f"mv {shlex.quote(folder)} {shlex.quote(f'{folder}.before-{request.seq}')}"
        case _:
            return
