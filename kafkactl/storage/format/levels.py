"""Levels of metadata.version, kraft.version and other features that a format sets, and the reasons to refuse them.

Source: StorageTool.scala (getMetadataVersion up to 3.8), Formatter.java (calculateEffectiveReleaseVersion,
calculateEffectiveFeatureLevels, effectiveKRaftFeatureLevel) and Feature.validateVersion from 3.9 on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION
from kafkactl.protocol.catalog.levels import (
    FeatureFacts,
    MetadataVersion,
    default_levels,
    default_metadata_version,
    features_of,
    metadata_version,
)
from kafkactl.protocol.catalog.release_version import in_kafkas_words, parse_release_version, understood
from kafkactl.protocol.catalog.releases import Release, kraft_version_for
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.model import FormatRequest

_SHORT = range(-(2**15), 2**15)
_SCRAM_LEVEL = 11  # 3.5-IV2
# Below it no feature but metadata.version itself can be set (Feature.validateVersion).
_FEATURES_LEVEL = 4  # 3.3-IV0
# Refusals of a release version that was understood: an answer, not a mistake in the words.
_UNDERSTOOD = frozenset({"unstable-release-version", "release-version-too-old"})


@frozen
class Levels:
    """Levels that a format sets. `features` holds the levels above 0 of all but metadata.version and kraft.version.

    `parsing_findings` are refusals that Kafka's tool meets while it reads its arguments, before all other rules.
    Where findings hold a blocker, the values are the nearest that make sense, for the rest of the rules.
    """

    metadata_version: MetadataVersion
    kraft_version: int
    features: Mapping[str, int]
    parsing_findings: tuple[Finding, ...]
    findings: tuple[Finding, ...]


def effective_levels(request: FormatRequest, config: NodeConfig, release: Release) -> Levels:
    """Return all levels. Raise InputError for an unknown release version or feature."""
    asked = parse_features(request.features)
    parsing = [*_check_flag(request, asked, release)]
    findings: list[Finding] = []
    version = _metadata_version(request, asked, config, release, findings)
    dynamic = kraft_version_for(release, voter_mode=request.voter_mode, static_voters=bool(config.static_voters))
    if release.feature_flag != "all":
        others = {}
    else:
        findings += _check_known(asked, release)
        findings += _check_kraft_version(asked, dynamic, release)
        others = _all_levels(asked, version, dynamic, release)
        findings += _check_levels(others, version, release, config.unstable_features)
    findings += _check_scram(request, version)
    return Levels(
        metadata_version=version,
        kraft_version=dynamic,
        features={name: level for name, level in others.items() if level > 0 and name != KRAFT_VERSION},
        parsing_findings=(*parsing, *(finding for finding in findings if _is_met_while_parsing(finding, release))),
        findings=tuple(finding for finding in findings if not _is_met_while_parsing(finding, release)),
    )


def _is_met_while_parsing(finding: Finding, release: Release) -> bool:
    """Return True if parsing meets the version: 4.x knows none below its range, 4.2 and later no unstable one."""
    if "release_version" not in finding.evidence:
        return False
    if finding.id == "unstable-release-version":
        return release.words_unstable == release.words_unknown
    return finding.id == "release-version-too-old" and not release.words_too_old


def parse_features(arguments: tuple[str, ...]) -> dict[str, int]:
    """Read `-f NAME=LEVEL`, repeated; of a name that comes twice the last counts, as for Kafka.

    Raises InputError `feature-argument-not-understood`.
    """
    asked: dict[str, int] = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if not equals:
            raise _not_understood(argument, "equals sign not found")
        asked[name.strip()] = _level(argument, text.strip())
    return asked


def _level(argument: str, text: str) -> int:
    try:
        level = int(text) if "_" not in text else None
    except ValueError:
        level = None
    if level is None or level not in _SHORT:
        raise _not_understood(argument, f"unable to parse {text} as a short")
    return level


def _not_understood(argument: str, why: str) -> InputError:
    return InputError(f"Can't parse feature=level string {argument}: {why}", id="feature-argument-not-understood")


def _check_flag(request: FormatRequest, asked: Mapping[str, int], release: Release) -> Iterator[Finding]:
    if not asked:
        return
    if release.feature_flag == "none":
        yield blocker(
            "option-not-in-release",
            "--feature",
            f"Kafka {release.version_text} has no --feature; it came with 3.8",
            "Leave it out, and use --release-version; or name the release that will start with --kafka-version.",
        )
    if release.feature_flag == "metadata-version-only":
        ignored = sorted(set(asked) - {METADATA_VERSION})
        if request.release_version is not None:
            yield blocker(
                "release-version-and-feature",
                "--feature",
                "--release-version and --feature were both given. Only one of the two flags can be set in"
                f" Kafka {release.version_text}",
                "Leave --feature out.",
            )
        if ignored:
            yield warning(
                "feature-ignored",
                "--feature",
                f"Kafka {release.version_text} ignores --feature {', '.join(ignored)}: it knows metadata.version only",
                "Leave it out.",
                features=ignored,
            )


def _metadata_version(
    request: FormatRequest,
    asked: Mapping[str, int],
    config: NodeConfig,
    release: Release,
    findings: list[Finding],
) -> MetadataVersion:
    unstable = config.unstable_features
    default = default_metadata_version(release, unstable=unstable)
    text = request.release_version
    if text is None and release.uses_inter_broker_protocol:
        text = config.inter_broker_protocol_version
    level = asked.get(METADATA_VERSION) if release.feature_flag != "none" else None
    if level is not None and release.feature_flag == "all":
        if text is not None:
            findings.append(_ambiguous(level))
            _by_text(text, release, unstable, findings)
        return _by_level(level, release, unstable, findings) or default
    if level is not None and request.release_version is None:
        return _by_level(level, release, unstable, findings) or default
    return default if text is None else _by_text(text, release, unstable, findings) or default


def _by_text(text: str, release: Release, unstable: bool, findings: list[Finding]) -> MetadataVersion | None:
    try:
        return parse_release_version(release, text, unstable=unstable)
    except InputError as error:
        if error.id not in _UNDERSTOOD:
            raise
        message = error.message if error.cause is None else f"{error.message} ({error.cause})"
        findings.append(blocker(error.id, METADATA_VERSION, message, error.advice, release_version=text))
        meant = understood(release, text)
        return meant if meant is not None and meant.level > 0 else None


def _by_level(level: int, release: Release, unstable: bool, findings: list[Finding]) -> MetadataVersion | None:
    if not release.lowest_supported_level <= level <= release.testing_level:
        low, high = metadata_version(release.lowest_format_level), metadata_version(release.production_level)
        findings.append(
            blocker(
                "unknown-feature-level",
                METADATA_VERSION,
                f"No MetadataVersion with feature level {level}",
                f"Kafka {release.version_text} takes {low.level} ({low.name}) to {high.level} ({high.name}).",
                level=level,
            )
        )
        return None
    found = metadata_version(level)
    if level < release.lowest_format_level:
        words = in_kafkas_words(release, release.words_too_old, found.name, unstable=unstable)
        lowest = metadata_version(release.lowest_format_level)
        findings.append(
            blocker(
                "release-version-too-old",
                METADATA_VERSION,
                f"{words} ({level} is {found.name})",
                f"Name {lowest.name} or a later one.",
                level=level,
            )
        )
        return None
    if level > release.production_level and not unstable:
        findings.append(_unstable_level(found, release))
    return found


def _unstable_level(found: MetadataVersion, release: Release) -> Finding:
    # 4.2 has new words for the refusal of a text, and keeps the old one for a level.
    words = f"metadata.version {found.name} is not yet stable."
    if release.feature_flag != "all":
        words = in_kafkas_words(release, release.words_unstable, found.name, unstable=False, level=found.name)
    return blocker(
        "unstable-release-version",
        METADATA_VERSION,
        words,
        f"Take {metadata_version(release.production_level).name} or an older one; or, on a cluster that may be lost,"
        f" set {release.unstable_switch}=true in the properties file.",
        level=found.level,
    )


def _ambiguous(level: int) -> Finding:
    return blocker(
        "release-version-and-feature",
        METADATA_VERSION,
        "Use --release-version instead of --feature metadata.version=X to avoid ambiguity",
        level=level,
    )


def _all_levels(
    asked: Mapping[str, int], version: MetadataVersion, kraft_version: int, release: Release
) -> dict[str, int]:
    """Return every known feature at its requested level, else its default, sorted by name as in Kafka's map."""
    known = features_of(release)
    levels = dict(default_levels(release, version.level))
    levels |= {name: level for name, level in asked.items() if name in known}
    levels[KRAFT_VERSION] = asked.get(KRAFT_VERSION, kraft_version)
    return dict(sorted(levels.items()))


