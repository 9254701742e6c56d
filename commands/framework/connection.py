"""Options that name a cluster: `--bootstrap-server` and related ones, before or after the sub-command.

A leaf takes `@connection_options` and gets the parameter `connection`; its group takes the same decorator, so that the
options may stand in front of the verb, as in Kafka's tools. What is nearer wins: the leaf's options before the
group's, the command line before the environment, and all of them before a context.

    @leaf_command("list", ...)
    @connection_options
    def command(*, connection: ConnectionArguments) -> None:
        with open_client(connection) as client:
            guard_cluster(client, connection)  # before the first change

A command that only reads takes `@reading_options` instead: the same, and `-c`, the configuration of a node of this
host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import click
from click.core import ParameterSource

from kafkactl.commands.framework import completing
from kafkactl.commands.framework.option_group import option_group
from kafkactl.commands.framework.options import PATH, ConnectionOption

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.files.contexts import Target
    from kafkactl.kafka.client import Client
    from kafkactl.storage.api.discovery import FoundCluster
    from kafkactl.storage.discovery import NodeFile

Function = TypeVar("Function", bound=Callable[..., Any])

# The client gives up before the command does, so that it can still say who did not answer.
_SHARE_OF_TIME = 0.9
_MOST_WARNINGS = 10  # a file of another kind has hundreds, which hide the error
_FOUND = "kafkactl.found"
_NODE_CONFIGS = "node_configs"
_ADDRESSES = frozenset({"bootstrap_server", "bootstrap_controller", "bootstrap"})
_NAMES_CLUSTER = frozenset({*_ADDRESSES, _NODE_CONFIGS})


class ConnectionArguments(NamedTuple):
    """Arguments about the cluster; nothing is opened, no file is read. All None: the current context is used."""

    bootstrap_server: str | None = None
    bootstrap_controller: str | None = None
    bootstrap: str | None = None
    command_config: str | None = None
    controller_command_config: str | None = None
    context: str | None = None
    node_configs: tuple[str, ...] | None = None
    """Configurations of nodes on this host, which name the cluster if no address and no context does."""

    @property
    def names_cluster(self) -> bool:
        """Return True if an address, a context or the configuration of a node is among the arguments."""
        return bool(self.names_address or self.node_configs)

    @property
    def names_address(self) -> bool:
        """Return True if an address or a context is among the arguments."""
        return bool(self.bootstrap_server or self.bootstrap_controller or self.bootstrap or self.context)

    def target(self) -> dict[str, Any]:
        """Return the arguments of `resolve_target` and `connect`: all but the configurations of nodes."""
        return {name: value for name, value in self._asdict().items() if name != _NODE_CONFIGS}

    def words(self, *, with_files: bool = True) -> list[str]:
        """Return the arguments as they can be typed after another command that only reads."""
        words = [word for file in (self.node_configs or ()) if with_files for word in ("-c", file)]
        given = ((name, value) for name, value in self.target().items() if value is not None)
        return [*words, *(word for name, value in given for word in (f"--{name.replace('_', '-')}", value))]


def connection_options(function: Function) -> Function:
    """Add the options of a connection to a leaf, which gets the parameter `connection`, or to a group."""
    return option_group("connection", ConnectionArguments, *address_options(), make=_gathered)(function)


def reading_options(function: Function) -> Function:
    """Add the options of a connection to a leaf that only reads: `connection_options` with `-c`."""
    given = *address_options(), node_config_option("--node-config")
    return option_group("connection", ConnectionArguments, *given, make=_gathered)(function)


def node_config_option(name: str) -> Callable[[Any], Any]:
    """Return the option `-c` with this long name, whose files are `node_configs` of the connection arguments."""
    text = "The configuration of a node on this host, which names the cluster, and has a login, if no option does."
    return click.option(
        "-c", name, _NODE_CONFIGS, cls=ConnectionOption, multiple=True, metavar="FILE", type=PATH, help=text
    )


def find_cluster(connection: ConnectionArguments) -> FoundCluster:
    """Return the source of a read-only command's cluster: its arguments, a context, or this host.

    Warnings are shown on stderr, those on nodes that were passed over among them. Raises as
    `storage.api.discovery.find_cluster`.
    """
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.commands.rendering import output
    from kafkactl.core.wording import first_few
    from kafkactl.storage.api.discovery import find_cluster as find

    kept = click.get_current_context().meta
    if _FOUND in kept:  # a command that connects twice looks once, and reports once
        return cast("FoundCluster", kept[_FOUND])
    words = current_settings().command
    found = kept[_FOUND] = find(connection.node_configs or (), **connection.target(), words=words, on_warning=_warn)
    if found.by in ("process", "place"):
        output.say(f"found: {first_few([file.title for file in found.files], most=2)}")
    return found


def open_reading_client(connection: ConnectionArguments) -> Client:
    """Return a client for a command that only reads: without address and context, of the nodes of this host.

    Raises as `open_client` and `find_cluster`.
    """
    return open_client(connection, found=None if connection.names_address else find_cluster(connection))


def find_node_file(*, writes: bool = False) -> NodeFile:
    """Return the configuration of the one node of this host, for a command without -c.

    Shown on stderr, as `find_cluster` does. Raises as `storage.api.discovery.find_node`.
    """
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.commands.rendering import output
    from kafkactl.storage.api.discovery import find_node

    (file,) = find_node(current_settings().command, writes=writes, on_warning=_warn).files
    output.say(f"found: {file.title}")
    return file


def _warn(findings: Iterable[Finding]) -> None:
    from kafkactl.commands.rendering import output

    for finding in findings:
        output.say(f"{finding.severity.value}: {finding.message}. {finding.advice}", "warn")


def open_client(
    connection: ConnectionArguments,
    *,
    found: FoundCluster | None = None,
    timeout_ms: float | None = None,
    is_node_config: bool = False,
) -> Client:
    """Return a client of the cluster that is meant; use it as a context manager. Nothing is asked yet.

    `found` is the result of `find_cluster`, for a command that may do without arguments.

    All calls together may take a little less than the command's --timeout, one of them at most `timeout_ms`. What the
    client's file states and kafkactl does not do is reported on stderr, and so is what the connection exposes
    (refused where --strict-security is given); keys that are not a client's are not if it is a node's own file
    (`is_node_config`, as add-controller takes it). Raises InputError (`bootstrap-missing`, `bootstrap-twice`,
    `unknown-context`, and those of the files).
    """
    from kafkactl.commands.framework.deadline import left_ms
    from kafkactl.commands.framework.exposure import tell_exposure
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.commands.rendering import output

    is_own_file = is_node_config or (found is not None and found.is_by_files and not connection.command_config)

    def warn(findings: Iterable[Finding]) -> None:
        relevant = [item for item in findings if not (is_own_file and item.id == "unknown-client-property")]
        shown = relevant if current_settings().verbose else relevant[:_MOST_WARNINGS]
        for finding in shown:
            output.say(f"{finding.severity.value}: {finding.message}", "warn")
        if len(shown) < len(relevant):
            output.say(f"warning: {len(relevant) - len(shown)} more warnings about this file, which -v shows", "warn")

    limit_ms = current_settings().timeout_ms
    # A command of an hour whose calls are short needs no minutes to say who did not answer.
    kept_ms = (1 - _SHARE_OF_TIME) * min(limit_ms, timeout_ms or limit_ms)
    limits: dict[str, Any] = {
        "timeout_ms": timeout_ms,
        "most_ms": _SHARE_OF_TIME * limit_ms,
        "time_left": lambda: max(0.0, left_ms() - kept_ms),
        "on_exposure": tell_exposure,
        "on_warning": warn,
    }
    if found is not None and found.is_by_files:
        from kafkactl.storage.api.discovery import connect_to_found

        logins = connection.command_config, connection.controller_command_config
        return connect_to_found(found, command_config=logins[0], controller_command_config=logins[1], **limits)
    from kafkactl.kafka.api.connection import connect

    return connect(**connection.target(), **limits, on_note=output.detail)


def guard_cluster(client: Client, connection: ConnectionArguments) -> None:
    """Make sure that the cluster that answers is the context's, before anything is changed.

    Raises RefusedError `cluster-id-mismatch`; UnreachableError if no node shows the cluster's id. A context
    without an id, and arguments without a context, are not compared.
    """
    from kafkactl.kafka.api.connection import check_cluster_id

    check_cluster_id(client, target_of(connection).cluster_id)


def target_of(connection: ConnectionArguments) -> Target:
    """Return the arguments together with the context that they name, or the current one. Raises InputError."""
    from kafkactl.kafka.api.connection import resolve_target

    return resolve_target(**connection.target())


def title_of_cluster(client: Client) -> str:
    """Return the title of a live cluster's log: `cluster:` and the addresses that its client began with."""
    return f"cluster:{','.join(map(str, client.bootstrap))}"


