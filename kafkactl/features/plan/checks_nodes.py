"""Checks of a feature change against the nodes: can every one of them live at the new levels?

The controller asks its own range, then every registered broker, then (from metadata.version 15 on) every registered
controller, dead ones included, and stops at the first that says no (`FeatureControlManager`). All of them are reported
here, and beyond them those it does not look at: a controller that never registered passes, and exits when it replays
the new level. A registration and an answer are both held to: the first is what Kafka judges by, the second what runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kafkactl.cluster.registration_renewal import CONTROLLERS_UNREGISTER_FROM, renewal_step
from kafkactl.cluster.state import NOT_SUPPORTED, ClusterState, Member
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION
from kafkactl.core.values import Role
from kafkactl.features.plan.case import Case
from kafkactl.protocol.catalog.consequences import is_known_level, level_name
from kafkactl.protocol.catalog.update_rules import UpdateRules
from kafkactl.protocol.schema.record_versions import first_level_with
from kafkactl.protocol.schema.spec import Versions

# From 3.7-IV0 on controllers register (KIP-919), from 4.4-IV2 on they can be unregistered (KIP-1312).


def check_nodes(case: Case) -> Iterator[Finding]:
    """Report every node that cannot run a level, and every node of which that is unknown."""
    unknown = unknown_features(case)
    yield from (_unknown_feature(case, name) for name in unknown)
    wanted = {change.name: change.after for change in case.moving if change.name not in unknown}
    for member in case.state.members:
        short = unsupported(member, wanted)
        if short:
            yield _cannot(case, member, short)
        elif wanted and member.stale:
            yield _stale_but_fits(case, member)
        elif wanted:
            yield from _unproved(case, member)


def unsupported(member: Member, wanted: Mapping[str, int]) -> dict[str, tuple[int, Versions]]:
    """Return the features, with their ranges, whose levels the registration or the answer of a node excludes."""
    found = {}
    for ranges in (member.listed, member.answered):
        for name, level in wanted.items():
            supported = NOT_SUPPORTED if ranges is None else ranges.get(name, NOT_SUPPORTED)
            if ranges is not None and level not in supported:
                found[name] = (level, supported)
    return found


def unknown_features(case: Case) -> tuple[str, ...]:
    """Return the features that are asked for and that neither a node nor kafkactl knows."""
    heard = {name for member in case.state.members for name in member.supported or ()} | set(case.state.finalized)
    return tuple(
        change.name for change in case.changes if change.name not in heard and not is_known_level(change.name, 1)
    )


def _unknown_feature(case: Case, name: str) -> Finding:
    import difflib

    heard = sorted({name for member in case.state.members for name in member.supported or ()})
    near = difflib.get_close_matches(name, heard, n=1, cutoff=0.8)
    meant = f"Did you mean {near[0]}? " if near else ""
    return blocker(
        "unknown-feature",
        f"feature {name}",
        f"no node of this cluster knows a feature {name}",
        f"{meant}The nodes know: {', '.join(heard) or 'nothing that could be read'}.",
        known=heard,
    )


def _cannot(case: Case, member: Member, short: Mapping[str, tuple[int, Versions]]) -> Finding:
    evidence = {
        "unsupported": [
            {"feature": name, "level": level, "min": supported.lowest, "max": supported.highest}
            for name, (level, supported) in short.items()
        ],
        "kafka_version": None if member.release is None else member.release.name,
        "answers": member.answers,
        "registered": member.registered,
    }
    lacks = "; ".join(_lacks(name, level, supported) for name, (level, supported) in short.items())
    if not member.stale:
        return blocker(
            "level-outside-node-range", member.name, f"{member.name} {lacks}", _renew(member, short), **evidence
        )
    if member.role is Role.BROKER:
        return blocker(
            "stale-broker-registration",
            member.name,
            f"{member.name} is gone (fenced, no answer), but still registered, and {lacks}",
            f"If it is not to come back: kafkactl nodes unregister --id {member.id} --role broker. "
            "If it is, start it with a newer Kafka first.",
            **evidence,
        )
    return blocker(
        "stale-controller-registration",
        member.name,
        f"{member.name} is gone (no answer, neither voter nor observer), but still registered, and {lacks}",
        remedy_for_controller(case, member.id),
        **evidence,
    )


def remedy_for_controller(case: Case, node_id: int) -> str:
    """Return the step that removes a gone controller's registration on this cluster (KAFKA-20295)."""
    if case.rules.unregisters_controllers and case.state.level(METADATA_VERSION) >= CONTROLLERS_UNREGISTER_FROM:
        return f"kafkactl nodes unregister --id {node_id} --role controller"
    return (
        "Controllers cannot be unregistered below metadata.version "
        f"{level_name(METADATA_VERSION, CONTROLLERS_UNREGISTER_FROM)}. "
        f"{renewal_step(node_id, is_static=case.state.is_static)}"
    )


def _lacks(name: str, level: int, supported: Versions) -> str:
    if supported.highest == 0:
        return f"does not support {name}"
    low, high = level_name(name, supported.lowest), level_name(name, supported.highest)
    return f"supports {name} {low} to {high}, not {level_name(name, level)}"


