"""Values of the common options of one invocation."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple, TextIO

import click

FORMATS = ("table", "json", "jsonl", "yaml")
PROMETHEUS = "prometheus"
"""The format of metrics, which only some commands have."""
_ALL = (*FORMATS, PROMETHEUS)
COLORS = ("auto", "always", "never")


class Settings(NamedTuple):
    """The common options of a leaf command; `timeout_ms` bounds the whole command, whose words are `command`.

    `changes_cluster` is true of a command that sends changes to a cluster, `is_default_output` if no output was asked
    for.

    A tuple, for making a dataclass takes longer than all else that `--help` does in this file.
    """

    output: str = "table"
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    timeout_ms: int = 30_000
    strict_security: bool = False
    command: str = ""
    changes_cluster: bool = False
    is_default_output: bool = False

    def colors(self, stream: TextIO) -> bool:
        """Return True if this stream may have colour: `--color` first, then NO_COLOR, FORCE_COLOR, the terminal."""
        if self.color != "auto":
            return self.color == "always"
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR"):
            return True
        return stream.isatty() and os.environ.get("TERM") != "dumb"


class Invocation:
    """Click's context object: holds the settings after the options of the leaf command are parsed."""

    def __init__(self) -> None:
        self.settings: Settings | None = None


def current_settings() -> Settings:
    """Return the settings of the command that runs now; defaults if none does (a call from a test)."""
    ctx = click.get_current_context(silent=True)
    invocation = ctx.find_object(Invocation) if ctx else None
    return (invocation.settings if invocation else None) or Settings()


def peek_settings(arguments: list[str]) -> Settings:
    """Guess settings from unparsed words, to show an error of parsing in the format that was asked for."""
    settings = Settings(
        output=_known(os.environ.get("KAFKACTL_OUTPUT"), _ALL, "table"),
        color=_known(os.environ.get("KAFKACTL_COLOR"), COLORS, "auto"),
    )
    for position, word in enumerate(arguments):
        following = arguments[position + 1] if position + 1 < len(arguments) else ""
        if word in ("-v", "--verbose"):
            settings = settings._replace(verbose=True)
        elif word.startswith(("-o", "--output")):
            settings = settings._replace(output=_known(_value(word, following), _ALL, settings.output))
        elif word.startswith("--color"):
            settings = settings._replace(color=_known(_value(word, following), COLORS, settings.color))
    return settings


def _value(word: str, following: str) -> str:
    if word in ("-o", "--output", "--color"):
        return following
    return word.partition("=")[2] if "=" in word else word[2:]


def _known(word: str | None, known: tuple[str, ...], default: str) -> str:
    return word if word in known else default


def utf8_glyphs() -> bool:
    """Return True if the operator's locale is UTF-8, so that symbols beyond ASCII can be drawn.

    Python itself coerces the C locale to C.UTF-8 (PEP 538), so an LC_CTYPE of that name says nothing.
    """
    if "utf" not in (sys.stdout.encoding or "").lower():
        return False
    ctype = os.environ.get("LC_CTYPE", "")
    spoken = os.environ.get("LC_ALL") or ("" if ctype.startswith("C.") else ctype) or os.environ.get("LANG", "")
    return "utf" in spoken.lower()
