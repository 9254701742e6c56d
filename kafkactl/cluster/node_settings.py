"""Settings that a controller's file decides under KRaft and a broker's file decided under ZooKeeper.

The table is schemas/node_settings.toml; here it is read, a node's values are found, and the nodes of a cluster are
compared. Invariant: an unknown value (hidden, or kept elsewhere) is left out of every comparison, and a value that the
node's file does not set is Kafka's default.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Final

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.data_files import read_data
from kafkactl.core.findings import Finding, Severity, note, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.core.wording import plural, some
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.redact import BROKER, is_hidden_config
from kafkactl.protocol.text.config_variables import has_variable
from kafkactl.protocol.text.java_text import parse_boolean, parse_int

MIN_INSYNC: Final = "min.insync.replicas"
_LONG_BITS: Final = 64
# Sources in an answer to DescribeConfigs (DescribeConfigsResponse.ConfigSource).
CLUSTER_SOURCE: Final = 3
STATIC_SOURCE: Final = 4
DEFAULT_SOURCE: Final = 5


@frozen
class Setting:
    """A row of the table. `controllers` and `brokers`: True if that process reads the setting under KRaft.

    `decided_by_brokers`: a broker's file decided it under ZooKeeper. `elsewhere`: another check of the migration
    compares it. `unseen`: no node answers DescribeConfigs with it. `worse` (`lower`, `true` or empty) is the
    direction in which a value endangers data. `since` is (major, minor) of the first release line whose controllers
    read it.
    """

    key: str
    type: str
    default: str
    decided_by_brokers: bool
    controllers: bool
    brokers: bool
    controller: str
    broker: str
    effect: str
    """Effect of the difference."""
    source: str
    matters: bool
    elsewhere: bool
    unseen: bool
    worse: str
    since: tuple[int, int]
    synonyms: tuple[tuple[str, int], ...]
    measured: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the key and its synonyms, the first that is set wins."""
        return (self.key, *(name for name, _ in self.synonyms))

    @property
    def carried_over(self) -> bool:
        """Return True if a migration has to take the brokers' value to the controllers."""
        return self.decided_by_brokers and self.controllers and not self.elsewhere

    @property
    def decides(self) -> tuple[Role, ...]:
        """Return the processes that read it under KRaft."""
        read = {Role.CONTROLLER: self.controllers, Role.BROKER: self.brokers}
        return tuple(role for role, reads in read.items() if reads)

    def canonical(self, value: str) -> str:
        """Return the value in one spelling, so that equal settings are equal texts.

        A value that cannot be read is returned unchanged.
        """
        text = value.strip()
        if self.type == "bool":
            flag = parse_boolean(text)
            return text if flag is None else str(flag).lower()
        if self.type == "int":
            number = parse_int(text, _LONG_BITS)
            return text if number is None else str(number)
        if self.type == "principals":
            return ";".join(sorted({part.strip() for part in text.split(";") if part.strip()}))
        return text


@frozen
class Value:
    """A value in force at a node. `given`: it is set somewhere, and not Kafka's default.

    `in_file` is what the node's file sets, if a value that is kept in the metadata log takes its place.
    """

    text: str
    given: bool
    in_file: str | None = None

    @property
    def overridden(self) -> bool:
        """Return True if the file sets another value than the one in force."""
        return self.in_file is not None and self.in_file != self.text


@frozen
class NodeSettings:
    """Settings of one node in one role. `values` by key; a key that is not there is unknown. `file`: their source."""

    id: int
    role: Role
    values: Mapping[str, Value] = field(repr=False)
    release: Release | None = None
    file: str | None = None

    @property
    def name(self) -> str:
        """Return `broker 4`."""
        return f"{self.role.value} {self.id}"


class Kind(StrEnum):
    """Nodes that differ from each other."""

    CONTROLLERS = "controllers-settings-differ"
    ROLES = "controller-setting-differs"
    BROKERS = "brokers-settings-differ"
    UNREAD = "setting-without-effect"
    OVERRIDDEN = "setting-overridden"


