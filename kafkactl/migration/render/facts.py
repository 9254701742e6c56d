"""Facts of all configuration files of a cluster that rendering one file needs.

Invariant: a value is taken over from other nodes only where those nodes agree on it. If they do not, or do not say,
there is a finding and no value: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from kafkactl.cluster.node_settings import node_settings, of_file, values_by_node
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.core.values import Role
from kafkactl.core.wording import some
from kafkactl.migration.zktree.connect import chroot_of, shown_chroot
from kafkactl.migration.zktree.znode import Hidden
from kafkactl.protocol.text.config_variables import has_variable
from kafkactl.protocol.text.java_text import parse_boolean, split_list
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.storage.config.keys import ProblemFound
from kafkactl.storage.config.listeners import csv_map

CONNECT: Final = "zookeeper.connect"
VOTERS: Final = "controller.quorum.voters"
BOOTSTRAP: Final = "controller.quorum.bootstrap.servers"
CONTROLLER_NAMES: Final = "controller.listener.names"
PROTOCOL_MAP: Final = "listener.security.protocol.map"
CONTROLLER_SASL: Final = "sasl.mechanism.controller.protocol"
BROKER_SASL: Final = "sasl.mechanism.inter.broker.protocol"
MECHANISMS: Final = "sasl.enabled.mechanisms"
LISTENER_BETWEEN: Final = "inter.broker.listener.name"
PROTOCOL_BETWEEN: Final = "security.inter.broker.protocol"
AUTHORIZER: Final = "authorizer.class.name"
SUPER_USERS: Final = "super.users"
ZOOKEEPER: Final = "zookeeper."
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# What the controllers must have as the brokers do: the key, and what becomes of the migration without it.
SHARED_SECRETS: Final[Mapping[str, str]] = {
    "password.encoder.secret": "encrypted passwords would silently be copied as cipher text",
    "password.encoder.old.secret": "passwords that are still encrypted with the old secret could not be opened",
    "delegation.token.secret.key": "delegation tokens would not be accepted",
    "delegation.token.master.key": "delegation tokens would not be accepted",
}


# Rules by which a node names the user of a certificate or of a Kerberos ticket: the same on every node, or a broker has
# another name at the controllers than in their super.users.
PRINCIPAL_RULES: Final = ("ssl.principal.mapping.rules", "sasl.kerberos.principal.to.local.rules")


class ConfigPhase(StrEnum):
    """Purpose of a node's file: the words of the hooks' `{phase}` (docs/migration-hooks.md)."""

    ORIGINAL = "original"
    MIGRATION = "migration"
    KRAFT = "kraft"
    FINAL = "final"


PHASES: Final[Mapping[Role, tuple[ConfigPhase, ...]]] = {
    Role.BROKER: (ConfigPhase.ORIGINAL, ConfigPhase.MIGRATION, ConfigPhase.KRAFT),
    Role.CONTROLLER: (ConfigPhase.ORIGINAL, ConfigPhase.MIGRATION, ConfigPhase.FINAL),
}


@frozen
class NodeFile:
    """A node's configuration file as it is now. `given` is what Java reads of it, blanks around values removed.

    `id` and `role` are those of the inventory: what the file states about them is compared with it.
    """

    id: int
    role: Role
    file: str
    content: bytes = field(repr=False)
    given: Mapping[str, str] = field(repr=False)
    kafka_version: str | None = None

    @property
    def name(self) -> str:
        """Return the node's name in findings: `broker 2`."""
        return f"{self.role} {self.id}"


def node_file(id: int, role: Role, content: bytes, *, file: str, kafka_version: str | None = None) -> NodeFile:
    """Read a node's file. Raises DecodeError `malformed-unicode-escape`."""
    given = {key: value.strip() for key, value in parse_properties(content, file=file).mapping.items()}
    return NodeFile(id=id, role=role, file=file, content=content, given=given, kafka_version=kafka_version)


