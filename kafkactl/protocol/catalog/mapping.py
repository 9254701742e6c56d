"""`version-mapping` and `feature-dependencies`: which levels go together, as the tool of a release answers.

Source: `StorageTool.scala` (4.0 on). Releases up to 3.9 have no such commands; for them the answer comes from the same
table, with the features they know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafkactl.core.answers import json_of
from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.protocol.catalog.levels import MetadataVersion, features_of, metadata_version
from kafkactl.protocol.catalog.release_version import in_kafkas_words, understood
from kafkactl.protocol.catalog.releases import Release

_INT16 = range(-(2**15), 2**15)


@frozen
class Level:
    """A feature and its level."""

    feature: str
    level: int
    note: str = ""
    """The text in brackets that Kafka prints after metadata.version, else empty."""

    def __str__(self) -> str:
        """Return the level as Kafka's tool writes it: `metadata.version=25 (4.0-IV3)`."""
        return f"{self.feature}={self.level}" + (f" ({self.note})" if self.note else "")

    to_dict = json_of("name=feature", "level")


def version_mapping(release: Release, text: str | None = None) -> list[Level]:
    """Return the level of every feature that goes with a release version; metadata.version first, then in the tool's
    order.

    Without a text the newest level ready for production is meant. Levels that need the unstable switch are answered
    too. Raises InputError `unknown-release-version`.
    """
    if text is None:
        text = metadata_version(release.production_level).name
    found = understood(release, text)
    if found is None or found.level == 0:
        raise _unknown_release_version(release, text)
    others = features_of(release).values()
    return [
        Level(feature=METADATA_VERSION, level=found.level, note=text),
        *(Level(feature=facts.name, level=facts.default_level(found.level)) for facts in others),
    ]


def feature_dependencies(release: Release, feature: str, level: int) -> list[Level]:
    """Return the dependencies of a feature's level, in the order of the feature's name; empty if it has none.

    metadata.version needs nothing. Raises InputError `unknown-feature` or `unknown-feature-level`.
    """
    if feature == METADATA_VERSION:
        known_metadata_version(release, level)
        return []
    facts = features_of(release).get(feature)
    if facts is None:
        raise _unknown_feature(release, feature)
    found = [row for row in facts.levels if row.level == level]
    if not found:
        raise InputError(
            f"Feature level {level} is not supported for feature {feature}",
            id="unknown-feature-level",
            next_step=f"Kafka {release.name} knows levels 0 to {facts.latest_testing} of {feature}.",
        )
    needed = sorted(found[0].dependencies.items())
    return [Level(feature=name, level=needs, note=_note(name, needs)) for name, needs in needed]


def known_metadata_version(release: Release, level: int) -> MetadataVersion:
    """Return the metadata.version of that level, if the release knows it. Raises InputError `unknown-feature-level`."""
    if not release.lowest_supported_level <= level <= release.testing_level:
        raise InputError(
            f"Unknown metadata.version {level}",
            id="unknown-feature-level",
            next_step=f"Kafka {release.name} knows levels {release.lowest_supported_level} to {release.testing_level}.",
        )
    return metadata_version(level)


def parse_feature_level(release: Release, argument: str) -> tuple[str, int]:
    """Read `NAME=LEVEL` as the release's `feature-dependencies` does; the level is an integer of 16 bits.

    4.2 on cuts at the first `=` and ignores blanks around both parts; 4.0 and 4.1 ignore trailing `=` and nothing
    else, and die of a stack trace if there are not two parts. Raises InputError `invalid-feature-argument`.
    """
    parts = _PARTS[release.feature_argument_rule](argument)
    if len(parts) != 2:
        raise InputError(
            f"Invalid feature format: {argument}. Expected format: 'feature=version' (e.g. 'group.version=1')",
            id="invalid-feature-argument",
            next_step="Write the feature's name, an equals sign and its level.",
        )
    name, text = parts
    level = _parse_short(text)
    if level is None:
        raise InputError(
            f"Invalid version format: {text} for feature {name}",
            id="invalid-feature-argument",
            next_step="A level is a whole number, such as 1.",
        )
    return name, level


def _exact_parts(argument: str) -> list[str]:
    return argument.rstrip("=").split("=")


def _trimmed_parts(argument: str) -> list[str]:
    return [part.strip() for part in argument.split("=", 1)]


_PARTS: dict[str, Callable[[str], list[str]]] = {"exact": _exact_parts, "trimmed": _trimmed_parts}


def render_dependencies(feature: str, level: int, needed: Iterable[Level]) -> list[str]:
    """Return the lines of `feature-dependencies` about one feature."""
    needed = list(needed)
    subject = Level(feature=feature, level=level, note=_note(feature, level))
    if not needed:
        return [f"{subject} has no dependencies."]
    return [f"{subject} requires:", *(f"    {level}" for level in needed)]


def _note(feature: str, level: int) -> str:
    return metadata_version(level).name if feature == METADATA_VERSION else ""


def _parse_short(text: str) -> int | None:
    """Read a number as `Short.parseShort` does: digits with a sign or without, no blanks."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not digits or not all(char.isdecimal() for char in digits):
        return None
    level = int(text)
    return level if level in _INT16 else None


def _unknown_release_version(release: Release, text: str) -> InputError:
    low = metadata_version(release.lowest_supported_level).name
    words = in_kafkas_words(release, release.words_unmapped, text, unstable=True)
    return InputError(
        words,
        id="unknown-release-version",
        next_step=f"Kafka {release.name} knows {low} to {metadata_version(release.testing_level).name}.",
    )


def _unknown_feature(release: Release, feature: str) -> InputError:
    known = ", ".join((METADATA_VERSION, *features_of(release)))
    return InputError(
        f"Unknown feature: {feature}",
        id="unknown-feature",
        next_step=f"Kafka {release.name} knows: {known}.",
    )
