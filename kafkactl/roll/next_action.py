"""The next command or action of `roll status`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kafkactl.cluster.quorum.majority import majority
from kafkactl.core.findings import Finding, blockers
from kafkactl.core.wording import numbered
from kafkactl.protocol.catalog.releases import KafkaVersion
from kafkactl.roll.access import log_step, node_step
from kafkactl.roll.case import RollCase, Way
from kafkactl.roll.checks import binaries, cluster
from kafkactl.roll.gates import MAJORITY_SURVIVES, WITHOUT_SPARE, is_pair, is_unknown, unsettled
from kafkactl.roll.journal import RollRecord
from kafkactl.roll.liveness import count_voters, is_alive, is_gone
from kafkactl.roll.observation import CLUSTER_NOT_OBSERVED
from kafkactl.roll.order import roll_order
from kafkactl.roll.phase import Phase, is_due, running_versions
from kafkactl.roll.releases import is_same, version_in
from kafkactl.roll.rollback_path import How, RollbackPath

_TWO: Final = 2


def next_action(
    case: RollCase,
    phase: Phase | None,
    lacking: Sequence[int],
    forbidden: Mapping[int, Sequence[Finding]],
    way: RollbackPath,
) -> str:
    """Return the one next action: what the observation lacks, then nodes that are down, then the roll.

    `lacking` are the nodes that are not back; `forbidden` those that may not be stopped, or of which that is unknown,
    with the reasons.
    """
    down = [node.id for node in case.observation.nodes if is_alive(case, node.id) is False]
    if first := next(_repairs(case, down, lacking, way), ""):
        return first
    if other := _other_roll(case):
        return other
    if phase is None:
        lacks = "Observe again with the hook `running`, or once the nodes answer: no release is known."
        return _unproved(case) or lacks
    running = running_versions(case)
    if len(running) > _TWO or (case.goal is None and len(running) > 1):
        return _one_release(case, running, way)
    return _go_on(case, phase, forbidden)


def _other_roll(case: RollCase) -> str:
    """Return the action if the journal has a roll to another release that is under way; empty if it has none."""
    record, goal = case.record, case.goal
    other = None if record is None or not record.is_under_way else version_in(record.to)
    before = [] if record is None else [version_in(text) for text in record.from_releases.values()]
    if other is None or goal is None or any(each is not None and is_same(each, goal) for each in (other, *before)):
        return ""
    shown = case.request.command("status", f"--to {other}")
    return f"The journal has a roll to Kafka {other} that did not end; finish it or take it back first: {shown}"


def _repairs(case: RollCase, down: Sequence[int], lacking: Sequence[int], way: RollbackPath) -> Iterator[str]:
    """Yield the actions that must precede any stop, the most urgent first."""
    observed, quorum = case.observation, case.observation.quorum_view
    for wrong in blockers(observed.findings):
        yield f"{wrong.advice} {wrong.message[:1].upper()}{wrong.message[1:]}."
    controllers = {node.id for node in observed.controllers}
    for reason in observed.findings:
        if quorum is None and reason.id == CLUSTER_NOT_OBSERVED and not controllers <= set(down):
            yield f"Make the quorum observable, stop nothing before: {reason.advice}"
    if quorum is not None and quorum.has_leader and (step := log_step(observed)):
        yield f"Make the metadata log readable, stop nothing before: {step}"
    if quorum is not None and not quorum.has_leader:
        yield _start_controllers(case)
    if down:
        yield from _start(case, down, way)
    for node in observed.nodes:
        if step := node_step(observed, node):
            yield f"Let kafkactl ask {node.name}, stop nothing before: {step}"
    for text, _ in unsettled(case):
        yield f"Wait until the quorum has settled on one leader, and observe again: {text}."
    if lacking:
        yield f"Wait until {_are_back(lacking)}, and observe again; stop no other node meanwhile."


def _start(case: RollCase, down: Sequence[int], way: RollbackPath) -> Iterator[str]:
    """Yield ways to start nodes, the best one first: that of the roll which has stopped them."""
    record = case.record
    failed = {} if record is None else {id: release for id, release in record.failed.items() if id in down}
    if record is not None and failed:
        ids, nodes = ",".join(map(str, failed)), numbered("node", failed)
        release = next(iter(failed.values()))
        what = f"{nodes} did not come up" + (f" under Kafka {release}" if release else "")
        if release is not None and record.way != Way.DOWNGRADE and way.starts_old_binary:
            to = next((text for id in failed if (text := record.from_releases.get(id))), way.to)
            back = case.request.command("rollback", f"--to {to}", f"--only {ids}")
            yield f"Take it back to the old binary, for {what}: {back}"
        yield f"Read the log of {nodes}, which did not come up; correct the cause, then: {_resume(case)}"
    if record is not None and set(record.pending) & set(down):
        stopped = [id for id in record.pending if id in down]
        yield f"Run the roll again, which starts {numbered('node', stopped)} first: {_resume(case)}"
    controllers = {node.id for node in case.observation.controllers}
    if case.observation.quorum_view is None and controllers <= set(down):
        yield _start_controllers(case)
    hidden = [id for id in down if not is_gone(case, id)]
    if hidden:
        yield (
            f"Find out why {numbered('node', hidden)} {'does' if len(hidden) == 1 else 'do'} not answer: a process may "
            "be paused, or a host not reachable. Start what is down; stop no other node meanwhile."
        )
    yield f"Start {numbered('node', down)}, and wait until {_are_back(down)}: a start is always allowed."


def _start_controllers(case: RollCase) -> str:
    ids = case.voter_ids or [node.id for node in case.observation.controllers]
    text = ", ".join(map(str, ids))
    if len(ids) == 1 and is_alive(case, ids[0]) is False and not is_gone(case, ids[0]):
        return (
            f"Find out why controller {text}, the only voter, does not answer and refuses no connection: its process "
            "may be paused, or its host not reachable; stop nothing while there is no leader."
        )
    if len(ids) == 1 and is_alive(case, ids[0]) is False:
        return f"Start controller {text}, the only voter; stop nothing while there is no leader."
    if len([id for id in ids if is_alive(case, id)]) >= majority(len(ids)):
        return (
            "Find out with `kafkactl quorum describe` why no leader is elected, although a majority of the voters "
            f"{text} answers; stop nothing while there is no leader."
        )
    return f"Start controllers until a majority of the voters {text} answers; stop nothing while there is no leader."


def _resume(case: RollCase) -> str:
    """Return the command that resumes the roll."""
    to = [f"--to {case.request.to}"] if case.request.to else []
    record = case.record
    is_back = case.way is Way.DOWNGRADE or (record is not None and record.to and record.way == Way.DOWNGRADE)
    own = _own_roll(case)
    options = [] if own is None else [shlex.join(own.options)] * bool(own.options)
    return case.request.command("rollback" if is_back else "run", *to, *options)


def _own_roll(case: RollCase) -> RollRecord | None:
    """Return the roll of the journal if it is under way, and to the goal; a restart has none."""
    record = case.record
    if record is None or not record.is_under_way:
        return None
    return record if is_due(case) or (record.to is None and case.goal is None) else None


def _unfinished(case: RollCase, left: Sequence[int]) -> str:
    """Return the action for a roll of the journal that was interrupted in a step, or that is for some nodes only, or
    has only its proof left; empty for others.
    """
    own = _own_roll(case)
    if own is None:
        return ""
    if step := own.open_step:
        what = step.action + (f" of {numbered('node', step.nodes)}" if step.nodes else "")
        return f"Run the roll again, which first finds out what became of step {step.number} ({what}): {_resume(case)}"
    if not left:
        return f"Run the roll again, which proves that every node is back, and ends it: {_resume(case)}"
    if {"--only", "--skip"} & set(own.options):
        return f"Run the roll again, with the nodes that it began with: {_resume(case)}"
    return ""


def _go_on(case: RollCase, phase: Phase, forbidden: Mapping[int, Sequence[Finding]]) -> str:
    to = [f"--to {case.request.to}"] if case.request.to else []
    order = roll_order(case)
    left = [*order.controllers, *order.brokers] if case.way is not Way.DOWNGRADE else _left_back(case)
    unfinished = _unfinished(case, [] if phase in (Phase.DONE, Phase.BINARIES, Phase.LEVELS) else left)
    if first := _unproved(case) or _left_out(case) or unfinished:
        return first
    if phase is Phase.DONE:
        return "Nothing: no roll is under way."
    if phase in (Phase.BINARIES, Phase.LEVELS) and case.goal is not None:
        return f"Raise the levels once no rollback is intended: {case.request.command('run', *to, '--until levels')}"
    if not left:
        return "Nothing is left to do."
    stop = _unstoppable(case, left[0], forbidden)
    return _blocked(case, to) or stop or f"Continue with node {left[0]}: {_resume(case)}"


def _left_out(case: RollCase) -> str:
    found = next((item.finding for item in cluster.check_left_out(case)), None)
    return "" if found is None else f"{found.advice} {found.message[:1].upper()}{found.message[1:]}."


def _unproved(case: RollCase) -> str:
    """Return the action for nodes that show only the line of the goal; empty if the journal has a roll to the goal."""
    is_open = case.goal is not None and not is_due(case)
    ids = [node.id for node in case.nodes if is_open and case.is_done(node) is None]
    if not ids:
        return ""
    verb, each = ("runs", "it") if len(ids) == 1 else ("run", "each of them")
    return (
        f"Observe again with the hook `running`: it is unknown if {numbered('node', ids)} {verb} Kafka {case.goal}. "
        f"Without the hook the roll restarts {each}: {_resume(case)}"
    )


def _blocked(case: RollCase, to: Sequence[str]) -> str:
    """Return the correction of what stops the new binary; empty if nothing known does."""
    blocking = blockers(item.finding for row in binaries.ROWS for item in row.find(case))
    if not blocking:
        return ""
    text = f"Correct what blocks the roll: {blocking[0].message.rstrip('.')}. {blocking[0].advice}"
    more = f" All {len(blocking)} blockers: {case.request.command('check', *to)}"
    return text if len(blocking) == 1 else text + more


def _unstoppable(case: RollCase, node_id: int, forbidden: Mapping[int, Sequence[Finding]]) -> str:
    """Return why the next node may not be stopped, or that it is unknown if it may be; empty if it may be."""
    reasons = forbidden.get(node_id, ())
    if {finding.id for finding in reasons} == {MAJORITY_SURVIVES} and is_pair(count_voters(case), [node_id]):
        return (
            f"Choose a time at which no topic is created and no leader has to move, because nothing commits while node "
            f"{node_id} is down, or add a voter first; then accept that: {_resume(case)} --accept {WITHOUT_SPARE}"
        )
    if certain := "; ".join(finding.message for finding in reasons if not is_unknown(finding)):
        return f"Correct what forbids the stop of node {node_id}: {certain}"
    lacks = "; ".join(dict.fromkeys(finding.message for finding in reasons))
    return lacks and f"Observe again before node {node_id} is stopped, because it is unknown if it may be: {lacks}"


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


def _are_back(ids: Sequence[int]) -> str:
    return f"{numbered('node', ids)} {'is' if len(ids) == 1 else 'are'} back"
