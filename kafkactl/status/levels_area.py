"""The area `levels`: feature levels, the releases that nodes run, registrations of nodes that are gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafkactl.cluster.levels import level_differences
from kafkactl.cluster.migration import unfinished_migration
from kafkactl.cluster.node import NotAsked
from kafkactl.cluster.state import ClusterState, Member
from kafkactl.core.findings import Finding, warning
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.core.values import Role
from kafkactl.core.wording import first_few
from kafkactl.protocol.catalog.consequences import finalized_name
from kafkactl.protocol.catalog.releases import newest_release
from kafkactl.status.answer import AreaStatus, StatusVerdict
from kafkactl.status.next_command import Target
from kafkactl.status.observation import Observation
from kafkactl.status.parts import area_of, joined, unknown_area

AREA: Final = "levels"
_NAMES_SHOWN: Final = 3
COUNTS: Final = ("metadata_version", "metadata_version_possible", "stale_registrations")


def levels_area(observation: Observation, target: Target) -> AreaStatus:
    """Return the status of the levels."""
    command = target.command(["features", "describe"])
    nodes = observation.nodes
    if isinstance(nodes, NotAsked):
        return unknown_area(AREA, nodes, COUNTS, target.command(["quorum", "describe"]))
    state = nodes.state
    if not state.levels_known:
        why = NotAsked(reason="no node shows its levels", step="Ask a node of Kafka 3.4 or later.")
        return unknown_area(AREA, why, COUNTS, command)
    differing = tuple(_differences(state))
    migration = tuple(unfinished_migration(state))
    stale = [member for member in state.members if member.stale]
    unasked = _unasked(state)
    closed = [] if unasked else _closed(state)
    findings = (
        *migration,
        *differing,
        *map(_stale_finding, stale),
        *(() if unasked is None else (unasked,)),
        *map(_closed_finding, closed),
    )
    verdict = StatusVerdict.UNKNOWN if unasked else StatusVerdict.OK
    if migration or differing or stale or closed:
        verdict = StatusVerdict.WATCH
    possible = _possible_level(state)
    current = state.level(METADATA_VERSION)
    return area_of(
        AREA,
        verdict,
        joined(
            (
                "migration from ZooKeeper not finished" if migration else None,
                _agreement_text(differing, unasked, closed),
                _possible_text(current, possible),
                _stale_text(stale),
            )
        ),
        headlines=(finding.message for finding in findings),
        counts={
            "metadata_version": _name(current),
            "metadata_version_possible": None if possible is None else _name(possible),
            "stale_registrations": None if state.registrations is None else len(stale),
        },
        findings=findings,
        command=command,
    )


def _unasked(state: ClusterState) -> Finding | None:
    """Return a finding for the kind of nodes of which none is known, so that none was asked; None without one."""
    if not state.brokers_known:
        kind, why = "brokers", state.log_error
    elif not state.controllers_known:
        kind, why = "controllers", state.leader_error
    elif refused := _refused_controllers(state):
        kind, why = "controllers", refused[0].not_asked
    else:
        return None
    reason = "" if why is None else f" ({why.reason})"
    text = f"the levels of {kind} are not known{reason}: the other nodes agree"
    return warning("status-not-known", AREA, text, "" if why is None else why.step)


def _refused_controllers(state: ClusterState) -> list[Member]:
    """Return the controllers if none could be asked, and none is the process of a broker that answers."""
    brokers = {member.id for member in state.members if member.role is Role.BROKER and member.answered is not None}
    found = [member for member in state.members if member.role is Role.CONTROLLER and member.id not in brokers]
    is_refused = all(member.answers is None and member.not_asked is not None for member in found)
    return found if is_refused else []


def _agreement_text(differing: Sequence[Finding], unasked: Finding | None, closed: Sequence[Member]) -> str:
    if differing or unasked is not None:
        return "nodes differ" if differing or unasked is None else unasked.message
    if not closed:
        return "all nodes agree"
    return f"the asked nodes agree · not asked: {first_few([member.name for member in closed], _NAMES_SHOWN)}"


def _closed(state: ClusterState) -> list[Member]:
    """Return the nodes that could not be asked. A combined node that answers as a broker was asked."""
    asked = {member.id for member in state.members if member.answered is not None}
    return [member for member in state.members if member.not_asked and not member.stale and member.id not in asked]


def _closed_finding(member: Member) -> Finding:
    why = member.not_asked
    assert why is not None
    return warning("node-not-asked", member.name, f"{member.name} could not be asked: {why.reason}", why.step)


def _differences(state: ClusterState) -> Iterator[Finding]:
    yield from level_differences(state)
    by_release = _by_release(state)
    if len(by_release) > 1:
        held = [f"{release} on {', '.join(names)}" for release, names in by_release.items()]
        yield warning("node-releases-differ", "nodes", f"nodes run different releases: {'; '.join(held)}")


def _by_release(state: ClusterState) -> dict[str, list[str]]:
    """Return the names of live nodes by the release that they run, as far as it is known."""
    found: dict[str, list[str]] = {}
    for member in state.members:
        if member.answered is not None and member.release is not None:
            found.setdefault(member.release.name, []).append(member.name)
    return dict(sorted(found.items()))


def _possible_level(state: ClusterState) -> int | None:
    """Return the highest metadata.version that every node supports; None if the range of a node is not known."""
    if state.registrations is None and not state.brokers_known:
        return None
    highest = []
    for member in state.members:
        supported = (member.supported or {}).get(METADATA_VERSION)
        if supported is None:
            return None
        highest.append(supported.highest)
    return min(highest, default=None)


def _possible_text(current: int, possible: int | None) -> str:
    if possible is None:
        return "possible levels not known"
    if possible > current:
        return f"{_name(current)}, {_name(possible)} is possible"
    newest = newest_release()
    if newest.production_level > current:
        return f"{newest.name} needs newer binaries"
    return "highest level"


def _stale_text(stale: list[Member]) -> str | None:
    if len(stale) > 1:
        return f"{len(stale)} stale registrations"
    return f"stale registration of {stale[0].name}" if stale else None


def _stale_finding(member: Member) -> Finding:
    id = "stale-broker-registration" if member.role is Role.BROKER else "stale-controller-registration"
    text = f"{member.name} does not run and is registered: its levels count for every change"
    return warning(id, member.name, text, answers=member.answers)


def _name(level: int) -> str:
    return finalized_name(METADATA_VERSION, level) or str(level)
