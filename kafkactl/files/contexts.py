"""Contexts: named clusters in one TOML file of the user.

    current = "prod"

    [contexts.prod]
    bootstrap_server = "broker-1:9092,broker-2:9092"      # or bootstrap_controller, or bootstrap for either
    command_config = "prod.properties"                    # relative to this file's folder; credentials are in it
    controller_command_config = "controllers.properties"  # for controllers, if their listener needs another login
    cluster_id = "MkU3OEVBNTcwNTJENDM2Qg"                 # no change is sent to a cluster with another id
    spark_master = "spark://driver-1:7077"                # where `kafkactl dryrun` replays logs

The file holds no secrets, but a user who may write it decides to which cluster changes are sent. So an unknown key is
an error that does not repeat its value, and a file that other users may write is not read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.files.input_files import InputKind, open_regular, read_open

if TYPE_CHECKING:
    from pathlib import Path


@frozen
class Context:
    """A cluster under a name. At most one of the bootstraps is set; `command_config` is a path as it was written.

    `spark_master` is a URL as spark-submit takes it: the dry run's engine is then Spark, there.
    """

    bootstrap_server: str | None = None
    bootstrap_controller: str | None = None
    bootstrap: str | None = None
    command_config: str | None = None
    controller_command_config: str | None = None
    cluster_id: str | None = None
    spark_master: str | None = None

    def given(self) -> dict[str, str]:
        """Return the keys that are set, in the order in which they are shown."""
        return {name: value for name in CONTEXT_KEYS if (value := getattr(self, name)) is not None}


CONTEXT_KEYS = tuple(Context.__annotations__)
ADDRESS_KEYS = ("bootstrap_server", "bootstrap_controller", "bootstrap")
"""Keys of which a context has one: addresses of brokers, of controllers, or of nodes of either kind."""


@frozen
class Contexts:
    """Contexts of a file. `current` is the context that is used if none is named; it may name a missing one."""

    file: str
    current: str | None = None
    by_name: Mapping[str, Context]

    def context(self, name: str) -> Context:
        """Return the context of that name. Raises InputError `unknown-context`."""
        if name not in self.by_name:
            raise InputError(
                f"{self.file} has no context {name!r}; it has {', '.join(sorted(self.by_name)) or 'none'}",
                id="unknown-context",
            )
        return self.by_name[name]


@frozen
class Target:
    """Cluster and credentials: arguments and context together.

    `bootstrap` are addresses of which it is not said if they are brokers' or controllers'.
    `context` is the name of the context that had a part in it; `cluster_id` the id that the cluster must have.
    """

    bootstrap_server: str | None = None
    bootstrap_controller: str | None = None
    command_config: str | None = None
    controller_command_config: str | None = None
    context: str | None = None
    cluster_id: str | None = None
    bootstrap: str | None = None


def contexts_file(environment: Mapping[str, str]) -> Path:
    """Return the path: `KAFKACTL_CONFIG`, or `kafkactl/config.toml` in the user's folder for configuration (XDG)."""
    from pathlib import Path  # not if the cluster is named in words: start-up counts

    if given := environment.get("KAFKACTL_CONFIG"):
        return Path(given).expanduser()
    folder = environment.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(folder).expanduser() / "kafkactl" / "config.toml"


def load_contexts(path: Path) -> Contexts:
    """Return the file's contexts; none if there is no file.

    Raises InputError `unreadable-contexts-file`, `contexts-file-not-safe`, `malformed-contexts-file`.
    """
    try:
        descriptor = open_regular(path)
        try:
            _check_safe(path, os.fstat(descriptor))
            data = read_open(descriptor, InputKind.CONTEXTS, str(path))
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return Contexts(file=str(path), by_name={})
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", id="unreadable-contexts-file") from error
    return parse_contexts(data, file=str(path))


