"""The ways that the driver goes: back to ZooKeeper, forward to KRaft, and over the point of no return.

Each makes a `Route` of one observation; what is safe is decided in `kafkactl.migration`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kafkactl.adapters.migration_driver_steps import Route
from kafkactl.adapters.migration_journal import BACK, Memory
from kafkactl.migration.inventory import Inventory
from kafkactl.migration.observation import NodeRole, Observation
from kafkactl.migration.procedure import plan_forward
from kafkactl.migration.rollback import plan_rollback
from kafkactl.migration.state import observed_state
from kafkactl.migration.state_names import State
from kafkactl.migration.step import File, Move, Progress, Step
from kafkactl.plan import Finding, Outcome

_ANOTHER_CLUSTER: Final = frozenset({"zookeeper-of-another-cluster", "node-of-another-cluster", "node-of-another-role"})
"""What an observation says of an inventory that mixes up clusters; on the way forward the checks tell it."""


class WayBack:
    """`plan_rollback`, and at its end the disks of the controllers that nobody can see any more."""

    def __init__(self, inventory: Inventory, *, accepted: frozenset[str] = frozenset()) -> None:
        self._inventory = inventory
        self._accepted = accepted
        self.goal = BACK

    def __call__(self, seen: Observation, memory: Memory) -> Route:
        """The route from what is seen."""
        if wrong := [one for one in seen.findings if one.id in _ANOTHER_CLUSTER]:
            state = observed_state(seen).state.value
            return Route(outcome=Outcome.REFUSED, state=state, steps=(), findings=tuple(wrong))
        found = plan_rollback(seen, self._inventory, accepted=self._accepted)
        steps, outcome = found.steps, found.outcome
        if outcome is not Outcome.REFUSED and not any(one.action is Move.RESTART_NODE for one in steps):
            brokers = {NodeRole.BROKER: File.ORIGINAL}
            steps = (*steps, *_left_stopped(self._inventory, seen, memory, brokers))
        if found.state is State.M0 and memory.goal == BACK and outcome is not Outcome.REFUSED:
            steps = (*self._files(found.findings), *steps)
            steps = (*steps, *self._disks(seen, memory, {one.target for one in steps if one.action is Move.WIPE_DISK}))
        if outcome is Outcome.NOTHING_TO_DO and any(one.state is Progress.PENDING for one in steps):
            outcome = Outcome.PLANNED
        return Route(outcome=outcome, state=found.state.value, steps=steps, findings=found.findings)

    def _files(self, found: Iterable[Finding]) -> Iterator[Step]:
        """Files of brokers that were changed and never started with: the next restart would enter the migration."""
        names = {one.subject for one in found if one.id == "broker-file-left-over"}
        for one in self._inventory.brokers:
            if one.name in names:
                yield Step(
                    action=Move.RESTORE_CONFIG,
                    target=one.name,
                    gate="its file is the one from before the migration",
                    why="with the migration's file its next start would look for controllers that are gone",
                    node=one.id,
                    role=NodeRole.BROKER,
                    file=File.ORIGINAL,
                )

    def _disks(self, seen: Observation, memory: Memory, planned: set[str]) -> Iterator[Step]:
        """A controller that is gone shows no log; what was formatted for this try has to go all the same."""
        for one in self._inventory.controllers:
            node = seen.node(one.id, NodeRole.CONTROLLER)
            empty = node is not None and node.meta_properties is None and bool(one.log)
            wiped = (Move.WIPE_DISK.value, one.name) in memory.done
            if one.name in planned or wiped or empty:
                continue
            yield Step(
                action=Move.WIPE_DISK,
                target=one.name,
                gate="its metadata directory is archived and empty",
                why="its log has registrations that never expire; the next try needs a new quorum",
                node=one.id,
                role=NodeRole.CONTROLLER,
            )


class WayForward:
    """`plan_forward`, up to the point of no return or, for `finalize`, over it."""

    def __init__(self, inventory: Inventory, *, finalize: bool = False) -> None:
        self._inventory = inventory
        self._finalize = finalize

    def __call__(self, seen: Observation, memory: Memory) -> Route:
        """The route from what is seen."""
        found = plan_forward(seen, self._inventory)
        if found.outcome is Outcome.REFUSED:
            return Route(outcome=found.outcome, state=found.state.value, steps=found.steps, findings=found.findings)
        steps = tuple(one for one in found.steps if self._finalize or one.phase is not State.M10)
        if not any(one.action is Move.RESTART_NODE and one.state is Progress.PENDING for one in steps):
            files = {NodeRole.BROKER: File.KRAFT, NodeRole.CONTROLLER: File.FINAL}
            steps = (*steps, *_left_stopped(self._inventory, seen, memory, files))
        is_left = any(one.state is Progress.PENDING for one in steps)
        return Route(
            outcome=Outcome.PLANNED if is_left else Outcome.NOTHING_TO_DO,
            state=found.state.value,
            steps=steps,
            findings=found.findings,
            next_action="" if is_left or self._finalize else _ARMED,
        )


def _left_stopped(
    inventory: Inventory, seen: Observation, memory: Memory, files: Mapping[NodeRole, File]
) -> Iterator[Step]:
    """Nodes that an earlier run stopped and did not start: the plan of what is seen may not know that they are ours."""
    for one in inventory.nodes:
        node = seen.node(one.id, one.role)
        was_begun = (Move.RESTART_NODE.value, one.name) in memory.unfinished
        if was_begun and one.role in files and node is not None and node.alive is False:
            yield Step(
                action=Move.RESTART_NODE,
                target=one.name,
                gate="it answers, and all its replicas are in the ISR",
                why="an earlier run stopped it and ended before it was seen to run again",
                node=one.id,
                role=one.role,
                file=files[one.role],
            )


_ARMED: Final = (
    "Let it run so for as long as a way back may be wanted; then `kafkactl migrate finalize`, which cannot be undone."
)


def identity_of(inventory: Inventory) -> dict[str, Any]:
    """Which migration this is: what the journal compares."""
    return {
        "zookeeper": inventory.zookeeper.connect,
        "nodes": [f"{one.name} {one.host} {one.config}" for one in (*inventory.brokers, *inventory.controllers)],
    }
