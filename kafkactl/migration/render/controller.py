"""A controller's file: with the migration enabled from its first start on, and then without ZooKeeper.

A controller first started without the flag is burnt: its log states NONE, and the migration is refused permanently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kafkactl.cluster.node_settings import Setting, node_settings, of_file
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.core.values import Role
from kafkactl.migration.render.broker import (
    CONTROL_PLANE,
    STANDARD_AUTHORIZER,
    ZOOKEEPER_AUTHORIZERS,
    credentials,
    protocol_map,
)
from kafkactl.migration.render.facts import (
    AUTHORIZER,
    BROKER_SASL,
    CONNECT,
    CONTROLLER_NAMES,
    LISTENER_BETWEEN,
    MECHANISMS,
    PROTOCOL_BETWEEN,
    PROTOCOL_MAP,
    SHARED_SECRETS,
    SUPER_USERS,
    ZOOKEEPER,
    ClusterFacts,
    ConfigPhase,
    NodeFile,
    mechanisms_key,
)
from kafkactl.migration.render.properties_edit import Edits
from kafkactl.migration.zktree.connect import chroot_of
from kafkactl.protocol.text.java_text import parse_boolean, parse_int, split_list

_NEIGHBOURS: Final[Mapping[str, tuple[str, ...]]] = {
    "node.id": ("process.roles",),
    MIGRATION_ENABLE: (CONNECT,),
    CONNECT: (CONTROLLER_NAMES, "node.id"),
    LISTENER_BETWEEN: (CONTROLLER_NAMES,),
    PROTOCOL_BETWEEN: (CONTROLLER_NAMES,),
    BROKER_SASL: (LISTENER_BETWEEN, PROTOCOL_BETWEEN),
    PROTOCOL_MAP: ("advertised.listeners", "listeners"),
}
_DEFAULT_MECHANISM: Final = "GSSAPI"
_PATH_ENDS: Final = (".location",)


def controller_edits(node: NodeFile, phase: ConfigPhase, facts: ClusterFacts, findings: list[Finding]) -> Edits | None:
    """Return the changes to a controller's file; None if there can be none."""
    if not _fits(node, facts, findings):
        return None
    gone = {CONTROL_PLANE, "broker.id", "inter.broker.protocol.version"} & set(node.given)
    wanted = {"process.roles": "controller", "node.id": str(node.id)}
    if phase is ConfigPhase.FINAL:
        gone |= {key for key in node.given if key.startswith(ZOOKEEPER)}
    else:
        wanted |= {**_zookeeper(node, facts, findings), MIGRATION_ENABLE: "true"}
    wanted |= _between(node, facts, findings)
    wanted |= _authorizer(node, facts, findings)
    wanted |= _secrets(node, facts, findings)
    wanted |= _decided(node, facts, findings)
    wanted |= {key: value for key, value in facts.principal_rules.items() if not node.given.get(key)}
    return Edits(set=wanted, remove=frozenset(gone), neighbours=_NEIGHBOURS)


def _fits(node: NodeFile, facts: ClusterFacts, findings: list[Finding]) -> bool:
    roles = split_list(node.given.get("process.roles") or "controller")
    if roles != ["controller"]:
        text = f"process.roles is {','.join(roles)}: a migration needs controllers that are nothing else"
        findings.append(blocker("render-combined-node", node.name, text))
        return False
    for key in ("node.id", "broker.id"):
        said = node.given.get(key)
        if said is not None and parse_int(said) != node.id:
            text = f"its file says {key}={said}: it is the file of another node"
            findings.append(blocker("render-file-of-another-node", node.name, text, key=key))
            return False
    if node.id in facts.broker_ids:
        text = "its id is that of a broker; in a KRaft cluster no two nodes share one"
        findings.append(blocker("render-controller-id-taken", node.name, text))
        return False
    return True


def _zookeeper(node: NodeFile, facts: ClusterFacts, findings: list[Finding]) -> dict[str, str]:
    """Return the brokers' ZooKeeper settings; settings of the controller's file stay, but never another chroot."""
    given, wanted = node.given, {}
    if CONNECT not in facts.zookeeper and CONNECT not in given:
        text = f"no file says {CONNECT}: the brokers' files are those of KRaft already, or of no broker"
        next_step = "Render from the files that the brokers had before, which the first rendering kept as `original`."
        findings.append(blocker("render-setting-missing", CONNECT, text, next_step))
    for key, value in facts.zookeeper.items():
        if key == CONNECT and key in given and chroot_of(given[key]) != chroot_of(value):
            own, theirs = (chroot_of(connect) or "/" for connect in (given[key], value))
            text = f"its {CONNECT} has the chroot {own}, the brokers' have {theirs}"
            findings.append(blocker("render-another-chroot", node.name, text))
        elif key not in given:
            wanted[key] = value
            if key.endswith(_PATH_ENDS):
                text = f"{key} is taken over from the brokers: {value} has to be on this host, too"
                findings.append(warning("render-file-needed", node.name, text, path=value))
    return wanted


