"""The input of a prediction in addition to the image: the controller's release and static settings, the log's end.

The log does not contain everything: min.insync.replicas and unclean.leader.election.enable may come from the properties
file of the active controller, and its release decides which rules apply. Assumptions are listed in the answer.
Source of the order in which a value is resolved: `KafkaConfigSchema.resolveEffectiveTopicConfig`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final

from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_VERSION, MIGRATION_ENABLE
from kafkactl.dryrun.controller.rules import Rules, rules_of
from kafkactl.metadata.image.model import BROKER_CONFIG, TOPIC_CONFIG, Broker, FeatureRange, Image
from kafkactl.protocol.catalog.releases import Release, newest_release
from kafkactl.protocol.catalog.update_rules import release_of
from kafkactl.protocol.schema.spec import Versions

MIN_ISR: Final = "min.insync.replicas"
UNCLEAN: Final = "unclean.leader.election.enable"
_DEFAULTS: Final = {MIN_ISR: "1", UNCLEAN: "false"}


@frozen
class Facts:
    """`static` is the active controller's properties file, empty if none was given (`static_known` False).

    `departed` are brokers that the log unregistered and that have not registered again, as they were last registered;
    `starting` brokers that have registered and have been neither unfenced nor fenced since: their processes start.
    `release_named`: whether `release` was asked for, and not read from the log.
    `leader_id` leads the quorum, None if the log did not say; `leader_epoch` is its epoch. `next_offset` is where
    the next record would stand, `timestamp_ms` the time of the last one.
    """

    release: Release
    rules: Rules
    static: Mapping[str, str] = field(default_factory=dict)
    static_known: bool = False
    leader_id: int | None = None
    leader_epoch: int = 0
    next_offset: int = 0
    timestamp_ms: int = 0
    assumptions: tuple[str, ...] = ()
    release_named: bool = False
    departed: Mapping[int, Broker] = field(default_factory=dict)
    starting: frozenset[int] = frozenset()


def facts_of(
    image: Image,
    *,
    release: Release | None = None,
    static: Mapping[str, str] | None = None,
    leader_id: int | None = None,
    leader_epoch: int = 0,
    next_offset: int = 0,
    timestamp_ms: int = 0,
    departed: Mapping[int, Broker] | None = None,
    starting: frozenset[int] = frozenset(),
) -> Facts:
    """Return the facts of an image. Without `release` it is the one that the active controller registered, or else the
    lowest that any node registered, or else the newest known."""
    found, how = (release, "") if release is not None else _release(image, leader_id)
    assumptions = [how] if how else []
    if static is None:
        defaults = ", ".join(f"{name} {value}" for name, value in _DEFAULTS.items())
        assumptions.append(
            f"the controller's properties file was not given (--config): where the log says nothing, {defaults}"
        )
    elif not _is_number(static.get(MIN_ISR, _DEFAULTS[MIN_ISR])):
        assumptions.append(
            f"{MIN_ISR} in the properties file is not a number; the prediction uses {_DEFAULTS[MIN_ISR]}"
        )
    migrating = (static or {}).get(MIGRATION_ENABLE, "").strip().lower() == "true"
    return Facts(
        release=found,
        rules=rules_of(found, image.features, migration_enabled=migrating),
        static=static or {},
        static_known=static is not None,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
        next_offset=next_offset,
        timestamp_ms=timestamp_ms,
        assumptions=tuple(assumptions),
        release_named=release is not None,
        departed=departed or {},
        starting=starting,
    )


def topic_setting(image: Image, facts: Facts, topic: str, name: str) -> str:
    """Return the effective value for a topic: the topic's, the active controller's own, the cluster's, the file's,
    Kafka's."""
    keys = [(TOPIC_CONFIG, topic)]
    if facts.leader_id is not None:
        keys.append((BROKER_CONFIG, str(facts.leader_id)))
    for key in (*keys, (BROKER_CONFIG, "")):
        value = image.configs.get(key, {}).get(name)
        if value is not None:
            return value
    return facts.static.get(name, _DEFAULTS[name])


def min_isr_of(image: Image, facts: Facts, topic: str) -> int:
    """Return min.insync.replicas of a topic; Kafka's default if the configured value is not a number."""
    text = topic_setting(image, facts, topic, MIN_ISR)
    return int(text) if _is_number(text) else int(_DEFAULTS[MIN_ISR])


def _is_number(text: str) -> bool:
    digits = text.strip().removeprefix("+")
    return digits.isascii() and digits.isdigit()


def unclean_allowed(image: Image, facts: Facts, topic: str) -> bool:
    """Return True if the controller may elect an out-of-sync leader of a topic without an operator's request."""
    return (
        facts.rules.elections.unclean_by_config
        and topic_setting(image, facts, topic, UNCLEAN).strip().lower() == "true"
    )


def _release(image: Image, leader_id: int | None) -> tuple[Release, str]:
    """Return the release that decides, and what was assumed to find it."""
    leader = image.controllers.get(-1 if leader_id is None else leader_id)
    if leader is not None:
        release = _release_of(leader.features)
        if release is not None:
            return release, ""
    found = sorted(_registered(image), key=lambda release: release.version)
    if found:
        return found[0], (
            f"the active controller runs Kafka {found[0].name}, the lowest release that a node registered: the log "
            "does not say which controller it is or what it runs"
        )
    newest = newest_release()
    return newest, f"the controllers run Kafka {newest.name}: no registration in the log shows their release"


def _registered(image: Image) -> Iterator[Release]:
    nodes = image.controllers.values() or image.brokers.values()
    for node in nodes:
        release = _release_of(node.features)
        if release is not None:
            yield release


def _release_of(features: Mapping[str, FeatureRange]) -> Release | None:
    found = features.get(METADATA_VERSION)
    return None if found is None else release_of(Versions(found.min, found.max))