@frozen
class HeldValue:
    """A value and the ids of the nodes that have it; the empty value is one that is not set."""

    value: str
    nodes: tuple[int, ...]

    to_dict = by_fields


@frozen
class OverriddenFile:
    """A value in the files of some nodes that is not in force there."""

    value: str
    nodes: tuple[str, ...]

    to_dict = by_fields


@frozen
class Difference:
    """A setting that is not the same on all nodes.

    `files` are the names of nodes by the value in their file, if that is not in force; `endangers`: the value in
    force is the worse one for data.
    """

    setting: Setting
    kinds: tuple[Kind, ...]
    controllers: Mapping[str, tuple[int, ...]]
    brokers: Mapping[str, tuple[int, ...]]
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    endangers: bool = False

    @property
    def matters(self) -> bool:
        """Return True if the difference changes the behaviour of the cluster, and not only what a node shows."""
        is_reported = bool({*self.kinds} - {Kind.UNREAD, Kind.OVERRIDDEN}) or self.endangers
        return self.setting.matters and is_reported

    @property
    def controller_values(self) -> list[HeldValue]:
        """Return the values of controllers, with the ids of the nodes that have each."""
        return [HeldValue(value=text, nodes=ids) for text, ids in self.controllers.items()]

    @property
    def broker_values(self) -> list[HeldValue]:
        """Return the values of brokers, with the ids of the nodes that have each."""
        return [HeldValue(value=text, nodes=ids) for text, ids in self.brokers.items()]

    @property
    def overridden_files(self) -> list[OverriddenFile]:
        """Return the values in files that the metadata log overrides."""
        return [OverriddenFile(value=text, nodes=names) for text, names in self.files.items()]

    @property
    def controller_decides(self) -> str | None:
        """Return the effect that the value of the active controller decides."""
        return self.setting.controller or None

    @property
    def broker_decides(self) -> str | None:
        """Return the effect that the values of the brokers decide."""
        return self.setting.broker or None

    to_dict = json_of(
        "key=setting.key", "kinds", "matters", "decides=setting.decides", "controllers=controller_values",
        "brokers=broker_values", "overridden_files", "controller_decides", "broker_decides", "effect=setting.effect",
    )  # fmt: skip


@functools.cache
def node_settings() -> tuple[Setting, ...]:
    """Return every row of schemas/node_settings.toml."""
    import tomli

    rows = tomli.loads(read_data("node_settings.toml").decode("utf-8"))["setting"]
    return tuple(_setting(row) for row in rows)


def asked_keys() -> list[str]:
    """Return the keys to request: DescribeConfigs returns a value under its key, whichever synonym set it."""
    return [key for row in node_settings() if not row.unseen for key in row.keys]


def of_file(
    given: Mapping[str, str], *, id: int, role: Role, file: str | None = None, release: Release | None = None,
    hidden: Callable[[str], bool] = lambda _: False,
) -> NodeSettings:  # fmt: skip
    """Return a node's values as its properties file gives them.

    `hidden` recognises a value that was removed from the file.
    """

    def unknown(text: str) -> bool:
        return hidden(text) or has_variable(text)

    values = {}
    for row in node_settings():
        key = next((key for key in row.keys if given.get(key, "").strip()), None)
        text = "" if key is None else given[key].strip()
        if key is None:
            values[row.key] = Value(text=row.canonical(row.default), given=False)
        elif not (unknown(text) or is_hidden_config(BROKER, key, text)):
            values[row.key] = Value(text=_in_unit(row, key, text), given=True)
    return NodeSettings(id=id, role=role, values=values, release=release, file=file)


