"""The words of `quorum recover` as values: who the recovered controller is, which voters are lost, who is probed."""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence
from pathlib import Path

import click

from kafkactl.adapters.files.input_files import InputKind, read_input
from kafkactl.adapters.kafka.client_config import load_client_config
from kafkactl.adapters.recover.probe import PATIENCE_MS, who_answers
from kafkactl.commands.framework.connection import patience_ms
from kafkactl.operations.quorum_recover import Asked, Probe
from kafkactl.quorum.voters import parse_host_port
from kafkactl.recover.request import Overrides
from kafkactl.recover.seen import Answering, Target
from kafkactl.values import Endpoint

_LISTENER = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)://(.*)")


def asked_of(
    *,
    log_dirs: tuple[str, ...],
    broker_log_dirs: tuple[str, ...],
    out: str | None,
    source: str | None,
    node_id: int | None,
    listener: str | None,
    config: str | None,
    lost: tuple[str, ...],
    raise_epoch: int,
    raise_offset: int,
    **accepted: bool,
) -> Asked:
    """What was asked for; `accepted` are the flags of `run.FLAGS`.

    Raises UsageError, and InputError for a --config that Kafka would not load.
    """
    if not log_dirs:
        raise click.UsageError("Give --log-dir, once for every log directory that is left.")
    if not out:
        raise click.UsageError("Give --out, the new directory.")
    if accepted["return_strays"] and not accepted["adopt"]:
        raise click.UsageError("--return-strays goes with --adopt.")
    return Asked(
        log_dirs=tuple(map(os.path.normpath, (*log_dirs, *broker_log_dirs))),
        target=_target(node_id, listener, config, str(Path(out).absolute())),
        source=None if source is None else os.path.normpath(source),
        lost=_lost(lost),
        overrides=Overrides(**accepted),
        raise_epoch=raise_epoch,
        raise_offset=raise_offset,
    )


def _lost(words: Sequence[str]) -> tuple[int, ...]:
    ids = [text.strip() for word in words for text in word.split(",")]
    wrong = [text for text in ids if not (text.isascii() and text.isdigit() and len(text) < 11)]
    if wrong:
        raise click.BadParameter(f"{wrong[0]!r} is no node id.", param_hint="--lost")
    return tuple(dict.fromkeys(map(int, ids)))


def _target(node_id: int | None, listener: str | None, config: str | None, directory: str) -> Target:
    """What is typed wins over the file."""
    endpoints: tuple[Endpoint, ...] = ()
    voters: tuple[tuple[int, str, int], ...] = ()
    if config is not None:
        from kafkactl.adapters.disks.quorum_candidate import read_controller_config

        held = read_controller_config(
            read_input(Path(config), "the recovered controller's configuration", InputKind.NODE_CONFIG), config
        )
        node_id = held.node_id if node_id is None else node_id
        endpoints = tuple(
            Endpoint(listener=one.listener, host=one.host or "localhost", port=one.port)
            for one in held.controller_endpoints
        )
        voters = tuple((one.node_id, one.host, one.port) for one in held.static_voters)
    if listener is not None:
        endpoints = (_endpoint(listener),)
    return Target(node_id=node_id, endpoints=endpoints, static_voters=voters, directory=directory)


def _endpoint(text: str) -> Endpoint:
    found = _LISTENER.fullmatch(text)
    address = None if found is None else parse_host_port(found[2])
    if found is None or address is None or not address[0] or address[1] > 65535:
        raise click.BadParameter(f"{text!r} is not NAME://HOST:PORT.", param_hint="--listener")
    return Endpoint(listener=found[1], host=address[0], port=address[1])


def probe_of(addresses: str | None, command_config: str | None) -> Probe:
    """Ask the old voters' addresses, and those of --bootstrap-controller, with the security of --command-config."""
    way_in = load_client_config(command_config)
    more: list[tuple[int | None, Endpoint]] = []
    for word in filter(None, map(str.strip, (addresses or "").split(","))):
        address = parse_host_port(word)
        if address is None:
            raise click.BadParameter(f"{word!r} is not HOST:PORT.", param_hint="--bootstrap-controller")
        more.append((None, Endpoint(listener="", host=address[0], port=address[1])))

    def probe(places: Sequence[tuple[int | None, Endpoint]]) -> tuple[Answering, ...]:
        return who_answers([*more, *places], way_in, patience_ms=patience_ms(PATIENCE_MS))

    return probe
