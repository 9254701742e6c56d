"""What of a rollback no observation can show: what an earlier run has begun, as its journal remembers it.

A broker that was stopped and not started again looks like one that another operator stopped; a controller that is gone
shows no disk, and what was formatted for this try has to go all the same; and in ZooKeeper mode without anything of a
migration, a file that was installed and never started with is a leftover until its origin is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.migration.inventory import Inventory
from kafkactl.migration.observed.observation import NodeRole, Observation
from kafkactl.migration.plan.step import File, Move, Step

_FILE_LEFT = "broker-file-left-over"


@frozen
class Remembered:
    """`goes_back`: a rollback was begun and not ended. `begun` are the nodes (`broker 2`) whose restart was begun and
    never seen through, `wiped` those whose disks were put aside on this way. `waited`: for a ZooKeeper controller, and
    none was seen to be elected.
    """

    goes_back: bool = False
    begun: frozenset[str] = frozenset()
    wiped: frozenset[str] = frozenset()
    waited: bool = False


NOTHING = Remembered()


def started_again(
    inventory: Inventory, seen: Observation, remembered: Remembered, files: dict[NodeRole, File]
) -> Iterator[Step]:
    """Starts of nodes that an earlier run stopped: the plan of what is seen may not know that they are ours."""
    for listed in inventory.nodes:
        node = seen.node(listed.id, listed.role)
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


def files_back(inventory: Inventory, found: Iterable[Finding]) -> Iterator[Step]:
    """Files of brokers that were changed and never started with: the next restart would enter the migration."""
    names = {finding.subject for finding in found if finding.id == _FILE_LEFT}
    for broker in inventory.brokers:
        if broker.name in names:
            yield Step(
                action=Move.RESTORE_CONFIG,
                target=broker.name,
                gate="its file is the one from before the migration",
                why="with the migration's file its next start would look for controllers that are gone",
                node=broker.id,
                role=NodeRole.BROKER,
                file=File.ORIGINAL,
            )


def disks_unseen(inventory: Inventory, seen: Observation) -> frozenset[int]:
    """The controllers of the inventory whose disks are not known to be empty."""
    return frozenset(
        controller.id
        for controller in inventory.controllers
        if (node := seen.node(controller.id, NodeRole.CONTROLLER)) is None
        or node.meta_properties is not None
        or not controller.log
    )
