"""The plan of a change of voters in the simulator of quorums: elections, and a second failure in each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkactl.cluster.quorum.state import QuorumState
    from kafkactl.quorum.change.ports import ChangeResult
    from kafkactl.quorum.step import Step
    from kafkactl.simulator.study import Study, VoterStep


def simulated_plan(result: ChangeResult, *, runs: int, seed: int = 0) -> Study | None:
    """Return the field `simulation` of the answer: `runs` seeds from `seed` on for each row.

    Elections are those of the voters that are alive now, by each release that a controller runs; the steps are those
    that are left, simulated by the rules of the oldest. Timeouts are Kafka's defaults, as no request shows them. None
    without a leader, or where more voters or greater ids were seen than are simulated.
    """
    from kafkactl.simulator.script import MAX_VOTERS
    from kafkactl.simulator.study import study
    from kafkactl.simulator.words import MAX_ID

    state = result.after
    if state is None or not state.has_leader or not state.voters:
        return None
    ids = sorted({voter.id for voter in state.voters})
    if len(ids) > MAX_VOTERS or ids[-1] > MAX_ID:
        return None
    dead = {voter.id for voter in state.voters if voter.alive is False}
    return study(
        ids,
        _releases(state),
        [_voter_step(step, state) for step in result.steps if _is_left(step)],
        runs=runs,
        seed=seed,
        down=dead,
        is_static=not state.kraft_version,
    )


def _is_left(step: Step) -> bool:
    return step.state.value == "pending" and step.action.value in ("add", "remove")


def _releases(state: QuorumState) -> list[str]:
    """Return the releases of the controllers that reported their features, or the newest known release."""
    from kafkactl.core.values import Role
    from kafkactl.protocol.catalog.releases import newest_release
    from kafkactl.quorum.guard import release_of_node

    found = [release_of_node(node) for node in state.nodes.values() if node.role is Role.CONTROLLER]
    return sorted({release.name for release in found if release is not None}) or [newest_release().name]


def _voter_step(step: Step, state: QuorumState) -> VoterStep:
    from kafkactl.simulator.study import ADD, REMOVE, VoterStep

    alive = {key.node_id: key for key in step.alive}
    gone = {key.node_id for key in step.voters_before - step.alive}
    return VoterStep(
        number=step.number,
        action=ADD if step.action.value == "add" else REMOVE,
        voters=tuple(sorted(key.node_id for key in step.voters_before)),
        node=step.id,
        down=frozenset(gone - set(alive)),
        replaced=frozenset(gone & set(alive)),
        others=() if step.action.value == "remove" or step.id is None else (step.id,),
        leader=state.leader_id if state.leader_id in {key.node_id for key in step.voters_before} else None,
    )
