"""The words of `quorum recover` as values: who the recovered controller is, which voters are lost, who is probed."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from pathlib import Path

import click

from kafkactl.core.values import Endpoint
from kafkactl.quorum.api.recover.plan import RecoveryRequest
from kafkactl.quorum.api.recover.words import (
    LAST_PORT,
    Probe,
    RecoveryOverrides,
    parse_address,
    parse_listener,
    recovery_probe,
    recovery_target,
)


def request_of(
    *,
    log_dirs: tuple[str, ...],
    broker_log_dirs: tuple[str, ...],
    out: str | None,
    source: str | None,
    node_id: int | None,
    listener: str | None,
    config: str | None,
    lost: tuple[str, ...],
    new_addresses: tuple[str, ...],
    raise_epoch: int,
    raise_offset: int,
    **accepted: bool,
) -> RecoveryRequest:
    """Return the request of these options; `accepted` are the flags of `run.FLAGS`.

    Raises UsageError, and InputError for a --config that Kafka would not load.
    """
    if not log_dirs:
        raise click.UsageError("Give --log-dir, once for every log directory that is left.")
    if not out:
        raise click.UsageError("Give --out, the new directory.")
    if accepted["return_strays"] and not accepted["adopt"]:
        raise click.UsageError("--return-strays goes with --adopt.")
    return RecoveryRequest(
        log_dirs=tuple(map(os.path.normpath, (*log_dirs, *broker_log_dirs))),
        target=recovery_target(str(Path(out).absolute()), config=config, node_id=node_id, listener=_listener(listener)),
        source=None if source is None else os.path.normpath(source),
        lost=_lost(lost),
        new_addresses=_new_addresses(new_addresses),
        overrides=RecoveryOverrides(**accepted),
        raise_epoch=raise_epoch,
        raise_offset=raise_offset,
    )


def _lost(words: Sequence[str]) -> tuple[int, ...]:
    ids = [text.strip() for word in words for text in word.split(",")]
    wrong = [text for text in ids if not (text.isascii() and text.isdigit() and len(text) < 11)]
    if wrong:
        raise click.BadParameter(f"{wrong[0]!r} is not a node id.", param_hint="--lost")
    return tuple(dict.fromkeys(map(int, ids)))


def _new_addresses(words: Sequence[str]) -> dict[int, tuple[str, int]]:
    found: dict[int, tuple[str, int]] = {}
    for word in words:
        id_text, _, address_text = word.partition("=")
        address = parse_address(address_text)
        is_id = id_text.isascii() and id_text.isdigit() and len(id_text) < 11
        if not is_id or address is None or not address.host or address.port > LAST_PORT:
            raise click.BadParameter(f"{word!r} is not ID=HOST:PORT.", param_hint="--new-address")
        if int(id_text) in found:
            raise click.BadParameter(f"Node {id_text} has two addresses.", param_hint="--new-address")
        found[int(id_text)] = (address.host, address.port)
    return found


def _listener(text: str | None) -> Endpoint | None:
    found = None if text is None else parse_listener(text)
    if text is not None and found is None:
        raise click.BadParameter(f"{text!r} is not NAME://HOST:PORT.", param_hint="--listener")
    return found


def probe_asked(addresses: str | None, command_config: str | None) -> Probe:
    """Ask the old voters' addresses, and those of --bootstrap-controller, with the security of --command-config."""
    from kafkactl.commands.framework.settings import current_settings

    found = []
    for word in filter(None, map(str.strip, (addresses or "").split(","))):
        address = parse_address(word)
        if address is None:
            raise click.BadParameter(f"{word!r} is not HOST:PORT.", param_hint="--bootstrap-controller")
        found.append(address)
    return recovery_probe(found, command_config, timeout_ms=current_settings().timeout_ms)
