"""A broker's file: on ZooKeeper with the migration enabled, then on KRaft."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.migration.render.facts import (
    AUTHORIZER,
    BOOTSTRAP,
    CONNECT,
    CONTROLLER_NAMES,
    CONTROLLER_SASL,
    PROTOCOL_MAP,
    PROTOCOLS,
    SUPER_USERS,
    VOTERS,
    ZOOKEEPER,
    ClusterFacts,
    ConfigPhase,
    NodeFile,
)
from kafkactl.migration.render.properties_edit import Edits
from kafkactl.protocol.text.java_text import parse_boolean, parse_int, split_list

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ZOOKEEPER_AUTHORIZERS: Final = frozenset(
    {"kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer"}
)
_ZOOKEEPER_ONLY: Final = frozenset(
    {"broker.id.generation.enable", "reserved.broker.max.id", "inter.broker.protocol.version"}
)
CONTROL_PLANE: Final = "control.plane.listener.name"
_LISTENERS: Final = ("listeners", "advertised.listeners")
_GENERATION: Final = "broker.id.generation.enable"
_HIGHEST: Final = "reserved.broker.max.id"
_DEFAULT_HIGHEST: Final = 1000
# Behind which of the keys that are there a new one is written.
_NEIGHBOURS: Final[Mapping[str, tuple[str, ...]]] = {
    MIGRATION_ENABLE: (CONNECT,),
    "broker.id": (),
    _GENERATION: ("broker.id",),
    CONTROLLER_NAMES: (MIGRATION_ENABLE, "process.roles", "node.id"),
    BOOTSTRAP: (CONTROLLER_NAMES,),
    VOTERS: (CONTROLLER_NAMES,),
    CONTROLLER_SASL: (CONTROLLER_NAMES,),
    PROTOCOL_MAP: ("advertised.listeners", "listeners"),
    "process.roles": ("node.id", "broker.id"),
}


def broker_edits(node: NodeFile, phase: ConfigPhase, facts: ClusterFacts, findings: list[Finding]) -> Edits | None:
    """Return the changes to a broker's file; None if there can be none."""
    given = node.given
    roles = split_list(given.get("process.roles") or "")
    if "controller" in roles:
        findings.append(_combined(node))
        return None
    if phase is ConfigPhase.MIGRATION and roles:
        text = "its file is that of a broker on KRaft: the settings for ZooKeeper are gone from it"
        next_step = (
            "Render from the file that it had before the migration, which the first rendering kept as `original`."
        )
        findings.append(blocker("render-original-needed", node.name, text, next_step))
        return None
    if not _id_fits(node, findings):
        return None
    findings += _access(node)
    wanted = _quorum(node, facts, findings)
    return _migration(node, wanted, findings) if phase is ConfigPhase.MIGRATION else _kraft(node, wanted)


def _id_fits(node: NodeFile, findings: list[Finding]) -> bool:
    for key in ("broker.id", "node.id"):
        text = node.given.get(key)
        if text is not None and parse_int(text) not in (node.id, -1):
            words = f"its file says {key}={text}: it is the file of another node"
            findings.append(blocker("render-file-of-another-node", node.name, words, key=key))
            return False
    return True


def _combined(node: NodeFile) -> Finding:
    text = "process.roles makes it a broker and a controller at once, which no migration supports"
    return blocker("render-combined-node", node.name, text)


def _quorum(node: NodeFile, facts: ClusterFacts, findings: list[Finding]) -> dict[str, str]:
    """Return the settings for the controllers' addresses and the connections to them."""
    wanted: dict[str, str] = {}
    if facts.controller_names:
        wanted[CONTROLLER_NAMES] = ",".join(facts.controller_names)
        served = {
            listener.partition(":")[0].strip().upper() for listener in split_list(node.given.get("listeners") or "")
        }
        clash = sorted((served - {_control_plane(node)}) & {name.upper() for name in facts.controller_names})
        if clash:
            text = f"its own listener {clash[0]} has the name of the controller listener"
            findings.append(blocker("render-listener-name-taken", node.name, text, listener=clash[0]))
        protocols = protocol_map(
            node, {name.upper(): facts.protocols.get(name.upper()) for name in facts.controller_names}
        )
        wanted |= {} if protocols is None else {PROTOCOL_MAP: protocols}
        theirs = {name: facts.protocols.get(name.upper()) for name in facts.controller_names}
        findings += credentials(node, theirs, "controllers'")
        secured = {facts.protocols.get(name.upper(), "") for name in facts.controller_names}
        if facts.controller_sasl is not None and any(protocol.startswith("SASL") for protocol in secured):
            wanted[CONTROLLER_SASL] = facts.controller_sasl
    if facts.quorum is not None:
        wanted[facts.quorum[0]] = facts.quorum[1]
    return wanted


def protocol_map(node: NodeFile, needed: Mapping[str, str | None]) -> str | None:
    """Return the node's map of listeners to protocols with these in it; None if nothing has to be written.

    A node without a map has Kafka's own, in which a protocol is its own listener; if there is a map it must hold
    those as well.
    """
    written = node.given.get(PROTOCOL_MAP)
    items = (
        [item for item in split_list(written) if item]
        if written
        else [f"{protocol}:{protocol}" for protocol in PROTOCOLS]
    )
    wanted = {name: protocol for name, protocol in needed.items() if protocol is not None}
    kept = []
    for item in items:
        name, _, protocol = (part.strip() for part in item.rpartition(":"))
        right = wanted.pop(name.upper(), protocol.upper())
        kept.append(item if right == protocol.upper() else f"{name}:{right}")
    result = [*kept, *(f"{name}:{protocol}" for name, protocol in wanted.items())]
    return None if result == items else ",".join(result)


