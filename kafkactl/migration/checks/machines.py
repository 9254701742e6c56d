"""C-30, C-40 to C-42: what machines and people know, and an observation only sometimes shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import blocker, warning
from kafkactl.core.wording import some
from kafkactl.migration.checks.case import (
    FORWARD,
    ON_ZOOKEEPER,
    UNFINISHED,
    CheckCase,
    Row,
    Said,
    Unknown,
)
from kafkactl.migration.observed.observation import ServerSeen
from kafkactl.migration.state.evidence import metric


def _ensemble(case: CheckCase) -> Said:
    """Check C-30: every ZooKeeper server answers, and exactly one leads."""
    servers = case.observation.servers
    if case.observation.tree is None:
        yield Unknown("ZooKeeper could not be read, or was not observed")
    elif servers is None or all(server.mode is None for server in servers):
        yield Unknown("the ZooKeeper servers were not observed, or none of them answers srvr")
    else:
        for server in servers:
            if server.mode is None:
                yield warning(
                    "zookeeper-server-silent",
                    f"ZooKeeper {server.address}",
                    f"ZooKeeper {server.address} does not answer srvr: it is down, or does not serve requests",
                )
        if len(servers) > 1 and sum(server.mode == "leader" for server in servers) != 1:
            yield warning(
                "zookeeper-leader-not-seen",
                "ZooKeeper",
                "the ZooKeeper servers do not have exactly one leader:"
                f" {some(f'{server.address} {_mode(server)}' for server in servers)}",
            )


def _mode(server: ServerSeen) -> str:
    return "does not answer" if server.mode is None else f"is {server.mode}"


def _log_dirs(case: CheckCase) -> Said:
    """Check C-40: a broker in migration mode halts when one of its directories fails, even if the others work."""
    silent = []
    for node in case.brokers:
        offline = metric(node, "OfflineLogDirectoryCount")
        if offline is None:
            silent.append(node.name)
        elif offline:
            yield blocker(
                "log-directory-offline",
                node.name,
                f"{int(offline)} of its log directories are offline; in migration mode it stops for that",
            )
    if silent:
        yield Unknown(f"whether a log directory of {', '.join(silent)} has failed was not observed")


def _automation(_: CheckCase) -> Iterator[Unknown]:
    """Report C-41 as unknown: only the operator knows it."""
    yield Unknown("kafkactl cannot see whether rebalancers, operators, topic and ACL synchronisation are paused")


def _reach(case: CheckCase) -> Iterator[Unknown]:
    """Report C-42 as unknown for brokers that are not yet registered. A registration proves the connection."""
    entered = set() if case.log is None else set(case.log.registrations)
    apart = [broker.name for broker in case.brokers if broker.id not in entered]
    if apart:
        yield Unknown(f"whether {', '.join(apart)} and the controllers reach each other was not tried")


ROWS: Final = (
    Row("C-30", "zookeeper-health-unknown", "ZooKeeper ensemble", UNFINISHED, _ensemble),
    Row("C-40", "log-directories-unknown", "log directories", ON_ZOOKEEPER, _log_dirs),
    Row("C-41", "automation-unknown", "automation is paused", UNFINISHED, _automation),
    Row("C-42", "node-connectivity-unknown", "nodes reach each other", FORWARD, _reach),
)
