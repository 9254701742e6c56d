"""Hooks as words: how the driver of a migration asks another program to touch a node.

A hook is a command, given as a list of words or as one text that is split like a shell would (quotes and backslashes,
nothing else). No shell ever sees it, so a value cannot become a second command: `{name}` puts a value into a word,
`{name:q}` puts it quoted for a remote shell (what follows the host of `ssh` goes through one), `{name*}` as a word of
its own spreads a list, `{{` and `}}` are braces. File contents and secrets go by stdin, never in a word.

Some values come from a node: its file names its log directories, ZooKeeper names the cluster's id. A node is not
trusted with words: `directory_of_node` admits a directory where it enters, and `words_of` refuses, in every template,
a directory that is not an absolute path and every value that a command would read as an option.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from kafkactl.core.errors import InputError

Value = str | tuple[str, ...]


class Verb(StrEnum):
    """The verbs of hooks (docs/migration-hooks.md)."""

    GET_CONFIG = "get_config"
    PUT_CONFIG = "put_config"
    RESTART = "restart"
    STOP = "stop"
    START = "start"
    DISABLE = "disable"
    IS_RUNNING = "is_running"
    FORMAT = "format"
    WIPE = "wipe"
    FS_PROBE = "fs_probe"
    LOGS = "logs"
    JMX = "jmx"
    INSTALL = "install"
    INSTALLED = "installed"
    RUNNING = "running"
    JAVA = "java"


CONTRACT: Final = ("node_id", "role", "host", "config_path", "phase", "journal_seq")
"""The placeholders that every hook may use."""
EXTRA: Final[Mapping[Verb, tuple[str, ...]]] = {
    Verb.PUT_CONFIG: ("sha_before", "sha_after"),
    Verb.FORMAT: ("cluster_id", "release", "format_flags"),
    Verb.WIPE: ("metadata_dir",),
    Verb.FS_PROBE: ("log_dirs",),
    Verb.LOGS: ("pattern", "since_ms"),
    Verb.JMX: ("mbean",),
    Verb.INSTALL: ("release",),
}
"""What else a verb has."""
LISTS: Final = frozenset({"format_flags", "log_dirs"})
"""Placeholders that are lists, and are written `{name*}`."""
_OWN_OPTIONS: Final = frozenset({"format_flags"})  # made by kafkactl, and options on purpose
_DIRECTORIES: Final = frozenset({"log_dirs", "metadata_dir"})
_NAMES: Final = frozenset({"cluster_id", "release"})

DONE, TRY_AGAIN, CHANGED_MEANWHILE = 0, 75, 65
"""Exit codes with a meaning; every other one is a failure. 65 is `put_config` finding another file than expected."""

_PLACE = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)(:q|\*)?\}|[{}]")
_UNFIT = re.compile(r"[\x00\n\r]")
_NAME = re.compile(r"[A-Za-z0-9_.=+/-]*")
# What no shell reads as anything but itself: a template may have forgotten `:q`.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def parse_template(given: Any, *, where: str) -> tuple[str, ...]:
    """Return the words of a template. Raises InputError `hook-template-invalid`; `where` says whose it is."""
    if isinstance(given, str):
        try:
            words = tuple(shlex.split(given))
        except ValueError as error:
            raise _invalid(where, f"it cannot be split into words: {error}") from None
    elif isinstance(given, Sequence) and all(isinstance(word, str) for word in given):
        words = tuple(given)
    else:
        raise _invalid(where, f"it is {type(given).__name__}, expected is a text or a list of texts")
    if not words or not words[0].strip():
        raise _invalid(where, "it has no command")
    return words


def placeholders(template: Iterable[str], *, where: str) -> frozenset[str]:
    """Return the names in a template. Raise InputError `hook-template-invalid` for an unmatched brace."""
    found = set()
    for number, word in enumerate(template, 1):
        for match in _PLACE.finditer(word):
            if match[0] in "{}":
                raise _invalid(where, f"word {number} has a single brace; write {{{{ or }}}} for the character")
            if match[1] is not None:
                found.add(match[1])
            if match[2] == "*" and match[0] != word:
                raise _invalid(where, f"{match[0]} must be a separate word, it is part of word {number}")
    return frozenset(found)


def check_template(template: Iterable[str], verb: Verb, variables: Iterable[str], *, where: str) -> None:
    """Refuse a template that uses what is not given. Raises InputError `hook-template-invalid`."""
    known = {*CONTRACT, *EXTRA.get(verb, ()), *variables}
    if unknown := sorted(placeholders(template, where=where) - known):
        names = ", ".join(f"{{{field}}}" for field in unknown)
        raise _invalid(where, f"nothing gives {names}; known are {', '.join(sorted(known))}")


def words_of(template: Iterable[str], values: Mapping[str, Value], *, where: str) -> tuple[str, ...]:
    """Return the command with its values in place.

    Raises InputError `hook-template-invalid` for a placeholder without a value, `hook-value-invalid` for a value that
    cannot be an argument: with a line break or NUL, one that would be read as an option, a directory that is not an
    absolute path, a cluster id or release with other characters than such names have.
    """
    words: list[str] = []
    for word in template:
        spread = _PLACE.fullmatch(word)
        if spread is not None and spread[2] == "*":
            words += _listed(spread[1], values, where)
            continue
        made = _PLACE.sub(_filler(word, values, where), word)
        _refuse_options(word, values, where)
        words.append(made)
    return tuple(words)


def directory_of_node(text: str, *, where: str) -> str:
    """Return a directory that a node's own file names, fit for every template: absolute, normalised, of plain
    characters.

    Raises InputError `node-directory-refused`; `where` says whose directory it is. A path with other characters may be
    good, and can be given in the inventory, which is trusted.
    """
    path = "/" + posixpath.normpath(text).lstrip("/") if text.startswith("/") else text
    if _is_absolute(path) and ".." not in text.split("/") and _PLAIN_PATH.fullmatch(path):
        return path
    raise InputError(
        f"{where}: the node's own file names the directory {text!r}; expected is an absolute path without '..', of"
        " letters, digits and the characters _ @ % + = : , . / -",
        id="node-directory-refused",
    )


def _is_absolute(path: str) -> bool:
    return path.startswith("/") and not path.startswith("//") and posixpath.normpath(path) == path


def _refuse_options(word: str, values: Mapping[str, Value], where: str) -> None:
    """Refuse a word that begins with a value which begins with a dash: quotes of a remote shell do not change that."""
    plain = _PLACE.sub(lambda match: _plain(match, values), word)
    if plain.startswith("-") and not word.startswith("-"):
        raise _unfit(where, f"{plain!r} would be read as an option")


def _plain(match: re.Match[str], values: Mapping[str, Value]) -> str:
    if match[1] is None:
        return match[0][0]
    value = values[match[1]]
    return "" if match[1] in _OWN_OPTIONS else value if isinstance(value, str) else " ".join(value)


def _filler(word: str, values: Mapping[str, Value], where: str) -> Callable[[re.Match[str]], str]:
    def fill(match: re.Match[str]) -> str:
        if match[1] is None:
            if len(match[0]) == 1:
                raise _invalid(where, f"{word!r} has a single brace; write {{{{ or }}}} for the character")
            return match[0][0]
        value = _value(match[1], values, where)
        if not isinstance(value, str):
            value = " ".join(map(shlex.quote, value)) if match[2] == ":q" else " ".join(value)
        elif match[2] == ":q":
            value = shlex.quote(value)
        return value

    return fill


def _listed(name: str, values: Mapping[str, Value], where: str) -> tuple[str, ...]:
    value = _value(name, values, where)
    every = (value,) if isinstance(value, str) else value
    if name not in _OWN_OPTIONS and (unfit := [item for item in every if item.startswith(("-", "(", ")", "!", ","))]):
        raise _unfit(where, f"{unfit[0]!r} would be read as an option")
    return every


def _value(name: str, values: Mapping[str, Value], where: str) -> Value:
    if name not in values:
        raise _invalid(where, f"nothing gives {{{name}}}; known are {', '.join(sorted(values))}")
    value = values[name]
    for item in (value,) if isinstance(value, str) else value:
        if _UNFIT.search(item):
            raise _unfit(where, f"the value of {{{name}}} has a line break or NUL in it")
        if name in _DIRECTORIES and not _is_absolute(item):
            raise _unfit(where, f"the directory {item!r} of {{{name}}} is not an absolute, normalised path")
        if name in _NAMES and not _NAME.fullmatch(item):
            raise _unfit(where, f"{item!r}, the value of {{{name}}}, has other characters than A-Z a-z 0-9 _.=+/-")
    return value


def _invalid(where: str, what: str) -> InputError:
    return InputError(f"{where}: {what}", id="hook-template-invalid")


def _unfit(where: str, what: str) -> InputError:
    return InputError(f"{where}: {what}", id="hook-value-invalid")
