"""C-10 to C-12 and C-19 to C-22: the files of the nodes, each for what the node is and where the migration is.

Rules: core `KafkaConfig.validateValues`, `KafkaServer`, `ControllerChannelManager`, `ClusterControlManager` of 3.9;
KIP-866. Files of KRaft nodes are asked the questions that Kafka itself asks at their start
(storage/config/node_config.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, Severity, blocker, note, warning
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.migration.checks.case import (
    ALWAYS,
    FORWARD,
    ON_ZOOKEEPER,
    RUNNING,
    UNFINISHED,
    CheckCase,
    Row,
    Said,
    Stage,
    Unknown,
)
from kafkactl.migration.observed.observation import Mode, NodeSeen
from kafkactl.migration.observed.release_rules import migration_rules
from kafkactl.migration.observed.settings import (
    BOOTSTRAP,
    CONNECT,
    CONTROL_PLANE,
    IBP,
    LISTENER_NAMES,
    PROTOCOLS,
    ROLES,
    VOTERS,
    controller_listener,
    flag,
    given,
    is_hidden,
    is_kraft_file,
    is_migrating_file,
    is_on,
    is_zookeeper_broker,
    protocols,
    release_of,
)
from kafkactl.migration.zktree.settings import is_password_config
from kafkactl.protocol.catalog.releases import newest_with_zookeeper
from kafkactl.protocol.text.java_text import parse_int

_RESERVED_ID: Final = 1000  # reserved.broker.max.id
_POLICIES: Final = ("create.topic.policy.class.name", "alter.config.policy.class.name")


def _broker_ids(case: CheckCase) -> Said:
    """Check C-10: a broker has an explicit id, the same in its file, on its disks and in ZooKeeper."""
    for node in case.brokers:
        if node.config is None:
            yield Unknown(f"the file of {node.name} was not observed")
            continue
        texts = {key: given(node, key) for key in ("broker.id", "node.id")}
        ids = {key: parse_int(text) for key, text in texts.items() if text is not None and not is_hidden(text)}
        if not any(texts.values()) or set(ids.values()) == {-1}:
            yield blocker(
                "broker-id-not-written",
                node.name,
                f"the file of {node.name} has no broker.id, so Kafka generated one; a broker in migration mode"
                " requires it in the file",
                f"Set broker.id={node.id}, as its meta.properties has it.",
            )
        wrong = {key: id for key, id in ids.items() if id not in (node.id, -1)}
        on_disk = parse_int(
            (node.meta_properties or {}).get("broker.id", (node.meta_properties or {}).get("node.id", ""))
        )
        if on_disk is not None and on_disk != node.id:
            wrong["meta.properties"] = on_disk
        if wrong:
            listed = ", ".join(f"{key} {id}" for key, id in wrong.items())
            yield blocker(
                "broker-id-mismatch",
                node.name,
                f"{node.name} has the id {node.id} in the cluster and another one elsewhere: {listed}",
            )
        yield from _reserved(node)


def _reserved(node: NodeSeen) -> Iterator[Finding]:
    highest = parse_int(given(node, "reserved.broker.max.id") or "")
    limit = _RESERVED_ID if highest is None else highest
    if node.id > limit and is_on(node, "broker.id.generation.enable", True) and is_zookeeper_broker(node):
        yield blocker(
            "broker-id-above-reserved",
            node.name,
            f"the id of {node.name} is above reserved.broker.max.id ({limit}) while ids are generated: with broker.id"
            " in its file the broker does not start",
            limit=limit,
        )


def _ids_apart(case: CheckCase) -> Iterator[Finding]:
    """Check C-11: no controller has the id of a broker, removed brokers included."""
    held: dict[int, str] = {broker.id: "a broker" for broker in case.brokers}
    tree = case.tree
    if tree is not None:
        if case.stage in FORWARD:  # dynamic configs of a controller are mirrored there later
            held |= {int(id): "an entry of /config/brokers" for id in tree.broker_configs if id.isdecimal()}
        for topic in tree.topics.values():
            for partition in topic.partitions.values():
                held |= dict.fromkeys(partition.replicas, "a replica")
        held |= dict.fromkeys(tree.brokers, "a broker")
    is_early = case.stage in FORWARD and not case.claimed
    step = (
        ""
        if is_early
        else "Roll back with `kafkactl migrate rollback`, and give the controllers other ids before you begin again."
    )
    for node in case.controllers:
        if node.id in held:
            yield blocker("controller-id-is-broker-id", node.name, f"{held[node.id]} has the id {node.id}, too", step)


def _migrating_file(case: CheckCase) -> Iterator[Finding]:
    """Check C-12: a file with the flag has all settings of a broker in migration mode; a file without it has none."""
    for node in case.brokers:
        if node.config is None or is_kraft_file(node):
            continue
        wrong = list(_missing_for_migration(node)) if is_migrating_file(node) else list(_too_much_for_zookeeper(node))
        if wrong:
            yield blocker(
                "broker-file-half-edited", node.name, f"{node.name} would not start with its file: " + "; ".join(wrong)
            )


def _missing_for_migration(node: NodeSeen) -> Iterator[str]:
    if not (given(node, VOTERS) or given(node, BOOTSTRAP)):
        yield f"{MIGRATION_ENABLE} is true and neither {VOTERS} nor {BOOTSTRAP} names the controllers"
    name = controller_listener(node)
    if name is None:
        yield f"{MIGRATION_ENABLE} is true and {LISTENER_NAMES} is empty"
    elif name not in {*protocols(node), *PROTOCOLS}:
        yield f"listener.security.protocol.map has no entry for {name}, the controllers' listener"
    if not given(node, CONNECT):
        yield f"{CONNECT} is missing"


def _too_much_for_zookeeper(node: NodeSeen) -> Iterator[str]:
    if flag(node) is False and given(node, LISTENER_NAMES):
        yield f"{LISTENER_NAMES} must be empty on ZooKeeper without {MIGRATION_ENABLE}=true"
    if not given(node, CONNECT):
        yield f"it has neither {ROLES} nor {CONNECT}"


def _kraft_too_early(case: CheckCase) -> Said:
    """Check C-19: a broker started with a KRaft file before the copy renames every partition to *-stray."""
    for node in case.brokers:
        if not (is_kraft_file(node) or node.mode is Mode.KRAFT):
            continue
        if not case.is_seen_before_copy:
            yield Unknown(f"{node.name} has a KRaft file, and whether the copy is done was not observed")
        else:
            yield blocker(
                "kraft-file-before-copy",
                node.name,
                f"{node.name} has a KRaft file, or runs with one, before the copy is done: at startup it renames every"
                " partition to *-stray, and data without another replica is lost",
            )


def _kraft_file(case: CheckCase) -> Iterator[Finding]:
    """Check C-19: the KRaft file of a broker has no ZooKeeper setting, the same id, and a KRaft authorizer."""
    for node in case.brokers:
        if node.config is None or not is_kraft_file(node):
            continue
        left = [
            key
            for key in (MIGRATION_ENABLE, CONNECT, IBP)
            if given(node, key) and (key != MIGRATION_ENABLE or flag(node))
        ]
        if left:
            yield warning(
                "zookeeper-settings-on-kraft-broker",
                node.name,
                f"the KRaft file of {node.name} still has {', '.join(left)}",
                keys=left,
            )
        authorizer = given(node, "authorizer.class.name")
        if authorizer is not None and authorizer.endswith("AclAuthorizer"):
            yield blocker(
                "zookeeper-authorizer-on-kraft",
                node.name,
                f"the KRaft file of {node.name} names ZooKeeper's authorizer, with which a KRaft broker does not start",
            )


def _control_plane(case: CheckCase) -> Iterator[Finding]:
    """Check C-19, KAFKA-17788, KAFKA-17790: control.plane.listener.name exists with ZooKeeper only."""
    for node in case.brokers:
        if not given(node, CONTROL_PLANE) or is_kraft_file(node):
            continue
        release = release_of(node)
        omits = release is not None and not migration_rules(release.numbers).registers_control_plane
        if release is not None and omits and case.stage is not Stage.FINAL:
            yield blocker(
                "control-plane-listener-not-registered",
                node.name,
                f"{node.name} has {CONTROL_PLANE}; Kafka {release.version_text} omits that listener from the "
                "registration"
                " in migration mode (KAFKA-17788)",
            )
        else:
            yield note(
                "control-plane-listener-not-in-kraft",
                node.name,
                f"{node.name} has {CONTROL_PLANE}, which its KRaft file must not have",
                "`kafkactl migrate render` leaves it out.",
            )


def _plugins(case: CheckCase) -> Iterator[Finding]:
    """Check C-20: controllers apply policies from the copy on."""
    for key in _POLICIES:
        classes = sorted({text for broker in case.brokers if (text := given(broker, key))})
        if classes and any(
            controller.config is not None and given(controller, key) is None for controller in case.controllers
        ):
            yield warning(
                "policy-not-on-controllers",
                key,
                f"brokers have {', '.join(classes)}, and from the copy on controllers decide, which do not have it",
            )
    builders = sorted({text for broker in case.brokers if (text := given(broker, "principal.builder.class"))})
    if builders and case.stage in ON_ZOOKEEPER:
        yield warning(
            "principal-builder-on-kraft",
            "principal.builder.class",
            f"{', '.join(builders)} must be able to serialize principals (KafkaPrincipalSerde) in KRaft",
        )


def _files(case: CheckCase) -> Iterator[Finding]:
    """Check C-21: files are read as Java reads them; a file that Kafka would not load is reported before a restart."""
    from kafkactl.storage.config.node_config import ConfigError, read_node_config

    for node in case.observation.nodes:
        if node.config_text is None or not is_kraft_file(node):
            continue
        release = release_of(node) or newest_with_zookeeper()
        try:
            read_node_config(node.config_text.encode("latin-1", "replace"), file=node.name, release=release)
        except ConfigError as error:
            wrong = [
                finding
                for finding in error.findings
                if finding.severity is Severity.BLOCKER and not _is_unseen(node, finding)
            ]
            if wrong:
                yield blocker(
                    "node-file-refused",
                    node.name,
                    "Kafka would not start with its file: " + "; ".join(finding.message for finding in wrong),
                    reasons=[finding.id for finding in wrong],
                )


def _is_unseen(node: NodeSeen, finding: Finding) -> bool:
    """Return True if a finding is about a value that the observation does not show."""
    key = str(finding.evidence.get("key", ""))
    return finding.id == "unresolved-config-provider" or is_hidden(given(node, key)) or is_password_config(key)


def _in_force(case: CheckCase) -> Iterator[Finding]:
    """Check C-22: the running process was started with the file that was read."""
    for node in case.brokers:
        if node.api_versions is None or node.config is None or is_kraft_file(node):
            continue
        runs, says = node.api_versions.zk_migration_ready, flag(node)
        if says is not None and runs != says and node.mode is not Mode.KRAFT:
            yield warning(
                "file-not-in-effect",
                node.name,
                f"{node.name} runs {'with' if runs else 'without'} the flag, which its file has "
                f"{'on' if says else 'off'}:"
                " it was not restarted since, or its service reads another file",
                runs=runs,
                file=says,
            )
    for node in (*case.brokers, *case.controllers):
        if node.mode is Mode.KRAFT and node.config is not None and not is_kraft_file(node) and node in case.brokers:
            yield warning(
                "file-not-in-effect",
                node.name,
                f"{node.name} runs as a KRaft broker, and its file would start it on ZooKeeper",
            )


ROWS: Final = (
    Row("C-10", "broker-ids-unknown", "written broker ids", UNFINISHED, _broker_ids),
    Row("C-11", "controller-ids-unknown", "ids of controllers", ALWAYS, _ids_apart),
    Row("C-12", "migration-mode-files-unknown", "files of migration mode", UNFINISHED, _migrating_file),
    Row("C-19", "early-kraft-files-unknown", "no KRaft file too early", ON_ZOOKEEPER, _kraft_too_early),
    Row("C-19", "kraft-files-unknown", "KRaft files", RUNNING | {Stage.FINAL}, _kraft_file),
    Row("C-19", "control-plane-listener-unknown", "control plane listener", UNFINISHED, _control_plane),
    Row("C-20", "plugins-unknown", "policies and plugins", UNFINISHED, _plugins),
    Row("C-21", "loaded-files-unknown", "files that Kafka loads", ALWAYS, _files),
    Row("C-22", "files-in-effect-unknown", "files in force", UNFINISHED, _in_force),
)
