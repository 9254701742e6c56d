"""Commands of others: entry points of the group `kafkactl.commands`, and executables `kafkactl-NAME` on the path.

Invariant: a plugin is loaded when it is named, and not before; it never takes the place of a command of our own. So
help reads names alone, out of the folders where packages and programs are installed, and imports nothing: what
`importlib.metadata` would do takes longer than all else that help does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import click

from kafkactl.commands.framework.lazy_group import LazyGroup

GROUP = "kafkactl.commands"
PREFIX = "kafkactl-"
_HEADER = f"[{GROUP}]".encode()
_MOST_BYTES = 1 << 20
_LAST_LINE = "end"
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class Plugin(NamedTuple):
    """A command that is not ours. `target` is MODULE:ATTRIBUTE of a package, or the path of an executable.

    `source` says where it comes from: the name of the package with its version, or the path.
    """

    name: str
    target: str
    source: str
    is_executable: bool


class PluginGroup(LazyGroup):
    """A group that has the commands of its table, and after them those of plugins."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of the table; else the plugin's. Raises FailedError for a plugin that cannot be loaded."""
        return super().get_command(ctx, cmd_name) or self._load(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command of the table, or else a plugin."""
        if args[0] not in self.entries and (command := self._load(args[0])) is not None:
            return args[0], command, args[1:]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table, then the names and the sources of plugins."""
        super().format_commands(ctx, formatter)
        plugins = [(name, source) for name, source in listed_plugins() if name not in self.entries]
        if plugins:
            with formatter.section("Plugins"):
                formatter.write_dl([(name, f"from {source}") for name, source in plugins])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete the names of the table, then those of plugins."""
        from click.shell_completion import CompletionItem

        items = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            return items
        names = [name for name, _ in listed_plugins() if name.startswith(incomplete) and name not in self.entries]
        return [*items, *(CompletionItem(name, help="plugin") for name in names)]

    def plugins(self) -> Mapping[str, list[Plugin]]:
        """Return all plugins by name, without names of the table; several of one name are an error when called."""
        found: dict[str, list[Plugin]] = {}
        for plugin in find_plugins():
            if plugin.name not in self.entries:
                found.setdefault(plugin.name, []).append(plugin)
        return found

    def _load(self, name: str) -> click.Command | None:
        if not _is_name(name):
            return None
        found = self.plugins().get(name, [])
        if len(found) > 1:
            raise _not_loaded(name, f"several plugins have this name: {'; '.join(each.source for each in found)}")
        return load(found[0]) if found else None


def listed_plugins() -> list[tuple[str, str]]:
    """Return names and origins of plugins, for help and completion: as of the last change of a folder.

    They are kept in the user's cache folder, since a look into every folder takes some milliseconds. A plugin that is
    called is always looked for.
    """
    state = "\0".join(f"{folder}={_changed_ns(folder)}" for folder in (*_package_folders(), *_program_folders()))
    path = _cache_file()
    kept = _read(path).decode("utf-8", "surrogateescape").split("\n")
    if kept[0] != state or kept[-1] != _LAST_LINE:  # a file that a power failure cut or blanked is none
        found: dict[str, str] = {}
        for plugin in find_plugins():
            found.setdefault(plugin.name, plugin.source)
        kept = [state, *(f"{name}\t{source}" for name, source in sorted(found.items())), _LAST_LINE]
        if "\n" not in state:
            _keep(path, "\n".join(kept).encode("utf-8", "surrogateescape"))
    names = [line.partition("\t") for line in kept[1:-1]]
    return [(name, source) for name, _, source in names if _is_name(name) and source.isprintable()]


def find_plugins() -> Iterator[Plugin]:
    """Yield the plugins of packages, then of PATH. Of executables with one name the first is used."""
    for folder in _package_folders():
        for metadata in _entries(folder, suffix=(".dist-info", ".egg-info")):
            yield from _entry_points(metadata)
    seen = set()
    for folder in _program_folders():
        for path in _entries(folder, prefix=PREFIX):
            name = os.path.basename(path)[len(PREFIX) :]
            if _is_name(name) and name not in seen and os.access(path, os.X_OK) and os.path.isfile(path):
                seen.add(name)
                yield Plugin(name, path, path, is_executable=True)


def load(plugin: Plugin) -> click.Command:
    """Return the command of a plugin. Raises FailedError `plugin-not-loaded` for one that is not to be had."""
    if plugin.is_executable:
        return _executable(plugin)
    module, _, attribute = plugin.target.partition(":")
    sys.path[:] = _without_working_directory()
    try:
        from importlib import import_module

        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        problem = f"{plugin.target} of {plugin.source} could not be imported: {type(error).__name__}: {error}"
        raise _not_loaded(plugin.name, problem) from error
    if not isinstance(found, click.Command):
        kind = type(found).__name__
        raise _not_loaded(plugin.name, f"{plugin.target} of {plugin.source} is {kind}, expected is a click command")
    return _named_where_it_fails(found, plugin)


def _named_where_it_fails(command: click.Command, plugin: Plugin) -> click.Command:
    """Return the command, whose own exceptions become errors that name the plugin."""
    from kafkactl.core.errors import FailedError, KafkactlError

    invoke = command.invoke

    def named(ctx: click.Context) -> Any:
        try:
            return invoke(ctx)
        except (KafkactlError, click.ClickException, click.exceptions.Exit, click.Abort, OSError):
            raise
        except Exception as error:
            raise FailedError(
                f"the plugin {plugin.name} ({plugin.target} of {plugin.source}) failed:"
                f" {type(error).__name__}: {error}",
                id="plugin-failed",
            ) from error

    setattr(command, "invoke", named)  # noqa: B010 - mypy refuses an assignment to a method
    return command


def _executable(plugin: Plugin) -> click.Command:
    """Return a command that becomes the program, with all words unchanged; --help is the program's own."""

    def run(words: tuple[str, ...]) -> NoReturn:
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            os.execv(plugin.target, [plugin.target, *words])
        except OSError as error:
            raise _not_loaded(plugin.name, f"{plugin.target} could not be started: {error.strerror}") from error

    words = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}
    return click.Command(plugin.name, callback=run, params=[words], add_help_option=False, context_settings=settings)


