"""Forecast of one node's start under a release: if the node comes up, is registered, and is unfenced.

The node starts with its file, its Java and the present levels and settings, while all other nodes stay as they are. A
broker that runs and is refused indefinitely does not start. Rules are tables of the releases (roll/rules,
protocol/catalog).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from kafkactl.cluster.quorum.majority import majority
from kafkactl.core.answers import by_fields
from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION, REMOTE_LOG_METADATA
from kafkactl.metadata.image.model import TOPIC_CONFIG
from kafkactl.protocol.catalog.record_types import record_types_of
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.catalog.start_rules import start_rules
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.roll.case import RollCase
from kafkactl.roll.levels import LevelFit, has_no_name, level_fits
from kafkactl.roll.liveness import is_alive
from kafkactl.roll.observation import RollNode
from kafkactl.roll.releases import is_before_kraft, rules_of
from kafkactl.roll.rules.binaries import java_needed
from kafkactl.roll.rules.java import java_release
from kafkactl.roll.rules.refusals import (
    missing_classes,
    node_config,
    refused_settings,
    refused_topic_settings,
    unread_settings,
)
from kafkactl.storage.config.tiered import metadata_partitions

_OLDEST_JAVA: Final = 8  # no release of Kafka with KRaft starts with an older one


class StartPhase(StrEnum):
    """Part of a start: the file and Java; records, stored settings and disks; the registration."""

    CONFIG = "config"
    LOAD = "load"
    REGISTER = "register"


@frozen
class StartFailure:
    """Failure of a start, or an indefinite wait, with the message of the node's log."""

    phase: StartPhase
    message: str

    to_dict = by_fields


@frozen
class StartForecast:
    """Forecast of a start. `will_start` is None if something is unknown and nothing known forbids the start.

    `unknown` are the facts that are missing, as nouns.
    """

    will_start: bool | None
    failure: StartFailure | None
    unknown: tuple[str, ...] = ()


def forecast_start(case: RollCase, node: RollNode) -> StartForecast:
    """Return the forecast for a node of the case; the first failure in the order of a start counts."""
    release = case.target_rules(node)
    unknown: list[str] = []
    if release is None:
        version = case.target_of(node)
        if version is not None and is_before_kraft(version):
            text = f"Kafka {version} has no KRaft in production"
            return StartForecast(will_start=False, failure=StartFailure(phase=StartPhase.CONFIG, message=text))
        return StartForecast(will_start=None, failure=None, unknown=("the release of the next start",))
    failures = [
        *_file(case, node, release, unknown),
        *_log(case, node, release, unknown),
        *_quorum(case, node, unknown),
    ]
    if failures:
        return StartForecast(will_start=False, failure=failures[0], unknown=tuple(unknown))
    return StartForecast(will_start=None if unknown else True, failure=None, unknown=tuple(unknown))


def _file(case: RollCase, node: RollNode, release: Release, unknown: list[str]) -> Iterator[StartFailure]:
    found = java_release(node.java)
    needed = java_needed(release)
    if found is not None and found < needed:
        text = f"UnsupportedClassVersionError: Kafka {release.version_text} needs Java {needed}, found Java {found}"
        yield StartFailure(phase=StartPhase.CONFIG, message=text)
    if found is None and not _java_is_proved(case, node, needed):
        unknown.append(f"the Java of the next start (Kafka {release.version_text} needs {needed})")
    properties = case.properties_of(node)
    error = case.file_error(node)
    if error is not None:
        yield StartFailure(phase=StartPhase.CONFIG, message=error)
    elif properties is None:
        unknown.append("the configuration of the node")
    if properties is None:
        return
    for missing in missing_classes(release, properties):
        text = f"Invalid value {missing.class_name} for configuration {missing.key}: Class {missing.class_name}"
        yield StartFailure(phase=StartPhase.CONFIG, message=f"{text} could not be found.")
    for refused in refused_settings(release, properties):
        yield StartFailure(phase=StartPhase.CONFIG, message=refused.error)
    unread = unread_settings(release, properties)
    if unread:
        unknown.append(f"the values of {', '.join(unread[:5])}")
    if (refusal := wrong_disk(case, node)) is not None:
        yield refusal


