"""Gates before a stop and after a start, as findings on one observation.

A gate has passed if none of its findings is a blocker, in two observations. What is unknown is a blocker with
`unknown` in its evidence: it does not pass a gate, and does not forbid a stop for certain either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from kafkactl.cluster.quorum.majority import arithmetic
from kafkactl.core.answers import by_fields
from kafkactl.core.findings import Finding, Severity, blocker, blockers, each_once, warning
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.wording import first_few, numbered
from kafkactl.roll.access import step_to_know
from kafkactl.roll.case import RollCase
from kafkactl.roll.liveness import VoterCount, count_fetching, count_voters, is_alive, is_majority_down
from kafkactl.roll.partitions import RollPartition, shown

UNKNOWN: Final = "unknown"

OTHERS_ARE_ALIVE: Final = "others-are-alive"
ISR_SURVIVES: Final = "isr-survives"
MAJORITY_SURVIVES: Final = "majority-survives"
OTHERS_ARE_UP: Final = "nobody-else-is-down"
NOTHING_MOVES: Final = "nothing-moves"
BEFORE: Final = (OTHERS_ARE_ALIVE, ISR_SURVIVES, MAJORITY_SURVIVES, OTHERS_ARE_UP, NOTHING_MOVES)

PARTITION_STOPS: Final = "partition-stops-while-down"
WITHOUT_SPARE: Final = "quorum-without-spare"
_PAIR: Final = 2


@frozen
class RollGate:
    """A gate of a step. `passed` is None if it was not evaluated, or evidence is missing."""

    id: str
    passed: bool | None
    findings: tuple[Finding, ...] = ()

    to_dict = by_fields


def gate_of(case: RollCase, id: str, findings: Iterable[Finding]) -> RollGate:
    """Return a gate with its findings; the step of an unknown one makes it known, and changes nothing."""
    found = each_once(
        changed(finding, next_step=step_to_know(case.observation, finding.evidence.get("node")))
        if is_unknown(finding) and not finding.next_step
        else finding
        for finding in findings
    )
    return RollGate(id=id, passed=passes(found), findings=found)


def passes(findings: Iterable[Finding]) -> bool | None:
    """Return True without a blocker, False with one that is certain, None if the only blockers are unknowns."""
    stopping = blockers(findings)
    if any(not finding.evidence.get(UNKNOWN) for finding in stopping):
        return False
    return None if stopping else True


def gates_before(case: RollCase, node_ids: Collection[int]) -> tuple[RollGate, ...]:
    """Return the gates before the stop of these nodes, which are stopped together."""
    ids = frozenset(node_ids)
    found = (
        (OTHERS_ARE_ALIVE, _others_are_alive(case, ids)),
        (ISR_SURVIVES, _isr_survives(case, ids)),
        (MAJORITY_SURVIVES, _majority_survives(case, ids)),
        (OTHERS_ARE_UP, _others_are_up(case, ids)),
        (NOTHING_MOVES, nothing_moves(case)),
    )
    return tuple(gate_of(case, id, findings) for id, findings in found)


def _others_are_alive(case: RollCase, ids: frozenset[int]) -> Iterator[Finding]:
    """Report brokers that keep partitions of the stopped ones and do not answer."""
    if not case.has_log:
        yield _unknown(OTHERS_ARE_ALIVE, "cluster", "no metadata log was read, so the brokers of the ISRs are unknown")
        return
    leaned = {id for partition in case.partitions.with_replica(ids) for id in partition.isr if ids & set(partition.isr)}
    for broker_id in sorted(leaned - ids):
        alive = is_alive(case, broker_id)
        subject = f"broker {broker_id}"
        if alive is False:
            text = f"{subject} does not answer, and shares partitions with {_names(ids)}"
            yield blocker(OTHERS_ARE_ALIVE, subject, text, node=broker_id)
        elif alive is None:
            text = f"{subject} shares partitions with {_names(ids)} and was not asked if it is alive"
            yield _unknown(OTHERS_ARE_ALIVE, subject, text, node=broker_id)
    yield from _voters_are_asked(case, ids)
    yield from _are_asked_themselves(case, ids)


def _are_asked_themselves(case: RollCase, ids: frozenset[int]) -> Iterator[Finding]:
    """Report nodes that kafkactl could not ask: a stop of such a node would never be followed by a proved return."""
    for node in case.observation.nodes:
        if node.id in ids and is_alive(case, node.id) is None:
            text = f"{node.name} was not asked if it is alive, so its return after a stop could not be proved"
            yield _unknown(OTHERS_ARE_ALIVE, node.name, text, node=node.id)


def _voters_are_asked(case: RollCase, ids: frozenset[int]) -> Iterator[Finding]:
    """Report voters that the majority needs and that did not answer at their own address; a sole voter needs none."""
    count = count_voters(case)
    if count is None or not ids & set(count.voters) or len(count.voters) == 1:
        return
    rest = count.alive - ids
    silent = [id for id in sorted(rest) if is_alive(case, id) is None]
    if len(rest) >= count.needed > len(rest) - len(silent):
        for voter_id in silent:
            subject = f"controller {voter_id}"
            text = f"the majority without {_names(ids)} needs {subject}, which was not asked if it is alive"
            yield _unknown(OTHERS_ARE_ALIVE, subject, text, node=voter_id)


def _isr_survives(case: RollCase, ids: frozenset[int]) -> Iterator[Finding]:
    """Report partitions that do not keep enough replicas in sync, or are not whole before the stop."""
    if not case.has_log:
        yield _unknown(ISR_SURVIVES, "cluster", "no metadata log was read, so the ISRs are unknown")
        return
    held = [partition for partition in case.partitions.with_replica(ids) if ids & set(partition.isr)]
    broken = [partition for partition in held if not partition.is_whole]
    excused = [part for part in broken if case.lacks_only_absent(part) and part.keeps_enough(ids)]
    for partitions, make in (([part for part in broken if part not in excused], blocker), (excused, warning)):
        if partitions:
            names = first_few([partition.name for partition in partitions])
            text = f"replicas of {names} are not in sync: {_missing(partitions)}"
            yield make(ISR_SURVIVES, _names(ids), text, **shown(partitions))
    whole = [partition for partition in held if partition.is_whole]
    together = [
        partition
        for partition in whole
        if not partition.keeps_enough(ids) and not (partition.always_stops and len(ids & set(partition.isr)) == 1)
    ]
    if together:
        names = first_few([partition.name for partition in together])
        text = f"without {_names(ids)} the ISR of {names} is smaller than min.insync.replicas"
        yield blocker(ISR_SURVIVES, _names(ids), text, **shown(together))
    yield from stops_while_down(whole, ids)


def stops_while_down(partitions: Iterable[RollPartition], ids: frozenset[int]) -> Iterator[Finding]:
    """Yield a warning about partitions that cannot do without these nodes."""
    stopping = [partition for partition in partitions if partition.always_stops and ids & set(partition.replicas)]
    if stopping:
        names = first_few([partition.name for partition in stopping])
        text = f"{names}: writes with acks=all stop, or the partition has no leader, while {_names(ids)} is down"
        yield warning(PARTITION_STOPS, _names(ids), text, **shown(stopping))


def _majority_survives(case: RollCase, ids: frozenset[int]) -> Iterator[Finding]:
    """Report that the other living and caught-up voters are not a majority; a sole voter has no others."""
    quorum = case.observation.quorum_view
    if quorum is not None and not quorum.has_leader:
        text = "the quorum has no leader: a stop would wait for one, and be carried out when it is elected"
        yield blocker(MAJORITY_SURVIVES, "quorum", text)
        return
    if quorum is None and is_majority_down(case):
        text = "no majority of the controllers answers: a stop would wait for a leader"
        yield blocker(MAJORITY_SURVIVES, "quorum", text)
        return
    if quorum is None:
        yield _unknown(MAJORITY_SURVIVES, "quorum", "the quorum was not observed, so its leader and voters are unknown")
    count = count_voters(case)
    if count is None:
        return
    stopped = ids & set(count.voters)
    if not stopped:
        yield from _leader_keeps_majority(case)
        return
    if len(count.voters) == 1:
        text = f"controller {count.voters[0]} is the only voter: nothing commits while it is down"
        yield warning(WITHOUT_SPARE, f"controller {count.voters[0]}", text, voters=list(count.voters))
        return
    remain = count.remain(stopped)
    rest = arithmetic(count.voters, count.alive - stopped)
    text = f"without {_names(stopped)} the living, caught-up voters are not a majority: {rest}"
    evidence: dict[str, Any] = {
        "voters": list(count.voters),
        "alive": sorted(count.alive - stopped),
        "needed": count.needed,
    }
    if remain is False:
        is_accepted = WITHOUT_SPARE in case.request.accepted and is_pair(count, stopped)
        make = warning if is_accepted else blocker
        yield make(MAJORITY_SURVIVES, "quorum", text, **evidence)
    elif remain is None:
        text = f"without {_names(stopped)} no majority is proved alive: {rest}"
        yield _unknown(MAJORITY_SURVIVES, "quorum", text, **evidence)


def is_pair(count: VoterCount | None, stopped: Collection[int]) -> bool:
    """Return True if one of two living voters is stopped: nothing commits meanwhile, which an operator may accept."""
    return (
        count is not None
        and len(set(stopped) & set(count.voters)) == 1
        and len(count.voters) == len(count.alive) == _PAIR
    )


def _leader_keeps_majority(case: RollCase) -> Iterator[Finding]:
    """Report that the leader itself has no majority: a controlled shutdown of a broker waits for one that has.

    Here a fetch that the leader observed is enough, because no voter is stopped.
    """
    count = None if case.observation.quorum_view is None else count_fetching(case)
    if count is None:
        return
    remain = count.remain(())
    rest = arithmetic(count.voters, count.alive)
    evidence: dict[str, Any] = {"voters": list(count.voters), "alive": sorted(count.alive), "needed": count.needed}
    if remain is False:
        text = f"the living, caught-up voters are not a majority, so a controlled shutdown waits: {rest}"
        yield blocker(MAJORITY_SURVIVES, "quorum", text, **evidence)
    elif remain is None:
        yield _unknown(MAJORITY_SURVIVES, "quorum", f"no majority of the voters is proved alive: {rest}", **evidence)


def _others_are_up(case: RollCase, ids: frozenset[int]) -> Iterator[Finding]:
    """Report other brokers that are fenced, in controlled shutdown or silent, and another open step."""
    if not case.has_log:
        yield _unknown(OTHERS_ARE_UP, "cluster", "no metadata log was read, so the registrations are unknown")
    for broker_id, reason in down_brokers(case).items():
        if broker_id not in ids:
            subject = f"broker {broker_id}"
            make = warning if broker_id in case.request.skip else blocker
            yield make(OTHERS_ARE_UP, subject, f"{subject} {reason}", node=broker_id)
    step = None if case.record is None else case.record.open_step
    if step is not None and not ids & set(step.nodes):
        text = f"step {step.number} ({step.action}) of {_names(step.nodes)} is open in the journal"
        yield blocker(OTHERS_ARE_UP, "journal", text, step=step.number, nodes=list(step.nodes))
    for node in case.observation.nodes:
        if node.id not in ids and node.alive is False and not node.is_broker:
            text = f"{node.name} does not answer"
            yield warning(OTHERS_ARE_UP, node.name, text, node=node.id)


def down_brokers(case: RollCase) -> dict[int, str]:
    """Return the brokers that are not there, with the reason, but for registrations of brokers that are gone."""
    found: dict[int, str] = {}
    stale = stale_brokers(case)
    for broker_id, broker in sorted(case.image.brokers.items()):
        if broker_id in stale:
            continue
        silent = is_alive(case, broker_id) is False
        if broker.fenced:
            found[broker_id] = "does not answer and is fenced" if silent else "is fenced"
        elif broker.in_controlled_shutdown:
            found[broker_id] = "was stopped and does not answer" if silent else "is in controlled shutdown"
        elif silent:
            found[broker_id] = "does not answer"
    for node in case.observation.brokers:
        if case.has_log and node.id not in case.image.brokers:
            found[node.id] = "is not registered"
    return found


def stale_brokers(case: RollCase) -> frozenset[int]:
    """Return the brokers that are registered and gone: fenced, silent, and not among the nodes of the roll."""
    known = {node.id for node in case.observation.nodes}
    return frozenset(
        broker_id
        for broker_id, broker in case.image.brokers.items()
        if broker_id not in known and broker.fenced and not is_alive(case, broker_id)
    )


def nothing_moves(case: RollCase) -> Iterator[Finding]:
    """Report reassignments, and a leader of the quorum that changed within the observation."""
    if not case.has_log:
        yield _unknown(NOTHING_MOVES, "cluster", "no metadata log was read, so reassignments are unknown")
    if case.observation.quorum_view is None:
        yield _unknown(NOTHING_MOVES, "quorum", "the quorum was not observed, so its leader epoch is unknown")
    moving = case.partitions.moving
    if moving:
        text = f"{first_few([partition.name for partition in moving])}: a reassignment adds or removes replicas"
        yield blocker(NOTHING_MOVES, "cluster", text, **shown(moving))
    for text, evidence in unsettled(case):
        yield blocker(NOTHING_MOVES, "quorum", text, **evidence)


def unsettled(case: RollCase) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the signs that the leader epoch moved within the observation, with evidence."""
    quorum, log = case.observation.quorum_view, case.observation.log
    if quorum is None or quorum.leader_epoch is None:
        return
    epochs = set(quorum.asked_epochs) | {quorum.leader_epoch}
    last = max((event.epoch for event in log.leaders), default=None) if log is not None else None
    if last is not None and last > quorum.leader_epoch:
        epochs.add(last)
    if len(epochs) > 1:
        listed = sorted(epochs)
        yield f"the leader epoch moved within the observation: {', '.join(map(str, listed))}", {"epochs": listed}


def _missing(partitions: Iterable[RollPartition]) -> str:
    ids = sorted({replica for partition in partitions for replica in partition.missing})
    return numbered("broker", ids)


def _names(ids: Collection[int]) -> str:
    return numbered("node", sorted(ids))


def _unknown(id: str, subject: str, message: str, **evidence: Any) -> Finding:
    evidence[UNKNOWN] = True
    return blocker(id, subject, message, **evidence)


def is_unknown(finding: Finding) -> bool:
    """Return True if a finding is about missing evidence."""
    return finding.severity is Severity.BLOCKER and bool(finding.evidence.get(UNKNOWN))
