"""`kafkactl log browse`: the state of a cluster as a tree of files, to walk through."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import bundle_option
from kafkactl.commands.framework.connection import ConnectionArguments, reading_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.log_options import (
    FROM_CLUSTER,
    check_point,
    code_of,
    from_cluster_option,
    log_place,
    point_options,
    show_secrets_option,
)
from kafkactl.commands.rendering.output import asked, emit, say, show_line
from kafkactl.commands.rendering.page import Page
from kafkactl.core.safe_text import json_text
from kafkactl.core.uris import disk_path

if TYPE_CHECKING:
    from kafkactl.metadata.api.tree import Folder, Node

_HELP = "ls [PATH]   cd PATH   cat PATH   tree [PATH]   find [PATH] TEXT   pwd   exit"


@leaf_command(
    "browse",
    examples=(
        "kafkactl log browse /disk1/__cluster_metadata-0",
        "kafkactl log browse /disk1/__cluster_metadata-0 /image/topics/byName/orders/0",
        "kafkactl log browse --from-cluster --bootstrap-controller host:9093 /image/features",
    ),
    codes=exit_codes.READING,
    timeout="1h",
)  # fmt: skip
@click.argument("words", metavar="[SOURCE] [PATH]", nargs=-1)
@from_cluster_option
@bundle_option
@point_options
@show_secrets_option
@reading_options
def command(
    *,
    words: tuple[str, ...],
    from_cluster: bool,
    bundle: str | None,
    at: int | None,
    at_time: int | None,
    show_secrets: bool,
    connection: ConnectionArguments,
) -> None:
    """Navigate the state of a cluster like a file system.

    The tree is that of kafka-metadata-shell. On a terminal it prompts for commands (ls, cd, cat, tree,
    find, pwd, exit); with a PATH, or without a terminal, it prints one folder or file. Unlike for a
    Kafka node, damage does not end the log: a finding reports it (exit 7).
    """
    from kafkactl.metadata.api.image import load_image
    from kafkactl.metadata.api.tree import BrowsedPath, Folder, absolute_path, browse, find

    most = 1 if from_cluster or bundle is not None else 2
    if not most - 1 <= len(words) <= most:
        raise click.UsageError(f"Give a SOURCE, {FROM_CLUSTER} or --bundle, and perhaps a PATH in its tree.")
    sources, path = tuple(map(disk_path, words[: most - 1])), (words[most - 1 :] or (None,))[0]
    check_point(at, at_time)
    with log_place(sources, connection, from_cluster=from_cluster, bundle=bundle) as place:
        loaded = load_image(place, at=at, at_time_ms=at_time, past_damage=True)
    root = browse(loaded, show_secrets=show_secrets)
    code = code_of(loaded.findings)
    if path is None and sys.stdin.isatty() and sys.stdout.isatty():
        _Session(root).run()
        raise click.exceptions.Exit(code)
    node = find(root, path or "/")

    def show(page: Page, _answer: object) -> None:
        for line in node.names if isinstance(node, Folder) else _lines(node.value):
            page.line(line)
        page.findings(loaded.findings)

    answer: BrowsedPath = {
        "path": absolute_path(path or "/"),
        "type": "directory" if isinstance(node, Folder) else "file",
        "names": list(node.names) if isinstance(node, Folder) else None,
        "value": None if isinstance(node, Folder) else node.value,
        "findings": loaded.findings,
    }
    emit("log.browse", answer, render=show, exit_code=code)


def _lines(value: Any) -> list[str]:
    return json_text(value, indent=2).split("\n")


class _Session:
    """A person at a terminal. The clock of --timeout is stopped while it lasts."""

    def __init__(self, root: Folder) -> None:
        self._root = root
        self._place: list[str] = []

    def run(self) -> None:
        """Ask for commands until `exit` or the end of the input."""
        from kafkactl.commands.framework.deadline import paused

        say(_HELP, "dim")
        with paused():
            while True:
                try:
                    line = asked(f"/{'/'.join(self._place)}> ")
                except (EOFError, KeyboardInterrupt):
                    return
                if not self.obey(line):
                    return

    def obey(self, line: str) -> bool:
        """Carry out one line; False to end."""
        from kafkactl.core.errors import InputError

        try:
            word, *arguments = shlex.split(line) or [""]
        except ValueError as error:
            say(str(error), "warn")
            return True
        if word in ("exit", "quit"):
            return False
        try:
            _WORDS.get(word, _Session._unknown)(self, arguments)
        except InputError as error:
            say(f"{error.message} {error.advice}", "warn")
        return True

    def _path(self, arguments: list[str]) -> str:
        given = arguments[0] if arguments else "."
        return given if given.startswith("/") else "/".join((*self._place, given))

    def _find(self, arguments: list[str]) -> tuple[str, Node]:
        from kafkactl.metadata.api.tree import absolute_path, find

        path = self._path(arguments)
        return absolute_path(path), find(self._root, path)

    def entries(self, arguments: list[str]) -> None:
        """Carry out `ls`."""
        from kafkactl.metadata.api.tree import Folder

        path, node = self._find(arguments)
        show_line("  ".join(node.names) if isinstance(node, Folder) else path)

    def show(self, arguments: list[str]) -> None:
        """Carry out `cat`."""
        from kafkactl.metadata.api.tree import Folder

        path, node = self._find(arguments)
        if isinstance(node, Folder):
            say(f"{path} is a folder; ls shows what is in it", "warn")
        else:
            for line in _lines(node.value):
                show_line(line)

    def change(self, arguments: list[str]) -> None:
        """Carry out `cd`."""
        from kafkactl.metadata.api.tree import Folder

        path, node = self._find(arguments or ["/"])
        if isinstance(node, Folder):
            self._place = [word for word in path.split("/") if word]
        else:
            say(f"{path} is a file; cat shows it", "warn")

    def where(self, _arguments: list[str]) -> None:
        """Carry out `pwd`."""
        show_line("/" + "/".join(self._place))

    def tree(self, arguments: list[str]) -> None:
        """Carry out `tree`."""
        self._walk(arguments, None)

    def search(self, arguments: list[str]) -> None:
        """Carry out `find`."""
        *place, text = arguments or [""]
        self._walk(place, text)

    def _walk(self, arguments: list[str], text: str | None) -> None:
        from kafkactl.metadata.api.tree import walk

        path, node = self._find(arguments)
        for below, _ in walk(node, "" if path == "/" else path):
            if text is None or text in below.rpartition("/")[2]:
                show_line(below)

    def _unknown(self, _arguments: list[str]) -> None:
        say(_HELP, "dim")


_WORDS: dict[str, Callable[[_Session, list[str]], None]] = {
    "ls": _Session.entries,
    "cat": _Session.show,
    "cd": _Session.change,
    "pwd": _Session.where,
    "tree": _Session.tree,
    "find": _Session.search,
    "": lambda _session, _arguments: None,
}
