"""Messages of the driver of a roll: requests to an operator, and the reasons for which a step did not end well."""

from __future__ import annotations

from collections.abc import Sequence

from kafkactl.change.hooks.run import HookEnd, HookRun
from kafkactl.core.errors import FailedError
from kafkactl.core.findings import Finding, blocker
from kafkactl.core.wording import some
from kafkactl.roll.case import RollCase, Way
from kafkactl.roll.driver.acts import Act
from kafkactl.roll.files_before import rendered_words
from kafkactl.roll.gates import is_unknown
from kafkactl.roll.journal import Action
from kafkactl.roll.liveness import lacks_leader
from kafkactl.roll.rollback_path import rollback_path

_IDS = {
    HookEnd.TIMED_OUT: "hook-timed-out",
    HookEnd.NOT_READY: "hook-not-ready",
    HookEnd.NOT_STARTED: "hook-not-started",
    HookEnd.CHANGED_MEANWHILE: "config-changed-concurrently",
}
NOT_FINISHED = "shutdown-not-finished"
_WAIT_FOR_STOP = "Wait, and run the same command again: it goes on when the process is gone."
_STOP_AGAIN = (
    "Find out what the hook `stop` does, and run the same command again, which asks for the stop once more if none "
    "has begun."
)
_LEADER_FIRST = (
    "Start controllers until a majority of the voters answers; the stop then ends without help. Then run the same "
    "command again."
)


def instruction_of(action: Action, node_id: int, release: str | None) -> str:
    """Return the instruction for an operator of a node without a hook."""
    match action:
        case Action.INSTALL:
            return f"make Kafka {release} what the next start of node {node_id} runs"
        case Action.PUT_CONFIG:
            return f"put the rendered file of node {node_id} in its place"
        case Action.STOP:
            return f"stop node {node_id}, with SIGTERM, and wait until its process is gone"
        case _:
            return f"start node {node_id}"


def failed_hook(act: Act, node_id: int, run: HookRun) -> Finding:
    """Return the failure of a hook."""
    subject = f"node {node_id}"
    text = f"the hook {act.action.value} of {subject} did not succeed: {run.message}"
    return blocker(_IDS.get(run.end, "hook-failed"), subject, text, node=node_id, exit_code=run.exit_code)


def not_finished(case: RollCase, left: Sequence[int], limit_ms: int, *, never_began: bool = False) -> FailedError:
    """Return the error of a stop that did not end in time. `never_began`: nothing shows that the hook had an effect."""
    reason, step = "the process still runs", _WAIT_FOR_STOP
    if never_began:
        reason, step = f"{reason}, and nothing shows that a stop began", _STOP_AGAIN
    if lacks_leader(case):
        reason, step = "the quorum has no leader, and a controlled shutdown waits for one", _LEADER_FIRST
    names = some(f"node {id}" for id in left)
    return FailedError(
        f"the stop of {names} has not ended after {limit_ms / 1000:g} s: {reason}",
        id=NOT_FINISHED,
        next_step=f"{step} Do not kill the process: an unclean shutdown costs a log recovery.",
    )


def start_failed(
    act: Act, case: RollCase, down: Sequence[int], *, without_leader: bool, log: Sequence[str] = ()
) -> Finding:
    """Return the finding about processes that ended after their start, with the last errors of their logs."""
    names = some(f"node {id}" for id in down)
    if without_leader:
        text = f"{names} ended after the start, while the quorum had no leader; that proves nothing about the binary"
        return blocker("start-without-quorum", names, text, "Wait: it is started again when there is a leader.")
    text = f"{names} has no process after its start"
    if log:
        text += f"; the last errors in its log: {' | '.join(log)}"
    return blocker("start-failed", names, text, _own_way(act, case, down), nodes=list(down), log=list(log))


def not_back(act: Act, case: RollCase, nodes: Sequence[int], lacks: Sequence[Finding]) -> Finding:
    """Return the finding about nodes whose gates after the start did not open in time."""
    names = some(f"node {id}" for id in nodes)
    reasons = some(finding.message for finding in lacks)
    if all(map(is_unknown, lacks)):
        step = f"{lacks[0].advice} Then run the same command again."
        text = f"it is unknown if {names} is back: {reasons}"
        return blocker("node-not-back", names, text, step, nodes=list(nodes), unknown=True)
    return blocker(
        "node-not-back", names, f"{names} is not back: {reasons}", _own_way(act, case, nodes), nodes=list(nodes)
    )


def _own_way(act: Act, case: RollCase, nodes: Sequence[int]) -> str:
    """Return the next step: the old binary of this node first, as long as a rollback is possible."""
    ids = ",".join(map(str, nodes))
    path, files = rollback_path(case), rendered_words(case, nodes)
    if act.release is not None and case.way is not Way.DOWNGRADE and path.starts_old_binary:
        before = {} if case.record is None else case.record.from_releases
        to = next((text for id in nodes if (text := before.get(id)) is not None), path.to)
        back = case.request.command("rollback", f"--to {to}", f"--only {ids}{files}")
        return f"Take it back to the old binary: {back}"
    if files and case.goal is None:
        return f"Put its file from before back: {case.request.command('run', f'--only {ids}{files}')}"
    return "Read the log of the node, repair what it names, and run the same command again."
