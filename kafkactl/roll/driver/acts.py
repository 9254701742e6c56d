"""The next act of a roll, from an observation and the journal.

The order of the rules is the safety of the driver. Without a leader nothing is stopped, and nodes are only started. A
node that this roll has stopped is brought back before anything else happens, also if the quorum could not be asked.
Only then a gate is asked for the next stop; a node that is down already is started without one, for a start is always
allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from kafkactl.cluster.quorum.majority import majority
from kafkactl.core.findings import Finding, Outcome, blocker, blockers, each_once
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.wording import some
from kafkactl.roll.case import RollCase, Until
from kafkactl.roll.checks.run import RollCheck, check_roll, open_warnings
from kafkactl.roll.driver.other_driver import other_hands
from kafkactl.roll.driver.ports import RollGoal, RollWaitPolicy
from kafkactl.roll.files_before import lacks_file
from kafkactl.roll.gates import OTHERS_ARE_UP, RollGate, gates_before
from kafkactl.roll.journal import Action, RollProgress
from kafkactl.roll.liveness import is_alive, is_gone, lacks_leader
from kafkactl.roll.observation import CLUSTER_NOT_OBSERVED, STRANGERS, RollNode
from kafkactl.roll.planning import RollPlan, lower_levels, plan_roll
from kafkactl.roll.predict import StepPrediction
from kafkactl.roll.releases import is_same, rules_of, version_in
from kafkactl.roll.start_gates import gates_after

DYNAMIC: Final = frozenset(
    {"isr-not-whole", "broker-down", "node-not-back", "reassignment-running", "election-unsettled",
     "quorum-without-spare"}
)  # fmt: skip
"""Findings of the check that a roll itself resolves, or that the gate before each stop judges again."""
NO_LEADER: Final = "roll-without-leader"


@frozen
class Act:
    """A step to carry out now. `needs_hook` is False for a start whose effect is observed: only its gate is left."""

    action: Action
    nodes: tuple[int, ...]
    phase: Until
    release: str | None = None
    needs_hook: bool = True
    predicted: StepPrediction | None = None
    gates: tuple[RollGate, ...] = ()
    number: int = 0

    @property
    def raises_levels(self) -> bool:
        """Return True if the act raises levels, after which the old binary may not come up."""
        return self.action is Action.RAISE_LEVELS


Ask = Callable[[Act, str | None], Finding | None]
"""Asks the operator before the first act and before levels are raised, with the cluster id; a refusal, or None."""


@frozen
class Decision:
    """The next act (`planned`), the goal (`nothing-to-do`), or what stops the roll (`refused`).

    `may_pass`: the findings may pass without help. `plan` is what is left, None while a node is brought back.
    """

    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    act: Act | None = None
    plan: RollPlan | None = None
    may_pass: bool = False


def decide(
    case: RollCase,
    goal: RollGoal,
    progress: RollProgress,
    *,
    policy: RollWaitPolicy,
    has_begun: bool,
    down_before: frozenset[int] = frozenset(),
    outdated: frozenset[int] = frozenset(),
) -> Decision:
    """Return the next act. `has_begun`: this run has acted before; other drivers are looked for before the first act.

    `down_before` are nodes that were down when the run began: they are started in their turn. One that failed since
    then stops the run. `outdated` are nodes that do not answer although a process runs, with binaries or a file from
    before: a start would not change it, so it is stopped first.
    """
    quorum = case.observation.quorum_view
    pending = _pending(case, progress)
    if not has_begun and (found := _strangers_and_others(case, progress, policy)):
        return Decision(outcome=Outcome.REFUSED, findings=found)
    if quorum is None and not lacks_leader(case) and (down := _down(case, pending)):
        return _start(case, goal, progress, down, outdated)
    if quorum is None or not quorum.has_leader:
        return _without_leader(case, goal, progress, pending, outdated)
    if pending:
        return _bring_back(case, goal, progress, pending, outdated)
    failed = [node for node in _concerned(case) if is_alive(case, node.id) is False and node.id not in down_before]
    if has_begun and failed:
        return Decision(outcome=Outcome.REFUSED, findings=tuple(_failed_meanwhile(case, node) for node in failed))
    return _next_stop(case, goal, progress, outdated, has_begun=has_begun)


def _strangers_and_others(case: RollCase, progress: RollProgress, policy: RollWaitPolicy) -> tuple[Finding, ...]:
    """Return the findings that forbid every act, else all other findings; empty if every act is allowed.

    A node of another cluster comes first: the facts about other nodes may be of that cluster as well.
    """
    first = [found for found in case.observation.findings if found.id in STRANGERS]
    first += other_hands(case, progress, policy)
    return each_once((*first, *check_roll(case).findings)) if first else ()


def _concerned(case: RollCase) -> list[RollNode]:
    """Return the nodes of the roll, and the brokers that --only leaves out: their replicas close its gates."""
    own = {node.id for node in case.nodes}
    return [
        node
        for node in case.observation.nodes
        if node.id in own or (node.is_broker and node.id not in case.request.skip)
    ]


def _failed_meanwhile(case: RollCase, node: RollNode) -> Finding:
    text = f"{node.name} failed during the roll: it does not answer"
    step = f"Find the reason in the log of node {node.id}, start it, and run the same command again."
    if not is_gone(case, node.id):
        step = (
            f"Find out why node {node.id} does not answer and refuses no connection: its process may be paused, or its "
            "host not reachable. Then run the same command again."
        )
    return blocker(OTHERS_ARE_UP, node.name, text, step, node=node.id)


def _pending(case: RollCase, progress: RollProgress) -> tuple[RollNode, ...]:
    """Return the nodes that this roll has stopped and that are not proved to be back."""
    found = (case.observation.node(node_id) for node_id in progress.pending)
    return tuple(node for node in found if node is not None)


def _down(case: RollCase, nodes: Iterable[RollNode]) -> list[RollNode]:
    return [node for node in nodes if is_alive(case, node.id) is False]


def _without_leader(
    case: RollCase, goal: RollGoal, progress: RollProgress, pending: Sequence[RollNode], outdated: frozenset[int]
) -> Decision:
    """Start voters until a majority answers; brokers wait, because they exit after a minute without a quorum.

    A voter that this roll stopped is started with the binary and file of the roll, another one with the binary that is
    installed: a lost quorum is not the moment for a new one. One that was started less often comes first, so that a
    voter which does not start keeps no other one down.
    """
    voters = set(case.voter_ids) or {node.id for node in case.observation.controllers}
    nodes = [node for node in case.observation.nodes if node.id in voters]
    down = [node for node in nodes if is_alive(case, node.id) is False]
    up = [node for node in nodes if is_alive(case, node.id)]
    if down and len(up) < majority(len(voters)):
        first = min(down, key=lambda node: (progress.starts[node.id], node.id not in progress.pending, node.id))
        if first in pending and first.id not in outdated:
            return _start(case, goal, progress, [first])
        return _planned(Action.START, [first])
    return Decision(outcome=Outcome.REFUSED, findings=(no_leader(case, [node.id for node in pending]),), may_pass=True)


def no_leader(case: RollCase, pending: Iterable[int]) -> Finding:
    """Return the finding about a quorum without a leader: nodes of `pending` wait for one to be brought back."""
    voters = set(case.voter_ids) or {node.id for node in case.observation.controllers}
    down = [node.name for node in case.observation.nodes if node.id in voters and is_alive(case, node.id) is False]
    if case.observation.quorum_view is None and not down:
        reason = next((found for found in case.observation.findings if found.id == CLUSTER_NOT_OBSERVED), None)
        text = "the quorum was not observed, so no node is stopped"
        text += "" if reason is None else f": {reason.message}"
        return blocker(NO_LEADER, "quorum", text, "" if reason is None else reason.advice, pending=list(pending))
    what = "was not observed" if case.observation.quorum_view is None else "has no leader"
    text = f"the quorum {what}, so no node is stopped, and no broker is started"
    if down:
        answers = "a majority" if len(voters) - len(down) >= majority(len(voters)) else "no majority"
        text += f"; {answers} of the voters answers, {some(down)} does not"
    return blocker(NO_LEADER, "quorum", text, pending=list(pending))


def _bring_back(
    case: RollCase, goal: RollGoal, progress: RollProgress, pending: Sequence[RollNode], outdated: frozenset[int]
) -> Decision:
    if down := _down(case, pending):
        return _start(case, goal, progress, down, outdated)
    if others := [node for node in pending if _runs_another(case, progress, node)]:
        return _stop(case, goal, progress, others[:1])
    return _planned(Action.START, pending, needs_hook=False, release=_release(case))


def _runs_another(case: RollCase, progress: RollProgress, node: RollNode) -> bool:
    """Return True if a node of the roll is known to run another release than the goal, or with another file, as one
    does whose upgrade is undone.
    """
    if node.id not in {each.id for each in case.nodes}:
        return False
    running = case.versions.get(node.id)
    has_other = case.goal is not None and running is not None and not is_same(running, case.goal)
    return has_other or needs_config(case, progress, node)


def _start(
    case: RollCase,
    goal: RollGoal,
    progress: RollProgress,
    nodes: Sequence[RollNode],
    outdated: frozenset[int] = frozenset(),
) -> Decision:
    """Return the start of nodes that are down, after their jars and files are in place, and an old process is gone."""
    wanted = [node for node in nodes if node.id in {each.id for each in case.nodes}]
    if lacking := [node for node in wanted if needs_install(case, progress, node)]:
        return _planned(Action.INSTALL, lacking, release=_release(case))
    if changes := [node for node in wanted if needs_config(case, progress, node)]:
        return _planned(Action.PUT_CONFIG, changes)
    if stuck := [node for node in nodes if node.id in outdated]:
        return _stop(case, goal, progress, stuck)
    return _planned(Action.START, nodes, release=_release(case))


def _planned(
    action: Action,
    nodes: Iterable[RollNode],
    *,
    release: str | None = None,
    needs_hook: bool = True,
) -> Decision:
    held = tuple(nodes)
    ids = tuple(node.id for node in held)
    act = Act(action=action, nodes=ids, phase=_phase(held), release=release, needs_hook=needs_hook)
    return Decision(outcome=Outcome.PLANNED, act=act)


def _phase(nodes: Sequence[RollNode]) -> Until:
    return Until.CONTROLLERS if any(node.is_controller for node in nodes) else Until.BROKERS


def needs_install(case: RollCase, progress: RollProgress, node: RollNode) -> bool:
    """Return True if the next start of a node would not run the goal, as far as that is known."""
    if case.goal is None:
        return False
    installed = version_in(node.installed)
    return node.id not in progress.installed if installed is None else not is_same(installed, case.goal)


def needs_config(case: RollCase, progress: RollProgress, node: RollNode) -> bool:
    """Return True if a node has another file than the rendered one, as far as that is known."""
    wanted = case.request.rendered.get(node.id)
    if wanted is None:
        return False
    return node.id not in progress.configured if node.config is None else node.config != wanted


def _release(case: RollCase) -> str | None:
    return None if case.goal is None else case.request.to


def _next_stop(
    case: RollCase, goal: RollGoal, progress: RollProgress, outdated: frozenset[int], *, has_begun: bool
) -> Decision:
    check = check_roll(case)
    plan = plan_roll(case, check)
    batch = next(
        (
            (step.nodes, step.predicted)
            for step in plan.steps
            if step.action in (Action.STOP, Action.START) and not _is_restarted(case, progress, step.nodes)
        ),
        None,
    )
    if batch is None:
        return _after_binaries(case, progress, plan)
    ids, predicted = batch
    nodes = [node for node in case.observation.nodes if node.id in ids]
    is_down = [node for node in nodes if is_alive(case, node.id) is False]
    is_new = not has_begun and not progress.is_under_way
    if (refused := _refusal(case, check, plan, is_new=is_new, starts=bool(is_down))) is not None:
        return refused
    if is_down:
        return changed(_start(case, goal, progress, is_down, outdated), plan=plan, findings=plan.findings)
    return changed(_stop(case, goal, progress, nodes, predicted=predicted), plan=plan)


def _stop(
    case: RollCase,
    goal: RollGoal,
    progress: RollProgress,
    nodes: Sequence[RollNode],
    *,
    predicted: StepPrediction | None = None,
) -> Decision:
    """Return the stop of nodes that run, after their binaries and files are in place; or the gate that is closed."""
    early = [node for node in nodes if node.id not in goal.installs_between]
    if lacking := [node for node in early if needs_install(case, progress, node)]:
        return _planned(Action.INSTALL, lacking, release=_release(case))
    if changes := [node for node in nodes if needs_config(case, progress, node)]:
        return _planned(Action.PUT_CONFIG, changes)
    ids = tuple(node.id for node in nodes)
    gates = gates_before(case, ids)
    act = Act(action=Action.STOP, nodes=ids, phase=_phase(nodes), predicted=predicted, gates=gates)
    closed = tuple(finding for gate in gates for finding in blockers(gate.findings))
    if closed:
        return Decision(outcome=Outcome.REFUSED, findings=closed, act=act, may_pass=True)
    return Decision(outcome=Outcome.PLANNED, act=act)


def _refusal(case: RollCase, check: RollCheck, plan: RollPlan, *, is_new: bool, starts: bool) -> Decision | None:
    """Return the check's objections to a stop: blockers, and for a new roll, warnings that are not accepted.

    While a roll is under way, what it resolves itself is left to the gates.
    """
    if is_blocked(plan, is_new=is_new, starts=starts):
        return Decision(outcome=Outcome.REFUSED, findings=plan.findings, plan=plan)
    opened = open_warnings(check, case.request.accepted)
    if opened and is_new:
        return Decision(outcome=Outcome.REFUSED, findings=(*plan.findings, _not_accepted(opened)), plan=plan)
    return None


def is_blocked(plan: RollPlan, *, is_new: bool, starts: bool) -> bool:
    """Return True if blockers stop the roll. `starts`: its first act starts a node, which a cluster that is not whole
    never forbids.
    """
    stops = blockers(plan.findings)
    return any(finding.id not in DYNAMIC for finding in stops) or (is_new and not starts and bool(stops))


def _is_restarted(case: RollCase, progress: RollProgress, ids: Iterable[int]) -> bool:
    """Return True if the journal shows the restart of all of these nodes; of an upgrade the release shows it."""
    if case.goal is not None or not progress.is_under_way or not set(ids) <= progress.restarted:
        return False
    return not any(lacks_file(case, node) for node in case.nodes if node.id in ids)


def _not_accepted(found: Sequence[Finding]) -> Finding:
    ids = list(dict.fromkeys(finding.id for finding in found))
    words = " ".join(f"--accept {id}" for id in ids)
    text = f"{len(found)} {'warning is' if len(found) == 1 else 'warnings are'} not accepted: {some(ids)}"
    return blocker("warnings-not-accepted", "roll", text, f"Check each by hand, then run again with {words}.", ids=ids)


def _after_binaries(case: RollCase, progress: RollProgress, plan: RollPlan) -> Decision:
    until = case.request.until
    if until in (Until.CONTROLLERS, Until.BROKERS):
        return Decision(outcome=Outcome.NOTHING_TO_DO, plan=plan)
    if not progress.is_verified or not progress.is_under_way:
        act = Act(action=Action.VERIFY, nodes=(), phase=Until.PROOF, release=_release(case), needs_hook=False)
        return Decision(outcome=Outcome.PLANNED, act=act, plan=plan)
    release = rules_of(case.goal) if until is Until.LEVELS and not progress.has_raised_levels else None
    if release is not None and lower_levels(case):
        act = Act(action=Action.RAISE_LEVELS, nodes=(), phase=Until.LEVELS, release=release.name)
        return Decision(outcome=Outcome.PLANNED, act=act, plan=plan, findings=plan.findings)
    return Decision(outcome=Outcome.NOTHING_TO_DO, plan=plan)


def proof_gates(case: RollCase, progress: RollProgress) -> dict[int, tuple[RollGate, ...]]:
    """Return the gates after a start of every node of the roll."""
    release = rules_of(case.goal)
    return {
        node.id: gates_after(case, node, progress.marks.get(node.id) if node.id in progress.restarted else None,
                             release=release)
        for node in case.nodes
    }  # fmt: skip


__all__ = ["Act", "Decision", "decide", "needs_config", "needs_install", "proof_gates"]