def parse_contexts(data: bytes, *, file: str) -> Contexts:
    """Return the contexts in the bytes of a file; values that do not belong there are not repeated in an error.

    Raises InputError `malformed-contexts-file`.
    """
    from kafkactl.protocol.text.toml_lines import in_line, read_toml

    try:
        content = read_toml(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise _malformed(file, "it is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise _malformed(file, f"it is not TOML that can be read: {error}") from None
    for key in content:
        if key not in ("current", "contexts"):
            line = in_line(content, key)
            raise _malformed(file, f"unknown key {key!r}{line}: expected are current and [contexts.NAME]")
    current, tables = content.get("current"), content.get("contexts", {})
    if not isinstance(current, str | None) or not isinstance(tables, dict):
        lines = "".join(in_line(content, key) for key in ("current", "contexts") if key in content)
        raise _malformed(file, f"current is a text, and contexts are tables [contexts.NAME]{lines}")
    return Contexts(
        file=file, current=current, by_name={name: _context(file, name, table) for name, table in tables.items()}
    )


def resolve_target(
    contexts: Contexts,
    *,
    bootstrap_server: str | None = None,
    bootstrap_controller: str | None = None,
    bootstrap: str | None = None,
    command_config: str | None = None,
    controller_command_config: str | None = None,
    context: str | None = None,
) -> Target:
    """Return the cluster that arguments and contexts name together.

    A context that is named by the arguments is used, and other arguments override its values. The current context is
    used only if the arguments name no node: the credentials of one cluster must not be sent to another. Raises
    InputError `unknown-context`.
    """
    is_named = bool(bootstrap_server or bootstrap_controller or bootstrap)
    name = context or (None if is_named else contexts.current)
    if name is None:
        return Target(
            bootstrap_server=bootstrap_server,
            bootstrap_controller=bootstrap_controller,
            command_config=command_config,
            controller_command_config=controller_command_config,
            bootstrap=bootstrap,
        )
    found = contexts.context(name)
    if not is_named:
        bootstrap_server, bootstrap_controller = found.bootstrap_server, found.bootstrap_controller
        bootstrap = found.bootstrap
    if command_config is None and controller_command_config is None:
        command_config = _path_in(contexts, found.command_config)
        controller_command_config = _path_in(contexts, found.controller_command_config)
    elif command_config is None:
        command_config = _path_in(contexts, found.command_config)
    return Target(
        bootstrap_server=bootstrap_server,
        bootstrap_controller=bootstrap_controller,
        command_config=command_config,
        controller_command_config=controller_command_config,
        context=name,
        cluster_id=found.cluster_id,
        bootstrap=bootstrap,
    )


def _path_in(contexts: Contexts, path: str | None) -> str | None:
    """Return a path of the file of contexts, which is relative to the folder of that file."""
    if path is None:
        return None
    from pathlib import Path

    return str(Path(contexts.file).parent / Path(path).expanduser())


def _context(file: str, name: str, table: Any) -> Context:
    for problem in _problems(name, table):
        raise _malformed(file, problem)
    return Context(**table)


def _problems(name: str, table: Any) -> Iterator[str]:
    from kafkactl.protocol.text.toml_lines import in_line

    where = f"[contexts.{name}]"
    if not isinstance(table, dict):
        yield f"{where} is not a table"
        return
    for key, value in table.items():
        if key not in CONTEXT_KEYS:
            yield (
                f"{where} has a key {key!r}{in_line(table, key)}: expected were {', '.join(CONTEXT_KEYS)}; logins"
                " belong into the command_config file"
            )
        elif not isinstance(value, str) or not value:
            yield f"{where} {key}{in_line(table, key)} is not a string"
    named = [key for key in ADDRESS_KEYS if key in table]
    if len(named) > 1:
        yield f"{where} has {' and '.join(named)}: keep one of {', '.join(ADDRESS_KEYS)}"


def _check_safe(path: Path, status: os.stat_result) -> None:
    """Refuse a file that other users may write: they could redirect changes, and the login, to another cluster."""
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if others_write or status.st_uid not in (os.geteuid(), 0):
        raise InputError(
            f"{path} can be written by others (mode {stat.S_IMODE(status.st_mode):04o}, owner {status.st_uid})",
            id="contexts-file-not-safe",
            next_step=f"Look whether it says what you expect, then: chmod 600 {path}",
        )


def _malformed(file: str, words: str) -> InputError:
    return InputError(f"{file}: {words}", id="malformed-contexts-file")
