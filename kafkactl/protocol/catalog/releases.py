"""Kafka's releases as a table: what a node of that release expects on its disks and what its tool accepts.

Invariant: no rule of ours asks for a release number. It asks for a field of `Release`, and
schemas/features/releases.toml says which releases have it, to the patch if that is known. A new release is one row
there.
"""

from __future__ import annotations

import functools
import re

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.schema.release_table import ReleaseTable, Version, read_release_table


@frozen(kw_only=False, order=True)
class KafkaVersion:
    """A version of Kafka; `patch` is None if only the release was named (`4.3`)."""

    major: int
    minor: int
    patch: int | None = None

    @property
    def release_name(self) -> str:
        """Return the release without its patch: `4.3`."""
        return f"{self.major}.{self.minor}"

    def __str__(self) -> str:
        """Return the version as text: `4.3` or `4.3.1`."""
        return self.release_name if self.patch is None else f"{self.release_name}.{self.patch}"


@frozen
class Release:
    """A release of Kafka, at one patch: the facts that differ between releases.

    Naming
      name: `4.3`. version_text: what was asked for, `4.3` or `4.3.1`. patch: the patch whose rules these are, the
      newest known one if none was asked for. newest_patch: the newest patch known to kafkactl.

    metadata.version (levels)
      lowest_supported_level, production_level: the range that a node advertises. testing_level: the newest level that
      its code knows; those above production_level are unstable. lowest_format_level: the lowest that `format` takes;
      4.x cannot even name one below its lowest supported one.
      unstable_switch: the key in the properties file that allows unstable levels, "" if there is none.
      unstable_raises_default: with that switch on, `format` without a release takes testing_level.
      words_unknown, words_unstable, words_too_old, words_before_levels: what the release's tool reports about a release
      version that it does not understand or refuses; words_unmapped: of one not understood in version-mapping.
      uses_inter_broker_protocol: an explicit inter.broker.protocol.version is the release if none is given (3.x).

    Disks
      layout: 1 meta.properties without directory.id, bootstrap.checkpoint everywhere; 2 with directory.id; 3 the first
      checkpoint where voters are given (KIP-853); 4 everything in the first checkpoint, controllers only (KIP-1170).
      quorum_state_version: the newest data_version of quorum-state that it can read.
      reads_unused_bootstrap_checkpoint: a bootstrap.checkpoint whose metadata.version is too low for the node stops
      it even if the metadata log is not empty (KAFKA-19192, fixed in 4.0.1).

    Quorum
      auto_join: a controller with controller.quorum.auto.join.enable adds itself to the voters (KIP-853, 4.2 on).
      keeps_wrong_endpoints: a wrong endpoint in the voter set is never repaired by its voter (3.9 alone).
      orders_voters_by_hash: the voter set in an error's text is in the order of Java's hash table; later, in none.
      shows_optional: a directory id in an error's text is Java's Optional (up to 3.9).
      controllers_show_levels: the ApiVersions answer of a controller carries its levels (not in 3.3, measured).

    Configuration
      zookeeper_mode: process.roles may be empty, and then it is a ZooKeeper-mode broker (3.x).
      empty_log_dir_refused: an empty item in log.dirs is a configuration error (4.2 on); before, it is dropped.
      knows_bootstrap_servers: controller.quorum.bootstrap.servers exists (KIP-853; with voter_flags).

    format: arguments
      cluster_id_rule: `reencoded` (must decode to 16 bytes; the canonical form is stored) or `verbatim`.
      scram_rule: `none` (no --add-scram); `salt-needs-iterations` (3.5 to 3.8: iterations are used only with a salt,
      and a salt needs them; password and saltedpassword exclude each other); `any` (password wins).
      feature_flag: `none`; `metadata-version-only` (3.8: --feature excludes --release-version, and any name but
      metadata.version is silently ignored); `all`.
      voter_flags: --standalone, --initial-controllers, --no-initial-controllers exist, and a controller without
      static voters needs one of them.
      static_voters_exclude_voter_flags: static voters with -s or -I are refused (KAFKA-19489).
      kraft_version_rule: when the level is 1; see `kraft_version_for`.
      jbod_format_level: with several log directories `format` refuses a metadata.version below this level; 0: never.

    format: what lies on the disks already
      meta_properties_compared: ids found in meta.properties must equal those asked for (3.7 on).
      error_directory_rule: a directory whose meta.properties cannot be read: `not-noticed` (3.3 to 3.6), `fails` (3.7),
      `ignored` with a warning while another directory remains (3.8 on, KAFKA-16363).

    Commands
      mapping_commands: version-mapping and feature-dependencies exist (4.0 on). feature_argument_rule: how the latter
      reads NAME=LEVEL: `exact` (a stack trace if there are not two parts) or `trimmed` (4.2 on).
    """

    name: str
    version_text: str
    patch: int
    newest_patch: int
    layout: int
    lowest_supported_level: int
    lowest_format_level: int
    production_level: int
    testing_level: int
    unstable_switch: str
    unstable_raises_default: bool
    words_unknown: str
    words_unstable: str
    words_too_old: str
    words_before_levels: str
    words_unmapped: str
    uses_inter_broker_protocol: bool
    zookeeper_mode: bool
    cluster_id_rule: str
    meta_properties_compared: bool
    error_directory_rule: str
    jbod_format_level: int
    empty_log_dir_refused: bool
    scram_rule: str
    feature_flag: str
    voter_flags: bool
    static_voters_exclude_voter_flags: bool
    kraft_version_rule: str
    mapping_commands: bool
    feature_argument_rule: str
    quorum_state_version: int
    auto_join: bool
    keeps_wrong_endpoints: bool
    orders_voters_by_hash: bool
    shows_optional: bool
    controllers_show_levels: bool
    reads_unused_bootstrap_checkpoint: bool

    @property
    def version(self) -> KafkaVersion:
        """Return release and patch as numbers, for comparing releases with each other."""
        return KafkaVersion(*self.numbers)

    @property
    def numbers(self) -> Version:
        """Return the release in the form of the tables of releases."""
        major, minor = self.name.split(".")
        return int(major), int(minor), self.patch

    @property
    def has_directory_ids(self) -> bool:
        """Return True if meta.properties carries directory.id (KIP-858)."""
        return self.layout >= 2

    @property
    def writes_bootstrap_checkpoint(self) -> bool:
        """Return True if `format` writes bootstrap.checkpoint.

        Later everything is in the first checkpoint (KIP-1170).
        """
        return self.layout <= 3

    @property
    def knows_bootstrap_servers(self) -> bool:
        """Return True if controller.quorum.bootstrap.servers is a configuration key (KIP-853)."""
        return self.voter_flags