def _check_known(asked: Mapping[str, int], release: Release) -> Iterator[Finding]:
    known = sorted(features_of(release))
    for name in sorted(set(asked) - {METADATA_VERSION, *known}):
        yield blocker(
            "unsupported-feature",
            f"feature {name}",
            f"Unsupported feature: {name}. Supported features are: {', '.join(known)}",
            f"Correct the name, or leave it out: Kafka {release.version_text} does not know it.",
        )


def _check_kraft_version(asked: Mapping[str, int], dynamic: int, release: Release) -> Iterator[Finding]:
    level = asked.get(KRAFT_VERSION)
    if level is None or (level > 0) == (dynamic > 0):
        return
    by_config = release.kraft_version_rule == "no-static-voters"
    condition = (
        "controller.quorum.voters is empty and one of the flags --standalone, --initial-controllers, or"
        " --no-initial-controllers is used"
        if by_config
        else "one of the flags --standalone, --initial-controllers, or --no-initial-controllers is used"
    )
    word = "unless" if level else "if"
    yield blocker(
        "kraft-version-contradicts-quorum",
        "feature kraft.version",
        f"Cannot set kraft.version to {level} {word} {condition}",
        "Leave --feature kraft.version out: the quorum's configuration decides it"
        f" (here it is {dynamic}, by Kafka {release.version_text}).",
        asked=level,
        effective=dynamic,
    )


