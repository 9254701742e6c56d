"""The area `brokers`: registered, in service, fenced, silent, and ids in replicas that are not registered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.cluster.node import NotAsked, Silence
from kafkactl.cluster.state import ClusterState, Member
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.status.answer import AreaStatus, StatusVerdict
from kafkactl.status.next_command import Target
from kafkactl.status.observation import Observation, ObservedNodes
from kafkactl.status.parts import area_of, ids_text, joined, unknown_area

AREA: Final = "brokers"
COUNTS: Final = ("registered", "in_service", "fenced", "silent", "unregistered")


@frozen
class _Brokers:
    """Ids of brokers; `fenced` and `unregistered` are None if they are not known."""

    registered: frozenset[int] | None
    in_service: frozenset[int]
    fenced: frozenset[int] | None
    silent: frozenset[int]
    stopping: frozenset[int]
    unregistered: frozenset[int] | None
    doubted: frozenset[int]
    """Silent brokers that may serve others: they fetch the metadata log, or no connection from here is possible."""
    left: frozenset[int]
    """Brokers in ZooKeeper mode after the end of the migration: writes to their partitions time out."""
    not_copied: NotAsked | None
    """Reason why others may be in service of which the metadata log knows nothing."""

    @property
    def are_out(self) -> bool:
        """Return True if no broker serves clients, as far as that can be observed from here."""
        return not (self.in_service or self.stopping or self.doubted or self.not_copied)


def brokers_area(observation: Observation, target: Target) -> AreaStatus:
    """Return the status of the brokers."""
    command = target.command(["nodes", "list"])
    nodes = observation.nodes
    if isinstance(nodes, NotAsked):
        return unknown_area(AREA, nodes, COUNTS, target.command(["quorum", "describe"]))
    brokers = _brokers(nodes, observation)
    if isinstance(brokers, NotAsked):
        return unknown_area(AREA, brokers, COUNTS, command)
    unanswered = [finding for finding in nodes.findings if finding.id == "bootstrap-node-silent"]
    findings = [*_own_findings(brokers, nodes), *_silent_findings(nodes, brokers), *unanswered]
    is_weak = bool(brokers.fenced or brokers.silent or brokers.stopping or brokers.unregistered or unanswered)
    is_problem = bool(brokers.are_out or brokers.left)
    verdict = StatusVerdict.PROBLEM if is_problem else StatusVerdict.WATCH if is_weak else StatusVerdict.OK
    if brokers.not_copied is not None:
        command = target.migration_command()
        verdict = StatusVerdict.UNKNOWN if verdict is StatusVerdict.OK else verdict
        findings.append(warning("status-not-known", AREA, brokers.not_copied.reason, brokers.not_copied.step))
    elif verdict is StatusVerdict.OK and brokers.fenced is None:
        verdict = StatusVerdict.UNKNOWN
        why = nodes.state.log_error
        text = "brokers of this release name only those in service: which brokers are fenced is not known"
        findings.append(warning("status-not-known", AREA, text, "" if why is None else why.step))
    return area_of(
        AREA,
        verdict,
        joined((_text(brokers), *(f"no answer at {finding.subject}" for finding in unanswered))),
        headlines=[*_headlines(brokers), *(finding.message for finding in unanswered)],
        counts=_counts(brokers),
        findings=tuple(findings),
        command=command,
    )


def _brokers(nodes: ObservedNodes, observation: Observation) -> _Brokers | NotAsked:
    members = {member.id: member for member in nodes.state.members if member.role is Role.BROKER}
    fenced: frozenset[int] | None
    registered: frozenset[int] | None
    if nodes.state.registrations is not None:
        registered = frozenset(nodes.state.registrations.brokers)
        fenced = frozenset(id for id in registered if members[id].fenced)
    elif nodes.fenced is not None:
        has_fence = None not in nodes.fenced.values()
        registered = frozenset(nodes.fenced) if has_fence else None
        fenced = frozenset(id for id, held in nodes.fenced.items() if held) if has_fence else None
    else:
        return nodes.state.log_error or NotAsked(
            reason="neither the metadata log nor a broker names the brokers",
            step="Name brokers with --bootstrap-server, or a login that may read the metadata log.",
        )
    named = registered if registered is not None else frozenset(nodes.fenced or ())
    unfenced = named - (fenced or frozenset())
    silent = frozenset(id for id in unfenced if _is_silent(members.get(id)))
    stopping = _stopping(nodes) & unfenced - silent
    left = nodes.state.left_on_zookeeper & unfenced - silent - stopping
    return _Brokers(
        registered=registered,
        in_service=unfenced - silent - stopping - left,
        fenced=fenced,
        silent=silent,
        stopping=stopping,
        unregistered=_unregistered(registered, observation),
        left=left,
        not_copied=observation.not_copied,
        doubted=frozenset(id for id in silent if members[id].fetches or members[id].silence is Silence.UNREACHED),
    )


def _is_silent(member: Member | None) -> bool:
    return member is not None and member.answers is False


def _stopping(nodes: ObservedNodes) -> frozenset[int]:
    """Return the brokers in controlled shutdown, which only the metadata log names."""
    known = {} if nodes.state.registrations is None else nodes.state.registrations.brokers
    return frozenset(id for id, broker in known.items() if broker.in_controlled_shutdown)


def _unregistered(registered: frozenset[int] | None, observation: Observation) -> frozenset[int] | None:
    if registered is None or isinstance(observation.partitions, NotAsked) or observation.not_copied is not None:
        return None
    return observation.partitions.health.replicas_on - registered


def _counts(brokers: _Brokers) -> dict[str, int | None]:
    found = {name: _count(getattr(brokers, name)) for name in COUNTS}
    if brokers.not_copied is not None:
        found["in_service"] = None  # the log has those that entered the migration only
    return found


def _count(ids: frozenset[int] | None) -> int | None:
    return None if ids is None else len(ids)


def _text(brokers: _Brokers) -> str:
    of = "" if brokers.registered is None else f" of {len(brokers.registered)}"
    return joined(
        (
            f"{len(brokers.in_service)}{of} in service",
            f"{ids_text(brokers.fenced)} fenced" if brokers.fenced else None,
            f"{ids_text(brokers.silent)} silent" if brokers.silent else None,
            f"{ids_text(brokers.stopping)} shutting down" if brokers.stopping else None,
            f"{ids_text(brokers.left)} in ZooKeeper mode" if brokers.left else None,
            f"{ids_text(brokers.unregistered)} not registered" if brokers.unregistered else None,
            "only those that entered the migration" if brokers.not_copied is not None else None,
            "fenced ones not known" if brokers.fenced is None else None,
        )
    )


def _headlines(brokers: _Brokers) -> Iterator[str]:
    if brokers.left:
        yield f"{_named(brokers.left)} in ZooKeeper mode although the migration is finalized"
    if brokers.are_out:
        yield "no broker is in service"
    if brokers.fenced:
        yield f"{_named(brokers.fenced)} fenced: the controller gets no heartbeat"
    if brokers.silent:
        yield f"{_named(brokers.silent)} silent: no answer, and not fenced"
    if brokers.stopping:
        yield f"{_named(brokers.stopping)} shutting down"
    if brokers.fenced is None:
        yield "which brokers are fenced is not known"
    if brokers.not_copied is not None:
        yield f"the state of brokers is not known: {brokers.not_copied.reason}"
    if brokers.unregistered:
        yield f"{_named(brokers.unregistered)} not registered, and partitions have replicas there"


def _named(ids: frozenset[int]) -> str:
    return f"broker {ids_text(ids)} is" if len(ids) == 1 else f"brokers {ids_text(ids)} are"


def _own_findings(brokers: _Brokers, nodes: ObservedNodes) -> Iterator[Finding]:
    for id in sorted(brokers.left):
        text = "the migration is finalized, and it still runs in ZooKeeper mode: it learns nothing new, and writes with"
        yield blocker("finalized-with-zookeeper-broker", f"broker {id}", f"{text} acks=all to its partitions time out")
    if brokers.are_out:
        text = "no broker is registered" if not brokers.registered else "every registered broker is fenced or silent"
        yield blocker("no-broker-in-service", "brokers", text)
    for id in sorted(brokers.fenced or ()):
        stale = _member(nodes.state, id)
        known = ", and it does not answer" if stale is not None and stale.answers is False else ""
        yield warning(
            "broker-fenced",
            f"broker {id}",
            f"broker {id} is fenced{known}",
            "Start it, or look in its log if it runs: it sends the active controller no heartbeat.",
        )
    for id in sorted(brokers.stopping):
        yield warning("broker-shutting-down", f"broker {id}", f"broker {id} is in controlled shutdown and still runs")
    for id in sorted(brokers.unregistered or ()):
        yield warning(
            "replica-on-unregistered-broker", f"broker {id}", f"partitions have replicas on broker {id}, which is not"
            " registered",
        )  # fmt: skip


def _silent_findings(nodes: ObservedNodes, brokers: _Brokers) -> Iterator[Finding]:
    names = {f"broker {id}" for id in brokers.silent}
    return (finding for finding in nodes.findings if finding.subject in names)


def _member(state: ClusterState, id: int) -> Member | None:
    return next((member for member in state.members if member.role is Role.BROKER and member.id == id), None)
