"""Checks of what tiered storage needs from a broker's next start: its plugin, its metadata topic, and being enabled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import blocker, note, warning
from kafkactl.core.kafka_names import REMOTE_LOG_METADATA
from kafkactl.core.wording import counted, first_few, numbered
from kafkactl.metadata.image.model import TOPIC_CONFIG
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.catalog.start_rules import start_rules
from kafkactl.protocol.text.java_text import parse_boolean
from kafkactl.roll.case import RollCase
from kafkactl.roll.checks.row import CheckRow, RollFinding, about
from kafkactl.roll.observation import RollNode
from kafkactl.roll.partitions import SHOWN
from kafkactl.roll.releases import is_same
from kafkactl.roll.rules.refusals import node_config
from kafkactl.roll.start import wrong_metadata_partitions
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.config.plugin_classes import releases_with

_ENABLE: Final = "remote.log.storage.system.enable"
_TOPIC_ENABLE: Final = "remote.storage.enable"


def _brokers(case: RollCase) -> Iterator[tuple[RollNode, Release, NodeConfig]]:
    """Yield the brokers of the roll with the release and the configuration of their next start, if both are known."""
    for node in case.nodes:
        release, properties = case.target_rules(node), case.properties_of(node)
        if node.is_broker and release is not None and properties is not None:
            config = node_config(release, properties)
            if config is not None:
                yield node, release, config


def check_plugins(case: RollCase) -> Iterator[RollFinding]:
    """Find classes of tiered storage that the new binary has only if their jars were installed with it."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for node, _, config in _brokers(case):
        target, running, tiered = case.target_of(node), case.last.get(node.id), config.tiered
        is_replaced = target is not None and (running is None or not is_same(running, target))
        if tiered is None or not is_replaced:
            continue
        for kind, name, path in (
            ("storage", tiered.storage_class, tiered.storage_class_path),
            ("metadata", tiered.metadata_class, tiered.metadata_class_path),
        ):
            if name and path is None and not releases_with(name):
                found[f"remote.log.{kind}.manager.class.name", name].append(node.id)
    for (key, name), nodes in found.items():
        yield about(
            note(
                "classes-not-checked",
                numbered("node", nodes[:SHOWN]),
                f"{key} names {name}, and the file has no class path for it: the installation of the new release needs"
                " its jar as well, which a roll does not look for. Without it the broker exits at its start.",
                "Install the plugin with the new release before the roll, or set its class path in the file: "
                "`kafkactl storage verify` on the host then looks for the class.",
                nodes=nodes[:SHOWN],
                key=key,
                classes=[name],
            ),
            nodes,
        )


def check_metadata_partitions(case: RollCase) -> Iterator[RollFinding]:
    """Find brokers that are configured with another number of metadata partitions than the topic has."""
    topic = case.image.topic(REMOTE_LOG_METADATA)
    if topic is None:
        return
    found: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for node, release, _ in _brokers(case):
        count = wrong_metadata_partitions(case, node, release)
        if count is not None:
            found[count, start_rules(release).stops_without_remote_metadata].append(node.id)
    for (count, stops), nodes in found.items():
        effect = (
            "a broker shuts down after its start" if stops else "a broker starts, and copies, deletes and reads nothing"
        )
        yield about(
            (blocker if stops else warning)(
                "metadata-partition-count-differs",
                numbered("node", nodes[:SHOWN]),
                f"the topic {REMOTE_LOG_METADATA} has {counted(len(topic.partitions), 'partition')}, the files of"
                f" {numbered('node', nodes[:SHOWN])} name {count}: {effect}",
                "Set the number that the topic has in the files. Where partitions were added to the topic, look at"
                f" `kafkactl tiered forecast --metadata-partitions {len(topic.partitions)}` first.",
                nodes=nodes[:SHOWN],
                partitions=len(topic.partitions),
                configured_partitions=count,
            ),
            nodes,
        )


def check_enabled(case: RollCase) -> Iterator[RollFinding]:
    """Find brokers without tiered storage, while topics have it."""
    tiered = sorted(
        name
        for (kind, name), values in case.image.configs.items()
        if kind == TOPIC_CONFIG and parse_boolean(values.get(_TOPIC_ENABLE, "false"))
    )
    without = [node.id for node, _, config in _brokers(case) if config.tiered is None]
    if tiered and without:
        yield about(
            warning(
                "tiered-topics-without-tiered-storage",
                numbered("node", without[:SHOWN]),
                f"{counted(len(tiered), 'topic')} ({first_few(tiered, 5)}) have {_TOPIC_ENABLE}=true, and {_ENABLE} is"
                f" not true in the files of {numbered('node', without[:SHOWN])}",
                nodes=without[:SHOWN],
                topics=tiered[:20],
            ),
            without,
        )


ROWS = (
    CheckRow(ids=("metadata-partition-count-differs",), find=check_metadata_partitions),
    CheckRow(ids=("tiered-topics-without-tiered-storage",), find=check_enabled),
    CheckRow(ids=("classes-not-checked",), find=check_plugins),
)