def credentials(node: NodeFile, listeners: Mapping[str, str | None], whose: str) -> Iterator[Finding]:
    """Report listeners of other nodes that ask for credentials, of which the node's file has none."""
    for name, protocol in listeners.items():
        prefix = f"listener.name.{name.lower()}."
        own = {key.removeprefix(prefix) for key in node.given if key.startswith((prefix, "ssl.", "sasl.jaas"))}
        if (protocol or "").startswith("SASL") and not any(key.endswith("sasl.jaas.config") for key in own):
            text = f"the {whose} listener {name} speaks {protocol}, and its file has no credentials for it"
            next_step = f"Set {prefix}MECHANISM.sasl.jaas.config, or see that its JAAS file has what they accept."
            yield warning("render-credentials-unknown", node.name, text, next_step, listener=name)
        if (protocol or "").endswith("SSL") and not any(key.startswith("ssl.") for key in own):
            text = f"the {whose} listener {name} speaks {protocol}, and its file has no ssl settings"
            next_step = f"Set {prefix}ssl.truststore.location and what else they ask for."
            yield warning("render-credentials-unknown", node.name, text, next_step, listener=name)


def _access(node: NodeFile) -> Iterator[Finding]:
    """Yield findings about controllers' rights to connect to this broker, which cannot be known from here."""
    given = node.given
    name = given.get(AUTHORIZER)
    if (
        name
        and not given.get(SUPER_USERS)
        and parse_boolean(given.get("allow.everyone.if.no.acl.found") or "") is not True
    ):
        text = f"the file has an authorizer and no {SUPER_USERS}: the controllers' principals are unknown"
        next_step = "Add the controllers' principal, or give it an ACL for ClusterAction on the cluster."
        yield warning("render-super-users-unknown", node.name, text, next_step)
    if name and name not in ZOOKEEPER_AUTHORIZERS and name != STANDARD_AUTHORIZER:
        text = f"its authorizer {name} is none of Kafka's: whether it works with KRaft is for its makers to say"
        yield warning("render-custom-authorizer", node.name, text, authorizer=name)


def _migration(node: NodeFile, wanted: dict[str, str], findings: list[Finding]) -> Edits:
    given = node.given
    wanted = {MIGRATION_ENABLE: "true", **wanted}
    if parse_int(given.get("broker.id") or "") != node.id:
        text = "its generated id is only in its meta.properties; a migration requires it in the file"
        findings.append(note("render-broker-id-written", node.name, text, broker_id=node.id))
        wanted = {"broker.id": str(node.id), **wanted}
    highest = parse_int(given.get(_HIGHEST) or "")
    limit = _DEFAULT_HIGHEST if highest is None else highest
    if node.id > limit and parse_boolean(given.get(_GENERATION) or "true") is not False:
        # Kafka refuses a written id above the limit while ids may be generated.
        wanted[_GENERATION] = "false"
    stale = {VOTERS, BOOTSTRAP} - set(wanted) if {VOTERS, BOOTSTRAP} & set(wanted) else set()
    return Edits(set=wanted, remove=frozenset(stale & set(given)), neighbours=_NEIGHBOURS)


def _control_plane(node: NodeFile) -> str:
    """Return the listener that only the controllers on ZooKeeper use, in capitals; "" for none.

    It may have the name of the KRaft controllers' listener: in migration mode the node serves it and calls the
    controllers by the same name (measured on 3.9.2). On KRaft a broker serves no listener of theirs.
    """
    return node.given.get(CONTROL_PLANE, "").upper()


def _without_listener(node: NodeFile, name: str) -> dict[str, str]:
    """Return the listeners of a node without this one."""
    found = {}
    for key in _LISTENERS:
        items = split_list(node.given.get(key) or "")
        kept = [item for item in items if item.partition(":")[0].strip().upper() != name]
        if kept and len(kept) < len(items):
            found[key] = ",".join(kept)
    return found


def _kraft(node: NodeFile, wanted: dict[str, str]) -> Edits:
    given = node.given
    names = {name.strip().upper() for name in split_list(wanted.get(CONTROLLER_NAMES) or "")}
    if _control_plane(node) in names:
        wanted = {**wanted, **_without_listener(node, _control_plane(node))}
    gone = {key for key in given if key.startswith(ZOOKEEPER) or key.startswith("authorizer.zookeeper.")}
    gone |= (_ZOOKEEPER_ONLY | {CONTROL_PLANE}) & set(given)
    gone |= ({VOTERS, BOOTSTRAP} - set(wanted)) & set(given) if {VOTERS, BOOTSTRAP} & set(wanted) else set()
    wanted = {"node.id": str(node.id), "process.roles": "broker", **wanted}
    if given.get(AUTHORIZER) in ZOOKEEPER_AUTHORIZERS:
        wanted[AUTHORIZER] = STANDARD_AUTHORIZER
    return Edits(set=wanted, remove=frozenset(gone), rename={"broker.id": "node.id"}, neighbours=_NEIGHBOURS)
