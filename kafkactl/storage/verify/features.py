"""Check that the binary knows the feature levels and record types in the metadata.

A controller replays every FeatureLevelRecord against the range it supports (`FeatureControlManager.replay`), and both
roles build an image of it (`FeaturesDelta`); on a controller each failure ends the process. A broker alone stays up and
is refused each time it registers at the controllers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION
from kafkactl.metadata.log.scan import FeatureChange
from kafkactl.metadata.verify.folder import SnapshotFacts
from kafkactl.protocol.catalog.index import features_of
from kafkactl.storage.verify.bootstrap import founding_records, no_metadata_version
from kafkactl.storage.verify.model import Phase, RuleResult, StartContext, file_subject, stops, warns
from kafkactl.storage.verify.state import loaded_snapshot, log_looks_empty, replayed_changes

_FIRST_JBOD_LEVEL = 17  # 3.7-IV2


class Range(NamedTuple):
    """Levels that a node supports, both ends included."""

    lowest: int
    highest: int

    def __str__(self) -> str:
        """Return the range in the form of `VersionRange.toString`."""
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"


def feature_rules(context: StartContext) -> Iterator[RuleResult]:
    """Check levels in the log, levels that a new cluster would begin with, and what several directories need."""
    if log_looks_empty(context) and context.is_controller:
        yield from _founding_levels(context)
    else:
        yield from _levels_in_log(context)
    yield from _several_directories(context)


def supported(context: StartContext, name: str) -> Range:
    """Return the range that a controller of this release, so configured, supports of a feature."""
    release, unstable = context.release, context.config.unstable_features
    if name == METADATA_VERSION:
        return Range(release.lowest_supported_level, release.testing_level if unstable else release.production_level)
    facts = features_of(release).get(name)
    if facts is None:
        return Range(0, 0)
    return Range(0, facts.latest_testing if unstable else facts.latest_production)


def _unsupported(context: StartContext, changes: Iterable[FeatureChange]) -> FeatureChange | None:
    # A broker below 3.9 starts and registers under a recorded kraft.version; a controller there refuses the record.
    ignored = context.rules.recorded_kraft_version_ignored or not context.is_controller
    for change in changes:
        if change.name == KRAFT_VERSION and ignored:
            continue
        low, high = supported(context, change.name)
        if not low <= change.level <= high:
            return change
    return None


def _levels_in_log(context: StartContext) -> Iterator[RuleResult]:
    """Report an unsupported level among all replayed records: a snapshot replaces only the records before it."""
    snapshot = loaded_snapshot(context)
    since = 0 if snapshot is None else snapshot.offset
    bad = _unsupported(context, [feature for feature in context.log.contents.features if feature.offset >= since])
    if bad is None:
        return
    yield from _stopped_by(context, bad, f"metadata log in {context.config.metadata_log_dir}")


def snapshot_level_rules(context: StartContext) -> Iterator[RuleResult]:
    """Check levels in the snapshot that is loaded before the log."""
    snapshot = loaded_snapshot(context)
    if snapshot is None or snapshot.contents is None or snapshot.damage is not None:
        return
    bad = _unsupported(context, snapshot.contents.features)
    if bad is not None:
        yield from _stopped_by(context, bad, file_subject(f"{context.log.path}/{snapshot.name}"))
    elif snapshot.is_first and snapshot.contents.features:
        yield _only_here(context, snapshot)


def _only_here(context: StartContext, snapshot: SnapshotFacts) -> RuleResult:
    return warns(
        "newer-checkpoint-taken-as-snapshot",
        file_subject(f"{context.log.path}/{snapshot.name}"),
        f"The disks were formatted for Kafka 4.4 or later. Kafka {context.release.version_text} takes the 0-0"
        " checkpoint for a snapshot, so its features never enter the metadata log: other nodes do not learn of them.",
        next_step="Start Kafka 4.4 or later; or, before the first start, run `kafkactl storage unformat` and format"
        f" with `--kafka-version {context.release.version_text}`.",
    )


def _stopped_by(context: StartContext, bad: FeatureChange, subject: str) -> Iterator[RuleResult]:
    if context.is_controller:
        yield _exits_of(context, bad, subject, Phase.METADATA_REPLAY)
    else:
        yield _never_registers(context, bad, subject)


def _exits_of(context: StartContext, change: FeatureChange, subject: str, phase: Phase) -> RuleResult:
    low_high = supported(context, change.name)
    version = context.release.version_text
    return stops(
        "unsupported-feature-level",
        phase,
        subject,
        f"{change.name} is at level {change.level}; Kafka {version} supports {low_high}.",
        says=_words(context, change, low_high),
        feature=change.name,
        level=change.level,
        supported=[low_high.lowest, low_high.highest],
        offset=change.offset,
    )


def _words(context: StartContext, change: FeatureChange, low_high: Range) -> str:
    """Return the logged error: the metadata loader rejects a level without a name, the controller one out of range."""
    nameless = change.name == METADATA_VERSION and not (
        context.release.lowest_supported_level <= change.level <= context.release.testing_level
    )
    if nameless:
        return no_metadata_version(context, change.level)
    return (
        f"Tried to apply FeatureLevelRecord FeatureLevelRecord(name='{change.name}', featureLevel={change.level}),"
        f" but this controller only supports versions {low_high}"
    )


def _never_registers(context: StartContext, change: FeatureChange, subject: str) -> RuleResult:
    low_high = supported(context, change.name)
    return stops(
        "unsupported-feature-level",
        Phase.WAITING_FOR_REGISTRATION,
        subject,
        f"{change.name} is at level {change.level}; Kafka {context.release.version_text} supports {low_high}."
        " The broker stays up and is never registered.",
        says="Unable to register broker",
        waits=True,
        feature=change.name,
        level=change.level,
        supported=[low_high.lowest, low_high.highest],
    )


def _founding_levels(context: StartContext) -> Iterator[RuleResult]:
    records = founding_records(context)
    changes = [FeatureChange(offset=-1, name=name, level=level) for name, level in records.levels.items()]
    bad = _unsupported(context, changes)
    if bad is not None:
        yield _exits_of(context, bad, f"records in {records.source}", Phase.CONTROLLER_ACTIVATION)


def _several_directories(context: StartContext) -> Iterator[RuleResult]:
    """Report a broker with several directories under an old metadata.version: it logs an error and runs (from 3.7)."""
    level = finalized_level(context)
    many = context.is_broker and len(set(context.config.log_dirs)) > 1
    reports = many and context.rules.reports_old_level_of_directories
    if reports and level is not None and level < _FIRST_JBOD_LEVEL:
        yield warns(
            "several-directories-not-supported",
            f"node {context.config.node_id}",
            f"metadata.version {level} does not support several log directories (3.7-IV2, level 17, does). The broker"
            " logs an error and runs; a failed directory would not be reported.",
            metadata_version=level,
        )


def finalized_level(context: StartContext) -> int | None:
    """Return the metadata.version in effect after a start, as far as these disks contain it."""
    if log_looks_empty(context):
        return founding_records(context).levels.get(METADATA_VERSION) if context.is_controller else None
    levels = {change.name: change.level for change in replayed_changes(context)}
    return levels.get(METADATA_VERSION)
