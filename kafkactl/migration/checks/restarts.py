"""C-63 and others: what lies in ZooKeeper or in a file without harm until a node is restarted, or a topic changed."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, note, warning
from kafkactl.core.values import host_port
from kafkactl.core.wording import some
from kafkactl.migration.checks.case import ON_ZOOKEEPER, UNFINISHED, CheckCase, Row
from kafkactl.migration.observed.settings import CONNECT, given, is_hidden, is_kraft_file
from kafkactl.migration.zktree.connect import chroot_of, parse_connect_string
from kafkactl.storage.config.keys import known_in

_IPS: Final = "/config/ips"
_DEFAULT: Final = "<default>"
_PORT: Final = re.compile(r":\d{1,5}(?:$|[/,])")
_LISTENER_PREFIX: Final = re.compile(r"^listener\.name\.[^.]+\.")
# Values that name ZooKeeper as a word: `ZK_ACL`, `...ZooKeeperClient`, `zk1:2181`.
_NAMES_ZOOKEEPER: Final = re.compile(r"(?i)zookeeper|(?:^|[^a-z])zk(?:[^a-z]|$)")


def _unresolved_names(case: CheckCase) -> Iterator[Finding]:
    """Check C-63: a broker on ZooKeeper resolves the entity of every ip quota at its start (measured on 3.9.2)."""
    tree = case.observation.tree
    if tree is None:
        return
    names = [name for name in tree.children(_IPS) if name != _DEFAULT and not _is_address(name)]
    for name in names:
        yield warning(
            "ip-quota-of-host-name",
            f"{_IPS}/{name}",
            f"the entity {name} of an ip quota is a host name: every restart of a broker on ZooKeeper or in migration"
            f' mode looks it up, and ends with "Unable to resolve address {name}" if DNS does not know it',
            entity=name,
        )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _servers_in_chroot(case: CheckCase) -> Iterator[Finding]:
    """Check C-02: ZooKeeper's client takes everything after the first slash as the chroot."""
    connects = {"the inventory": case.observation.connect}
    connects |= {node.name: given(node, CONNECT) for node in case.observation.nodes}
    found: dict[str, list[str]] = {}
    for name, text in connects.items():
        if text is not None and not is_hidden(text) and _is_list(chroot_of(text)):
            found.setdefault(text, []).append(name)
    for text, names in found.items():
        chroot = chroot_of(text)
        yield warning(
            "zookeeper-servers-in-chroot",
            CONNECT,
            f"{CONNECT} of {some(names)} has servers after its first slash. ZooKeeper reads them as part of the chroot:"
            f" the tree is below {chroot}, and {_first_servers(text)} is used as the whole ensemble",
            chroot=chroot,
        )


def _is_list(chroot: str) -> bool:
    return "," in chroot or _PORT.search(chroot) is not None


def _first_servers(text: str) -> str:
    try:
        servers = parse_connect_string(text).servers
    except ValueError:
        return "only the first server"
    named = ", ".join(host_port(host, port) for host, port in servers)
    return f"only the first server, {named}," if len(servers) == 1 else f"only {named}"


def _missing_partitions(case: CheckCase) -> Iterator[Finding]:
    """Check C-37: CreatePartitions counts partitions, and overwrites one that exists (measured on 3.9.2)."""
    for name, topic in ({} if case.tree is None else case.tree.topics).items():
        numbers = sorted(topic.partitions)
        missing = sorted(set(range(numbers[-1] + 1)) - set(numbers)) if numbers else []
        if missing:
            yield warning(
                "partition-numbers-not-consecutive",
                f"topic {name}",
                f"topic {name} has no partition {some(map(str, missing))}, and its highest is {numbers[-1]}: the copy"
                " takes it as it is; partitions that are added later get numbers that exist, and the existing ones get"
                " new replicas",
                missing=missing[:10],
            )


def _settings_of_zookeeper(case: CheckCase) -> Iterator[Finding]:
    """Check C-19: a setting of a vendor or a plugin, unknown to Kafka, stays in a KRaft file."""
    keys: dict[str, list[str]] = {}
    for node in case.brokers:
        for key, value in (node.config or {}).items():
            name = _LISTENER_PREFIX.sub("", key)
            is_known = known_in(name) is not None or name.startswith(("zookeeper.", "authorizer.zookeeper."))
            if not is_known and not is_hidden(value) and _NAMES_ZOOKEEPER.search(value):
                keys.setdefault(key, []).append(node.name)
    for key, names in sorted(keys.items()):
        in_kraft = [node.name for node in case.brokers if node.name in names and is_kraft_file(node)]
        tell = warning if in_kraft else note
        yield tell(
            "setting-names-zookeeper",
            key,
            f"the value of {key} in the file of {some(names)} names ZooKeeper, and Kafka does not know this setting:"
            " `render` keeps it in the KRaft file, where there is no ZooKeeper",
            "Read in the documentation of the product or plugin what it has to be on KRaft, and change it in the KRaft"
            " file.",
            key=key,
        )


ROWS: Final = (
    Row("C-02", "zookeeper-connect-servers-unknown", "servers of connect strings", UNFINISHED, _servers_in_chroot),
    Row("C-19", "zookeeper-names-unknown", "settings that name ZooKeeper", UNFINISHED, _settings_of_zookeeper),
    Row("C-37", "partition-numbers-unknown", "numbers of partitions", ON_ZOOKEEPER, _missing_partitions),
    Row("C-63", "host-names-unknown", "names that a restart resolves", UNFINISHED, _unresolved_names),
)
