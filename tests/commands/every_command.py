"""Lines with hostile input of every command, collected from the tests of the commands.

The test file of a command or scenario has the constant `HOSTILE_LINES`: the name of the command, and the options and
arguments of one or more lines. `{NAME}` is replaced with a file or value of the test, or with options of `OPTIONS`. A
command that needs a live cluster gets an address that does not answer, and client properties: it prints its error. Its
answers are tested in its own package.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from tests.constants import merged_constant

CONSTANT = "HOSTILE_LINES"
TEST_FILES = ("commands/**/test_*.py", "dryrun/scenarios/test_*.py")
OPTIONS = {
    "controllers": "--bootstrap-controller 127.0.0.1:1 --command-config {client} --timeout 300ms",
    "brokers": "--bootstrap-server 127.0.0.1:1 --command-config {client} --timeout 300ms",
    "saved": "--observation {observation}",
    "hooks": "--inventory {inventory} --timeout 600ms",
}
_PLACE = re.compile(r"\{([\w-]+)\}")


@functools.cache
def hostile_lines() -> Mapping[str, Sequence[str]]:
    """Return the lines of each command."""
    return merged_constant(CONSTANT, *TEST_FILES)


def file_for(command: str) -> str:
    """Return the test file in which the lines of a command are expected."""
    *groups, name = command.split()
    folder = "dryrun/scenarios" if groups == ["dryrun"] else "/".join(["commands", *groups])
    return f"tests/{folder}/test_{name.replace('-', '_')}.py"


def lines_with(known: Mapping[str, str]) -> list[list[str]]:
    """Return the words of all lines. A name of `known` is a part of a word or all of it, and splits none."""
    return [
        [*command.split(), *(_PLACE.sub(lambda match: known[match[1]], word) for word in _with_options(line).split())]
        for command, lines in hostile_lines().items()
        for line in lines
    ]


def _with_options(line: str) -> str:
    return _PLACE.sub(lambda match: OPTIONS.get(match[1], match[0]), line)
