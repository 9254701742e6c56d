"""Brokers lost together, for one partition: every order in which the controller may notice.

The controller fences one broker per pass, in an order that cannot be predicted. Until then it takes a dead broker for
alive and may even elect it (measured on 3.9.2 to 4.4.0). The result for a partition depends on its own replicas alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import permutations

from kafkactl.dryrun.controller.election import Election, ElectionRules, Target, change_partition, merge, without
from kafkactl.metadata.image.model import Partition


def ends_of(
    partition: Partition,
    lost: Iterable[int],
    acceptable: Callable[[int], bool],
    rules: ElectionRules,
    settings: tuple[int, bool],
) -> tuple[Partition, ...]:
    """Return the distinct final states of a partition when these of its replicas are lost, over every order of the
    losses.

    States that differ only in their epochs are equal. `acceptable` says which brokers could lead before the loss;
    `settings` are the effective min ISR and whether an unclean election is allowed.
    """
    found: dict[tuple[object, ...], Partition] = {}
    for order in permutations(sorted(set(lost))):
        end = _simulated(partition, order, acceptable, rules, settings)
        found.setdefault(_without_epochs(end), end)
    return tuple(found.values())


def _simulated(
    partition: Partition,
    order: Sequence[int],
    acceptable: Callable[[int], bool],
    rules: ElectionRules,
    settings: tuple[int, bool],
) -> Partition:
    gone: set[int] = set()
    min_isr, unclean = settings
    for broker_id in order:
        gone.add(broker_id)
        if broker_id not in partition.isr:
            continue
        target = Target(
            min_isr=min_isr,
            isr=without(partition.isr, broker_id),
            election=Election.UNCLEAN if unclean else Election.ONLINE,
        )
        change = change_partition(partition, target, lambda replica: replica not in gone and acceptable(replica), rules)
        if change is not None:
            partition = merge(partition, change)
    return partition


def _without_epochs(partition: Partition) -> tuple[object, ...]:
    return partition._replace(leader_epoch=0, partition_epoch=0)
