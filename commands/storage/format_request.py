"""The options of `format` and `ensure`, and how they become a request: Kafka's flags first, then ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kafkactl.commands.framework import completing, completing_live

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.storage.api.request import FormatRequest, GuardOverrides, Owner

Function = TypeVar("Function", bound=Callable[..., Any])

SCRAM_VARIABLE = "KAFKACTL_SCRAM"


def kafka_options(function: Function) -> Function:
    """Add the options of `kafka-storage.sh format` except --ignore-formatted."""
    options = (
        click.option("-t", "--cluster-id", required=True, metavar="ID", help="The id of the whole cluster."),
        click.option(
            "-c", "--config", metavar="FILE",
            help="The node's server.properties. [default: that of the one node found on this host, which must not run]",
        ),
        click.option("-s", "--standalone", is_flag=True, help="Make this controller the only voter of a new quorum."),
        click.option(
            "-I", "--initial-controllers", metavar="LIST",
            help="The voters of a new quorum: ID@HOST:PORT:DIRECTORY_ID, with commas between.",
        ),
        click.option(
            "-N", "--no-initial-controllers", is_flag=True,
            help="This node joins a dynamic quorum whose first voters are formatted elsewhere.",
        ),
        click.option(
            "-r", "--release-version", metavar="RELEASE", shell_complete=completing.releases,
            help="The release whose metadata.version to set.",
        ),
        click.option(
            "-f", "--feature", "features", multiple=True, metavar="NAME=LEVEL", help="A feature level.",
            shell_complete=completing_live.feature_levels,
        ),
        click.option(
            "-S", "--add-scram", multiple=True, metavar="SCRAM",
            help="A SCRAM user: 'SCRAM-SHA-512=[name=…,password=…]'. Shows in the process list:"
            " prefer --scram-file.",
        ),
    )  # fmt: skip
    return _all_of(options, function)


def our_options(function: Function) -> Function:
    """Add kafkactl's own options: secrets by file, ownership, and inputs of the guard."""
    option = click.option(
        "--scram-file", metavar="FILE",
        help=f"SCRAM users, one argument a line; - for stdin. The variable {SCRAM_VARIABLE} is read likewise.",
    )  # fmt: skip
    return option(guard_options(function))


def guard_options(function: Function) -> Function:
    """Add the options for ownership and for the guard, which a plan needs when it is applied."""
    options = (
        click.option("--owner", metavar="USER:GROUP", help="Owner of the created files."),
        click.option(
            "--allow-failed-dir", multiple=True, metavar="DIR",
            help="Continue without this directory, which cannot be read.",
        ),
        click.option(
            "--allow-not-blank", multiple=True, metavar="DIR",
            help="Format this directory although it is not empty.",
        ),
        click.option(
            "--replace-lost-metadata-disk", is_flag=True,
            help="Confirm that the blank metadata directory of a formatted node is a new disk.",
        ),
        click.option(
            "--verified-quorum", is_flag=True,
            help="With --replace-lost-metadata-disk on a controller: confirm that a majority without it follows the"
            " leader. Compared with what the controllers show, where they can be asked.",
        ),
        click.option(
            "--expect-mount", multiple=True, metavar="DIR",
            help="Refuse unless a file system is mounted at DIR, a log directory or above one.",
        ),
        click.option(
            "--not-a-mount", multiple=True, metavar="DIR",
            help="This directory has no disk of its own although others have.",
        ),
    )  # fmt: skip
    return _all_of(options, function)


def _all_of(options: tuple[Callable[[Any], Any], ...], function: Function) -> Function:
    for option in reversed(options):
        function = option(function)
    return function


def build_request(given: dict[str, Any], *, ignore_formatted: bool) -> tuple[FormatRequest, list[Finding]]:
    """Return the request that the options of this module make, and the findings about the options.

    Raises InputError for a file that cannot be read or an unknown owner, UsageError for flags that exclude each other.
    """
    from kafkactl.storage.api.request import FormatRequest

    request = FormatRequest(
        cluster_id=given["cluster_id"],
        release_version=given["release_version"],
        features=tuple(given["features"]),
        scram=(*given["add_scram"], *_scram_of_environment(), *_scram_of_file(given["scram_file"])),
        voter_mode=_voter_mode(given),
        initial_controllers=given["initial_controllers"] or "",
        ignore_formatted=ignore_formatted,
        overrides=build_overrides(given),
        owner=build_owner(given),
    )
    return request, _on_secrets(given)


def build_overrides(given: dict[str, Any]) -> GuardOverrides:
    """Return the overrides that `guard_options` set."""
    from kafkactl.storage.api.request import GuardOverrides

    return GuardOverrides(
        allow_failed_dirs=frozenset(given["allow_failed_dir"]),
        allow_not_blank=frozenset(given["allow_not_blank"]),
        replace_lost_metadata_disk=given["replace_lost_metadata_disk"],
        verified_quorum=given["verified_quorum"],
        expected_mounts=frozenset(given["expect_mount"]),
        not_a_mount=frozenset(given["not_a_mount"]),
    )


def build_owner(given: dict[str, Any]) -> Owner | None:
    """Return the owner of `--owner`. Raise InputError for an unknown one."""
    if not given["owner"]:
        return None
    from kafkactl.storage.api.request import named_owner

    return named_owner(given["owner"])


def _voter_mode(given: dict[str, Any]) -> Any:
    from kafkactl.storage.api.request import VoterMode

    flags = {
        "--standalone": (given["standalone"], VoterMode.STANDALONE),
        "--initial-controllers": (given["initial_controllers"] is not None, VoterMode.INITIAL_CONTROLLERS),
        "--no-initial-controllers": (given["no_initial_controllers"], VoterMode.NO_INITIAL_CONTROLLERS),
    }
    chosen = {flag: mode for flag, (is_given, mode) in flags.items() if is_given}
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} exclude each other.")
    return next(iter(chosen.values()), VoterMode.UNSPECIFIED)


def _scram_of_environment() -> tuple[str, ...]:
    from kafkactl.storage.api.request import parse_scram_users

    text = os.environ.get(SCRAM_VARIABLE)
    return parse_scram_users(os.fsencode(text), source=f"the variable {SCRAM_VARIABLE}") if text else ()


def _scram_of_file(name: str | None) -> tuple[str, ...]:
    from kafkactl.commands.framework.exposure import tell_exposure
    from kafkactl.storage.api.request import parse_scram_users, read_scram_users

    if name is None:
        return ()
    if name == "-":
        return parse_scram_users(sys.stdin.buffer.read(), source="stdin")
    return read_scram_users(name, on_exposure=tell_exposure)


def _on_secrets(given: dict[str, Any]) -> list[Finding]:
    from kafkactl.core.findings import Finding, Severity

    context = click.get_current_context(silent=True)
    source = context.get_parameter_source("add_scram") if context else None
    if not given["add_scram"] or source is not click.core.ParameterSource.COMMANDLINE:
        return []
    return [
        Finding(
            id="secret-in-arguments",
            severity=Severity.WARNING,
            subject="--add-scram",
            message="every user of this machine can read the arguments of a process, and the shell remembers them",
        )
    ]
