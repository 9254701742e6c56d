"""Settings of a node's `server.properties` that checks need.

A value that was taken out, or that stands elsewhere (`${env:…}`), is unknown: `given` says None for absent, and
`is_hidden` distinguishes the two. Defaults are those of core `KafkaConfig` of 3.9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.core.values import Role
from kafkactl.migration.observed.observation import Mode, NodeSeen
from kafkactl.migration.zktree.settings import is_password_config
from kafkactl.migration.zktree.znode import Hidden
from kafkactl.protocol.catalog.levels import metadata_version
from kafkactl.protocol.catalog.release_version import understood
from kafkactl.protocol.catalog.releases import KafkaVersion, Release, find_release, newest_with_zookeeper
from kafkactl.protocol.text.config_variables import has_variable
from kafkactl.protocol.text.java_text import parse_boolean, split_list

VOTERS: Final = "controller.quorum.voters"
BOOTSTRAP: Final = "controller.quorum.bootstrap.servers"
LISTENER_NAMES: Final = "controller.listener.names"
CONNECT: Final = "zookeeper.connect"
IBP: Final = "inter.broker.protocol.version"
ROLES: Final = "process.roles"
CONTROL_PLANE: Final = "control.plane.listener.name"
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_NEWEST_MAJOR: Final = 4
_USERNAME = r"""\busername\s*=\s*(?:"([^"]*)"|'([^']*)')"""


def given(node: NodeSeen, key: str) -> str | None:
    """Return a value of the node's file without blanks around it.

    None if it is absent or empty, or no file was observed.
    """
    value = (node.config or {}).get(key)
    return (value.strip() or None) if value is not None else None


def is_hidden(value: str | None) -> bool:
    """Return True if a value is not the real one."""
    return value is not None and (value == Hidden.REDACTED.value or has_variable(value))


def is_on(node: NodeSeen, key: str, default: bool = False) -> bool | None:
    """Return a boolean of the file; None if it is unknown."""
    value = given(node, key)
    if node.config is None or is_hidden(value):
        return None
    return default if value is None else parse_boolean(value)


def flag(node: NodeSeen) -> bool | None:
    """Return True if the node's file has the migration switched on."""
    return is_on(node, MIGRATION_ENABLE)


def roles(node: NodeSeen) -> tuple[str, ...]:
    """Return process.roles; empty for a broker on ZooKeeper."""
    return tuple(split_list(given(node, ROLES) or ""))


def is_kraft_file(node: NodeSeen) -> bool:
    """Return True if the file makes the node a KRaft node."""
    return given(node, ROLES) is not None


def dynamic_quorum(node: NodeSeen) -> bool | None:
    """Return True if the file names bootstrap servers and no voters; None if it names neither."""
    if given(node, VOTERS):
        return False
    return True if given(node, BOOTSTRAP) else None


def protocols(node: NodeSeen) -> Mapping[str, str]:
    """Return the security protocols by listener name in capitals."""
    text = given(node, "listener.security.protocol.map")
    if text is None:
        # A KRaft node then takes its controllers' listeners for plain ones (KafkaConfig).
        names = split_list(given(node, LISTENER_NAMES) or "") if is_kraft_file(node) else ()
        plain = {name.strip().upper(): "PLAINTEXT" for name in names}
        return plain | {name: name for name in PROTOCOLS}
    pairs = (item.partition(":") for item in split_list(text))
    return {name.strip().upper(): protocol.strip().upper() for name, _, protocol in pairs}


def inter_broker_listener(node: NodeSeen) -> str:
    """Return the listener over which brokers are called, by the file."""
    name = given(node, "inter.broker.listener.name")
    return (name or given(node, "security.inter.broker.protocol") or "PLAINTEXT").upper()


def controller_listener(node: NodeSeen) -> str | None:
    """Return the first of controller.listener.names, in capitals."""
    names = split_list(given(node, LISTENER_NAMES) or "")
    return names[0].strip().upper() if names else None


def super_users(node: NodeSeen) -> frozenset[str] | None:
    """Return super.users as a set, None if the value is unknown."""
    value = given(node, "super.users")
    if node.config is None or is_hidden(value):
        return None
    return frozenset(user.strip() for user in (value or "").split(";") if user.strip())


def principal(node: NodeSeen, listener: str, mechanism_key: str) -> str | None:
    """Return the principal that the node has for nodes it calls over a listener.

    `User:name`, None if the file does not contain it.

    Without authentication it is `User:ANONYMOUS`; with SASL PLAIN or SCRAM the name in the JAAS text of that listener
    or of all. A certificate's name is not in the file.
    """
    protocol = protocols(node).get(listener, listener)
    if protocol == "PLAINTEXT":
        return "User:ANONYMOUS"
    if protocol not in ("SASL_PLAINTEXT", "SASL_SSL"):
        return None
    mechanism = (given(node, mechanism_key) or "GSSAPI").lower()
    for key in (f"listener.name.{listener.lower()}.{mechanism}.sasl.jaas.config", "sasl.jaas.config"):
        text = given(node, key)
        if text is None:
            continue
        found = None if is_hidden(text) else re.search(_USERNAME, text)
        return f"User:{found[1] or found[2] or ''}" if found else None
    return None


def is_encrypted(key: str, value: str) -> bool:
    """Return True if a broker config of ZooKeeper is a password.

    Its value is encrypted there, whether it is shown or not.
    """
    return is_password_config(key) and (value == Hidden.REDACTED.value or "encryptedPassword:" in value)


def release_of(node: NodeSeen) -> Release | None:
    """Return the release that the node runs; None if it is unknown."""
    if node.kafka_version is None:
        return None
    try:
        return find_release(node.kafka_version)
    except InputError:
        return None


def version_of(node: NodeSeen) -> KafkaVersion | None:
    """Return the node's version as given; None for a number that is not Kafka's own (`7.8.0-ccs` is a vendor's)."""
    found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", node.kafka_version or "")
    if found is None or int(found[1]) > _NEWEST_MAJOR:
        return None
    return KafkaVersion(int(found[1]), int(found[2]), int(found[3]) if found[3] else None)


def ibp_level(node: NodeSeen) -> int | None:
    """Return the level of inter.broker.protocol.version, which the release's newest is by default; None if unknown.

    0 means what is older than the first level. A broker registers exactly this level in migration mode.
    """
    if node.config is None or node.role is not Role.BROKER or is_kraft_file(node):
        return None
    text, release = given(node, IBP), release_of(node)
    if is_hidden(text):
        return None
    if text is None:
        return None if release is None else release.production_level
    found = understood(release or newest_with_zookeeper(), text)
    return None if found is None else found.level


def level_name(level: int) -> str:
    """Return `3.9-IV0 (level 21)`, or the number alone if the level is not known."""
    try:
        return f"{metadata_version(level).name} (level {level})"
    except KeyError:
        return f"level {level}"


def log_dirs(node: NodeSeen) -> tuple[str, ...]:
    """Return the log directories of the file; empty if there is no file or its value is unknown."""
    value = given(node, "log.dirs") or given(node, "log.dir")
    return () if value is None or is_hidden(value) else tuple(split_list(value))


def is_migrating_file(node: NodeSeen) -> bool:
    """Return True if the file puts a broker into migration mode."""
    return flag(node) is True and not is_kraft_file(node)


def is_zookeeper_broker(node: NodeSeen) -> bool:
    """Return True if a broker runs on ZooKeeper, or its file would start it there.

    The source that is available now decides.
    """
    if node.mode is not None:
        return node.mode is not Mode.KRAFT
    return node.config is None or not is_kraft_file(node)
