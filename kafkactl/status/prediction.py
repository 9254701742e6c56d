"""The worst loss of one more node, from the image of the metadata log and the voters that are alive."""

from __future__ import annotations

from typing import Final

from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.core.errors import InputError
from kafkactl.dryrun.brokers.worst_loss import Loss, worst_losses
from kafkactl.dryrun.controller.facts import facts_of
from kafkactl.dryrun.prediction import Change
from kafkactl.dryrun.scenarios.broker_loss import broker_loss
from kafkactl.metadata.image.model import Image
from kafkactl.status.observation import PredictedFailure

QUICK_PARTITIONS: Final = 20_000
"""Partitions up to which the prediction takes well below a second."""
_NAMED: Final = 20


def next_failure(image: Image, quorum: QuorumState | None) -> PredictedFailure | None:
    """Return the worst loss of one more node; None if there is none that can be lost."""
    voter = None if quorum is None else _last_voter(image, quorum)
    if voter is not None:
        return _of_voter(image, voter)
    try:
        losses, _ = worst_losses(image, facts_of(image), 1)
    except InputError:  # no broker is in service
        return None
    return _of_broker(image, losses[0])


def _last_voter(image: Image, quorum: QuorumState) -> int | None:
    """Return a live voter without which there is no majority, a broker if possible; None if any one can fail."""
    if quorum.tolerates != 0:
        return None
    alive = sorted(voter.id for voter in quorum.voters if voter.alive)
    return next((id for id in alive if _is_live(image, id)), alive[0])


def _is_live(image: Image, id: int) -> bool:
    return id in image.brokers and not image.brokers[id].fenced


def _of_voter(image: Image, voter: int) -> PredictedFailure:
    """Return the loss of the majority, after which no leader of a partition is elected."""
    words = ("broker-loss", "--from-cluster", "--brokers", str(voter))
    if not _is_live(image, voter):
        words = ("controllers", "--from-cluster", "--lose", str(voter))
    return PredictedFailure(node=f"controller {voter}", words=words, loses=(), is_harmless=False, is_quorum=True)


def _of_broker(image: Image, loss: Loss) -> PredictedFailure:
    (broker,) = loss.brokers
    count = loss.harm.offline + loss.harm.under_min_isr
    names: list[str] = []
    if count:
        found = broker_loss(image, facts_of(image), [broker])
        names = [f"{change.topic}-{change.partition}" for change in found.changes if _is_lost(change)]
    return PredictedFailure(
        node=f"broker {broker}",
        words=("broker-loss", "--from-cluster", "--brokers", str(broker)),
        loses=tuple(names[:_NAMED]),
        is_harmless=not count,
        loss_count=count,
    )


def _is_lost(change: Change) -> bool:
    return change.loses_leader or change.under_min_isr
