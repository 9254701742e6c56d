"""Prediction of the active controller's answer to a change, in the order of the controller's own checks.

A second opinion on the plan: the checks say all that is wrong and more than Kafka looks at, this says only whether
Kafka refuses. Source: `FeatureControlManager.updateFeature` of 3.9 and 4.x.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafkactl.cluster.state import NOT_SUPPORTED, ClusterState
from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION
from kafkactl.core.values import Role
from kafkactl.features.plan.change import UpgradeType
from kafkactl.protocol.catalog.consequences import metadata_changes
from kafkactl.protocol.catalog.levels import features_of
from kafkactl.protocol.catalog.update_rules import UpdateRules, update_rules
from kafkactl.protocol.schema.record_versions import first_level_with
from kafkactl.protocol.schema.spec import Versions


def predicted_acceptance(state: ClusterState, levels: Mapping[str, int], kind: UpgradeType) -> dict[str, bool | None]:
    """Return whether the controller accepts each feature of one request; None if only the controller can know.

    With the rules of 4.x one refusal refuses all. Without an active controller nothing is known.
    """
    if state.active_controller is None:
        return dict.fromkeys(levels)
    rules = update_rules(state.rules_release)
    own = {name: _accepts(state, rules, levels, name, kind) for name in levels}
    if state.registrations is None:  # the log may hold a ghost, unseen
        own = {name: None if accepted else accepted for name, accepted in own.items()}
    if rules.results == "each" or False not in own.values():
        return own
    return dict.fromkeys(own, False)


def _accepts(
    state: ClusterState, rules: UpdateRules, levels: Mapping[str, int], name: str, kind: UpgradeType
) -> bool | None:
    before, after = state.level(name), levels[name]
    if any(after not in supported.get(name, NOT_SUPPORTED) for supported in _asked(state, rules)):
        return False
    if after != before and (after > before) != (kind is UpgradeType.UPGRADE):
        return False
    if name == METADATA_VERSION:
        return _accepts_metadata_version(state, rules, before, after)
    if name == KRAFT_VERSION and (rules.kraft_version == "converts" or after < before):
        return _accepts_conversion(state, rules, before, after)
    return _has_what_it_needs(state, levels, name) if rules.checks_dependencies else True


def _asked(state: ClusterState, rules: UpdateRules) -> Iterator[Mapping[str, Versions]]:
    """Yield the ranges with which the controller compares a level.

    An empty one for a voter that it knows nothing of.
    """
    yield state.controller_range or {}
    known = state.registrations
    for member in state.members:
        supported = member.supported if known is None else member.listed
        if member.role is Role.BROKER and supported is not None:
            yield supported
    if not rules.checks_controllers or state.level(METADATA_VERSION) < first_level_with("controllers"):
        return
    static = state.level(KRAFT_VERSION) == 0
    for member in state.members:
        if member.role is not Role.CONTROLLER or member.id == state.active_controller:
            continue
        if member.listed is not None:
            yield member.listed
        elif member.voter and static and known is not None:
            yield {}


def _accepts_metadata_version(state: ClusterState, rules: UpdateRules, before: int, after: int) -> bool:
    if rules.checks_migration and state.migrating:
        return False
    if after < rules.lowest_level:
        return False
    return after >= before or not metadata_changes(state.rules_release, after, before)


def _accepts_conversion(state: ClusterState, rules: UpdateRules, before: int, after: int) -> bool | None:
    """Return True if every voter has reported to this leader that it supports the level. Down: never, from 4.1 on.

    A voter reports some seconds after an election (`FollowerState`, UpdateRaftVoter), so one that follows the leader is
    expected to have done so. One that does not may have reported before it failed (accepted) or not (refused).
    """
    if after == before:
        return True
    if after < before:
        return False if rules.kraft_version == "converts" else None
    others = [voter for voter in state.voters or () if voter.id != state.active_controller]
    if any(voter.id in state.unreported for voter in others):
        return False
    following = all(voter.alive for voter in others)
    return True if state.voters is not None and following else None


def _has_what_it_needs(state: ClusterState, levels: Mapping[str, int], name: str) -> bool | None:
    facts = features_of(state.rules_release).get(name)
    if facts is None:  # 4.x looks its name up here, level 0 included
        return None if state.controller_release is None else False
    needs = next((row.dependencies for row in facts.levels if row.level == levels[name]), {})
    proposed = {METADATA_VERSION: state.level(METADATA_VERSION), **state.finalized, **levels}
    return all(proposed.get(needed, 0) >= least for needed, least in needs.items())
