"""A client of a live cluster: who is meant, how to get in, and what that exposes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kafkactl.core.callbacks import ExposureCallback, NoteCallback, ignore_exposure, ignore_note
from kafkactl.core.errors import InputError, KafkactlError, RefusedError
from kafkactl.core.values import Role
from kafkactl.core.wording import some
from kafkactl.files.contexts import Contexts, Target, contexts_file, load_contexts
from kafkactl.files.contexts import resolve_target as resolve
from kafkactl.kafka.api.exposure import client_exposure, client_exposures, writable_by_others
from kafkactl.kafka.client_config import client_of, load_client_config
from kafkactl.kafka.cluster_view import role_of
from kafkactl.net.transport import parse_addresses
from kafkactl.protocol.api_versions import NodeVersions

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.kafka.client import Client
    from kafkactl.kafka.client_config import ClientConfig

_SOON_MS = 1_000.0  # Nodes that are later are not waited for if another has shown its kind.
_KIND_MS = 5_000.0  # as the first contact with one of several nodes has


def resolve_target(
    *,
    bootstrap_server: str | None = None,
    bootstrap_controller: str | None = None,
    bootstrap: str | None = None,
    command_config: str | None = None,
    controller_command_config: str | None = None,
    context: str | None = None,
) -> Target:
    """Resolve these arguments with the context that they name, or with the current one. Raise InputError."""
    needs_contexts = context is not None or not (bootstrap_server or bootstrap_controller or bootstrap)
    contexts = load_contexts(contexts_file(os.environ)) if needs_contexts else Contexts(file="", by_name={})
    return resolve(
        contexts,
        bootstrap_server=bootstrap_server,
        bootstrap_controller=bootstrap_controller,
        bootstrap=bootstrap,
        command_config=command_config,
        controller_command_config=controller_command_config,
        context=context,
    )


def connect(
    *,
    bootstrap_server: str | None = None,
    bootstrap_controller: str | None = None,
    bootstrap: str | None = None,
    command_config: str | None = None,
    controller_command_config: str | None = None,
    context: str | None = None,
    timeout_ms: float | None = None,
    most_ms: float = float("inf"),
    time_left: Callable[[], float] | None = None,
    on_exposure: ExposureCallback = ignore_exposure,
    on_warning: ExposureCallback = ignore_exposure,
    on_note: NoteCallback = ignore_note,
) -> Client:
    """Return a client of a live cluster; use it as a context manager. Nothing is asked yet.

    Name brokers (`bootstrap_server`) or controllers (`bootstrap_controller`) as HOST:PORT,…, or nodes of one of these
    kinds (`bootstrap`), which are asked for their kind; without any the context of `kafkactl config` takes effect.
    `command_config` is a file of client properties as Kafka's tools read it, `controller_command_config` the one for
    controllers if they need another login. One call may take `timeout_ms`; without, what the client's file states; and
    at most `most_ms`. All calls together may take as many milliseconds as `time_left` says, at any time.

    `on_exposure` gets findings on what the connection exposes, `on_warning` those on the file of client properties.
    Raises InputError (`bootstrap-missing`, `bootstrap-twice`, `unknown-context`, and those of the files).
    """
    target = resolve_target(
        bootstrap_server=bootstrap_server,
        bootstrap_controller=bootstrap_controller,
        bootstrap=bootstrap,
        command_config=command_config,
        controller_command_config=controller_command_config,
        context=context,
    )
    if target.context is not None:
        on_note(f"context {target.context}")
    own = target.controller_command_config
    try:
        return connect_by(
            load_client_config(target.command_config),
            None if own is None else load_client_config(own),
            brokers=target.bootstrap_server,
            controllers=target.bootstrap_controller,
            nodes=target.bootstrap,
            exposed=tuple(_contexts_exposure(target)),
            timeout_ms=timeout_ms,
            most_ms=most_ms,
            time_left=time_left,
            on_exposure=on_exposure,
            on_warning=on_warning,
        )
    except InputError as error:
        if error.id == "bootstrap-missing":
            error.next_step = step_to_context()
        raise


def step_to_context() -> str | None:
    """Return the command that makes a context the current one; None if there is no context, or one is current."""
    contexts = load_contexts(contexts_file(os.environ))
    if contexts.current is not None or not contexts.by_name:
        return None
    name, *others = sorted(contexts.by_name)
    more = f" (or {some(others, most=3)})" if others else ""
    return f"No context is the current one. To use {name}{more}: kafkactl config use {name}"


def connect_by(
    config: ClientConfig,
    for_controllers: ClientConfig | None = None,
    *,
    brokers: str | None = None,
    controllers: str | None = None,
    nodes: str | None = None,
    exposed: Iterable[Finding] = (),
    timeout_ms: float | None = None,
    most_ms: float = float("inf"),
    time_left: Callable[[], float] | None = None,
    on_exposure: ExposureCallback = ignore_exposure,
    on_warning: ExposureCallback = ignore_exposure,
) -> Client:
    """Return a client with these client properties; arguments and errors are those of `connect`.

    `nodes` are brokers or controllers, which are asked for their kind. `exposed` are findings that the caller has
    already, and `on_exposure` gets them with those on the connection.
    """
    for found in filter(None, (config, for_controllers)):
        on_warning(found.findings)
    own = client_exposure(config) if for_controllers is None else client_exposures(config, for_controllers)
    on_exposure((*own, *exposed))
    limit_ms = min(most_ms, config.limits().timeout_ms if timeout_ms is None else timeout_ms)
    if nodes is not None:
        if brokers or controllers:
            raise InputError("nodes of the cluster are named by two options", id="bootstrap-twice")
        if kind_of_nodes(nodes, config, for_controllers, timeout_ms=limit_ms, time_left=time_left) is Role.BROKER:
            brokers = nodes
        else:
            controllers = nodes
    return client_of(
        config,
        brokers=brokers,
        controllers=controllers,
        for_controllers=for_controllers,
        timeout_ms=limit_ms,
        time_left=time_left,
    )


def kind_of_nodes(
    nodes: str,
    config: ClientConfig,
    for_controllers: ClientConfig | None = None,
    *,
    timeout_ms: float,
    time_left: Callable[[], float] | None = None,
) -> Role:
    """Return the kind of the nodes at these addresses, as the first that answers shows it.

    The client properties for controllers are tried after the others. Raises InputError `bootstrap-twice` if nodes of
    both kinds answer, and the error of the first address if none answers.
    """
    addresses = parse_addresses(nodes)
    errors: list[KafkactlError] = []
    limit_ms = min(timeout_ms, _KIND_MS)
    for way_in in filter(None, (config, for_controllers)):
        with client_of(way_in, brokers=nodes, controllers=None, timeout_ms=limit_ms, time_left=time_left) as client:
            found = client.versions(addresses, soon_ms=_SOON_MS)
        answers = {at: answer for at, answer in found.items() if isinstance(answer, NodeVersions)}
        kinds = {role_of(answer): at for at, answer in answers.items()}
        if len(kinds) > 1:
            text = f"{kinds[Role.BROKER]} is a broker's listener, {kinds[Role.CONTROLLER]} a controller's"
            raise InputError(text, id="bootstrap-twice", next_step="Give --bootstrap nodes of one kind.")
        if kinds:
            return next(iter(kinds))
        errors += [answer for answer in found.values() if isinstance(answer, KafkactlError)]
    raise errors[0]


def has_sent_changes() -> bool:
    """Return True if this process sent a request that may have changed a cluster."""
    from kafkactl.kafka.connection import CHANGES_SENT

    return bool(CHANGES_SENT)


def _contexts_exposure(target: Target) -> Iterable[Finding]:
    """Report a contexts file that other users can change: they decide the target of a login."""
    return () if target.context is None else writable_by_others(str(contexts_file(os.environ)), "the file of contexts")


def check_cluster_id(client: Client, expected: str | None) -> None:
    """Make sure that the cluster that answers has this id (None: any), before anything is changed.

    Raises RefusedError `cluster-id-mismatch`; UnreachableError if no node reports the cluster's id.
    """
    if expected is None:
        return
    found = client.cluster().cluster_id
    if found != expected:
        raise RefusedError(
            f"the cluster that answers has the id {found}, the context's is {expected}",
            id="cluster-id-mismatch",
            next_step="Nothing was changed. Check the addresses, and the context: kafkactl config view.",
        )
