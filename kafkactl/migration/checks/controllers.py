"""C-13: the files of the controllers, and the flag without which one of them ends everything.

Rules: core `KafkaConfig.validateValues`, `ControllerChannelManager`, metadata `ClusterControlManager`,
`ActivationRecordsGenerator` of 3.9; what follows from each breach was measured on 3.9.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.core.values import Role
from kafkactl.migration.checks.case import (
    FORWARD,
    UNFINISHED,
    CheckCase,
    Row,
    Said,
    Stage,
    Unknown,
)
from kafkactl.migration.observed.observation import NodeSeen
from kafkactl.migration.observed.settings import (
    CONNECT,
    ROLES,
    flag,
    given,
    inter_broker_listener,
    is_hidden,
    is_kraft_file,
    protocols,
    roles,
)


def _controller_file(case: CheckCase) -> Said:
    """Check C-13: a controller has no other role, has the flag and ZooKeeper, and knows the brokers' listener."""
    for node in case.controllers:
        if node.config is None:
            yield Unknown(f"the file of {node.name} was not observed")
            continue
        if roles(node) != ("controller",):
            yield blocker(
                "controller-not-alone",
                node.name,
                f"{ROLES} is {given(node, ROLES) or 'empty'}; a migration needs controllers that are nothing else",
            )
        if not given(node, CONNECT) and flag(node) is not False:
            yield blocker(
                "controller-without-zookeeper",
                node.name,
                f"the file of {node.name} has no {CONNECT}: with the migration flag the node does not start, and"
                " without the flag it cannot migrate",
            )


def _inter_broker_listener(case: CheckCase) -> Said:
    """Check C-13: controllers find brokers by this listener; a broker without it is not registered."""
    if not case.on_zookeeper and case.stage is Stage.DUAL:
        return
    for node in case.controllers:
        if node.config is None:
            continue
        name = inter_broker_listener(node)
        offered = _offered(case)
        without = sorted(id for id, names in offered.items() if name not in names)
        if without:
            yield blocker(
                "inter-broker-listener-mismatch",
                node.name,
                f"{node.name} connects to brokers through {name}, which broker {', '.join(map(str, without))} lacks:"
                " their registration is refused (INVALID_REGISTRATION)",
                listener=name,
                brokers=without,
            )
        others = {inter_broker_listener(broker) for broker in case.brokers if broker.config is not None}
        if not without and others and name not in others:
            yield warning(
                "inter-broker-listener-differs",
                node.name,
                f"{node.name} connects to brokers through {name}, and brokers to each other through "
                f"{', '.join(sorted(others))}",
            )
        if not without and name not in protocols(node):
            yield blocker(
                "inter-broker-listener-without-protocol",
                node.name,
                f"listener.security.protocol.map has no entry for {name}, over which it calls brokers",
                f"Add {name} with the brokers' protocol.",
            )


def _offered(case: CheckCase) -> dict[int, set[str]]:
    """Return the listeners that brokers advertise, in capitals, by id: in ZooKeeper, else in their files."""
    found = {}
    for node in case.brokers:
        listeners = given(node, "advertised.listeners") or given(node, "listeners")
        if listeners is not None and not is_hidden(listeners) and not is_kraft_file(node):
            found[node.id] = {listener.partition("://")[0].strip().upper() for listener in listeners.split(",")}
    if case.tree is not None:
        for id, broker in case.tree.brokers.items():
            if broker.endpoints:
                found[id] = {endpoint.partition("://")[0].strip().upper() for endpoint in broker.endpoints}
    return found


def _zookeeper_settings(case: CheckCase) -> Iterator[Finding]:
    """Check C-13: controllers reach ZooKeeper with the brokers' settings."""
    keys = sorted({key for broker in case.brokers for key in (broker.config or {}) if _is_zookeeper_setting(key)})
    brokers = [broker for broker in case.brokers if broker.config is not None and not is_kraft_file(broker)]
    for node in case.controllers:
        if node.config is None or flag(node) is False:
            continue
        missing = [key for key in keys if given(node, key) is None and any(_shows(broker, key) for broker in brokers)]
        if not missing:
            continue
        # `ssl.client.enable` missing: plain text against a TLS port never connects.
        lethal = "zookeeper.ssl.client.enable" in missing
        make = blocker if lethal else warning
        yield make(
            "controller-lacks-zookeeper-settings",
            node.name,
            f"the brokers have {', '.join(missing)}, and it does not",
            "Copy every zookeeper.* setting of the brokers into its file, and the JAAS options of its service.",
            keys=missing,
        )


def _is_zookeeper_setting(key: str) -> bool:
    return key.startswith("zookeeper.") and key not in (CONNECT, MIGRATION_ENABLE) and not key.endswith("timeout.ms")


def _shows(node: NodeSeen, key: str) -> bool:
    return given(node, key) not in (None, "false")


def _flag_of_controllers(case: CheckCase) -> Said:
    """Check C-13: a controller without the flag spoils a new quorum, and finalizes when it leads in dual write.

    A disk that is formatted already may be started next, so there the file counts that is in its place.
    """
    for planned in case.controllers:
        seen = case.evidence.observation.node(planned.id, Role.CONTROLLER)
        node = seen if seen is not None and seen.meta_properties else planned
        runs = None if node.api_versions is None else node.api_versions.zk_migration_ready
        if flag(node) is not False and runs is not False:
            continue
        where = "runs without the flag" if runs is False else f"has {MIGRATION_ENABLE} not set to true in its file"
        if case.stage is Stage.DUAL:
            yield _may_finalize(case, node, where)
        elif not case.is_seen_before_copy:
            yield Unknown(f"{node.name} {where}, and whether the migration is finalized was not observed")
        elif case.stage in (Stage.QUORUM, Stage.COPY):
            held = not (case.image is not None and case.image.kraft_version)
            then = (
                "the others wait for it"
                if held
                else "in a dynamic quorum no controller waits for it, and it would finalize as soon as it leads"
            )
            yield blocker("controller-without-flag", node.name, f"{node.name} {where}; {then}")
        elif node.config is not None:
            yield blocker(
                "controller-without-flag",
                node.name,
                f"{node.name} {where}: started this way, the quorum is recorded as never on ZooKeeper, and only"
                " formatting the controller again undoes that",
            )


def _may_finalize(case: CheckCase, node: NodeSeen, where: str) -> Finding:
    left = sorted(case.on_zookeeper)
    text = f"{node.name} {where}: when the controller leads, the migration ends at once and permanently"
    if left:
        named = ", ".join(map(str, left))
        return blocker(
            "accidental-finalization",
            node.name,
            f"{text}, and broker {named} still runs on ZooKeeper",
            brokers=left,
        )
    return warning("finalization-begun", node.name, text)


def _planned_files(case: CheckCase) -> Iterator[Finding]:
    """Check C-13: report the files that `run` will install for the controllers, and problems that prevent them."""
    yield from case.planned.findings


ROWS: Final = (
    Row("C-13", "planned-files-unknown", "files that `run` makes", FORWARD, _planned_files),
    Row("C-13", "controller-files-unknown", "files of controllers", UNFINISHED, _controller_file),
    Row("C-13", "inter-broker-listener-unknown", "listener between brokers", UNFINISHED, _inter_broker_listener),
    Row("C-13", "zookeeper-settings-unknown", "the way to ZooKeeper", UNFINISHED, _zookeeper_settings),
    Row("C-13", "controller-flags-unknown", "flag of controllers", UNFINISHED, _flag_of_controllers),
)
