"""Difference between two states: the partitions that an event changes, the number in each state, the consequence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.wording import counted, first_few
from kafkactl.dryrun.controller.active_controller import ActiveController, Key
from kafkactl.dryrun.prediction import Change, Counts, Outcome, Verdict
from kafkactl.metadata.image.model import LEADER_AT, RECOVERING, Partition

Outcomes = Mapping[Key, Sequence[Partition]]  # if there is more than one
_EPOCH = Partition._fields.index("partition_epoch")


def changes_of(
    controller: ActiveController, outcomes: Outcomes | None = None, *, since_mark: bool = False
) -> tuple[Change, ...]:
    """Return the change of every partition that the controller changed, the most severe first.

    `outcomes` are all ends of partitions with several. The base of the comparison is the image, or the state at the
    mark.
    """
    outcomes, touched = outcomes or {}, controller.touched
    found = []
    for key in dict.fromkeys((*(touched if since_mark else controller.changed), *outcomes)):
        old = touched[key] if since_mark else controller.image.topics[key[0]].partitions[key[1]]
        new, several = controller.partition(key), outcomes.get(key, ())
        if len(several) > 1 or _differ(old, new):
            found.append(change_of(controller, key, old, new, several))
    return tuple(sorted(found, key=lambda change: change.rank))


def _differ(old: Partition, new: Partition) -> bool:
    """Return True if partitions differ in more than their partition epochs."""
    return old[:_EPOCH] != new[:_EPOCH] or old[_EPOCH + 1 :] != new[_EPOCH + 1 :]


def change_of(
    controller: ActiveController, key: Key, old: Partition, new: Partition, several: Sequence[Partition] = ()
) -> Change:
    """Return the change of a partition; `several` are its other possible ends."""
    topic = controller.image.topics[key[0]]
    ends: dict[Any, Outcome] = {}
    for end in (new, *several) if several else ():
        found = _outcome(end)
        ends.setdefault((found.leader, *map(frozenset, (found.isr, found.elr, found.last_known_elr))), found)
    return Change(
        topic=topic.name,
        partition=key[1],
        leader_before=old.leader,
        leader_after=new.leader,
        isr_before=old.isr,
        isr_after=new.isr,
        elr_after=new.eligible_leader_replicas,
        last_known_elr_after=new.last_known_elr,
        leader_epoch_after=new.leader_epoch,
        recovering_after=new.leader_recovery_state == RECOVERING,
        elected_uncleanly=key in controller.unclean or any(_recovers(old, end) for end in several),
        min_isr=controller.facts.rules.enough(controller.min_isr(topic), len(new.replicas)),
        replicas_after=new.replicas,
        alternatives=tuple(ends.values()) if len(ends) > 1 else (),
    )


def _recovers(old: Partition, new: Partition) -> bool:
    return old.leader_recovery_state != RECOVERING and new.leader_recovery_state == RECOVERING


def _outcome(partition: Partition) -> Outcome:
    return Outcome(partition.leader, partition.isr, partition.eligible_leader_replicas, partition.last_known_elr)


def counts_of(controller: ActiveController, changes: Iterable[Change]) -> Counts:
    """Return the number of partitions, in total and by their present state."""
    total, offline, under, at = controller.tally()
    moved = sum(change.leader_before != change.leader_after for change in changes)
    return Counts(total=total, leader_changes=moved, offline=offline, under_min_isr=under, at_min_isr=at)


def verdict_of(changes: Iterable[Change]) -> Verdict:
    """Return `unavailable` if a partition may lose its leader, `degraded` if one ends uncleanly or fewer in sync."""
    degraded = False
    for change in changes:
        if change.loses_leader:
            return Verdict.UNAVAILABLE
        degraded = degraded or _is_less(change)
    return Verdict.DEGRADED if degraded else Verdict.OK


def _is_less(change: Change) -> bool:
    if change.elected_uncleanly:
        return True
    least = min(len(change.isr_before), len(change.replicas_after))  # fewer replicas may be what was asked for
    return any(len(outcome.isr) < least for outcome in change.outcomes)


def findings_of(changes: Sequence[Change], leaderless_before: int) -> Iterator[Finding]:
    """Report the effects of the changes on producers and consumers."""

    def named(chosen: Callable[[Change], bool], most: int) -> tuple[int, list[str]]:
        names = [f"{change.topic}-{change.partition}" for change in changes if chosen(change)]
        return len(names), names[:most]

    yield from findings_among(named)
    if leaderless_before:
        yield warning(
            "partitions-without-leader-before",
            counted(leaderless_before, "partition"),
            f"{counted(leaderless_before, 'partition')} without a leader now already, which the verdict does not count",
            count=leaderless_before,
        )


def findings_among(named: Callable[[Callable[[Change], bool], int], tuple[int, list[str]]]) -> Iterator[Finding]:
    """Yield the findings of `findings_of` from counts.

    `named` has a predicate and a limit, and returns the number of changes that satisfy the predicate and the names of
    the first ones, at most as many as the limit.
    """
    for id, severity, chosen, text, next_step in _MEANINGS:
        count, names = named(chosen, SHOWN_NAMES)
        if count:
            yield severity(
                id,
                counted(count, "partition"),
                f"{text}: {first_few(names, count=count)}",
                next_step,
                count=count,
                partitions=names,
            )


SHOWN_NAMES = 20
_MEANINGS = (
    (
        "partition-loses-leader",
        blocker,
        lambda change: change.loses_leader,
        "no replica may lead these any more, they can be neither read nor written",
        "Raise their replication factor, or bring lagging replicas back into the ISR first.",
    ),
    (
        "partition-under-min-isr",
        warning,
        lambda change: change.under_min_isr and not change.loses_leader and change.leader_after >= 0,
        "fewer replicas are in sync than min.insync.replicas asks for, writes with acks=all fail",
        "Wait for the ISR to be whole before, or lower min.insync.replicas knowingly.",
    ),
    (
        "unclean-leader",
        warning,
        lambda change: change.elected_uncleanly,
        "a replica that is not known to be in sync becomes the leader (RECOVERING): records may be lost",
        "Bring back the last leader first if its data matters.",
    ),
    (
        "outcome-depends-on-order",
        note,
        lambda change: not change.certain,
        "which leader and ISR these get depends on the order in which brokers are lost or return",
        "Look at the alternatives of each.",
    ),
)


def leaderless(controller: ActiveController) -> int:
    """Return the number of partitions of the image without a leader."""
    return sum(
        state[LEADER_AT] == NO_LEADER
        for topic in controller.image.topics.values()
        for state in topic.partitions.states.values()
    )
