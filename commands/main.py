"""The root command, and the one place where exceptions become exit codes."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click

from kafkactl._version import __version__
from kafkactl.commands.framework.lazy_group import Entry
from kafkactl.commands.framework.plugins import PluginGroup
from kafkactl.commands.framework.settings import Invocation, peek_settings

PROGRAM = "kafkactl"
COMPLETING = "_KAFKACTL_COMPLETE"
CONNECTION_OPTIONS = (
    "--bootstrap-server", "--bootstrap-controller", "--bootstrap", "--command-config", "--controller-command-config",
    "--context",
)  # fmt: skip
WIDEST_HELP, _NARROWEST_HELP, _ASSUMED_COLUMNS = 100, 50, 80
CONTEXT = {
    "auto_envvar_prefix": "KAFKACTL",
    "help_option_names": ["-h", "--help"],
    "max_content_width": WIDEST_HELP,
}

COMMANDS = {
    "status": Entry("kafkactl.commands.status", "command", "Show whether a cluster is healthy, on one screen."),
    "storage": Entry("kafkactl.commands.storage", "command", "Format nodes before their first start; verify them."),
    "quorum": Entry("kafkactl.commands.quorum", "command", "Show and change the voters of the quorum."),
    "nodes": Entry("kafkactl.commands.nodes", "command", "List nodes; unregister dead ones."),
    "features": Entry("kafkactl.commands.features", "command", "Show, plan, change and verify feature levels."),
    "config": Entry("kafkactl.commands.config", "command", "Manage named cluster connections (contexts)."),
    "log": Entry("kafkactl.commands.log", "command", "Read, check and search the metadata log of a cluster."),
    "dryrun": Entry("kafkactl.commands.dryrun", "command", "Predict the effect of failures and changes."),
    "tiered": Entry("kafkactl.commands.tiered", "command", "Audit tiered storage by its metadata topic (KIP-405)."),
    "simulate": Entry("kafkactl.commands.simulate", "command", "Simulate a quorum in virtual time, with faults."),
    "bundle": Entry("kafkactl.commands.bundle", "command", "Gather a support bundle, without secrets."),
    "migrate": Entry("kafkactl.commands.migrate", "command", "Migrate from ZooKeeper to KRaft, or roll back."),
    "roll": Entry("kafkactl.commands.roll", "command", "Restart or upgrade a live cluster, node by node."),
    "demo": Entry("kafkactl.commands.demo.command", "command", "Try real commands on a fake quorum."),
    "explain": Entry("kafkactl.commands.explain", "command", "Explain an error or finding."),
    "schema": Entry("kafkactl.commands.schema", "command", "Print the JSON Schema of an answer."),
    "completion": Entry("kafkactl.commands.completion", "command", "Print the completion script for a shell."),
}


@click.group(
    cls=PluginGroup,
    entries=COMMANDS,
    context_settings=CONTEXT,
    examples=(
        "kafkactl storage format -t ID -c server.properties --dry-run",
        "kafkactl explain cluster-id-mismatch",
    ),
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Operate Apache Kafka clusters on KRaft, or on the way to it."""


def main(arguments: list[str]) -> int:
    """Run one command line; the process exit code. Never raises but for SystemExit from shell completion."""
    invocation = Invocation()
    if COMPLETING in os.environ:
        return _complete(arguments)
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    if arguments == ["-v"]:  # before a verb it is an option of the verb
        arguments = ["--version"]
    arguments = after_the_command(arguments)
    try:
        result = cli.main(
            args=arguments, prog_name=PROGRAM, standalone_mode=False, obj=invocation, terminal_width=_help_width()
        )
    except (Exception, KeyboardInterrupt) as error:
        from kafkactl.commands.framework import failure

        return failure.report(error, invocation.settings or peek_settings(arguments))
    return result if isinstance(result, int) else 0


def after_the_command(arguments: list[str]) -> list[str]:
    """Move connection options that precede the first word after it: commands and their groups take them."""
    end = 0
    while end < len(arguments) and arguments[end].partition("=")[0] in CONNECTION_OPTIONS:
        end += 1 if "=" in arguments[end] else 2
    return [*arguments[end : end + 1], *arguments[:end], *arguments[end + 1 :]]


def _help_width() -> int:
    """Return the width that click would choose by `shutil`, whose import alone would take 5 % of the time of help."""
    columns = 0
    with suppress(ValueError):
        columns = int(os.environ.get("COLUMNS", ""))
    if columns <= 0:
        columns = _ASSUMED_COLUMNS
        with suppress(OSError, ValueError):
            columns = os.get_terminal_size(1 if sys.__stdout__ is None else sys.__stdout__.fileno()).columns or columns
    return max(min(columns, WIDEST_HELP) - 2, _NARROWEST_HELP)


def _complete(arguments: list[str]) -> int:
    """Answer a shell that completes a word. It says nothing of what is wrong: the line is not finished."""
    from kafkactl.commands.framework.completing import register

    register()
    try:
        cli.main(args=arguments, prog_name=PROGRAM, standalone_mode=False, obj=Invocation())
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except Exception:
        return 1
    return 0