def of_answer(
    configs: Iterable[Mapping[str, Any]], *, id: int, role: Role, release: Release | None = None
) -> NodeSettings:
    """Return a node's values from `configs` of one result of DescribeConfigs (version 1 or later)."""
    described = {config["Name"]: config for config in configs}
    values = {}
    for row in node_settings():
        entries = [
            (key, described[key]) for key in row.keys if key in described and described[key]["Value"] not in (None, "")
        ]
        is_given = [(key, entry) for key, entry in entries if entry["ConfigSource"] != DEFAULT_SOURCE]
        if is_given:
            key, entry = is_given[0]
            values[row.key] = Value(
                text=_in_unit(row, key, entry["Value"]), given=True, in_file=_static(row, entry.get("Synonyms") or ())
            )
        elif row.key in described:
            values[row.key] = Value(text=row.canonical(described[row.key]["Value"] or row.default), given=False)
    return NodeSettings(id=id, role=role, values=values, release=release)


def differences(nodes: Iterable[NodeSettings]) -> tuple[Difference, ...]:
    """Return the settings that differ between nodes of a KRaft cluster, in the order of the table."""
    every = tuple(nodes)
    return tuple(found for row in node_settings() if (found := _difference(row, every)) is not None)


def difference_findings(found: Iterable[Difference]) -> Iterator[Finding]:
    """Yield one finding for each relevant setting, and one for all others."""
    shown: list[Difference] = []
    for difference in found:
        if difference.matters:
            yield difference_finding(difference)
        else:
            shown.append(difference)
    if shown:
        yield note(
            "settings-shown-differently",
            "settings",
            f"{len(shown)} settings differ between nodes without changing what the cluster does to data: "
            + ", ".join(difference.setting.key for difference in shown),
            "Give them the same value, so that every node shows the one in force.",
            settings=[difference.to_dict() for difference in shown],
        )


def difference_finding(difference: Difference) -> Finding:
    """Return the finding of one setting. Its id is the gravest of its kinds."""
    row = difference.setting
    decided = [
        f"{whose} decides {what}"
        for whose, what, reads in (
            ("the active controller's value", row.controller, row.controllers),
            ("a broker's value", row.broker, row.brokers),
        )
        if reads
    ]
    ids = sorted({id for held in difference.controllers.values() for id in held})
    where = _named("controller", ids) if row.controllers and ids else "every broker"
    if row.controllers and row.brokers:
        where = "every broker and controller"
    step = f"Decide on one value, write {row.key} into the file of {where}, and restart the nodes that change."
    if Kind.OVERRIDDEN in difference.kinds:
        step = (
            "The value of the whole cluster is kept in the metadata log. Set it as it should be: kafka-configs.sh "
            f"--alter --entity-type brokers --entity-default --add-config {row.key}=VALUE."
        )
    return warning(
        difference.kinds[0].value,
        row.key,
        f"{row.key} is {_sides(difference)}. Under KRaft {' and '.join(decided)}. Consequence: {row.effect}.",
        step,
        **{name: value for name, value in difference.to_dict().items() if name != "matters"},
    )


