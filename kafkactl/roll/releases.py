"""The release that a node runs: as a hook names it, else the line whose feature ranges the node shows.

Kafka does not report a patch release on the wire; feature ranges tell 4.0 from 4.1, not 4.0.1 from 4.0.2.
"""

from __future__ import annotations

import re
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.protocol.catalog.releases import KafkaVersion, Release, find_release, known_releases
from kafkactl.protocol.catalog.update_rules import release_of
from kafkactl.protocol.schema.spec import Versions
from kafkactl.roll.observation import RollNode, RollObservation

_VERSION: Final = re.compile(r"\s*(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?![\d.])")


def version_in(text: str | None) -> KafkaVersion | None:
    """Return the version at the beginning of a text: `4.3.1`, `4.3`; None if there is none."""
    found = None if text is None else _VERSION.match(text)
    if found is None:
        return None
    major, minor, patch = found.groups()
    return KafkaVersion(int(major), int(minor), None if patch is None else int(patch))


def line_of(version: KafkaVersion) -> tuple[int, int]:
    """Return the release line, without the patch."""
    return version.major, version.minor


def is_same(version: KafkaVersion, other: KafkaVersion) -> bool:
    """Return True if two versions agree as far as both are known."""
    return line_of(version) == line_of(other) and (None in (version.patch, other.patch) or version.patch == other.patch)


def is_older(version: KafkaVersion, other: KafkaVersion) -> bool:
    """Return True if one version is known to be older than the other."""
    if line_of(version) != line_of(other):
        return line_of(version) < line_of(other)
    return version.patch is not None and other.patch is not None and version.patch < other.patch


def rules_of(version: KafkaVersion | None) -> Release | None:
    """Return the rules of a release; None for a release that is unknown, or below 3.3."""
    if version is None:
        return None
    try:
        return find_release(str(version))
    except InputError:
        return None


def is_before_kraft(version: KafkaVersion) -> bool:
    """Return True for a release without KRaft in production."""
    return line_of(version) < line_of(known_releases()[0].version)


def shown_ranges(observation: RollObservation, node: RollNode) -> dict[str, Versions] | None:
    """Return the feature ranges that a node answered, else those it registered; None if neither is known."""
    listed = observation.listed.get(node.id)
    if node.features is not None:
        return dict(node.features)
    if listed is not None and listed.answers and listed.features:
        return dict(listed.features)
    return registered_ranges(observation, node)


def registered_ranges(observation: RollObservation, node: RollNode) -> dict[str, Versions] | None:
    """Return the feature ranges in the registration of a node, as broker if it is one."""
    if observation.log is None:
        return None
    image = observation.log.image
    held = image.brokers.get(node.id) if node.is_broker else image.controllers.get(node.id)
    return None if held is None else {name: Versions(span.min, span.max) for name, span in held.features.items()}


def line_in(ranges: dict[str, Versions] | None) -> KafkaVersion | None:
    """Return the release line that registers these ranges; None for no or an unknown line."""
    found = release_of((ranges or {}).get(METADATA_VERSION))
    return None if found is None else KafkaVersion(*found.numbers[:2])


def running_version(observation: RollObservation, node: RollNode) -> KafkaVersion | None:
    """Return the release of the running process; None if it is unknown, or the node is down."""
    named = version_in(node.release)
    if named is not None or node.alive is False:
        return named
    return line_in(shown_ranges(observation, node))


def last_version(observation: RollObservation, node: RollNode) -> KafkaVersion | None:
    """Return the release that a node runs, or ran when it was registered last."""
    return running_version(observation, node) or line_in(registered_ranges(observation, node))