def entered_by(given: Mapping[str, str]) -> str | None:
    """Return the key that makes a broker's file one of a migration or of KRaft, by its value; None for neither.

    `false` is Kafka's default for the migration flag, which generated files spell out. A value that is not in the file
    itself (`${env:…}`) may be true.
    """
    if given.get("process.roles", "").strip():
        return "process.roles"
    flag = given.get(MIGRATION_ENABLE, "").strip()
    return MIGRATION_ENABLE if flag and parse_boolean(flag) is not False else None


@frozen
class ClusterFacts:
    """Settings on which the files agree; None and empty: not set, or they differ (see `findings`).

    `quorum` and `between` (how brokers reach brokers) are a key and its value; `between_mechanisms` are what that
    listener accepts. `protocols` are those of the listeners
    that one kind of node must know of the other, by listener in capitals. `zookeeper` are the brokers' `zookeeper.*`
    settings that all of them share; `secrets` those of `SHARED_SECRETS`; `decided` the settings that controllers decide
    under KRaft and brokers decided before (schemas/node_settings.toml); `principal_rules` those of `PRINCIPAL_RULES`.
    """

    quorum: tuple[str, str] | None = None
    controller_names: tuple[str, ...] = ()
    controller_sasl: str | None = None
    between: tuple[str, str] | None = None
    between_sasl: str | None = None
    between_mechanisms: str | None = None
    protocols: Mapping[str, str] = field(default_factory=dict)
    zookeeper: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    decided: Mapping[str, str] = field(default_factory=dict)
    principal_rules: Mapping[str, str] = field(default_factory=dict)
    brokers_have_authorizer: bool = False
    broker_ids: frozenset[int] = frozenset()
    findings: tuple[Finding, ...] = ()


def cluster_facts(nodes: Iterable[NodeFile]) -> ClusterFacts:
    """Return the settings on which the files of all nodes agree."""
    every = tuple(nodes)
    brokers = [file for file in every if file.role is Role.BROKER]
    controllers = [file for file in every if file.role is Role.CONTROLLER]
    agreed = _AgreedValues()
    quorum = agreed.quorum(controllers)
    names = agreed.same(controllers, CONTROLLER_NAMES) or ""
    between = agreed.between(brokers)
    controller_names = tuple(split_list(names))
    listener = between[1].upper() if between else None
    protocols = agreed.protocols(controllers, controller_names) | agreed.protocols(
        brokers, () if listener is None else (listener,)
    )
    return ClusterFacts(
        quorum=quorum,
        controller_names=controller_names,
        controller_sasl=agreed.same(controllers, CONTROLLER_SASL, needed=False),
        between=between,
        between_sasl=agreed.same(brokers, BROKER_SASL, needed=False),
        between_mechanisms=None if listener is None else agreed.mechanisms(brokers, listener),
        protocols=protocols,
        zookeeper=agreed.zookeeper(brokers),
        secrets=agreed.secrets(brokers),
        decided=agreed.decided(brokers),
        principal_rules=agreed.principal_rules(brokers),
        brokers_have_authorizer=any(broker.given.get(AUTHORIZER) for broker in brokers),
        broker_ids=frozenset(broker.id for broker in brokers),
        findings=tuple(agreed.findings),
    )