def _renew(member: Member, short: Mapping[str, tuple[int, Versions]]) -> str:
    answered = member.answered
    if answered is not None and all(level in answered.get(name, NOT_SUPPORTED) for name, (level, _) in short.items()):
        if member.role is Role.BROKER:
            return f"What runs there supports it: restart {member.name}, so that it registers again."
        # A controller answers requests before it has sent its registration; a broker answers them after.
        return (
            "What runs there supports it, and a controller registers within seconds of its start: try again; "
            f"if that changes nothing, restart {member.name}."
        )
    if any(level > supported.highest for level, supported in short.values()):
        return f"Upgrade the Kafka of {member.name} first: binaries go up before levels do."
    return f"Ask for a level that {member.name} supports."


def _stale_but_fits(case: Case, member: Member) -> Finding:
    highest = (member.listed or {}).get(METADATA_VERSION, NOT_SUPPORTED).highest
    unit = "broker" if member.role is Role.BROKER else "controller"
    remedy = (
        f"If it is not to come back: kafkactl nodes unregister --id {member.id} --role broker."
        if member.role is Role.BROKER
        else remedy_for_controller(case, member.id)
    )
    return warning(
        "stale-broker-registration" if unit == "broker" else "stale-controller-registration",
        member.name,
        f"{member.name} is gone, but still registered: it does not block this change, but will block every "
        f"metadata.version above {level_name(METADATA_VERSION, highest)}",
        remedy,
        answers=member.answers,
        registered=True,
    )


def _unproved(case: Case, member: Member) -> Iterator[Finding]:
    """Report a node that should be alive but is insufficiently known."""
    if member.answers is not False and member.answered is not None:
        if _never_registered(case, member):
            yield _not_registered(member)
        return
    if member.role is Role.CONTROLLER and _never_registered(case, member):
        yield _not_registered(member)
    elif member.supported is None:
        yield _range_unknown(member)
    elif member.answers is False:
        yield _silent(member)


def _silent(member: Member) -> Finding:
    """Return a node that did not answer.

    One that cannot be reached from here and goes on fetching is alive, and called so.
    """
    alive = f", but it {member.evidence or 'fetches from the leader'}: it is alive" if member.fetches else ""
    return warning(
        "node-does-not-answer",
        member.name,
        f"{member.name} does not answer{alive}; its registration says that it supports the new levels",
        "Run kafkactl where the node can be reached, to see what it runs."
        if alive
        else "Make sure that it starts again with a Kafka that is not older.",
        answers=False,
        registered=member.registered,
        fetches=member.fetches,
    )


def _never_registered(case: Case, member: Member) -> bool:
    return never_registered(case.state, case.rules, member)


def never_registered(state: ClusterState, rules: UpdateRules, member: Member) -> bool:
    """Return True if a static voter should have registered and did not: the controller refuses (`QuorumFeatures`)."""
    return (
        member.voter is True
        and member.registered is False
        and member.id != state.active_controller
        and rules.checks_controllers
        and state.level(METADATA_VERSION) >= first_level_with("controllers")
        and state.level(KRAFT_VERSION) == 0
    )


def _not_registered(member: Member) -> Finding:
    evidence: dict[str, Any] = {"answers": member.answers, "registered": False}
    return blocker(
        "controller-not-registered",
        member.name,
        f"{member.name} is a voter and has not registered, so the active controller does not know what it supports",
        **evidence,
    )


_RUNS = (
    "The leader's log is fetched under its id, so its process runs: run kafkactl where its address can be reached, or "
    "give a right or a login with which its registration can be read."
)
_MAY_RUN = "Check on its host whether its process runs. If it does, run kafkactl where its address can be reached."


def _not_asked(member: Member, registered: str, evidence: dict[str, Any]) -> Finding:
    """Return a node of which kafkactl knows nothing for lack of a right, a login or an address: the step says which."""
    why = member.not_asked
    reason, step = ("", "") if why is None else (f" ({why.reason})", why.step)
    unknown = f"{member.name} could not be asked{reason}, and {registered}: it is unknown which levels it supports"
    if member.role is Role.CONTROLLER:
        return blocker("controller-not-asked", member.name, unknown, step, **evidence)
    return warning("broker-range-unknown", member.name, unknown, step, **evidence)


def _range_unknown(member: Member) -> Finding:
    registered = "its registration could not be read" if member.registered is None else "is not registered"
    evidence: dict[str, Any] = {"answers": member.answers, "registered": member.registered}
    if member.answers is None:
        return _not_asked(member, registered, evidence)
    unknown = f"{member.name} does not answer and {registered}: it is unknown which levels it supports"
    if member.role is Role.CONTROLLER:
        return blocker(
            "controller-range-unknown",
            member.name,
            f"{unknown}; if its Kafka is too old it exits when it reads the new level",
            _RUNS if member.fetches else "" if member.fetches is False else _MAY_RUN,
            **evidence,
        )
    return warning(
        "broker-range-unknown",
        member.name,
        f"{unknown}; if its Kafka is too old it cannot join again",
        "Start it, or make sure that its Kafka is not older.",
        **evidence,
    )
