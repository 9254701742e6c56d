"""The keys of a node's configuration, by release, and their values read as Kafka reads them.

Rule: what a key is (type, range, whether it must be given) is data, taken from the jars of each release
(schemas/config/server.json); what its value becomes follows clients' `ConfigDef`. No value of a password is shown.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

from kafkactl.cluster.quorum.voters import parse_host_port, parse_static_voters
from kafkactl.core.data_files import read_data
from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.redact import is_misplaced, is_secret_text
from kafkactl.protocol.text.config_values import Problem
from kafkactl.protocol.text.java_text import LONG_BITS, parse_boolean, parse_double, parse_int, split_list, trim
from kafkactl.storage.config.plugin_classes import is_missing

QUORUM_VOTERS = "controller.quorum.voters"
BOOTSTRAP_SERVERS = "controller.quorum.bootstrap.servers"
_SHORT_BITS = 16


@frozen
class ServerKey:
    """A key in one release. `check` is the validator as data (see scripts/import_server_config.py)."""

    name: str
    type: str
    default: str | None = None
    required: bool = False
    check: Any = None

    @property
    def is_secret(self) -> bool:
        """Return True if a value of the key must not be shown."""
        return self.type == "PASSWORD"


class ProblemFound(Exception):  # noqa: N818 - not an error of the program: a way out of a nested rule
    """Problem of a value, raised where the value is read."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.words)
        self.problem = problem


class Unusable(Exception):  # noqa: N818
    """A value that a rule needs is wrong or unknown itself, and that has been reported already."""


@frozen
class Values:
    """The values of every key of a release. `given` is the file's text, `unusable` the keys without a value."""

    keys: Mapping[str, ServerKey]
    given: Mapping[str, str] = field(repr=False)
    parsed: Mapping[str, Any] = field(repr=False)
    unusable: frozenset[str]

    def get(self, key: str) -> Any:
        """Return the value or the default; None if there is neither or the release has no such key.

        Raises Unusable.
        """
        if key in self.unusable:
            raise Unusable(key)
        return self.parsed.get(key)


@functools.cache
def server_keys(release_name: str) -> Mapping[str, ServerKey]:
    """Return every key that the release (`4.3`) defines, in the order in which the newest release checks the keys."""
    return _keys_of(_table(), release_name)


@functools.cache
def topic_keys(release_name: str) -> Mapping[str, ServerKey]:
    """Return every key of a topic that the release (`4.3`) defines."""
    return _keys_of(_table("config/topics.json"), release_name)


def _keys_of(table: Any, release_name: str) -> Mapping[str, ServerKey]:
    return MappingProxyType({row["name"]: ServerKey(**row) for row in rows_of(table, release_name)})


