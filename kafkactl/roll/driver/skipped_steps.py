"""Steps that a run skips because their effect is observed: binaries and files in place, and nodes that are done."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from kafkactl.roll.case import RollCase
from kafkactl.roll.driver.acts import Act, needs_config, needs_install
from kafkactl.roll.driver.evidence import phase_of
from kafkactl.roll.driver.ports import RollGoal
from kafkactl.roll.journal import Action, RollProgress
from kafkactl.roll.order import is_restarted


def placed_before(
    act: Act, case: RollCase, goal: RollGoal, progress: RollProgress, handled: Collection[tuple[Action, int]]
) -> list[Act]:
    """Return the steps before a stop or start that need no hook: the next start runs the goal with its file already.

    `handled` are actions and nodes that this run has carried out, or skipped.
    """
    if act.action not in (Action.STOP, Action.START):
        return []
    found = {Action.INSTALL: list[int](), Action.PUT_CONFIG: list[int]()}
    for node in case.nodes:
        if node.id not in act.nodes:
            continue
        if case.goal is not None and not needs_install(case, progress, node):
            found[Action.INSTALL].append(node.id)
        if node.id in goal.request.rendered and not needs_config(case, progress, node):
            found[Action.PUT_CONFIG].append(node.id)
    return _acts(found.items(), case, handled)


def done_before(case: RollCase, handled: Collection[tuple[Action, int]]) -> list[Act]:
    """Return the steps of nodes that were done before this run: each runs the goal with its file."""
    ids = [node.id for node in case.nodes if is_restarted(case, node)]
    ids = [id for id in ids if not any(node_id == id for _, node_id in handled)]
    rendered = [id for id in ids if id in case.request.rendered]
    return _acts(
        [
            (Action.INSTALL, ids if case.goal is not None else []),
            (Action.PUT_CONFIG, rendered),
            (Action.STOP, ids),
            (Action.START, ids),
        ],
        case,
        handled,
    )


def _acts(
    wanted: Iterable[tuple[Action, Sequence[int]]], case: RollCase, handled: Collection[tuple[Action, int]]
) -> list[Act]:
    acts = []
    for action, ids in wanted:
        nodes = tuple(id for id in ids if (action, id) not in handled)
        if nodes:
            release = case.request.to if action in (Action.INSTALL, Action.START) else None
            acts.append(Act(action=action, nodes=nodes, phase=phase_of(case, nodes), release=release, needs_hook=False))
    return acts