def _java_is_proved(case: RollCase, node: RollNode, needed: int) -> bool:
    """Return True if every Java is new enough, or the running process proves one that is."""
    if needed <= _OLDEST_JAVA:
        return True
    running = rules_of(case.versions.get(node.id))
    return node.alive is True and running is not None and java_needed(running) >= needed


def wrong_disk(case: RollCase, node: RollNode) -> StartFailure | None:
    """Return the refusal of a disk of another node or cluster, by meta.properties."""
    if node.meta_properties is None:
        return None
    try:
        found = parse_properties(node.meta_properties.encode("utf-8", "surrogatepass")).mapping
    except DecodeError:
        return None
    stored = found.get("node.id", found.get("broker.id"))
    if stored is not None and stored.strip().isdigit() and int(stored) != node.id:
        text = f"Stored node id {stored.strip()} doesn't match the node id {node.id} of the configuration"
        return StartFailure(phase=StartPhase.LOAD, message=text)
    cluster_id = found.get("cluster.id")
    if cluster_id is not None and case.observation.cluster_id not in (None, cluster_id):
        text = f"meta.properties has the cluster id {cluster_id}, the cluster has {case.observation.cluster_id}"
        return StartFailure(phase=StartPhase.LOAD, message=text)
    return None


def _log(case: RollCase, node: RollNode, release: Release, unknown: list[str]) -> Iterator[StartFailure]:
    if not case.has_log:
        unknown.append("the metadata log, with levels and stored settings")
        return
    unfit = unfit_levels(case, node, release)
    yield from _unreadable_records(case, node, release)
    if node.is_controller:
        for fit in unfit:
            yield StartFailure(phase=StartPhase.LOAD, message=_controller_says(release, fit))
    yield from _stored_settings(case, node, release)
    if not node.is_controller:
        for fit in unfit:
            yield StartFailure(phase=StartPhase.REGISTER, message=_broker_says(fit))
    if start_rules(release).stops_without_remote_metadata and wrong_metadata_partitions(case, node, release):
        text = "Stopping the server as it failed to initialize topic-based RLMM resources"
        yield StartFailure(phase=StartPhase.REGISTER, message=text)


def wrong_metadata_partitions(case: RollCase, node: RollNode, release: Release) -> int | None:
    """Return the number of partitions that a broker expects of the topic `__remote_log_metadata`, if the topic has
    another number; else None."""
    topic, properties = case.image.topic(REMOTE_LOG_METADATA), case.properties_of(node)
    config = node_config(release, properties) if node.is_broker and properties is not None else None
    count = None if config is None else metadata_partitions(config)
    return None if topic is None or count == len(topic.partitions) else count


def unfit_levels(case: RollCase, node: RollNode, release: Release) -> list[LevelFit]:
    """Return the finalized levels with which a node of the release does not start or is not registered."""
    return [
        fit
        for fit in level_fits(release, case.levels, case.properties_of(node))
        if not fit.fits and not _is_ignored(node, release, fit)
    ]


def _is_ignored(node: RollNode, release: Release, fit: LevelFit) -> bool:
    """Return True for kraft.version if the release does not compare the level with its range.

    4.x does not; a broker below 3.9 starts under a recorded level, if the quorum is static.
    """
    if fit.name != KRAFT_VERSION:
        return False
    return start_rules(release).recorded_kraft_version_ignored or not node.is_controller


