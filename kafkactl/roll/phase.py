"""The phase of a roll, derived from all nodes together and never from the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION
from kafkactl.protocol.catalog.releases import KafkaVersion
from kafkactl.roll.case import RollCase, Way
from kafkactl.roll.levels import level_fits
from kafkactl.roll.observation import RollNode
from kafkactl.roll.order import is_restarted
from kafkactl.roll.planning import levels_of
from kafkactl.roll.releases import is_older, is_same, line_of, rules_of, version_in
from kafkactl.roll.rollback_path import came_down, old_release


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
    """Return the phase; None if the release of no node is known, or the patch release on which it depends."""
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


def _phase_to(case: RollCase, goal: KafkaVersion, *, is_goal_known: bool = True) -> Phase | None:
    """Return the phase of a roll to a release; None if it depends on a patch release that nothing shows."""
    done = {node.id: _is_done(case, node, goal) for node in case.observation.nodes}
    found = {
        _phase_of(case, goal, {id: assumed if is_done is None else is_done for id, is_done in done.items()},
                  is_goal_known=is_goal_known)
        for assumed in (False, True)
    }  # fmt: skip
    return found.pop() if len(found) == 1 else None


def _phase_of(case: RollCase, goal: KafkaVersion, done: Mapping[int, bool], *, is_goal_known: bool) -> Phase:
    controllers = list(case.observation.controllers)
    brokers = [node for node in case.observation.brokers if not node.is_controller]
    parts, names = (controllers, brokers), (Phase.CONTROLLERS, Phase.BROKERS)
    if is_goal_known and _is_downgrade(case, goal):
        parts, names = (brokers, controllers), (Phase.BROKERS, Phase.CONTROLLERS)
    first, second = ([node for node in part if not done[node.id]] for part in parts)
    if not any(done.values()):
        return Phase.BEFORE
    # A node of the first part that is down may have failed at any time: that is not against the order.
    if any(node.alive is not False for node in first) and len(second) < len(parts[1]):
        return Phase.MIXED
    if first:
        return names[0]
    return names[1] if second else _levels(case, goal)


def _is_downgrade(case: RollCase, goal: KafkaVersion) -> bool:
    return case.way is Way.DOWNGRADE or any(
        version is not None and is_older(goal, version) for version in case.last.values()
    )


def _is_done(case: RollCase, node: RollNode, goal: KafkaVersion) -> bool | None:
    """Return True if a node runs the goal, or ran it before it went down; False if that is not known.

    None if only the patch release is unknown, unless the node is down, or by the journal still to be restarted.
    """
    last = case.last.get(node.id)
    if last is None or case.goal is None:
        return last is not None and is_same(last, goal)
    done = case.ran_goal(node)
    return False if done is None and (node.alive is False or is_due(case)) else done


def is_due(case: RollCase) -> bool:
    """Return True if the journal has a roll to the goal that is under way."""
    record = case.record
    to = None if record is None or not record.is_under_way else version_in(record.to)
    return to is not None and case.goal is not None and is_same(to, case.goal)


def _levels(case: RollCase, goal: KafkaVersion) -> Phase:
    """Return the phase of a cluster whose nodes all run the goal. A rollback that arrived there asks for no levels."""
    release = rules_of(goal)
    if release is None or not case.has_log or _is_downgrade(case, goal):
        return Phase.DONE if case.has_log or _is_downgrade(case, goal) else Phase.BINARIES
    wanted = levels_of(release)
    missing = [name for name, level in wanted.items() if case.levels.get(name, 0) < level]
    if not missing or came_down(case, goal):
        return Phase.DONE
    return Phase.LEVELS if METADATA_VERSION not in missing or _is_above_old(case) else Phase.BINARIES


def _is_above_old(case: RollCase) -> bool:
    """Return True if a level was raised above the range of the release before the roll."""
    old = rules_of(old_release(case))
    fits = () if old is None else level_fits(old, case.levels)
    return any(fit.finalized > fit.target_max for fit in fits if fit.name != KRAFT_VERSION)


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
