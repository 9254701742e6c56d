"""Hooks as an inventory names them, the same for a migration and a roll.

Invariant: an unknown key, a variable that is missing or a placeholder without a value is a problem, and all problems of
a file are reported together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from kafkactl.change.hooks.node import DEFAULT_TIMEOUT_S, Hooks
from kafkactl.change.hooks.templates import COMMAND, DERIVED, MANUAL, TEMPLATES, VARIABLES
from kafkactl.change.hooks.words import Verb, check_template, parse_template
from kafkactl.core.errors import InputError
from kafkactl.protocol.text.toml_lines import in_line
from kafkactl.protocol.text.toml_tables import Key, one_of, read_table

_HOST: Final = r"(?:\[[0-9A-Fa-f:.%]+\]|[^\[\]:/,\s]+)"
_ADDRESS: Final = re.compile(rf"({_HOST}):(\d{{1,5}})")
_SSH_USER: Final = "ssh_user"


def a_table(value: object) -> Mapping[str, Any]:
    """Return a table."""
    if not isinstance(value, dict):
        raise ValueError("a table")
    return value


def an_address(value: object) -> str:
    """Return an address of a listener."""
    found = _ADDRESS.fullmatch(value) if isinstance(value, str) else None
    if found is None or not 0 < int(found[2]) < 1 << 16:
        raise ValueError('HOST:PORT, such as "kafka-1.example:9092"')
    return found[0]


def host_of(address: str) -> str:
    """Return the host of an address that `an_address` has read."""
    return address.rpartition(":")[0].strip("[]")


def _some_seconds(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= 86_400:
        raise ValueError("seconds, from 1 to 86400")
    return value


HOOK_KEYS: Final = {
    "template": Key(one_of(*TEMPLATES)),
    "variables": Key(a_table),
    "timeout_s": Key(_some_seconds),
    **{verb.value: Key(lambda value: value) for verb in Verb},
}
"""Keys of a table of hooks."""
HOOK_WORDS: Final = {"kind": "template", "type": "template", "timeout": "timeout_s"}
"""Words that people write instead of a key; similarity of spelling would not find them."""


def read_hooks(
    shared: Mapping[str, Any], own: Mapping[str, Any], where: str, problems: list[str], *, complete: bool
) -> Hooks:
    """Return the hooks of a node: its own commands before the shared ones.

    Problems of the shared hooks are reported once, when they are read without a node (`complete` false).
    """
    shared_problems: list[str] = [] if complete else problems
    base = read_table(shared, HOOK_KEYS, where, shared_problems, other_words=HOOK_WORDS)
    mine = read_table(own, HOOK_KEYS, where, problems, other_words=HOOK_WORDS)
    of_all = base.get("template", COMMAND if shared else MANUAL)
    template = mine.get("template", COMMAND if own and not shared else of_all)
    # Commands and variables of all are made for the template of all.
    kept = base if template == of_all else {}
    known = VARIABLES[template]
    variables = {name: value for name, value in known.items() if value is not None}
    for table, into in ((kept, shared_problems), (mine, problems)):
        variables |= _variables(table.get("variables", {}), where, into)
    if (user := variables.get(_SSH_USER, "")) and not user.endswith("@"):
        variables[_SSH_USER] = f"{user}@"  # it stands right before the host
    if complete:
        problems += [
            f"{where}variables: {name} is missing, the template {template} needs it"
            for name in known
            if name not in variables
        ]
    commands = dict(TEMPLATES[template])
    for table, into in ((kept, shared_problems), (mine, problems)):
        commands |= _commands(table, where, into)
    if complete:
        problems += _unknown_places(commands, {*variables, *DERIVED}, where)
    timeout_s = mine.get("timeout_s", base.get("timeout_s", DEFAULT_TIMEOUT_S))
    return Hooks(template=template, commands=commands, variables=variables, timeout_s=timeout_s)


class NodeTable(NamedTuple):
    """Table `[[nodes]]` of one node. `where` is its place, for messages; `is_valid` is False if it has a problem."""

    where: str
    values: dict[str, Any]
    hooks: Hooks
    is_valid: bool


def read_node_tables(
    raw: object,
    shared: Mapping[str, Any],
    keys: Mapping[str, Key],
    problems: list[str],
    *,
    other_words: Mapping[str, str],
) -> Iterator[NodeTable]:
    """Yield the nodes of an inventory; `shared` are the hooks of all nodes, `keys` those of a node."""
    if not isinstance(raw, list) or not raw or not all(isinstance(item, dict) for item in raw):
        problems.append("nodes: expected at least one [[nodes]] table")
        return
    for position, item in enumerate(raw):
        named = item.get("id")
        where = f"nodes[{position}]" + (f" (id {named})" if isinstance(named, int) else "") + ": "
        before = len(problems)
        values = read_table(item, keys, where, problems, other_words=other_words)
        hooks = read_hooks(shared, values.pop("hooks", {}), f"{where}hooks: ", problems, complete=True)
        yield NodeTable(where=where, values=values, hooks=hooks, is_valid=len(problems) == before)


def _variables(table: Mapping[str, Any], where: str, problems: list[str]) -> dict[str, str]:
    found = {}
    for name, value in table.items():
        if isinstance(value, bool) or not isinstance(value, str | int):
            problems.append(f"{where}variables: {name}{in_line(table, name)}: expected a text or a whole number")
        elif not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            problems.append(
                f"{where}variables: {name!r}{in_line(table, name)} is not a name: letters, digits and _ only"
            )
        else:
            found[name] = str(value)
    return found


def _commands(table: Mapping[str, Any], where: str, problems: list[str]) -> Iterator[tuple[Verb, tuple[str, ...]]]:
    for verb in Verb:
        if verb.value not in table:
            continue
        try:
            yield verb, parse_template(table[verb.value], where=verb.value)
        except InputError as error:
            problems.append(f"{where}{error.message}{in_line(table, verb.value)}")


def _unknown_places(commands: Mapping[Verb, tuple[str, ...]], variables: Iterable[str], where: str) -> Iterator[str]:
    for verb, words in commands.items():
        try:
            check_template(words, verb, variables, where=verb.value)
        except InputError as error:
            yield where + error.message
