"""The finalized levels against the range of a release."""

from __future__ import annotations

from collections.abc import Mapping

from kafkactl.core.answers import by_fields
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION
from kafkactl.protocol.catalog.consequences import metadata_changes
from kafkactl.protocol.catalog.levels import features_of
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.schema.spec import Versions
from kafkactl.roll.rules.binaries import ranges

_NONE = Versions(0, 0)
_UNSTABLE_SWITCHES = ("unstable.feature.versions.enable", "unstable.metadata.versions.enable")


@frozen
class LevelFit:
    """A finalized level, and the range of the release that is rolled to."""

    name: str
    finalized: int
    target_min: int
    target_max: int
    fits: bool

    to_dict = by_fields


def level_fits(
    release: Release, levels: Mapping[str, int], properties: Mapping[str, str] | None = None
) -> tuple[LevelFit, ...]:
    """Return every finalized level with the range of a release; `properties` may allow unstable levels."""
    supported = supported_ranges(release, properties)
    found = []
    for name, level in sorted(levels.items()):
        span = supported.get(name, _NONE)
        found.append(
            LevelFit(
                name=name,
                finalized=level,
                target_min=span.lowest,
                target_max=span.highest,
                fits=level in span or not level,
            )
        )
    return tuple(found)


def supported_ranges(release: Release, properties: Mapping[str, str] | None = None) -> dict[str, Versions]:
    """Return the levels that a node of a release supports, unstable ones included if its file allows them."""
    found = ranges(release)
    allows = release.unstable_switch and any(
        (properties or {}).get(key, "").strip().lower() == "true" for key in _UNSTABLE_SWITCHES
    )
    if not allows:
        return found
    found[METADATA_VERSION] = Versions(release.lowest_supported_level, release.testing_level)
    return found | {name: Versions(0, facts.latest_testing) for name, facts in features_of(release).items()}


def has_no_name(release: Release, level: int) -> bool:
    """Return True if the release has no metadata.version of this level, unstable ones included."""
    return not release.lowest_supported_level <= level <= release.testing_level


def can_be_lowered(controller: Release, fit: LevelFit) -> bool:
    """Return True if a safe downgrade leads from a level above the range of an older release into the range.

    Every feature but kraft.version can be lowered; metadata.version only across levels that did not change metadata.
    """
    if fit.fits:
        return True
    if fit.name == KRAFT_VERSION or fit.finalized < fit.target_min:
        return False
    return fit.name != METADATA_VERSION or not metadata_changes(controller, fit.target_max, fit.finalized)
