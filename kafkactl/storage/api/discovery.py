"""The cluster that is meant if a command names none, and a client of it: by the nodes of this host."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from kafkactl.core.callbacks import ExposureCallback, ignore_exposure
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import frozen
from kafkactl.storage.discovery import (
    FoundBy,
    HostNodes,
    NodeFile,
    check_addresses,
    check_one_cluster,
    check_one_node,
    check_writable,
)

if TYPE_CHECKING:
    from kafkactl.kafka.client import Client
    from kafkactl.kafka.client_config import ClientConfig
    from kafkactl.storage.config.node_config import NodeConfig

_LOGIN_STEP = "Give client properties that kafkactl can use with --command-config FILE."


@frozen
class FoundCluster:
    """Origin of the cluster of a command. `files` are those of its nodes on this host that were found or named.

    `findings` are warnings that a command shows before it connects. With `by` of config, process or place, the
    addresses are those of `files`; else those of the arguments or of the context.
    """

    by: FoundBy
    files: tuple[NodeFile, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def is_by_files(self) -> bool:
        """Return True if the files have the addresses of the cluster."""
        return self.by not in (FoundBy.OPTIONS, FoundBy.CONTEXT)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return the controllers that the files name, HOST:PORT."""
        return tuple(dict.fromkeys(address for file in self.files for address in file.controllers))


def find_cluster(
    configs: Sequence[str] = (),
    *,
    bootstrap_server: str | None = None,
    bootstrap_controller: str | None = None,
    bootstrap: str | None = None,
    command_config: str | None = None,
    controller_command_config: str | None = None,
    context: str | None = None,
    words: str = "status",
    on_warning: ExposureCallback = ignore_exposure,
) -> FoundCluster:
    """Return the cluster that a command means.

    In this order: the addresses or the context that the arguments name (those of `connect`), the files of `configs`,
    the current context, the processes of this host, the usual places. Client properties without addresses name no
    cluster. `words` are those of the command (`quorum describe`), for next steps. `on_warning` gets the findings on
    nodes that are passed over, also if no other is left.

    Raises InputError `bootstrap-missing` if nothing is found, `several-clusters-found`, those of the file of contexts,
    and the error of a file that cannot be read as a configuration.
    """
    from kafkactl.kafka.api.connection import resolve_target, step_to_context
    from kafkactl.storage.io.host_nodes import named_file, overrides_of_files

    named = tuple(named_file(path) for path in configs)
    target = resolve_target(
        bootstrap_server=bootstrap_server,
        bootstrap_controller=bootstrap_controller,
        bootstrap=bootstrap,
        command_config=command_config,
        controller_command_config=controller_command_config,
        context=context,
    )
    if bootstrap_server or bootstrap_controller or bootstrap or context or _names_nodes(command_config):
        return FoundCluster(by=FoundBy.OPTIONS if target.context is None else FoundBy.CONTEXT, files=named)
    if named:
        _check_readable(named)
        check_one_cluster(named)
        overridden = overrides_of_files(configs)
        on_warning(overridden)
        return FoundCluster(by=FoundBy.CONFIG, files=named, findings=overridden)
    if target.bootstrap_server or target.bootstrap_controller or target.bootstrap:
        return FoundCluster(by=FoundBy.CONTEXT)
    found, findings = _on_host(words, on_warning)
    if not found.files:
        raise InputError(
            f"no node of the cluster is named, and {_not_found(found)}",
            id="bootstrap-missing",
            next_step=_first_step(findings) or step_to_context(),
        )
    check_one_cluster(found.files)
    _check_readable(found.files)
    return FoundCluster(by=found.by, files=found.files, findings=findings)


def find_node(words: str, *, writes: bool = False, on_warning: ExposureCallback = ignore_exposure) -> FoundCluster:
    """Return the one node of this host, for a command that reads its disks, or `writes` to them.

    `words` are those of the command; `on_warning` is that of `find_cluster`. Raises InputError `missing-option`,
    `several-nodes-found`; for a command that writes RefusedError `found-node-runs`, and `found-node-not-certain` if
    another file was passed over.
    """
    found, findings = _on_host(words, on_warning)
    if not found.files:
        raise InputError(
            f"Missing option '-c': {_not_found(found)}",
            id="missing-option",
            next_step=_first_step(findings),
        )
    check_one_node(found.files)
    if writes:
        check_writable(found)
    return FoundCluster(by=found.by, files=found.files, findings=findings)