def _package_folders() -> list[str]:
    """Return the folders of packages, without the working directory, which `python -m` adds."""
    return [folder for folder in dict.fromkeys(_without_working_directory()) if os.path.isabs(folder)]


def _without_working_directory() -> list[str]:
    """Return the search path for modules without the working directory, by its name or as an empty entry."""
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    return [folder for folder in sys.path if folder not in ("", here)]


def _program_folders() -> list[str]:
    """Return the absolute folders of PATH: write access to the working directory must not decide what is run."""
    return [folder for folder in dict.fromkeys(os.environ.get("PATH", "").split(os.pathsep)) if os.path.isabs(folder)]


def _changed_ns(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return -1


def _cache_file() -> str:
    """Return the path in the user's cache folder (XDG)."""
    given = os.environ.get("XDG_CACHE_HOME") or ""
    home = given if os.path.isabs(given) else f"{os.environ.get('HOME') or '/'}/.cache"
    return f"{home}/kafkactl/plugins"


def _keep(path: str, data: bytes) -> None:
    """Write the file, whole and synced. If that is not possible, help reads the folders each time."""
    staged = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError
            os.fsync(descriptor)
        except OSError:
            os.unlink(staged)
            raise
        finally:
            os.close(descriptor)
        os.replace(staged, path)
    except OSError:
        return


def _read(path: str) -> bytes:
    """Return the first MiB of a file; nothing of one that cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _MOST_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _entries(folder: str, *, prefix: str = "", suffix: tuple[str, ...] | str = "") -> Iterator[str]:
    """Yield the paths in a folder with this prefix and suffix; none if it is unreadable (a zip file, no permission)."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in sorted(name for name in names if name.startswith(prefix) and name.endswith(suffix)):
        yield f"{folder}/{name}"


def _entry_points(metadata: str) -> Iterator[Plugin]:
    """Yield the plugins of one installed package, from its entry_points.txt (PyPA's entry points specification)."""
    data = _read(f"{metadata}/entry_points.txt")
    if _HEADER not in data:
        return
    text = data.decode("utf-8", "replace")
    package = os.path.basename(metadata).rpartition(".")[0]
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and line[:1] not in ("", "#", ";"):
            name, _, target = (part.strip() for part in line.partition("="))
            if _is_name(name):
                yield Plugin(name, target.partition("[")[0].strip(), package, is_executable=False)


def _is_name(name: str) -> bool:
    """Lower case letters, digits and hyphens: what is shown in help comes from files of others."""
    return bool(name) and len(name) <= 40 and name[0].isalpha() and _NAME_CHARACTERS.issuperset(name)


def _not_loaded(name: str, problem: str) -> Exception:
    from kafkactl.core.errors import FailedError

    return FailedError(f"the plugin {name} cannot be used: {problem}", id="plugin-not-loaded")
