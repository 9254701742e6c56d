"""The phase of a roll, derived from all nodes together and never from the journal."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.features.catalog.releases import KafkaVersion
from kafkactl.roll.case import RollCase, Way
from kafkactl.roll.observation import RollNode
from kafkactl.roll.order import is_restarted
from kafkactl.roll.planning import levels_of
from kafkactl.roll.releases import is_older, is_same, line_of, rules_of, version_in


class Phase(StrEnum):
    """Position of a cluster in a roll.

    before: no node is done. controllers: some controllers are done. brokers: all controllers are done, and not all
    brokers (of a downgrade: some brokers are done). binaries: every node is done, the levels are not raised. levels:
    some levels are raised. done. mixed: more than two releases, or nodes against the order.
    """

    BEFORE = "before"
    CONTROLLERS = "controllers"
    BROKERS = "brokers"
    BINARIES = "binaries"
    LEVELS = "levels"
    DONE = "done"
    MIXED = "mixed"


def phase_of(case: RollCase) -> Phase | None:
    """Return the phase; None if the release of no node is known."""
    if not any(case.last.values()):
        return None
    known = running_versions(case)
    if len(known) > 2:
        return Phase.MIXED
    if case.goal is not None:
        return _phase_to(case, case.goal)
    if len(known) == 2:
        return _phase_to(case, known[-1], is_goal_known=False)
    return _phase_of_restart(case)


def running_versions(case: RollCase) -> list[KafkaVersion]:
    """Return the different releases that nodes run, the oldest first."""
    known = distinct_versions([version for version in case.versions.values() if version is not None])
    return sorted(known, key=lambda version: (*line_of(version), version.patch or 0))


def distinct_versions(versions: Sequence[KafkaVersion]) -> list[KafkaVersion]:
    """Return the releases without those that may be the same: 4.3 and 4.3.1 are one."""
    found: list[KafkaVersion] = []
    for version in sorted(set(versions), key=lambda version: (*line_of(version), version.patch is None)):
        if not any(is_same(version, other) for other in found):
            found.append(version)
    return found


def _phase_to(case: RollCase, goal: KafkaVersion, *, is_goal_known: bool = True) -> Phase:
    """Return the phase of a roll to a release; nodes whose release is unknown are done if the others of the cluster
    leave no doubt."""
    controllers = [_is_done(case, node, goal) for node in case.observation.controllers]
    brokers = [_is_done(case, node, goal) for node in case.observation.brokers if not node.is_controller]
    first, second = controllers, brokers
    names = Phase.CONTROLLERS, Phase.BROKERS
    if is_goal_known and _is_downgrade(case, goal):
        first, second, names = brokers, controllers, (Phase.BROKERS, Phase.CONTROLLERS)
    if True not in (*first, *second):
        return Phase.BEFORE
    if True in second and False in first and not _is_excused(case, goal):
        return Phase.MIXED
    if not all(first):
        return names[0] if True in first or True in second else Phase.BEFORE
    if not all(second):
        return names[1]
    return _levels(case, goal)


def _is_downgrade(case: RollCase, goal: KafkaVersion) -> bool:
    return case.way is Way.DOWNGRADE or any(
        version is not None and is_older(goal, version) for version in case.last.values()
    )


def _is_done(case: RollCase, node: RollNode, goal: KafkaVersion) -> bool:
    """Return True if a node runs the goal; of a node that is down, what it ran last is not evidence of a restart.

    If the patch release is unknown the line counts, unless the journal shows that the node is still to be restarted.
    """
    running = case.versions.get(node.id)
    if case.goal is not None:
        done = case.is_done(node)
        return running is not None and not is_due(case) if done is None else done
    return running is not None and is_same(running, goal)


def is_due(case: RollCase) -> bool:
    """Return True if the journal has a roll to the goal that is under way."""
    record = case.record
    to = None if record is None or not record.is_under_way else version_in(record.to)
    return to is not None and case.goal is not None and is_same(to, case.goal)


def _is_excused(case: RollCase, goal: KafkaVersion) -> bool:
    """Return True if every node of the first part that is not done is down: it may come back at any time."""
    part = case.observation.brokers if _is_downgrade(case, goal) else case.observation.controllers
    return all(node.alive is False for node in part if not _is_done(case, node, goal))


def _levels(case: RollCase, goal: KafkaVersion) -> Phase:
    """Return the phase of a cluster whose nodes all run the goal."""
    release = rules_of(goal)
    if release is None or not case.has_log or _is_downgrade(case, goal):
        return Phase.DONE if case.has_log or _is_downgrade(case, goal) else Phase.BINARIES
    wanted = levels_of(release)
    missing = [name for name, level in wanted.items() if case.levels.get(name, 0) < level]
    if not missing:
        return Phase.DONE
    return Phase.BINARIES if METADATA_VERSION in missing else Phase.LEVELS


def _phase_of_restart(case: RollCase) -> Phase:
    """Return the phase of a restart: by the journal's marks if there is one under way, else there is no roll."""
    record = case.record
    if record is None or not record.is_under_way or not record.marks:
        return Phase.DONE
    controllers = [is_restarted(case, node) for node in case.observation.controllers]
    brokers = [is_restarted(case, node) for node in case.observation.brokers if not node.is_controller]
    if all((*controllers, *brokers)):
        return Phase.DONE
    if not any((*controllers, *brokers)):
        return Phase.BEFORE
    return Phase.CONTROLLERS if not all(controllers) else Phase.BROKERS