def _check_levels(
    levels: Mapping[str, int], version: MetadataVersion, release: Release, unstable: bool
) -> Iterator[Finding]:
    together = {METADATA_VERSION: version.level, **levels}
    for name, level in levels.items():
        facts = features_of(release)[name]
        highest = facts.latest_testing if unstable else facts.latest_production
        if not 0 <= level <= highest:
            yield _no_such_level(name, level, facts, highest, release)
            continue
        yield from _check_dependencies(facts, level, together)


def _no_such_level(name: str, level: int, facts: FeatureFacts, highest: int, release: Release) -> Finding:
    more = f" (levels up to {facts.latest_testing} need {release.unstable_switch}=true)" * (
        facts.latest_testing > highest
    )
    return blocker(
        "unknown-feature-level",
        f"feature {name}",
        f"No feature:{name} with feature level {level}",
        f"Kafka {release.version_text} takes levels 0 to {highest} of {name}{more}.",
        level=level,
    )


def _check_dependencies(facts: FeatureFacts, level: int, together: Mapping[str, int]) -> Iterator[Finding]:
    needed = dict(next(row.dependencies for row in facts.levels if row.level == level))
    if level >= 1:
        needed = {METADATA_VERSION: _FEATURES_LEVEL} | needed
    for other, least in sorted(needed.items()):
        if together.get(other, 0) < least:
            yield blocker(
                "feature-dependency-not-met",
                f"feature {facts.name}",
                f"{facts.name} could not be set to {level} because it depends on {other} level {least}, and {other}"
                f" is {together.get(other, 0)}",
                f"Raise {other} to {least} or more, or leave --feature {facts.name} out.",
                feature=other,
                needed=least,
            )


def _check_scram(request: FormatRequest, version: MetadataVersion) -> Iterator[Finding]:
    if request.scram and version.level < _SCRAM_LEVEL:
        yield blocker(
            "scram-needs-newer-metadata-version",
            "SCRAM",
            f"SCRAM is only supported in metadata.version {metadata_version(_SCRAM_LEVEL).name} or later, not in"
            f" {version.name}",
        )