def rows_of(table: Any, release_name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table of keys that the release (`4.3`) has, without the releases of each row.

    A release that the table does not have is read as the newest.
    """
    releases = table["releases"]
    at = releases.index(release_name) if release_name in releases else len(releases) - 1
    for row in table["keys"]:
        first, last = row.get("from", releases[0]), row.get("to", releases[-1])
        if releases.index(first) <= at <= releases.index(last):
            yield {name: value for name, value in row.items() if name not in ("from", "to")}


@functools.cache
def known_in(key: str) -> tuple[str, str] | None:
    """Return the first and the last release with this key of a node, or None."""
    return _span_of(_table(), key)


@functools.cache
def topic_key_known_in(key: str) -> tuple[str, str] | None:
    """Return the first and the last release with this key of a topic, or None."""
    return _span_of(_table("config/topics.json"), key)


def _span_of(table: Any, key: str) -> tuple[str, str] | None:
    rows = [row for row in table["keys"] if row["name"] == key]
    if not rows:
        return None
    return rows[0].get("from", table["releases"][0]), rows[-1].get("to", table["releases"][-1])


@functools.cache
def _table(name: str = "config/server.json") -> Any:
    import json

    return json.loads(read_data(name))


@frozen
class ReadingRules:
    """Rules for values that depend on the release in addition to the keys.

    anything_before_host: see `parse_static_voters`. newest_level: the newest metadata.version level it can name;
    newest_stable_level: the newest of a release that it knows by the release's name alone (`3.9`).
    release: by which classes of Kafka are known (`4.3`).
    """

    anything_before_host: bool
    newest_level: int
    newest_stable_level: int
    release: str = ""


def read_values(
    given: Mapping[str, str], keys: Mapping[str, ServerKey], rules: ReadingRules, *, unresolved: frozenset[str]
) -> tuple[Values, list[Problem]]:
    """Parse and check every key; the problems come in Kafka's order.

    `unresolved` are keys whose text is not known yet, because a config provider has it.
    """
    parsed: dict[str, Any] = {}
    unusable = set(unresolved)
    problems = []
    for key in keys.values():
        if key.name in unresolved:
            continue
        try:
            parsed[key.name] = _value(key, given.get(key.name), rules)
        except ProblemFound as found:
            problems.append(found.problem)
            unusable.add(key.name)
    return Values(keys=keys, given=given, parsed=parsed, unusable=frozenset(unusable)), problems


def value_problem(key: ServerKey, text: str, rules: ReadingRules) -> Problem | None:
    """Return why the release refuses this value of one key, None if it takes the value."""
    try:
        _value(key, text, rules)
    except ProblemFound as found:
        return found.problem
    return None


_WHAT_TO_SET = {
    "process.roles": "Set process.roles to broker, controller or both; this release has no ZooKeeper mode.",
    "node.id": "Set node.id to a number that no other node of the cluster has.",
    "controller.listener.names": "Set controller.listener.names to the name of the controllers' listener.",
}


def _value(key: ServerKey, text: str | None, rules: ReadingRules) -> Any:
    if text is None:
        if key.required:
            words = f'Missing required configuration "{key.name}" which has no default value.'
            hint = _WHAT_TO_SET.get(key.name, f"Set {key.name}.")
            raise ProblemFound(Problem(id="missing-config-key", key=key.name, words=words, next_step=hint))
        if key.default is None:
            return None
        return split_list(key.default) if key.type == "LIST" else _default(key.name, key.type, key.default)
    value = _PARSERS[key.type](key, text)
    if isinstance(key.check, Mapping) and key.check.get("distinct"):
        # ConfigDef.parseValue drops duplicates with a warning before the validator sees the list (4.2 and later).
        value = list(dict.fromkeys(value))
    for complaint in _complaints(key, value, rules):
        raise ProblemFound(_invalid(key, text, complaint))
    return value


@functools.cache
def _default(name: str, kind: str, text: str) -> Any:
    """Return a default as a value, read once: a node sets few of some 300 keys, and a plan reads the files of many
    nodes.

    No list is kept: it could be changed where it was given.
    """
    return _PARSERS[kind](ServerKey(name=name, type=kind), text)


def _invalid(key: ServerKey, text: str, complaint: str) -> Problem:
    shown = text
    if key.is_secret or is_secret_text(text) or is_misplaced(key.type, text):
        shown = "[hidden]"
        complaint = complaint.replace(trim(text) or shown, shown)
    words = f"Invalid value {shown} for configuration {key.name}: {complaint}"
    return Problem(id="invalid-config-value", key=key.name, words=words, next_step=f"Correct {key.name}.")


def _number(parse: Callable[[str], int | float | None]) -> Callable[[ServerKey, str], Any]:
    def read(key: ServerKey, text: str) -> int | float:
        number = parse(trim(text))
        if number is None:
            raise ProblemFound(_invalid(key, text, f"Not a number of type {key.type}"))
        return number

    return read


def _boolean(key: ServerKey, text: str) -> bool:
    value = parse_boolean(text)
    if value is None:
        raise ProblemFound(_invalid(key, text, "Expected value to be either true or false"))
    return value


def _class(key: ServerKey, text: str) -> str:
    """Return the class name; refuse an empty one. Only the node's class path decides if the class can be loaded."""
    if not trim(text):
        raise ProblemFound(_invalid(key, text, "Class  could not be found."))
    return trim(text)


_PARSERS: Mapping[str, Callable[[ServerKey, str], Any]] = {
    "BOOLEAN": _boolean,
    "INT": _number(parse_int),
    "SHORT": _number(lambda text: parse_int(text, _SHORT_BITS)),
    "LONG": _number(lambda text: parse_int(text, LONG_BITS)),
    "DOUBLE": _number(parse_double),
    "STRING": lambda _, text: trim(text),
    "PASSWORD": lambda _, text: trim(text),
    "CLASS": _class,
    "LIST": lambda _, text: split_list(text),
}


def _complaints(key: ServerKey, value: Any, rules: ReadingRules) -> Iterator[str]:
    """Yield the errors of Kafka's validator of the key for a value; only the first error is reported."""
    check = key.check
    if key.type == "CLASS" and is_missing(value, rules.release):
        yield f"Class {value} could not be found."
    elif key.name.endswith(".assignors"):
        yield from _assignor_complaints(key, value, rules)
    if check is None:
        return
    if isinstance(check, str):
        yield from _NAMED_CHECKS[check](value, rules)
    elif "items" in check:
        yield from _list_complaints(key.name, value, check)
    elif "one_of" in check:
        yield from _choice_complaints(value, check)
    else:
        yield from _range_complaints(value, check)


def _assignor_complaints(key: ServerKey, value: list[str], rules: ReadingRules) -> Iterator[str]:
    """Accept the short names that the release has by default, and classes: they are loaded with the configuration."""
    known = split_list(key.default or "")
    for item in value:
        if item not in known and ("." not in item or is_missing(item, rules.release)):
            yield f"Class {item} cannot be found"
            return


def _range_complaints(value: float, check: Mapping[str, Any]) -> Iterator[str]:
    if "or" in check:
        if value != check["or"] and not check["min"] <= value <= check.get("max", value):
            yield f"Value must be between {check['min']} and {check.get('max', 'any')} or equal to {check['or']}"
        return
    if "min" in check and value < check["min"]:
        yield f"Value must be at least {check['min']}"
    if "max" in check and value > check["max"]:
        yield f"Value must be no more than {check['max']}"


def _choice_complaints(value: str, check: Mapping[str, Any]) -> Iterator[str]:
    wanted = value.upper() if check.get("any_case") else value
    if wanted not in check["one_of"]:
        how = " (case insensitive)" if check.get("any_case") else ""
        yield f"String must be one of{how}: {', '.join(check['one_of'])}"


def _list_complaints(name: str, value: list[str], check: Mapping[str, Any]) -> Iterator[str]:
    if check.get("distinct"):  # 4.2 and later
        if not value and not check["empty"]:
            yield f"Configuration '{name}' must not be empty."
        if "" in value:
            yield f"Configuration '{name}' values must not be empty."
    for item in value if check["items"] else ():
        if item not in check["items"]:
            shown = "[hidden]" if is_secret_text(item) else item
            yield f"String must be one of: {', '.join(check['items'])} (found {shown})"


def _voters_complaints(value: list[str], rules: ReadingRules) -> Iterator[str]:
    try:
        parse_static_voters(value, anything_before_host=rules.anything_before_host)
    except InputError as error:
        yield error.message


def _bootstrap_complaints(value: list[str], rules: ReadingRules) -> Iterator[str]:
    for entry in value:
        address = parse_host_port(entry, anything_before_host=rules.anything_before_host)
        if address is None:
            yield f"Failed to parse host name from {entry}. Each entry should be in the form {{host}}:{{port}}"
        elif address[1] > 65535:
            yield f"port out of range:{address[1]} in {entry}"


def _version_complaints(value: str, rules: ReadingRules) -> Iterator[str]:
    if metadata_version_name(value, rules.newest_level, rules.newest_stable_level) is None:
        yield f"Version {value} is not a valid version"


def _throttle_complaints(value: list[str], _: ReadingRules) -> Iterator[str]:
    """Accept nothing, `*`, or pairs of numbers (`ThrottledReplicaListValidator`)."""
    items = [trim(item) for item in value]
    if items not in ([], ["*"]) and not all(re.fullmatch("([0-9]+:[0-9]+)?", item) for item in items):
        yield "Must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],…"


_NAMED_CHECKS: Mapping[str, Callable[[Any, ReadingRules], Iterator[str]]] = {
    "non-empty": lambda value, _: iter(() if value else ("String must be non-empty",)),
    "non-null": lambda *_: iter(()),  # text never is
    "quorum-voters": _voters_complaints,
    "bootstrap-servers": _bootstrap_complaints,
    "metadata-version": _version_complaints,
    "throttled-replicas": _throttle_complaints,
}


# Versions before feature levels (up to 2.8) and the first without KRaft: names as in server configurations of old.
_BEFORE_LEVELS = (
    "0.8.0 0.8.1 0.8.2 0.9.0 0.10.0-IV0 0.10.0-IV1 0.10.1-IV0 0.10.1-IV1 0.10.1-IV2 0.10.2-IV0 0.11.0-IV0 "
    "0.11.0-IV1 0.11.0-IV2 1.0-IV0 1.1-IV0 2.0-IV0 2.0-IV1 2.1-IV0 2.1-IV1 2.1-IV2 2.2-IV0 2.2-IV1 2.3-IV0 "
    "2.3-IV1 2.4-IV0 2.4-IV1 2.5-IV0 2.6-IV0 2.7-IV0 2.7-IV1 2.7-IV2 2.8-IV0 2.8-IV1 3.0-IV0"
).split()


def metadata_version_name(text: str, newest_level: int, newest_stable_level: int) -> str | None:
    """Return the name (`3.3-IV3`) of a version as written in inter.broker.protocol.version (`3.3`, `3.3.1`,
    `3.3-IV3`).

    The name of a release is its newest version. None if a release that knows levels up to `newest_level` does
    not know it (`MetadataVersion.fromVersionString`); it knows a release without a stable level by no name.
    """
    from kafkactl.protocol.catalog.index import metadata_versions

    segments = text.split(".")
    kept = ".".join(segments[: 3 if text.startswith("0.") else 2])
    names = dict.fromkeys(_BEFORE_LEVELS, True)
    names |= {row.name: row.level <= newest_stable_level for row in metadata_versions() if row.level <= newest_level}
    matching = [name for name, is_stable in names.items() if kept == name or (is_stable and kept == _release_of(name))]
    return matching[-1] if matching else None


def _release_of(name: str) -> str:
    return name.partition("-")[0]


def predates_kraft(name: str) -> bool:
    """Return True if KRaft cannot run with the version."""
    return name in _BEFORE_LEVELS