@functools.lru_cache(maxsize=64)
def find_release(text: str) -> Release:
    """Return the release that `4.3` or `4.3.1` names.

    Of a patch that is newer than those known here the rules of the newest known one are returned. Raises InputError
    `unknown-kafka-version`, naming the known releases and the one that was probably meant.
    """
    version = _parsed(text.strip())
    if version is None or version.release_name not in release_names():
        raise _unknown_version(text)
    newest = _table().at((version.major, version.minor, 0))["newest_patch"]
    patch = newest if version.patch is None else version.patch
    fields = _table().at((version.major, version.minor, patch))
    return Release(name=version.release_name, version_text=str(version), patch=patch, **fields)


@functools.cache
def known_releases() -> tuple[Release, ...]:
    """Return every release, oldest first, each at its newest known patch."""
    return tuple(find_release(name) for name in release_names())


def newest_release() -> Release:
    """Return the newest release known: what `kafkactl` assumes if no version is named."""
    return find_release(release_names()[-1])


def newest_with_zookeeper() -> Release:
    """Return the newest release that has ZooKeeper mode: a migration ends on it, and from it 4.x is reached."""
    return next(release for release in reversed(known_releases()) if release.zookeeper_mode)


def first_with_dynamic_quorum() -> Release:
    """Return the oldest release whose voters can be changed (KIP-853)."""
    return next(release for release in known_releases() if release.voter_flags)


def release_names() -> tuple[str, ...]:
    """Return `3.3` … `4.4`, oldest first; for completion and messages."""
    return tuple(dict.fromkeys(f"{row.since[0]}.{row.since[1]}" for row in _table().rows))


def kraft_version_for(release: Release, *, voter_mode: str, static_voters: bool) -> int:
    """Return the kraft.version that `format` gives a node: 1 is a dynamic quorum (KIP-853).

    `voter_mode` is a `VoterMode` or its value (`standalone`, `initial-controllers`, `no-initial-controllers`,
    `unspecified`); `static_voters` says whether controller.quorum.voters is set. The rule was changed twice in patch
    releases (KAFKA-18028, KAFKA-19719); the newest one asks for the configuration alone, brokers included.
    """
    dynamic = {
        "always-0": False,
        "standalone-or-initial-controllers": voter_mode in {"standalone", "initial-controllers"},
        "any-voter-flag": voter_mode != "unspecified",
        "no-static-voters": not static_voters,
    }
    return int(dynamic[release.kraft_version_rule])


@functools.cache
def _table() -> ReleaseTable:
    """Return the table with one row for each patch that changed an entry."""
    return read_release_table(
        "features/releases.toml", set(Release.__annotations__) - {"name", "version_text", "patch"}
    )


def _parsed(text: str) -> KafkaVersion | None:
    parts = text.split(".")
    if len(parts) not in (2, 3) or not all(part.isascii() and part.isdigit() and len(part) <= 4 for part in parts):
        return None
    return KafkaVersion(*map(int, parts))


def _unknown_version(text: str) -> InputError:
    known = release_names()
    near = _nearest(text.strip().removeprefix("v"), known)
    meant = f"Did you mean {near}? " if near else ""
    return InputError(
        f"Kafka {text!r} is not known; known are {known[0]} to {known[-1]}, with or without a patch number",
        id="unknown-kafka-version",
        next_step=f"{meant}Known releases: {', '.join(known)}.",
    )


def _nearest(text: str, known: tuple[str, ...]) -> str | None:
    """Return the known release that was probably meant: a number is taken as a number, not as letters."""
    match = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", text)
    if match is None:
        import difflib

        return next(iter(difflib.get_close_matches(text, known, n=1, cutoff=0.5)), None)
    if match[0] in known:
        return match[0]
    asked = (int(match[1]), int(match[2]))
    older = [name for name in known if tuple(map(int, name.split("."))) < asked]
    return older[-1] if older else known[0]
