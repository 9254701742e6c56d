"""C-02: is it one ensemble of ZooKeeper and one chroot, by every node's zookeeper.connect?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.values import Role, host_port
from kafkactl.core.wording import some
from kafkactl.migration.checks.case import UNFINISHED, CheckCase, Row, Said, Unknown
from kafkactl.migration.observed.settings import CONNECT, given, is_hidden
from kafkactl.migration.zktree.connect import ConnectString, chroot_of, parse_connect_string, shown_chroot
from kafkactl.protocol.redact import redacted_text


def _chroot(case: CheckCase) -> Said:
    """Check C-02: controllers with another chroot find an empty tree, and create Kafka's roots and /migration there."""
    connects = [(node, given(node, CONNECT)) for node in case.observation.nodes]
    known = [(node, text) for node, text in connects if text is not None and not is_hidden(text)]
    observed = _observed_chroot(case)
    expected = observed if observed is not None else _most_common([chroot_of(text) for _, text in known])
    for node, text in known:
        if expected is not None and chroot_of(text) != expected:
            yield blocker(
                "chroot-mismatch",
                node.name,
                f"{CONNECT} of {node.name} ends in {shown_chroot(chroot_of(text))}, and the cluster is below"
                f" {shown_chroot(expected)}",
                _OF_A_BROKER if node.role is Role.BROKER else _connect_step(shown_chroot(chroot_of(text))),
                chroot=shown_chroot(chroot_of(text)),
                expected=shown_chroot(expected),
            )
    blind = [node.name for node, text in connects if node.config is None or is_hidden(text)]
    if blind:
        yield Unknown(f"{CONNECT} of {', '.join(blind)} was not observed")


_OF_A_BROKER: Final = (
    f"Copy the complete {CONNECT} from the other brokers, with the path at its end, and start the node. At the wrong "
    "path a broker ends at its start, because its disks have the id of this cluster, and nothing is lost."
)


def _connect_step(wrong: str) -> str:
    """Return the correction, and what may be deleted at the wrong path: never the tree of a cluster that is there."""
    at = "" if wrong == "/" else wrong
    return (
        f"Copy the complete {CONNECT} from the brokers, with the path at its end, and restart the node. The znodes that"
        " a controller created at the wrong path do no harm to this cluster. To remove them with zookeeper-shell.sh:"
        f" delete {at}/migration; the others only if {at}/cluster does not exist and {at}/brokers/ids and"
        f" {at}/brokers/topics are empty, each with delete, which refuses a znode that has children, never with"
        " deleteall."
    )


def _observed_chroot(case: CheckCase) -> str | None:
    if case.observation.tree is None:
        return None
    named = case.observation.chroot or chroot_of(case.observation.connect or "") or case.observation.tree.chroot
    return "/" + named.strip("/") if named.strip("/") else ""


def _most_common(texts: list[str]) -> str | None:
    return max(sorted(set(texts)), key=texts.count, default=None)


def _ensembles(case: CheckCase) -> Iterator[Finding]:
    """Check C-02: all nodes name the same servers. Names can be aliases, so this only warns."""
    servers: dict[frozenset[str], list[str]] = {}
    for node in case.observation.nodes:
        text = given(node, CONNECT)
        if text is not None and not is_hidden(text):
            servers.setdefault(_servers(text), []).append(node.name)
    if len(servers) > 1:
        apart = not frozenset.intersection(*servers)
        named = "; ".join(f"{', '.join(nodes)}: {','.join(sorted(hosts))}" for hosts, nodes in servers.items())
        text = (
            "nodes name ZooKeeper servers of which none is common to all" if apart else "nodes name different servers"
        )
        yield warning("zookeeper-servers-differ", CONNECT, f"{text} ({named})")


def _servers(connect: str) -> frozenset[str]:
    """Return the servers of a connect string; of one that ZooKeeper refuses, the parts as they are written."""
    try:
        return frozenset(host_port(host.lower(), port) for host, port in parse_connect_string(connect).servers)
    except ValueError:
        return frozenset(part.strip() for part in connect.partition("/")[0].split(",") if part.strip())


def _refused_connects(case: CheckCase) -> Iterator[Finding]:
    """Check C-02: ZooKeeper's client refuses the text, or its servers cannot exist, which ends a node's start."""
    for node in case.observation.nodes:
        text = given(node, CONNECT)
        if text is None or is_hidden(text):
            continue
        try:
            connect = parse_connect_string(text)
        except ValueError as error:
            yield blocker(
                "zookeeper-connect-refused",
                node.name,
                f"{CONNECT} of {node.name} is refused by ZooKeeper's client; expected is {error}",
            )
            continue
        if connect.impossible:
            yield _impossible_servers(node.name, connect)


def _impossible_servers(name: str, connect: ConnectString) -> Finding:
    """Return the finding of servers that no lookup resolves: ZooKeeper's client accepts the text and skips them."""
    left = [server for server in connect.servers if server not in connect.impossible]
    named = some(redacted_text(host_port(host, port)) for host, port in connect.impossible)
    rest = f"only {some(host_port(host, port) for host, port in left)} can be used" if left else "no server is left"
    return (warning if left else blocker)(
        "zookeeper-server-name-impossible",
        name,
        f"{CONNECT} of {name} names a server that cannot exist: ZooKeeper's client reads {named} as host and port, and"
        f" {rest}",
    )


ROWS: Final = (
    Row("C-02", "chroot-unknown", "one chroot", UNFINISHED, _chroot),
    Row("C-02", "zookeeper-connect-unknown", "connect strings", UNFINISHED, _refused_connects),
    Row("C-02", "zookeeper-ensemble-unknown", "one ensemble", UNFINISHED, _ensembles),
)
