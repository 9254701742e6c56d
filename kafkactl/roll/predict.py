"""Prediction of each stop's effect on partitions and quorum: the whole sequence is simulated on the image.

The events are those of `dryrun rolling-restart`, a batch those of `dryrun broker-loss --mode controlled`: equal figures
for equal orders. The figures are those while the nodes are down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkactl.cluster.quorum.majority import majority, tolerates
from kafkactl.core.answers import by_fields
from kafkactl.core.frozen import frozen
from kafkactl.dryrun.brokers.shapes import ShapedController, Spread, with_one_directory
from kafkactl.dryrun.prediction import Counts
from kafkactl.dryrun.scenarios.broker_loss import LossMode, lose
from kafkactl.dryrun.scenarios.broker_return import come_back
from kafkactl.roll.case import RollCase
from kafkactl.roll.liveness import count_voters


@frozen
class StepPrediction:
    """Partitions of the cluster and voters of the quorum while the nodes of a step are down."""

    leader_changes: int
    """Leaders that move or go to none, against just before the stop."""
    offline: int
    under_min_isr: int
    at_min_isr: int
    majority: bool | None
    """True if the other voters are a majority. Null if the voters are unknown."""
    tolerates: int | None
    """Further voters that may fail meanwhile; below 0 without a majority. Null if the voters are unknown."""

    to_dict = by_fields


def predict_steps(case: RollCase, batches: Sequence[Sequence[int]]) -> Iterator[StepPrediction | None]:
    """Yield the prediction of each stop, the nodes of the stops before being back; None if no log was read."""
    if not case.has_log:
        yield from (None for _ in batches)
        return
    controller = ShapedController(with_one_directory(case.image), case.facts)
    alive = _expected_voters(case)
    for batch in batches:
        alive |= set(batch) & set(case.voter_ids)
        yield _prediction(case, _stopped(controller, batch), alive - set(batch))
        _start(controller, batch)


def _stopped(controller: ShapedController, batch: Sequence[int]) -> Counts:
    """Stop brokers one after the other, and return the counts while all of them are down."""
    controller.mark()
    for broker_id in batch:
        held = controller.brokers.get(broker_id)
        if held is not None and not held.fenced:
            lose(controller, broker_id, LossMode.CONTROLLED)
    return Spread(controller, since_mark=True).counts()


def _start(controller: ShapedController, batch: Sequence[int]) -> None:
    for broker_id in batch:
        held = controller.brokers.get(broker_id)
        if held is not None:
            come_back(controller, broker_id, clean=held.in_controlled_shutdown)


def _expected_voters(case: RollCase) -> set[int]:
    """Return the voters that are expected to be there: all but those known to be dead."""
    count = count_voters(case)
    return set() if count is None else set(count.alive | count.unknown)


def _prediction(case: RollCase, counts: Counts, alive: set[int]) -> StepPrediction:
    voters = case.voter_ids
    return StepPrediction(
        leader_changes=counts.leader_changes,
        offline=counts.offline,
        under_min_isr=counts.under_min_isr,
        at_min_isr=counts.at_min_isr,
        majority=len(alive & set(voters)) >= majority(len(voters)) if voters else None,
        tolerates=tolerates(voters, alive) if voters else None,
    )