def _static(row: Setting, synonyms: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the value in the node's file, among the candidate values of a setting."""
    found = (synonym for synonym in synonyms if synonym["Source"] == STATIC_SOURCE and synonym["Value"] is not None)
    first = next(found, None)
    return None if first is None else _in_unit(row, first["Name"], first["Value"])


def values_by_node(nodes: Iterable[NodeSettings], key: str) -> dict[str, tuple[int, ...]]:
    """Return the ids of the nodes with each value of a setting, in the order of the values."""
    found: dict[str, list[int]] = {}
    for node in nodes:
        if key in node.values:
            found.setdefault(node.values[key].text, []).append(node.id)
    return {text: tuple(sorted(ids)) for text, ids in sorted(found.items())}


def _difference(row: Setting, nodes: Sequence[NodeSettings]) -> Difference | None:
    known = [node for node in nodes if row.key in node.values]
    controllers = [node for node in known if node.role is Role.CONTROLLER and _reads(row, node)]
    brokers = [node for node in known if node.role is Role.BROKER]
    held, other = values_by_node(controllers, row.key), values_by_node(brokers, row.key)
    kinds: list[Kind] = []
    if row.controllers and len(held) > 1:
        kinds.append(Kind.CONTROLLERS)
    if row.controllers and held and any(_departs(row, broker.values[row.key], held) for broker in brokers):
        kinds.append(Kind.ROLES)
    if row.brokers and len(other) > 1:
        kinds.append(Kind.BROKERS)
    is_unread = not row.controllers and row.brokers and bool(other)
    if is_unread and any(
        controller.values[row.key].given and controller.values[row.key].text not in other for controller in controllers
    ):
        kinds.append(Kind.UNREAD)
    readers = [node for node in known if (row.brokers if node.role is Role.BROKER else row.controllers)]
    overridden = [reader for reader in readers if reader.values[row.key].overridden]
    if overridden:
        kinds.append(Kind.OVERRIDDEN)
    if not kinds:
        return None
    files: dict[str, list[str]] = {}
    for node in overridden:
        files.setdefault(str(node.values[row.key].in_file), []).append(node.name)
    return Difference(
        setting=row,
        kinds=tuple(kinds),
        controllers=held,
        brokers=other,
        files={text: tuple(names) for text, names in files.items()},
        endangers=any(_is_worse(row, node.values[row.key]) for node in overridden),
    )


def _is_worse(row: Setting, value: Value) -> bool:
    """Return True if the value in force is worse for data than the one in the file."""
    if row.worse == "lower":
        now, file = parse_int(value.text, _LONG_BITS), parse_int(value.in_file or "", _LONG_BITS)
        return now is not None and file is not None and now < file
    return bool(row.worse) and value.text == row.worse and value.in_file != row.worse


def _departs(row: Setting, value: Value, held: Mapping[str, Any]) -> bool:
    """Return True if a broker's value is none of the controllers'.

    A setting that brokers do not read differs only if a broker sets it.
    """
    return value.text not in held and (row.brokers or value.given)


def _reads(row: Setting, node: NodeSettings) -> bool:
    version = None if node.release is None else node.release.version
    return version is None or (version.major, version.minor) >= row.since


def _sides(difference: Difference) -> str:
    sides = []
    for name, held in (("broker", difference.brokers), ("controller", difference.controllers)):
        sides += [f"{text or 'not set'} on {_named(name, ids)}" for text, ids in held.items()]
    files = [f"{text} in the file of {some(names)}, which is not in force" for text, names in difference.files.items()]
    return ", ".join((*sides, *files))


def _named(role: str, ids: Sequence[int]) -> str:
    return f"{plural(role, len(ids))} {_ids(ids)}"


def _ids(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids))


def _in_unit(row: Setting, key: str, text: str) -> str:
    factor = dict(row.synonyms).get(key, 1)
    number = parse_int(text.strip(), _LONG_BITS) if factor != 1 else None
    return row.canonical(text) if number is None else str(number * factor if number >= 0 else number)


def _setting(row: Mapping[str, Any]) -> Setting:
    major, _, minor = row.get("since", "3.6").partition(".")
    return Setting(
        key=row["key"],
        type=row["type"],
        default=row["default"],
        decided_by_brokers=row["zookeeper"],
        controllers="controller" in row["kraft"],
        brokers="broker" in row["kraft"],
        controller=row.get("controller", ""),
        broker=row.get("broker", ""),
        effect=row["effect"],
        source=row["source"],
        worse=row.get("worse", ""),
        matters=Severity(row.get("weight", Severity.WARNING.value)) is Severity.WARNING,
        elsewhere=row.get("elsewhere", False),
        unseen=row.get("unseen", False),
        since=(int(major), int(minor)),
        synonyms=tuple((synonym["key"], synonym["factor"]) for synonym in row.get("synonyms", ())),
        measured=tuple(row.get("measured", ())),
    )
