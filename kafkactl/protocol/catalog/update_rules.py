"""Rules of each release's active controller for a change: schemas/features/update_rules.toml as values.

No rule of the planner asks for a release number; it asks for a field of `UpdateRules`. Which release a node runs is
not in any answer, but the range of metadata.version that it advertises says it (`release_of`).
"""

from __future__ import annotations

import functools

from kafkactl.core.frozen import frozen
from kafkactl.protocol.catalog.releases import Release, known_releases
from kafkactl.protocol.schema.release_table import ReleaseTable, read_release_table
from kafkactl.protocol.schema.spec import Versions


@frozen
class UpdateRules:
    """Behaviour of an active controller at UpdateFeatures, by release.

    results: `each` (3.x: no error at the top, a code a feature, and the good ones are written though others fail) or
    `whole` (4.x: all or nothing, the first error reported for all).
    checks_dependencies: a level is refused while what it needs is not there. checks_controllers: registered
    controllers are looked at from metadata.version 15 on. checks_migration: metadata.version does not move while a
    migration from ZooKeeper runs. lowest_level: no metadata.version below it, whatever the range says; 0 for none.
    suggests_unsafe: a refused downgrade of metadata.version advises an unsafe one, which is refused as well.
    kraft_version: on a static quorum an upgrade to 1 is `unknown` to the release, `pretends` (3.9: the level is
    written, the quorum stays static, KAFKA-18979), `ignores` (4.0: answered as done, nothing changes) or `converts`
    (4.1 on, KAFKA-16538, permanently).
    unregisters_controllers: the request exists (KIP-1312).
    describe_is_padded: the lines of that release's `kafka-features describe` are padded, not parted by tabs.
    """

    results: str
    checks_dependencies: bool
    checks_controllers: bool
    checks_migration: bool
    lowest_level: int
    suggests_unsafe: bool
    kraft_version: str
    unregisters_controllers: bool
    describe_is_padded: bool


def update_rules(release: Release) -> UpdateRules:
    """Return the rules of a release."""
    return UpdateRules(**_table().at(release.numbers))


def release_of(metadata_versions: Versions | None) -> Release | None:
    """Return the release whose nodes advertise this range of metadata.version; None if no known release does.

    A node that allows unstable levels may look like the release after it; the stable reading wins. A patch cannot be
    seen in a range: the answer carries the newest one's rules.
    """
    if metadata_versions is None:
        return None
    fitting = [release for release in known_releases() if release.lowest_supported_level == metadata_versions.lowest]
    for level in ("production_level", "testing_level"):
        for release in fitting:
            if getattr(release, level) == metadata_versions.highest:
                return release
    return None


@functools.cache
def _table() -> ReleaseTable:
    return read_release_table("features/update_rules.toml", UpdateRules.__annotations__)
