"""The one next command or action of `roll status`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kafkactl.core.findings import Finding, blockers
from kafkactl.features.catalog.releases import KafkaVersion
from kafkactl.roll.case import RollCase, Way
from kafkactl.roll.gates import is_unknown
from kafkactl.roll.liveness import is_alive
from kafkactl.roll.order import roll_order
from kafkactl.roll.phase import Phase, running_versions
from kafkactl.roll.rollback_path import How, RollbackPath

_NOT_OBSERVED: Final = "cluster-not-observed"
_NODE_NOT_OBSERVED: Final = "node-not-observed"
_GONE: Final = "connection-refused"


def next_action(
    case: RollCase,
    phase: Phase | None,
    lacking: Sequence[int],
    forbidden: Mapping[int, Sequence[Finding]],
    way: RollbackPath,
) -> str:
    """Return the one next action: what the observation lacks, then nodes that are down, then the roll.

    `lacking` are the nodes that are not back; `forbidden` those that may not be stopped, with the reasons.
    """
    down = [node.id for node in case.observation.nodes if is_alive(case, node.id) is False]
    if first := next(_repairs(case, down, lacking, way), ""):
        return first
    if phase is None:
        return "Observe again with the hook `running`, or once the nodes answer: no release is known."
    running = running_versions(case)
    if phase is Phase.MIXED or (case.goal is None and len(running) > 1):
        return _one_release(case, running, way)
    return _go_on(case, phase, forbidden)


def _repairs(case: RollCase, down: Sequence[int], lacking: Sequence[int], way: RollbackPath) -> Iterator[str]:
    """Yield what has to be done before any stop, the most urgent first."""
    observed, quorum = case.observation, case.observation.quorum_view
    for wrong in blockers(observed.findings):
        yield f"{wrong.advice} {wrong.message[:1].upper()}{wrong.message[1:]}."
    controllers = {node.id for node in observed.controllers}
    for reason in observed.findings:
        if quorum is None and reason.id == _NOT_OBSERVED and not controllers <= set(down):
            yield f"Make the quorum observable, stop nothing before: {reason.advice}"
    if quorum is not None and not quorum.has_leader:
        ids = ", ".join(map(str, case.voter_ids))
        yield f"Start controllers until a majority of the voters {ids} answers; stop nothing while there is no leader."
    if down:
        yield from _start(case, down, way)
    if lacking:
        yield f"Wait until {_nodes(lacking)} is back, and observe again; stop no other node meanwhile."


def _start(case: RollCase, down: Sequence[int], way: RollbackPath) -> Iterator[str]:
    """Yield ways to start nodes, the best one first: that of the roll which has stopped them."""
    record = case.record
    failed = {} if record is None else {id: release for id, release in record.failed.items() if id in down}
    if record is not None and failed:
        ids = ",".join(map(str, failed))
        release = next(iter(failed.values()))
        what = f"{_nodes(list(failed))} did not come up" + (f" under Kafka {release}" if release else "")
        if release is not None and record.way != Way.DOWNGRADE and way.starts_old_binary:
            to = next((text for id in failed if (text := record.from_releases.get(id))), way.to)
            back = case.request.command("rollback", f"--to {to}", f"--only {ids}")
            yield f"Take it back to the old binary, for {what}: {back}"
        yield f"Read the log of {_nodes(list(failed))}, which did not come up; correct the cause, then: {_resume(case)}"
    if record is not None and set(record.pending) & set(down):
        stopped = [id for id in record.pending if id in down]
        yield f"Run the roll again, which starts {_nodes(stopped)} first: {_resume(case)}"
    hidden = [id for id in down if not _is_gone(case, id)]
    if hidden:
        yield (
            f"Find out why {_nodes(hidden)} does not answer: its process may be paused, or its host not reachable. "
            "Start it if it is down; stop no other node meanwhile."
        )
    yield f"Start {_nodes(down)}, and wait until it is back: a start is always allowed."


def _is_gone(case: RollCase, node_id: int) -> bool:
    """Return False if an address of the node took no connection in time, or did not answer: a process may be there."""
    node = case.observation.node(node_id)
    reasons = [
        finding.evidence.get("reason")
        for finding in case.observation.findings
        if node is not None and finding.id == _NODE_NOT_OBSERVED and finding.subject == node.name
    ]
    return all(reason == _GONE for reason in reasons)


def _resume(case: RollCase) -> str:
    """Return the command with which the roll goes on."""
    to = [f"--to {case.request.to}"] if case.request.to else []
    record = case.record
    is_back = case.way is Way.DOWNGRADE or (record is not None and record.to and record.way == Way.DOWNGRADE)
    return case.request.command("rollback" if is_back else "run", *to)


def _go_on(case: RollCase, phase: Phase, forbidden: Mapping[int, Sequence[Finding]]) -> str:
    to = [f"--to {case.request.to}"] if case.request.to else []
    if phase is Phase.DONE:
        return "Nothing: no roll is under way."
    if phase in (Phase.BINARIES, Phase.LEVELS) and case.goal is not None:
        return f"Raise the levels once no rollback is intended: {case.request.command('run', *to, '--until levels')}"
    order = roll_order(case)
    left = [*order.controllers, *order.brokers] if case.way is not Way.DOWNGRADE else _left_back(case)
    if left and left[0] in forbidden:
        reasons = "; ".join(finding.message for finding in forbidden[left[0]] if not is_unknown(finding))
        return f"Correct what forbids the stop of node {left[0]}: {reasons}"
    return f"Continue with node {left[0]}: {_resume(case)}" if left else "Nothing is left to do."


def _one_release(case: RollCase, running: Sequence[KafkaVersion], way: RollbackPath) -> str:
    """Return the action for a cluster with several releases, where it is open which of them is the goal."""
    if way.how is How.NO and case.request.to:
        return f"Bring every node to one release, the goal: {case.request.command('plan', f'--to {case.request.to}')}"
    if case.goal is None and len(running) == 2:
        on = case.request.command("status", f"--to {running[-1]}")
        back = case.request.command("rollback", f"--to {running[0]}", "--dry-run")
        return f"Decide for one release: {on} shows the roll, {back} the rollback."
    plans = [case.request.command("plan", f"--to {version}") for version in running]
    return f"Decide for one release; the way to each: {'; '.join(plans)}"


def _left_back(case: RollCase) -> list[int]:
    """Return the nodes of a downgrade in their order: brokers first."""
    order = roll_order(case)
    return [*order.brokers, *order.controllers]


def _nodes(ids: Sequence[int]) -> str:
    return f"{'node' if len(ids) == 1 else 'nodes'} {', '.join(map(str, ids))}"