class _AgreedValues:
    """Values that nodes agree on, and findings about values on which they do not agree."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def same(self, nodes: Collection[NodeFile], key: str, *, needed: bool = True) -> str | None:
        """Return the one value of those nodes that have any."""
        values: dict[str, list[str]] = {}
        for node in nodes:
            if node.given.get(key):
                values.setdefault(node.given[key], []).append(node.name)
        if len(values) > 1:
            text = f"{key} is not the same in the files of {', '.join(names[0] for names in values.values())}"
            self.findings.append(blocker("render-nodes-disagree", key, text, nodes=list(values.values())))
            return None
        if not values and needed and nodes:
            kind = next(iter(nodes)).role
            text = f"no {kind}'s file says {key}, and it cannot be known otherwise"
            next_step = f"Write it into the files of the {kind}s, then render again."
            self.findings.append(blocker("render-setting-missing", key, text, next_step))
        return next(iter(values), None)

    def quorum(self, controllers: Collection[NodeFile]) -> tuple[str, str] | None:
        """Return the quorum as all controllers write it: voters, or servers to ask for them."""
        keys = [key for key in (BOOTSTRAP, VOTERS) if any(controller.given.get(key) for controller in controllers)]
        if not keys:
            self.same(controllers, BOOTSTRAP)
            return None
        # If a file has both, Kafka takes the voters.
        value = self.same(controllers, keys[-1])
        return None if value is None else (keys[-1], value)

    def between(self, brokers: Collection[NodeFile]) -> tuple[str, str] | None:
        """Return the listener between brokers; the default is PLAINTEXT."""
        listener = self.same(brokers, LISTENER_BETWEEN, needed=False)
        if any(broker.given.get(LISTENER_BETWEEN) for broker in brokers):
            return None if listener is None else (LISTENER_BETWEEN, listener)
        protocol = self.same(brokers, PROTOCOL_BETWEEN, needed=False)
        if any(broker.given.get(PROTOCOL_BETWEEN) for broker in brokers):
            return None if protocol is None else (PROTOCOL_BETWEEN, protocol)
        return (PROTOCOL_BETWEEN, "PLAINTEXT") if brokers else None

    def protocols(self, nodes: Collection[NodeFile], listeners: Collection[str]) -> dict[str, str]:
        """Return the security protocol of each of these listeners, by the nodes that serve it."""
        found: dict[str, str] = {}
        for listener in (listener.upper() for listener in listeners):
            declared = {spoken for node in nodes if (spoken := protocol_of(node, listener)) is not None}
            if len(declared) > 1:
                text = f"listener {listener} does not have the same protocol in all files"
                self.findings.append(blocker("render-nodes-disagree", PROTOCOL_MAP, text))
            elif not declared and nodes:
                text = f"no file says which protocol listener {listener} speaks"
                next_step = f"Add {listener} to {PROTOCOL_MAP} where that listener is."
                self.findings.append(blocker("render-listener-not-mapped", PROTOCOL_MAP, text, next_step))
            if len(declared) == 1:
                found[listener] = declared.pop()
        return found

    def mechanisms(self, brokers: Collection[NodeFile], listener: str) -> str | None:
        """Return the SASL mechanisms of the listener between brokers.

        Its own setting, else the one of all listeners.
        """
        own = mechanisms_key(listener)
        key = own if any(broker.given.get(own) for broker in brokers) else MECHANISMS
        return self.same(brokers, key, needed=False)

    def zookeeper(self, brokers: Collection[NodeFile]) -> dict[str, str]:
        """Return `zookeeper.*` as every broker on ZooKeeper has it; zookeeper.connect by its chroot."""
        still = [broker for broker in brokers if broker.given.get(CONNECT)]
        keys = sorted(
            {key for file in still for key in file.given if key.startswith(ZOOKEEPER) and key != MIGRATION_ENABLE}
        )
        chroots = {chroot_of(file.given[CONNECT]) for file in still}
        if len(chroots) > 1:
            named = ", ".join(map(shown_chroot, sorted(chroots)))
            text = f"the brokers do not have the same chroot in {CONNECT}: {named}"
            next_step = "One of these files is that of another cluster; correct it or the inventory."
            self.findings.append(blocker("render-nodes-disagree", CONNECT, text, next_step))
            return {}
        found = {}
        for key in keys:
            values = {file.given.get(key) for file in still}
            value = still[0].given.get(key)
            if value is not None and (len(values) == 1 or key == CONNECT):
                found[key] = value
        return found

    def decided(self, brokers: Collection[NodeFile]) -> dict[str, str]:
        """Return the settings that controllers decide from the copy on, if every broker has the same value."""
        found: dict[str, str] = {}
        for row in node_settings():
            given_keys = [key for key in row.keys if any(broker.given.get(key) for broker in brokers)]
            if not row.carried_over or not given_keys:
                continue
            if any(_is_unseen(broker.given.get(key, "")) for broker in brokers for key in given_keys):
                text = f"the brokers' value of {row.key} is kept outside their files, or was taken out of them"
                next_step = f"Write {row.key} into the controllers' files by hand: they decide {row.controller}."
                self.findings.append(warning("render-setting-not-shown", row.key, text, next_step))
                continue
            nodes = [of_file(broker.given, id=broker.id, role=Role.BROKER) for broker in brokers]
            values = values_by_node(nodes, row.key)
            if len(values) > 1:
                named = ", ".join(
                    f"{text or 'not set'} on broker {some(map(str, ids))}" for text, ids in values.items()
                )
                text = f"{row.key} is not the same on all brokers: {named}; the controllers decide {row.controller}"
                next_step = (
                    f"Choose a value and write {row.key} into the controllers' files; no value was written there."
                )
                self.findings.append(warning("render-settings-differ", row.key, text, next_step))
            else:
                found |= {key: brokers_value for key in given_keys if (brokers_value := _first(brokers, key))}
        return found

    def principal_rules(self, brokers: Collection[NodeFile]) -> dict[str, str]:
        """Return the rules for principals that every broker has, with the same text."""
        found = {}
        for key in PRINCIPAL_RULES:
            values = {broker.given.get(key) for broker in brokers}
            value = values.pop() if len(values) == 1 else None
            if value and not _is_unseen(value):
                found[key] = value
        return found

    def secrets(self, brokers: Collection[NodeFile]) -> dict[str, str]:
        """Return the secrets that controllers must have as well, if the brokers have and show one."""
        found = {}
        for key, consequence in SHARED_SECRETS.items():
            value = self.same(brokers, key, needed=False)
            if value is not None and (is_withheld(value) or has_variable(value)):
                text = f"the brokers have {key}, and the files as they are shown have not; without it {consequence}"
                self.findings.append(warning("render-secret-not-shown", key, text))
            elif value is not None:
                found[key] = value
        return found


def _is_unseen(value: str) -> bool:
    return is_withheld(value) or has_variable(value)


def mechanisms_key(listener: str) -> str:
    """Return the setting of a single listener's SASL mechanisms."""
    return f"listener.name.{listener.lower()}.{MECHANISMS}"


def _first(nodes: Iterable[NodeFile], key: str) -> str | None:
    return next((node.given[key] for node in nodes if node.given.get(key)), None)


def is_withheld(value: str) -> bool:
    """Return True if a value was removed from a file."""
    return value in Hidden.__members__.values()


def protocol_of(node: NodeFile, listener: str) -> str | None:
    """Return the protocol of a listener by a node's file; None if the file does not contain it.

    Without a map, a listener's name is its protocol, and a KRaft node takes a controller listener for PLAINTEXT unless
    SSL or SASL is in use anywhere.
    """
    text = node.given.get(PROTOCOL_MAP)
    if text is None:
        if listener in PROTOCOLS:
            return listener
        names = [name.upper() for name in split_list(node.given.get(CONTROLLER_NAMES) or "")]
        others = [listener.partition(":")[0].upper() for listener in split_list(node.given.get("listeners") or "")]
        plain = not any(protocol in PROTOCOLS[1:] for protocol in (*names, *others))
        return PROTOCOLS[0] if listener in names and node.given.get("process.roles") and plain else None
    try:
        pairs = {name.upper(): value.upper() for name, value in csv_map(text, PROTOCOL_MAP).items()}
    except ProblemFound:
        return None
    return pairs.get(listener)
