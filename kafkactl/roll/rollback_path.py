"""The rollback to the old release: by the binaries alone, after lowering levels, or none.

Until a level is raised every step back works; after it only within a band of levels that did not change metadata. A
rollback is judged over all nodes: under a recorded kraft.version brokers would go back, and controllers could not.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from kafkactl.core.answers import by_fields
from kafkactl.core.findings import Finding, blocker
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import KRAFT_VERSION
from kafkactl.core.wording import some
from kafkactl.protocol.catalog.consequences import level_name
from kafkactl.protocol.catalog.releases import KafkaVersion, Release
from kafkactl.protocol.catalog.start_rules import start_rules
from kafkactl.roll.case import RollCase, Way
from kafkactl.roll.levels import LevelFit, can_be_lowered, level_fits
from kafkactl.roll.releases import is_older, is_same, line_of, rules_of
from kafkactl.roll.start import unreadable_voters


class How(StrEnum):
    """Kind of a rollback."""

    NONE_NEEDED = "none-needed"
    BINARIES = "binaries"
    LEVELS_FIRST = "levels-first"
    NO = "no"


@frozen
class RollbackPath:
    """A rollback. `to` is the old release, None if it is unknown; `possible` is None if too little is known."""

    to: str | None
    possible: bool | None
    how: How
    reason: str

    @property
    def starts_old_binary(self) -> bool:
        """Return True if the old binary comes up under the present levels, also if every other node still runs it."""
        return self.to is not None and self.how in (How.BINARIES, How.NONE_NEEDED)

    to_dict = by_fields


def rollback_path(case: RollCase) -> RollbackPath:
    """Return the rollback of a cluster from its present state."""
    old = old_release(case)
    if old is None:
        versions = [version for version in case.last.values() if version is not None]
        if case.goal is None and versions and all(is_same(version, versions[0]) for version in versions):
            return _way(None, True, How.NONE_NEEDED, "no roll to another release is under way")
        if _never_was_older(case):
            return _way(None, True, How.NONE_NEEDED, f"no node of a line before Kafka {case.goal} ever registered")
        return _way(None, None, How.NO, "the old release is unknown: neither a node, the journal nor the log show it")
    known = [version for version in case.last.values() if version is not None]
    if known and all(is_same(version, old) for version in known):
        is_up = all(node.alive for node in case.observation.nodes)
        text = f"every node runs Kafka {old}" if is_up else f"no node ran another release than Kafka {old} last"
        return _way(old, True, How.NONE_NEEDED, text)
    return path_under(case, old, case.levels if case.has_log else None)


def _never_was_older(case: RollCase) -> bool:
    """Return True if the whole history of registrations is in the log, and all are of the line of the goal."""
    log = case.observation.log
    if log is None or case.goal is None or log.loaded.first_offset != 0:
        return False
    return [line_of(line) for line in log.earlier_lines()] == [line_of(case.goal)]


def path_under(case: RollCase, old: KafkaVersion, levels: Mapping[str, int] | None) -> RollbackPath:
    """Return the rollback to a release under these levels."""
    release = rules_of(old)
    if release is None:
        return _way(old, False, How.NO, f"Kafka {old} has no KRaft in production")
    if levels is None:
        return _way(old, None, How.NO, "the finalized levels are unknown: no metadata log was read")
    if unreadable_voters(case, release):
        text = f"the quorum is dynamic, and Kafka {old} does not know the records of its voters"
        return _way(old, False, How.NO, text)
    unfit = [fit for fit in level_fits(release, levels) if not fit.fits and not _is_ignored(release, fit)]
    if not unfit:
        return _way(old, True, How.BINARIES, f"every finalized level lies in the range of Kafka {old}")
    controller = _controller_release(case)
    stuck = [fit for fit in unfit if not can_be_lowered(controller, fit)]
    if not stuck:
        names = ", ".join(f"{fit.name} to {level_name(fit.name, fit.target_max)}" for fit in unfit)
        return _way(old, True, How.LEVELS_FIRST, f"the levels have to be lowered first: {names}")
    names = ", ".join(f"{fit.name} {level_name(fit.name, fit.finalized)}" for fit in stuck)
    return _way(old, False, How.NO, f"no downgrade leads from {names} into the range of Kafka {old}")


def _is_ignored(release: Release, fit: LevelFit) -> bool:
    return fit.name == KRAFT_VERSION and start_rules(release).recorded_kraft_version_ignored


def _controller_release(case: RollCase) -> Release:
    """Return the release whose rules a downgrade of levels follows: that of the active controller."""
    leader = None if case.leader_id is None else rules_of(case.versions.get(case.leader_id))
    return leader or case.facts.release


def old_release(case: RollCase) -> KafkaVersion | None:
    """Return the release to which a rollback leads.

    For a downgrade that is the goal, also after it is done. Else it is the oldest other release that a node runs or ran
    when it registered last, then the one that the journal names, then the newest older line in the history of
    registrations.
    """
    if case.way is Way.DOWNGRADE:
        return case.goal
    newest = case.goal or _newest(case)
    if newest is None:
        return None
    older = [version for version in case.last.values() if version is not None and is_older(version, newest)]
    if older:
        return min(older, key=lambda version: (*line_of(version), version.patch is None, version.patch or 0))
    journal = case.journal_from
    if journal is not None and is_older(journal, newest):
        return journal
    log = case.observation.log
    lines = () if log is None else log.earlier_lines()
    if older_line := next((line for line in lines if line_of(line) < line_of(newest)), None):
        return older_line
    return newest if came_down(case, newest) else None


def came_down(case: RollCase, version: KafkaVersion) -> bool:
    """Return True if the cluster came to a release from a newer one: by the log, else by the journal."""
    log, ids = case.observation.log, {node.id for node in case.observation.nodes}
    before = (None if log is None else log.line_before(version, ids)) or case.journal_from
    return before is not None and is_older(version, before)


def newer_goal(case: RollCase) -> Finding | None:
    """Return the refusal of a rollback to a release that is newer than every one that runs; None for a rollback.

    Of nodes that are down the release of their last registration counts.
    """
    goal = case.goal
    known = [version for version in case.last.values() if version is not None]
    older = [node for node in case.nodes if (own := case.versions.get(node.id)) and goal and is_older(own, goal)]
    if goal is None or not older or any(is_older(goal, version) for version in known):
        return None
    names = some(node.name for node in older)
    text = f"no node runs a release newer than Kafka {goal}: this is not a rollback, it would upgrade {names}"
    step = f"Name the old release: {case.request.command('rollback', f'--to {old_release(case)}', '--dry-run')}"
    return blocker("rollback-to-newer-release", "roll", text, step, to=str(goal), nodes=[node.id for node in older])


def _newest(case: RollCase) -> KafkaVersion | None:
    known = [version for version in case.last.values() if version is not None]
    return max(known, key=lambda version: (*line_of(version), version.patch or 0), default=None)


def _way(to: KafkaVersion | None, possible: bool | None, how: How, reason: str) -> RollbackPath:
    return RollbackPath(to=None if to is None else str(to), possible=possible, how=how, reason=reason)
