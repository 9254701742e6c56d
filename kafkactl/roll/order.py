"""The order of a roll, and which brokers are stopped together.

Upgrade and restart: nodes that are down or not back first, because they can only get better; then controllers, the
leader last; then brokers. Downgrade: brokers first, then controllers. Combined nodes count as controllers. Brokers go
in the order that moves the fewest leaders, from the same replay as `dryrun rolling-restart`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from kafkactl.core.answers import by_fields
from kafkactl.core.frozen import frozen
from kafkactl.dryrun.brokers.orders import best_order
from kafkactl.dryrun.controller.active_controller import ActiveController
from kafkactl.dryrun.scenarios.broker_loss import LossMode, lose
from kafkactl.dryrun.scenarios.broker_return import come_back
from kafkactl.roll.case import RollCase, Way
from kafkactl.roll.files_before import lacks_file
from kafkactl.roll.liveness import count_voters, is_alive
from kafkactl.roll.observation import RollNode
from kafkactl.roll.partitions import RollPartition
from kafkactl.roll.start_gates import gates_after

ALL_OF_A_RACK = 0
"""Value of `RollRequest.batch` for all brokers of a rack that can be stopped together."""


@frozen
class RollOrder:
    """The nodes of a roll in their order; combined nodes are among the controllers."""

    controllers: tuple[int, ...]
    brokers: tuple[int, ...]

    to_dict = by_fields


def nodes_to_do(case: RollCase) -> tuple[RollNode, ...]:
    """Return the nodes that the roll has still to restart: those that do not run the goal, or all of a restart.

    In a restart nodes with another incarnation than the journal has are done.
    """
    return tuple(node for node in case.nodes if not is_restarted(case, node))


def is_restarted(case: RollCase, node: RollNode) -> bool:
    """Return True if a node needs no restart in this roll: it runs the goal, or the journal shows its restart.

    A node that still lacks its new file, or runs with the one before, does need one.
    """
    if lacks_file(case, node):
        return False
    if case.is_done(node):
        return True
    record = case.record
    mark = None if record is None else record.marks.get(node.id)
    if record is None or mark is None or not record.is_under_way or case.goal is not None:
        return False
    if record.open_step is not None and node.id in record.open_step.nodes:
        return False
    held = case.image.brokers.get(node.id) if node.is_broker else case.image.controllers.get(node.id)
    before = mark.incarnation if node.is_broker else mark.controller_incarnation
    return held is not None and before is not None and str(held.incarnation_id) != before


def roll_order(case: RollCase) -> RollOrder:
    """Return the order of the nodes that are still to be restarted."""
    nodes = nodes_to_do(case)
    controllers = [node for node in nodes if node.is_controller]
    brokers = [node for node in nodes if not node.is_controller]
    first = {node.id for node in nodes if is_away(case, node)}
    leader_id = case.leader_id
    ordered = sorted(controllers, key=lambda node: (node.id not in first, node.id == leader_id, node.id))
    return RollOrder(
        controllers=tuple(node.id for node in ordered), brokers=_broker_order(case, ordered, brokers, first)
    )


def is_away(case: RollCase, node: RollNode) -> bool:
    """Return True if a node is down or known not to be back."""
    if is_alive(case, node.id) is False:
        return True
    return any(gate.passed is False and gate.id != "quorum-settled" for gate in gates_after(case, node))


def _broker_order(
    case: RollCase, controllers: Sequence[RollNode], brokers: Sequence[RollNode], first: Collection[int]
) -> tuple[int, ...]:
    ids = [node.id for node in brokers]
    if case.request.order is not None:
        named = [id for id in case.request.order if id in ids]
        return (*named, *(id for id in ids if id not in named))
    down = [id for id in ids if id in first]
    live = [id for id in ids if id not in down and id in case.image.brokers]
    unknown = [id for id in ids if id not in down and id not in live]
    if not live:
        return (*down, *unknown)
    controller = ActiveController(case.image, case.facts)
    if case.way is not Way.DOWNGRADE:
        _roll(controller, [node.id for node in controllers if node.is_broker])
    returning = [id for id in down if id in case.image.brokers and case.image.brokers[id].fenced]
    return (*down, *best_order(controller, returning, live, racks(case)), *unknown)


def _roll(controller: ActiveController, combined: Iterable[int]) -> None:
    """Restart combined nodes, which come before the brokers: they move leaders, too."""
    for broker_id in combined:
        held = controller.brokers.get(broker_id)
        if held is not None:
            if not held.fenced:
                lose(controller, broker_id, LossMode.CONTROLLED)
            come_back(controller, broker_id, clean=controller.brokers[broker_id].in_controlled_shutdown)


def racks(case: RollCase) -> dict[int, str | None]:
    """Return the rack of each node: that of the observation, else that of its registration."""
    found: dict[int, str | None] = {}
    for node in case.observation.nodes:
        held = case.image.brokers.get(node.id)
        found[node.id] = node.rack or (None if held is None else held.rack)
    return found


def batches_of(case: RollCase, order: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the brokers in their order, those that can be stopped together in one batch.

    They share a rack, every partition keeps min.insync.replicas without all of them, and a minority of voters is among
    them.
    """
    most = case.request.batch
    rack_of = racks(case)
    left = list(order)
    found: list[tuple[int, ...]] = []
    while left:
        batch = [left.pop(0)]
        for other in list(left) if most != 1 else ():
            if most != ALL_OF_A_RACK and len(batch) >= most:
                break
            rack = rack_of.get(batch[0])
            if rack is not None and rack_of.get(other) == rack and may_stop_together(case, [*batch, other]):
                batch.append(other)
                left.remove(other)
        found.append(tuple(batch))
    return tuple(found)


def may_stop_together(case: RollCase, brokers: Sequence[int]) -> bool:
    """Return True if no partition needs two of these brokers at a time, and a majority of voters is left."""
    ids = frozenset(brokers)
    count = count_voters(case)
    if count is not None and len(ids & set(count.voters)) * 2 >= len(count.voters):
        return False
    return all(_is_kept(partition, ids) for partition in case.partitions.with_replica(ids))


def _is_kept(partition: RollPartition, ids: frozenset[int]) -> bool:
    return len(ids & set(partition.isr)) < 2 or partition.keeps_enough(ids)
