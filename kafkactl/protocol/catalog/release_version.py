"""`--release-version` as each release's tool reads it.

Source: `MetadataVersion.fromVersionString`, `Formatter.java`, `StorageTool.scala`. A text is cut after its second part
(`3.9.1` is `3.9`), then it is either a release, which means its newest level ready for production, or the name of one
level. Where we refuse, the message carries the words that the tool of that release would have used.
"""

from __future__ import annotations

from kafkactl.core.errors import InputError
from kafkactl.protocol.catalog.levels import MetadataVersion, metadata_version, metadata_versions, names_before_levels
from kafkactl.protocol.catalog.releases import Release


def parse_release_version(release: Release, text: str, *, unstable: bool) -> MetadataVersion:
    """Return the level that `--release-version TEXT` means to a release's `format`.

    `unstable` says whether the release's unstable switch is on. Raises InputError `unknown-release-version`,
    `unstable-release-version` or `release-version-too-old`.
    """
    found = understood(release, text)
    if found is None:
        raise _unknown(release, text, unstable=unstable)
    if found.level < release.lowest_format_level:
        template = release.words_too_old if found.level else release.words_before_levels
        raise _too_old(release, text, in_kafkas_words(release, template, text, unstable=unstable, level=found.name))
    if found.level > release.production_level and not unstable:
        raise _unstable(release, text, found)
    return found


def understood(release: Release, text: str) -> MetadataVersion | None:
    """Return the level that a text names in a release, unstable ones included, or None.

    A name from before there were levels is understood by 3.x and comes back as a level of 0.
    """
    key = _first_parts(text)
    known = [mv for mv in metadata_versions() if release.lowest_supported_level <= mv.level <= release.testing_level]
    for mv in known:
        if mv.name == key:
            return mv
    production = [mv for mv in known if mv.release == key and mv.level <= release.production_level]
    if production:
        return production[-1]
    ancient = _before_levels(key) if release.lowest_supported_level == 1 else None
    if ancient is not None:
        return MetadataVersion(level=0, name=ancient, release=key.partition("-")[0], changes_metadata=True, about="")
    return None


def supported_names(release: Release, *, unstable: bool) -> str:
    """Return the names of the levels that a release supports, as its messages list them."""
    highest = release.testing_level if unstable else release.production_level
    levels = range(release.lowest_supported_level, highest + 1)
    return ", ".join(metadata_version(level).name for level in levels)


def in_kafkas_words(release: Release, template: str, text: str, *, unstable: bool, level: str = "") -> str:
    """Return a message of the release's tool (a template of releases.toml) about a release version."""
    return template.format(
        text=text,
        level=level,
        lowest=metadata_version(release.lowest_supported_level).name,
        production=metadata_version(release.production_level).name,
        testing=metadata_version(release.testing_level).name,
        names=supported_names(release, unstable=unstable),
    )


def _first_parts(text: str) -> str:
    """Return the first two parts of a dotted text, three if it begins with `0.`; a text with no more than that as it
    is.

    Java's split does not count empty parts at the end, so `3.9.` is not cut (and not understood).
    """
    parts = text.split(".")
    while parts and not parts[-1]:
        parts.pop()
    count = 3 if text.startswith("0.") else 2
    return text if len(parts) <= count else ".".join(parts[:count])


def _before_levels(key: str) -> str | None:
    """Return the matching name from before there were levels: the name itself, or the newest of its release."""
    named = [name for name in names_before_levels() if key in {name, name.partition("-")[0]}]
    return named[-1] if named else None


def _unknown(release: Release, text: str, *, unstable: bool) -> InputError:
    words = in_kafkas_words(release, release.words_unknown, text, unstable=unstable)
    key = _first_parts(text)
    older = [
        mv for mv in metadata_versions() if key in {mv.name, mv.release} and mv.level < release.lowest_format_level
    ]
    if older or _before_levels(key):
        return _too_old(release, text, words)
    low, high = _bounds(release)
    return InputError(
        words,
        id="unknown-release-version",
        next_step=f"Kafka {release.name} takes a release ({low.release} to {high.release}) or a level by name "
        f"({low.name} to {high.name}).",
    )


def _too_old(release: Release, text: str, words: str) -> InputError:
    return InputError(
        words,
        id="release-version-too-old",
        cause=f"{text} is older than {metadata_version(release.lowest_format_level).name}, the first that "
        f"Kafka {release.name} can format with",
        next_step=f"Name {metadata_version(release.lowest_format_level).name} or a later one.",
    )


def _unstable(release: Release, text: str, found: MetadataVersion) -> InputError:
    words = in_kafkas_words(release, release.words_unstable, text, unstable=False, level=found.name)
    return InputError(
        words,
        id="unstable-release-version",
        cause=f"{found.name} is not ready for production in Kafka {release.name}",
        next_step=f"Name {metadata_version(release.production_level).name} or an older one, or, on a cluster that may "
        f"be lost, set {release.unstable_switch}=true in the properties file.",
    )


def _bounds(release: Release) -> tuple[MetadataVersion, MetadataVersion]:
    return metadata_version(release.lowest_format_level), metadata_version(release.production_level)
