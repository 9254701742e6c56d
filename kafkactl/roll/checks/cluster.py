"""Checks of the cluster as it is now: ISRs, brokers, quorum, movement, registrations of nodes that are gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kafkactl.cluster.quorum.majority import arithmetic
from kafkactl.core.findings import Finding, Severity, blocker, blockers, warning
from kafkactl.core.frozen import changed
from kafkactl.core.wording import first_few, numbered, plural
from kafkactl.roll.case import RollCase
from kafkactl.roll.checks.row import CheckRow, RollFinding, about
from kafkactl.roll.gates import (
    PARTITION_STOPS,
    WITHOUT_SPARE,
    down_brokers,
    is_unknown,
    stale_brokers,
    stops_while_down,
    unsettled,
)
from kafkactl.roll.liveness import VoterCount, count_voters, is_alive, is_majority_down
from kafkactl.roll.partitions import RollPartition, shown
from kafkactl.roll.start_gates import gates_after, since


def _brokers(case: RollCase) -> frozenset[int]:
    """Return the brokers of the roll."""
    return frozenset(node.id for node in case.nodes if node.is_broker)


def check_isr(case: RollCase) -> Iterator[RollFinding]:
    """Find partitions of the roll's brokers with a replica that is not in sync."""
    brokers = _brokers(case)
    lacking = [partition for partition in case.partitions.with_replica(brokers) if not partition.is_whole]
    excused: list[RollPartition] = []
    rest: list[RollPartition] = []
    for partition in lacking:
        (excused if _is_excused(case, partition, brokers) else rest).append(partition)
    for partitions, make in ((rest, blocker), (excused, warning)):
        if partitions:
            names = first_few([partition.name for partition in partitions])
            ids = sorted({replica for partition in partitions for replica in partition.missing})
            text = f"{names}: not in sync on {numbered('broker', ids)}"
            subject = f"{len(partitions)} {plural('partition', len(partitions))}"
            found = make("isr-not-whole", subject, text, "", brokers=ids, **shown(partitions))
            yield about(found, sorted(set(ids) & {node.id for node in case.observation.nodes}))


def _is_excused(case: RollCase, partition: RollPartition, brokers: frozenset[int]) -> bool:
    """Return True if the missing replicas are on brokers that are left out or not registered, and any one broker of
    the roll can be stopped."""
    return case.lacks_only_absent(partition) and all(
        partition.keeps_enough([broker]) for broker in brokers & set(partition.isr)
    )


def check_brokers(case: RollCase) -> Iterator[RollFinding]:
    """Find brokers that are fenced, in controlled shutdown, silent, or not registered."""
    for broker_id, reason in down_brokers(case).items():
        node = case.observation.node(broker_id)
        make = warning if broker_id in case.request.skip else blocker
        evidence = {} if node is None else since(case, node, case.image.brokers.get(broker_id))
        text = f"broker {broker_id} {reason}"
        yield about(make("broker-down", f"broker {broker_id}", text, _start_it(broker_id), **evidence), [broker_id])


def _start_it(broker_id: int) -> str:
    return (
        f"Start broker {broker_id}, or leave it out of the roll (--skip {broker_id}); if it is permanently lost, move "
        "its replicas away and unregister it."
    )


def check_back(case: RollCase) -> Iterator[RollFinding]:
    """Find nodes whose process runs and that are not back: not registered, fenced, out of an ISR, or behind."""
    for node in case.observation.nodes:
        if not is_alive(case, node.id):
            continue
        failing = [
            finding
            for gate in gates_after(case, node)
            for finding in blockers(gate.findings)
            if not is_unknown(finding) and finding.subject != "quorum"
        ]
        if failing:
            make = warning if node.id in case.request.skip else blocker
            evidence = since(case, node, case.image.brokers.get(node.id)) if node.is_broker else {"node": node.id}
            lacks = [finding.id for finding in failing]
            text = f"the process of {node.name} runs, and the node is not back: "
            text += "; ".join(finding.message for finding in failing)
            yield about(make("node-not-back", node.name, text, "", **{**evidence, "lacks": lacks}), [node.id])


def check_movement(case: RollCase) -> Iterator[RollFinding]:
    """Find reassignments and elections in progress."""
    moving = case.partitions.moving
    if moving:
        text = f"{first_few([partition.name for partition in moving])}: replicas are added or removed"
        yield about(blocker("reassignment-running", "cluster", text, "", **shown(moving)))
    for text, evidence in unsettled(case):
        yield about(blocker("election-unsettled", "quorum", text, "", **evidence))