def connect_to_found(
    found: FoundCluster,
    *,
    command_config: str | None = None,
    controller_command_config: str | None = None,
    timeout_ms: float | None = None,
    most_ms: float = float("inf"),
    time_left: Callable[[], float] | None = None,
    on_exposure: ExposureCallback = ignore_exposure,
    on_warning: ExposureCallback = ignore_exposure,
) -> Client:
    """Return a client of the cluster of these files; use it as a context manager. Nothing is asked yet.

    Without `command_config` the login is that of the node itself, at controllers and at brokers. With it, the listener
    is one that takes such a login: the controllers', or else this broker's own. Raises as `connect`.
    """
    from kafkactl.kafka.api.connection import connect_by
    from kafkactl.kafka.client_config import load_client_config

    check_addresses(found.files)
    configs = [file.config for file in found.files if file.config is not None]
    connect = functools.partial(
        connect_by,
        timeout_ms=timeout_ms,
        most_ms=most_ms,
        time_left=time_left,
        on_exposure=on_exposure,
        on_warning=on_warning,
    )
    controllers = ",".join(found.addresses)
    own = None if controller_command_config is None else load_client_config(controller_command_config)
    if command_config is not None:
        config = load_client_config(command_config)
        brokers = () if own is not None else _brokers_that_take(config, configs)
        if brokers:
            return connect(config, brokers=",".join(brokers))
        return connect(config, own, controllers=controllers)
    at_brokers, at_controllers, findings = _own_logins(configs[0])
    on_warning(findings)
    return connect(at_brokers, own or at_controllers, controllers=controllers)


def _on_host(words: str, on_warning: ExposureCallback) -> tuple[HostNodes, tuple[Finding, ...]]:
    from kafkactl.storage.io.host_nodes import host_nodes

    found, overridden = host_nodes()
    passed = (passed.finding(words) for passed in found.passed_over)
    findings = (*passed, *overridden)
    on_warning(findings)
    return found, findings


def _not_found(found: HostNodes) -> str:
    if found.passed_over:
        return "each node of Kafka on this host was passed over"
    return "no node of Kafka was found on this host"


def _first_step(findings: Iterable[Finding]) -> str | None:
    """Return the next step of the first node that was passed over; None if there was none."""
    return next((finding.next_step for finding in findings if finding.next_step), None)


def _names_nodes(command_config: str | None) -> bool:
    """Return True if client properties name nodes themselves, which Kafka's own clients read there."""
    from kafkactl.kafka.client_config import load_client_config

    if command_config is None:
        return False
    given = load_client_config(command_config).properties
    return bool(given.get("bootstrap.servers") or given.get("bootstrap.controllers"))


def _check_readable(files: Iterable[NodeFile]) -> None:
    """Raise the error of the first file that cannot be read as a configuration."""
    for file in files:
        if file.problem is not None:
            raise file.problem


def _brokers_that_take(config: ClientConfig, nodes: Iterable[NodeConfig]) -> tuple[str, ...]:
    """Return the addresses of brokers of this host that take this login, if the controllers do not."""
    from kafkactl.core.values import host_port
    from kafkactl.storage.config.controller_access import broker_addresses, controllers_take

    mechanism = str(config.properties.get("sasl.mechanism", "GSSAPI"))
    login = config.protocol.name, mechanism
    nodes = list(nodes)
    if any(controllers_take(node, *login) for node in nodes):
        return ()
    return tuple(
        host_port(host or "localhost", port) for node in nodes for host, port in broker_addresses(node, *login)
    )


def _own_logins(node: NodeConfig) -> tuple[ClientConfig, ClientConfig, tuple[Finding, ...]]:
    """Return the client properties of a node for brokers and for controllers, and the findings about them.

    Raises InputError if kafkactl cannot use the login at the controllers.
    """
    from kafkactl.kafka.client_config import client_config_of
    from kafkactl.storage.config.controller_access import broker_client_properties, controller_client_properties

    at_controllers = client_config_of(controller_client_properties(node), file=node.file)
    try:
        at_controllers.access()
    except InputError as error:
        raise InputError(error.message, id=error.id, cause=error.cause, next_step=_LOGIN_STEP) from error
    of_broker = broker_client_properties(node)
    if of_broker is None:
        return at_controllers, at_controllers, ()
    try:
        at_brokers = client_config_of(of_broker, file=node.file)
        at_brokers.access()
    except InputError as error:
        text = (
            f"brokers are asked with the login of controllers, as that between brokers cannot be used: {error.message}"
        )
        return at_controllers, at_controllers, (warning("broker-login-not-usable", node.file, text, _LOGIN_STEP),)
    return at_brokers, at_controllers, ()