def _controller_says(release: Release, fit: LevelFit) -> str:
    if fit.name == METADATA_VERSION and has_no_name(release, fit.finalized):
        return f"No MetadataVersion with {start_rules(release).level_word} {fit.finalized}"
    span = str(fit.target_min) if fit.target_min == fit.target_max else f"{fit.target_min}-{fit.target_max}"
    return (
        f"Tried to apply FeatureLevelRecord FeatureLevelRecord(name='{fit.name}', featureLevel={fit.finalized}), but "
        f"this controller only supports versions {span}"
    )


def _broker_says(fit: LevelFit) -> str:
    return (
        f"Unable to register because the broker does not support finalized version {fit.finalized} of {fit.name}; "
        f"supported are {fit.target_min} to {fit.target_max}"
    )


def unreadable_records(case: RollCase, release: Release) -> list[tuple[int, int]]:
    """Return the records of snapshot and log that a release cannot read, as api key and version."""
    log = case.observation.log
    known = record_types_of(release)
    versions = {} if log is None else log.record_versions
    return [(api_key, version) for api_key, version in versions.items() if version > known.get(api_key, -1)]


def unreadable_voters(case: RollCase, release: Release) -> bool:
    """Return True if the quorum is dynamic and the release does not know its control records (KIP-853)."""
    log = case.observation.log
    return log is not None and bool(log.level_of_quorum) and not release.voter_flags


def _unreadable_records(case: RollCase, node: RollNode, release: Release) -> Iterator[StartFailure]:
    if unreadable_voters(case, release):
        text = (
            f"the quorum is dynamic (kraft.version 1), whose control records Kafka {release.version_text} does not know"
        )
        yield StartFailure(phase=StartPhase.LOAD, message=text)
    known = record_types_of(release)
    waits = start_rules(release).waits_at_unknown_record and not node.is_controller
    for api_key, version in unreadable_records(case, release):
        says = (
            f"Failed to deserialize record with type {api_key}"
            if api_key in known
            else f"Unknown metadata id {api_key}"
        )
        phase = StartPhase.REGISTER if waits else StartPhase.LOAD
        yield StartFailure(phase=phase, message=f"{says}: version {version} is not known")


def _stored_settings(case: RollCase, node: RollNode, release: Release) -> Iterator[StartFailure]:
    """Yield the stored topic settings that end every broker at its start, replicas of the topic or not."""
    if not node.is_broker:
        return
    for (kind, _name), values in sorted(case.image.configs.items()):
        if kind == TOPIC_CONFIG:
            for refused in refused_topic_settings(release, values):
                yield StartFailure(phase=StartPhase.LOAD, message=refused.error)


def _quorum(case: RollCase, node: RollNode, unknown: list[str]) -> Iterator[StartFailure]:
    """Yield the failure of a node that finds no active controller, and makes no majority itself."""
    quorum = case.observation.quorum_view
    if quorum is not None and quorum.has_leader:
        return
    voters = set(case.voter_ids) or {each.id for each in case.observation.controllers}
    needed = majority(len(voters))
    lives = {voter: _answers(case, voter) for voter in voters - {node.id}}
    alive = len(voters & {node.id}) + sum(life is True for life in lives.values())
    if node.id in voters and alive >= needed:
        return
    if voters and alive + sum(life is None for life in lives.values()) < needed:
        text = "Shutting down because we were unable to register with the controller quorum."
        if not node.is_broker:
            text = "the quorum has no leader, and this controller does not make a majority"
        yield StartFailure(phase=StartPhase.REGISTER, message=text)
    elif quorum is None:
        unknown.append("the quorum: a node registers with its leader")
    else:
        unknown.append("which voters are alive: the quorum has no leader")


def _answers(case: RollCase, voter_id: int) -> bool | None:
    """Return True if a voter is alive, by its own answer, else by the quorum; None if that is unknown."""
    answers, quorum = is_alive(case, voter_id), case.observation.quorum_view
    voter = None if quorum is None else quorum.voter(voter_id)
    return voter.alive if answers is None and voter is not None else answers