def check_quorum(case: RollCase) -> Iterator[RollFinding]:
    """Find stops of voters after which the living, caught-up voters are not a majority."""
    quorum = case.observation.quorum_view
    if (not quorum.has_leader) if quorum is not None else is_majority_down(case):
        text = "the quorum has no leader: a stop waits for one, and is carried out when it is elected"
        concerned = case.voter_ids or [node.id for node in case.observation.controllers]
        yield about(blocker(WITHOUT_SPARE, "quorum", text, "Start voters until a majority answers."), concerned)
        return
    count = count_voters(case)
    rolled = [node.id for node in case.nodes if count is not None and node.id in count.voters]
    if count is None or not rolled:
        return
    if len(count.voters) <= 2:
        size = len(count.voters)
        text = f"the quorum has {size} {plural('voter', size)}: nothing commits while one of them is down"
        found = changed(_spare(warning, text, count, rolled), next_step=_SPARE_STEP)
        yield about(found, rolled)
        return
    lost = [voter for voter in rolled if count.remain({voter}) is False]
    unproved = [voter for voter in rolled if count.remain({voter}) is None]
    if lost:
        rest = arithmetic(count.voters, count.alive - {lost[0]})
        text = f"without {_any_of(lost)} the living, caught-up voters are not a majority: {rest}"
        yield about(_spare(blocker, text, count, lost), lost)
    elif unproved:
        rest = arithmetic(count.voters, count.alive - {unproved[0]})
        text = f"without {_any_of(unproved)} no majority is proved alive: {rest}; unknown {sorted(count.unknown)}"
        yield about(_spare(blocker, text, count, unproved), unproved)


_SPARE_STEP: Final = (
    "Choose a time at which no topic is created and no leader has to move, and accept the warning; or add voters first."
)


def _any_of(voters: Sequence[int]) -> str:
    return f"voter {voters[0]}" if len(voters) == 1 else f"any one of voters {', '.join(map(str, voters))}"


def _spare(make: Callable[..., Finding], text: str, count: VoterCount, concerned: Sequence[int]) -> Finding:
    return make(
        WITHOUT_SPARE,
        "quorum",
        text,
        "",
        voters=list(count.voters),
        alive=sorted(count.alive),
        unknown_voters=sorted(count.unknown),
        needed=count.needed,
        stopped=list(concerned),
    )


def check_outage(case: RollCase) -> Iterator[RollFinding]:
    """Find partitions for which the restart itself is an outage: one replica, or as many as min.insync.replicas."""
    brokers = _brokers(case)
    stopping = case.partitions.with_replica(brokers)
    for finding in stops_while_down(stopping, brokers):
        concerned = {id for part in stopping if part.always_stops for id in part.replicas}
        count = finding.evidence["total"]
        text = f"{count} {plural('partition', count)} cannot do without any one replica (one replica, or no more than "
        text += f"min.insync.replicas): {first_few(finding.evidence['partitions'])}"
        found = Finding(
            id=PARTITION_STOPS, severity=Severity.WARNING, subject="partitions", message=text, evidence=finding.evidence
        )
        yield about(found, sorted(concerned & brokers))


def check_stale(case: RollCase) -> Iterator[RollFinding]:
    """Find registrations of nodes that are gone: they do not stop binaries, and will stop the levels."""
    for broker_id in sorted(stale_brokers(case)):
        yield about(_stale("broker", broker_id))
    known = {node.id for node in case.observation.nodes} | set(case.voter_ids)
    quorum = case.observation.quorum_view
    fetching = set() if quorum is None else {observer.id for observer in quorum.observers if observer.alive}
    for controller_id in sorted(set(case.image.controllers) - known - fetching):
        if not is_alive(case, controller_id):
            yield about(_stale("controller", controller_id))


def check_left_out(case: RollCase) -> Iterator[RollFinding]:
    """Find voters, and brokers that are not fenced, that are not among the nodes: the roll passes over them."""
    known = {node.id for node in case.observation.nodes}
    brokers = {id for id, broker in case.image.brokers.items() if not broker.fenced} - known
    for node_id in sorted(brokers | set(case.voter_ids) - known):
        name = f"broker {node_id}" if node_id in brokers else f"controller {node_id}"
        text = f"{name} is part of the cluster and not among the nodes of the roll: it would keep its release and file"
        step = f"Add node {node_id} to the inventory."
        yield about(warning("node-left-out", name, text, step, node=node_id))


def _stale(role: str, node_id: int) -> Finding:
    return warning(
        f"stale-{role}-registration",
        f"{role} {node_id}",
        f"{role} {node_id} is registered and gone: binaries are not concerned, but its registration will stop a "
        "change of levels",
        f"Before the levels are raised: kafkactl nodes unregister --id {node_id} --role {role} --dry-run",
        node=node_id,
    )


ROWS = (
    CheckRow(ids=("broker-down",), find=check_brokers),
    CheckRow(ids=("isr-not-whole",), find=check_isr),
    CheckRow(ids=("node-not-back",), find=check_back),
    CheckRow(ids=("reassignment-running", "election-unsettled"), find=check_movement),
    CheckRow(ids=("quorum-without-spare",), find=check_quorum),
    CheckRow(ids=("partition-stops-while-down",), find=check_outage),
    CheckRow(ids=("node-left-out",), find=check_left_out),
    CheckRow(ids=("stale-broker-registration", "stale-controller-registration"), find=check_stale),
)
