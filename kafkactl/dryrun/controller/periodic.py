"""Automatic actions of an active controller at intervals, after what a request or an event has left behind.

Unclean elections that the configuration allows (`electUnclean`, from 3.9 on) and the return of leaders to their
preferred replicas (`balancePartitionLeaders`). KRaft does not look at leader.imbalance.per.broker.percentage: one
partition of 31 is enough (measured on 3.9.2 and 4.3.1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from kafkactl.core.findings import Finding, note
from kafkactl.core.wording import counted, first_few
from kafkactl.dryrun.controller.active_controller import ActiveController, Key
from kafkactl.dryrun.controller.election import Election, Target
from kafkactl.dryrun.controller.facts import Facts

_MINUTES: Final = 300
_REBALANCE: Final = "auto.leader.rebalance.enable"


def unclean_interval_s(facts: Facts) -> float:
    """Return the interval of the controller's check for leaderless partitions, in seconds."""
    text = facts.static.get("unclean.leader.election.interval.ms", "").strip()
    return int(text) / 1_000 if text.isascii() and text.isdigit() else _MINUTES


def moves_back(controller: ActiveController, keys: Collection[Key]) -> list[Key]:
    """Return those of the partitions that the next rebalance moves to their preferred replicas."""
    if controller.facts.static.get(_REBALANCE, "true").strip().lower() == "false":
        return []
    found = []
    for key in keys:
        partition = controller.partition(key)
        if partition.leader == partition.replicas[0]:
            continue
        least, _ = controller.settings(controller.image.topics[key[0]])
        target = Target(min_isr=least, election=Election.PREFERRED)
        if controller.change_of(partition, target, controller.is_active) is not None:
            found.append(key)
    return found


def leaders_move_back(controller: ActiveController) -> Iterator[Finding]:
    """Yield a note on partitions that an event changed and the next rebalance changes again."""
    keys = moves_back(controller, list(controller.changed))
    if keys:
        names = controller.names(keys)
        text = controller.facts.static.get("leader.imbalance.check.interval.seconds", "").strip()
        seconds = int(text) if text.isascii() and text.isdigit() else _MINUTES
        only = "" if controller.facts.static_known else f", unless the controllers set {_REBALANCE}=false"
        yield note(
            "leaders-move-back",
            counted(len(keys), "partition"),
            f"the controller elects the preferred replicas of {first_few(names)} within {seconds} s{only}",
            count=len(keys),
            partitions=names[:20],
        )
