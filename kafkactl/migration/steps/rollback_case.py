"""The case of a rollback: the evidence, and the facts that only a journal remembers of an earlier run.

A broker that was stopped and not started again looks like one that another operator stopped; a controller that is gone
shows no disk, and a disk that was formatted for this try has to be wiped all the same; and in ZooKeeper mode without
any sign of a migration, a file that was installed and never started with is a leftover until its origin is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.migration.inventory import Inventory
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.evidence import Evidence
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.step import File, Move, Step


@frozen
class JournalFacts:
    """The facts of a journal that plans ask for.

    `goes_back`: a rollback was begun and not ended. `begun` are the nodes (`broker 2`) whose restart was begun and
    whose gate was not observed, `wiped` the nodes whose disks were put aside in this rollback. `waited`: an earlier run
    waited for a ZooKeeper controller, and observed no election.
    """

    goes_back: bool = False
    begun: frozenset[str] = frozenset()
    wiped: frozenset[str] = frozenset()
    waited: bool = False


NOTHING = JournalFacts()


@frozen
class RollbackCase:
    """The input of the undo steps. Controllers that only the inventory names are stopped and wiped, too."""

    evidence: Evidence
    state: State
    inventory: Inventory | None
    remembered: JournalFacts = NOTHING

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """Return the ids of every controller that any source names."""
        return controller_ids(self.evidence, self.inventory)

    @property
    def is_quorum_started(self) -> bool:
        """Return False if the controllers are formatted and none of them was started."""
        return self.state is not State.M2 or any(answers(node) for node in self.evidence.observation.controllers)

    def started_again(self, file: File = File.ORIGINAL) -> tuple[Step, ...]:
        """Return the starts of brokers that an earlier run stopped; none without an inventory."""
        if self.inventory is None:
            return ()
        files = {Role.BROKER: file}
        return tuple(started_again(self.inventory, self.evidence.observation, self.remembered, files))


def controller_ids(e: Evidence, inventory: Inventory | None) -> tuple[int, ...]:
    """Return the ids of every controller that any source names."""
    ids = {controller.id for controller in e.observation.controllers} | set(e.observation.logs)
    ids |= set() if e.quorum is None else {voter.id for voter in e.quorum.voters}
    ids |= set() if inventory is None else {controller.id for controller in inventory.controllers}
    return tuple(sorted(ids))


def started_again(
    inventory: Inventory, observation: Observation, remembered: JournalFacts, files: Mapping[Role, File]
) -> Iterator[Step]:
    """Yield starts of nodes that an earlier run stopped: a plan from an observation does not know who stopped them."""
    for listed in inventory.nodes:
        node = observation.node(listed.id, listed.role)
        if listed.name in remembered.begun and listed.role in files and node is not None and node.alive is False:
            yield Step(
                action=Move.RESTART_NODE,
                target=listed.name,
                gate="the broker responds, and all its replicas are in the ISR",
                why="an earlier run stopped it and ended before it was seen to run again",
                node=listed.id,
                role=listed.role,
                file=files[listed.role],
            )