def _between(node: NodeFile, facts: ClusterFacts, findings: list[Finding]) -> dict[str, str]:
    """Return the settings by which controllers reach brokers, as brokers do.

    A registration by another listener is refused.
    """
    if facts.between is None:
        return {}
    key, value = facts.between
    wanted = {}
    is_default = (key, value) == (PROTOCOL_BETWEEN, "PLAINTEXT")
    # A protocol's listener has its name; both keys at once Kafka refuses.
    is_said = key == PROTOCOL_BETWEEN and node.given.get(LISTENER_BETWEEN, "").upper() == value.upper()
    if not is_said and not (is_default and not {LISTENER_BETWEEN, PROTOCOL_BETWEEN} & set(node.given)):
        wanted[key] = value
    protocol = facts.protocols.get(value.upper())
    findings += credentials(node, {value: protocol}, "brokers'")
    controllers = {name.upper(): facts.protocols.get(name.upper()) for name in facts.controller_names}
    mapped = protocol_map(node, {**controllers, value.upper(): protocol})
    # Without a map, Kafka's own has every protocol as a listener, and controllers' listeners too.
    is_implied = PROTOCOL_MAP not in node.given and protocol == value.upper()
    if mapped is not None and not is_implied:
        wanted[PROTOCOL_MAP] = mapped
    if (protocol or "").startswith("SASL"):
        wanted |= _mechanisms(node, facts, value)
    return wanted


def _mechanisms(node: NodeFile, facts: ClusterFacts, listener: str) -> dict[str, str]:
    """Return the enabled mechanisms with the one between brokers, which Kafka requires of a controller as well."""
    wanted = {}
    if facts.between_sasl is not None and BROKER_SASL not in node.given:
        wanted[BROKER_SASL] = facts.between_sasl
    mechanism = node.given.get(BROKER_SASL) or facts.between_sasl or _DEFAULT_MECHANISM
    own = mechanisms_key(listener)
    enabled = node.given.get(own) or node.given.get(MECHANISMS) or _DEFAULT_MECHANISM
    if mechanism not in split_list(enabled) and facts.between_mechanisms is not None:
        wanted[own] = facts.between_mechanisms
    return wanted


def _authorizer(node: NodeFile, facts: ClusterFacts, findings: list[Finding]) -> dict[str, str]:
    """Return KRaft's own authorizer if the brokers have one; its super users are not known."""
    given = node.given
    if not facts.brokers_have_authorizer:
        return {}
    findings += _super_users(node)
    name = given.get(AUTHORIZER)
    return {AUTHORIZER: STANDARD_AUTHORIZER} if not name or name in ZOOKEEPER_AUTHORIZERS else {}


def _super_users(node: NodeFile) -> Iterator[Finding]:
    open_to_all = parse_boolean(node.given.get("allow.everyone.if.no.acl.found") or "") is True
    if not node.given.get(SUPER_USERS) and not open_to_all:
        text = (
            f"the brokers have an authorizer and its file has no {SUPER_USERS}: before the copy controllers have no"
            " ACLs, so brokers and controllers that are not super users cannot register"
        )
        yield blocker("render-super-users-unknown", node.name, text)


def _decided(node: NodeFile, facts: ClusterFacts, findings: list[Finding]) -> dict[str, str]:
    """Return the settings that controllers decide under KRaft, as the brokers have them.

    Settings of the file stay and are compared.
    """
    wanted: dict[str, str] = {}
    for row in node_settings():
        shared = {key: facts.decided[key] for key in row.keys if key in facts.decided}
        if not shared:
            continue
        own = of_file(node.given, id=node.id, role=Role.CONTROLLER).values.get(row.key)
        theirs = of_file(shared, id=node.id, role=Role.BROKER).values[row.key]
        if own is not None and not own.given:
            wanted |= shared
            findings += _class_needed(node, row, theirs.text)
        elif own is None or own.text != theirs.text:
            said = "a value that is kept elsewhere" if own is None else own.text
            text = (
                f"{row.key} of {node.name} is {said}, that of the brokers {theirs.text}; controllers decide"
                f" {row.controller}"
            )
            step = f"Make it the same, unless it is meant. Otherwise {row.effect}."
            findings.append(warning("render-setting-kept", node.name, text, step, key=row.key))
    return wanted


def _class_needed(node: NodeFile, row: Setting, name: str) -> Iterator[Finding]:
    if row.type == "class" and name:
        text = f"{row.key} is taken from the brokers: without {name} on its class path {node.name} does not start"
        yield warning("render-class-needed", node.name, text, key=row.key)


def _secrets(node: NodeFile, facts: ClusterFacts, findings: list[Finding]) -> dict[str, str]:
    """Return the brokers' secrets; those of the file stay and are compared."""
    wanted = {}
    for key, value in facts.secrets.items():
        own = node.given.get(key)
        if own is None:
            wanted[key] = value
        elif own != value:
            text = f"its {key} is not the brokers': {SHARED_SECRETS[key]}"
            findings.append(blocker("render-secret-differs", node.name, text, key=key))
    return wanted