def address_options() -> tuple[Callable[[Any], Any], ...]:
    """Return the options that name a cluster and its logins, the fields of `ConnectionArguments`."""
    return (
        _option("--bootstrap-server", "HOST:PORT,…", "Brokers to connect to first."),
        _option("--bootstrap-controller", "HOST:PORT,…", "Controllers to connect to first, instead of brokers."),
        _option("--bootstrap", "HOST:PORT,…", "Brokers or controllers: the nodes are asked which of them they are."),
        _option("--command-config", "FILE", "Client properties: security, login, time-outs; as Kafka's tools read it."),
        _option(
            "--controller-command-config", "FILE", "Client properties for controllers, if they need another login."
        ),
        _option(
            "--context",
            "NAME",
            "A context of `kafkactl config`, instead of the current one.",
            shell_complete=completing.contexts,
        ),
    )


def _option(name: str, metavar: str, text: str, **more: Any) -> Callable[[Any], Any]:
    variable = "KAFKACTL_" + name.removeprefix("--").replace("-", "_").upper()
    return click.option(name, cls=ConnectionOption, metavar=metavar, envvar=variable, help=text, **more)


def _gathered(**_given: str | None) -> ConnectionArguments:
    return connection_in(click.get_current_context())


def connection_in(ctx: click.Context) -> ConnectionArguments:
    """Return the connection options of this command and of the groups around it, each from its nearest place."""
    typed: dict[str, Any] = {}
    environment: dict[str, Any] = {}
    scope: click.Context | None = ctx
    while scope is not None:
        for name in ConnectionArguments._fields:
            if value := scope.params.get(name):
                on_line = scope.get_parameter_source(name) is ParameterSource.COMMANDLINE
                (typed if on_line else environment).setdefault(name, value)
        scope = scope.parent
    return ConnectionArguments(**_nearest(typed, environment))


def _nearest(typed: Mapping[str, Any], environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the typed values over those of the environment. A typed cluster replaces that of the environment."""
    if "context" in typed:
        return dict(typed)
    named = _NAMES_CLUSTER & set(typed)
    ignored = {*_ADDRESSES, "context"} if named else set()
    return {name: value for name, value in environment.items() if name not in ignored} | dict(typed)
