"""Gates after the start of a node, which prove that the node is back. A registration alone does not prove it, nor does
the end of fencing.

A mark has the facts about the node before its stop: the incarnation of its registration and the end of the log. With a
mark the node has to have registered as a new process; without one its present registration counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kafkactl.core.findings import Finding, blocker
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.core.values import Role
from kafkactl.core.wording import first_few, numbered
from kafkactl.metadata.image.model import Broker
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.schema.record_versions import first_level_with
from kafkactl.protocol.schema.spec import Versions
from kafkactl.roll.case import RollCase
from kafkactl.roll.cluster_log import EventKind
from kafkactl.roll.gates import UNKNOWN, RollGate, gate_of, unsettled
from kafkactl.roll.liveness import MOST_LAG, is_alive
from kafkactl.roll.mark import NodeMark
from kafkactl.roll.observation import RollNode
from kafkactl.roll.partitions import shown
from kafkactl.roll.releases import is_same, registered_ranges, rules_of
from kafkactl.roll.rules.binaries import ranges

NEW_INCARNATION: Final = "new-incarnation"
UNFENCED: Final = "unfenced"
RANGES: Final = "ranges-of-the-release"
ISR_WHOLE: Final = "isr-whole"
CAUGHT_UP: Final = "metadata-caught-up"
QUORUM_SETTLED: Final = "quorum-settled"
AFTER: Final = (NEW_INCARNATION, UNFENCED, RANGES, ISR_WHOLE, CAUGHT_UP, QUORUM_SETTLED)


def mark_of(case: RollCase, node: RollNode) -> NodeMark:
    """Return the known facts about a node before its stop."""
    broker = case.image.brokers.get(node.id) if node.is_broker else None
    controller = case.image.controllers.get(node.id) if node.is_controller else None
    span = (registered_ranges(case.observation, node) or {}).get(METADATA_VERSION)
    log = case.observation.log
    return NodeMark(
        node_id=node.id,
        incarnation=None if broker is None else str(broker.incarnation_id),
        controller_incarnation=None if controller is None else str(controller.incarnation_id),
        metadata_max=None if span is None else span.highest,
        end_offset=None if log is None else log.end_offset,
    )


def gates_after(
    case: RollCase, node: RollNode, mark: NodeMark | None = None, *, release: Release | None = None
) -> tuple[RollGate, ...]:
    """Return the gates after the start of a node.

    `release` is that which it was started with; without one the release that it runs counts. With a mark every
    partition of the node has to be whole, without one the node itself has to be in every ISR.
    """
    found = (
        (NEW_INCARNATION, _new_incarnation(case, node, mark)),
        (UNFENCED, _unfenced(case, node)),
        (RANGES, _ranges(case, node, release)),
        (ISR_WHOLE, _isr_whole(case, node, is_strict=mark is not None)),
        (CAUGHT_UP, _caught_up(case, node)),
        (QUORUM_SETTLED, _quorum_settled(case, node)),
    )
    return tuple(gate_of(case, id, findings) for id, findings in found)


def _new_incarnation(case: RollCase, node: RollNode, mark: NodeMark | None) -> Iterator[Finding]:
    alive = is_alive(case, node.id)
    if alive is False:
        yield blocker(NEW_INCARNATION, node.name, f"{node.name} does not answer", node=node.id)
        return
    if alive is None:
        yield _unknown(NEW_INCARNATION, node, "was not asked if it is alive")
    if mark is None:
        return
    if node.is_broker and not case.has_log:
        yield _unknown(NEW_INCARNATION, node, "has an unknown registration: no metadata log was read")
        return
    if node.is_broker:
        broker = case.image.brokers.get(node.id)
        if broker is None or str(broker.incarnation_id) == mark.incarnation:
            text = f"{node.name} has not registered as a new process since the stop"
            yield blocker(NEW_INCARNATION, node.name, text, incarnation=mark.incarnation)
        return
    controller = case.image.controllers.get(node.id)
    if _controllers_register(case):
        if controller is None or str(controller.incarnation_id) == mark.controller_incarnation:
            text = f"{node.name} has not registered as a new process since the stop"
            yield blocker(NEW_INCARNATION, node.name, text, incarnation=mark.controller_incarnation)
        return
    quorum = case.observation.quorum_view
    replica = None if quorum is None else quorum.replica(node.id)
    end = None if replica is None else replica.log_end_offset
    if end is None or mark.end_offset is None:
        yield _unknown(
            NEW_INCARNATION, node, "does not register below metadata.version 3.7-IV0; its fetches are unknown"
        )
    elif end <= mark.end_offset:
        text = f"{node.name} has not fetched past offset {mark.end_offset}, the end of the log before its stop"
        yield blocker(NEW_INCARNATION, node.name, text, log_end_offset=end)


def _controllers_register(case: RollCase) -> bool:
    level = case.image.metadata_version
    return level is not None and level >= first_level_with("controllers")


def _unfenced(case: RollCase, node: RollNode) -> Iterator[Finding]:
    if not node.is_broker:
        return
    if not case.has_log:
        yield _unknown(UNFENCED, node, "has an unknown registration: no metadata log was read")
        return
    broker = case.image.brokers.get(node.id)
    state = _lacks(broker)
    if state:
        yield blocker(UNFENCED, node.name, f"{node.name} {state}", **since(case, node, broker))


def _lacks(broker: Broker | None) -> str:
    if broker is None:
        return "is not registered"
    if broker.in_controlled_shutdown:
        return "is in controlled shutdown"
    return "is registered and fenced" if broker.fenced else ""


def since(case: RollCase, node: RollNode, broker: Broker | None) -> dict[str, Any]:
    """Return as evidence what the registration of a broker lacks, and since when."""
    log = case.observation.log
    events = () if log is None else log.events_of(node.id, Role.BROKER)
    wanted = (EventKind.STOPPING, EventKind.FENCED, EventKind.REGISTERED, EventKind.UNREGISTERED)
    dated = (event for event in reversed(events) if event.kind in wanted and event.at_ms is not None)
    last = next(dated, None)
    return {
        "node": node.id,
        "registered": broker is not None,
        "fenced": None if broker is None else broker.fenced,
        "in_controlled_shutdown": None if broker is None else broker.in_controlled_shutdown,
        "since_ms": None if last is None else last.at_ms,
    }


def _ranges(case: RollCase, node: RollNode, release: Release | None) -> Iterator[Finding]:
    """Report a registered range, or a running release, that is not that of the release."""
    running = case.versions.get(node.id)
    if release is not None and running is not None and not is_same(running, release.version):
        text = f"{node.name} runs Kafka {running}, expected Kafka {release.version_text}"
        yield blocker(RANGES, node.name, text, found=str(running), expected=release.version_text)
    wanted = release or rules_of(running)
    registered = _own_ranges(case, node)
    span = None if registered is None else registered.get(METADATA_VERSION)
    if wanted is None or span is None or not _allows(span, wanted):
        if wanted is not None and span is not None:
            own = ranges(wanted)[METADATA_VERSION]
            text = (
                f"{node.name} registered metadata.version {span.lowest} to {span.highest}; Kafka {wanted.version_text} "
                f"has {own.lowest} to {own.highest}"
            )
            yield blocker(RANGES, node.name, text, min=span.lowest, max=span.highest, release=wanted.version_text)
        elif release is not None:
            yield _unknown(RANGES, node, "has not shown its feature ranges")


def _own_ranges(case: RollCase, node: RollNode) -> dict[str, Versions] | None:
    found = registered_ranges(case.observation, node)
    if found is None and not node.is_broker:  # a controller below 3.7-IV0 does not register
        return None if node.features is None else dict(node.features)
    return found


def _allows(span: Versions, release: Release) -> bool:
    """Return True if a node of the release registers this range; one that allows unstable levels has a longer one."""
    stable = ranges(release)[METADATA_VERSION]
    unstable = Versions(release.lowest_supported_level, release.testing_level)
    return span in (stable, unstable)


def _isr_whole(case: RollCase, node: RollNode, *, is_strict: bool) -> Iterator[Finding]:
    if not node.is_broker:
        return
    if not case.has_log:
        yield _unknown(ISR_WHOLE, node, "has unknown ISRs: no metadata log was read")
        return
    held = case.partitions.with_replica([node.id])
    lacking = [
        part
        for part in held
        if node.id not in part.isr or (is_strict and not part.is_whole and not case.lacks_only_absent(part))
    ]
    if lacking:
        names = first_few([partition.name for partition in lacking])
        missing = sorted({id for partition in lacking for id in partition.missing})
        verb = "is" if len(missing) == 1 else "are"
        text = f"{numbered('broker', missing)} {verb} not in sync for {names}, of which {node.name} has replicas"
        if all(node.id not in partition.isr for partition in lacking):
            text = f"{node.name} is not in the ISR of {names}"
        yield blocker(ISR_WHOLE, node.name, text, **shown(lacking))


def _caught_up(case: RollCase, node: RollNode) -> Iterator[Finding]:
    """Report a fetch position before the offset at which the node was unfenced."""
    quorum, log = case.observation.quorum_view, case.observation.log
    if quorum is None:
        yield _unknown(CAUGHT_UP, node, "has an unknown fetch position: the quorum was not observed")
        return
    if not quorum.has_leader or node.id == quorum.leader_id:
        return
    replica = quorum.replica(node.id)
    if replica is None:
        yield blocker(CAUGHT_UP, node.name, f"{node.name} does not fetch the metadata log", node=node.id)
        return
    end = replica.log_end_offset
    events = () if log is None else log.events_of(node.id, Role.BROKER)
    unfenced = max((event.offset for event in events if event.kind is EventKind.UNFENCED), default=None)
    if end is None:
        yield _unknown(CAUGHT_UP, node, "has an unknown fetch position")
    elif (unfenced is not None and end <= unfenced) or (replica.lag or 0) > MOST_LAG:
        text = f"{node.name} has fetched the metadata log to offset {end}, {replica.lag} records behind the leader"
        yield blocker(CAUGHT_UP, node.name, text, log_end_offset=end, lag=replica.lag, unfenced_at=unfenced)


def _quorum_settled(case: RollCase, node: RollNode) -> Iterator[Finding]:
    """Report a quorum without one leader, and a node that does not fetch from it."""
    quorum = case.observation.quorum_view
    if quorum is None:
        yield _unknown(QUORUM_SETTLED, node, "fetches from an unknown leader: the quorum was not observed")
        return
    if not quorum.has_leader:
        yield blocker(QUORUM_SETTLED, "quorum", "the quorum has no leader", leader_epoch=quorum.leader_epoch)
        return
    for text, evidence in unsettled(case):
        yield blocker(QUORUM_SETTLED, "quorum", text, **evidence)
    if node.id == quorum.leader_id:
        return
    replica = quorum.replica(node.id)
    if replica is None or replica.alive is False:
        text = f"{node.name} does not fetch from the leader, controller {quorum.leader_id}"
        yield blocker(QUORUM_SETTLED, node.name, text, node=node.id)
    elif replica.alive is None and node.is_controller:
        yield _unknown(QUORUM_SETTLED, node, "was not observed to fetch from the leader")


def _unknown(id: str, node: RollNode, text: str) -> Finding:
    evidence: dict[str, Any] = {UNKNOWN: True, "node": node.id}
    return blocker(id, node.name, f"{node.name} {text}", **evidence)
