"""Brokers that are controllers too: losing them can cost the quorum its majority.

Without a majority no broker is fenced and the log does not grow. Partitions that the lost brokers lead keep these
leaders, and cannot be reached, until a majority of the controllers is back (KIP-595; measured on 4.3.1: two of three
combined nodes killed, 16 partitions out of reach, no record). Only a node with both roles has the id of a broker and of
a voter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from kafkactl.cluster.quorum.majority import arithmetic, tolerates
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.wording import counted, first_few, numbered, plural
from kafkactl.dryrun.compare import SHOWN_NAMES, change_of
from kafkactl.dryrun.controller.active_controller import ActiveController, Key
from kafkactl.dryrun.prediction import Change, Counts, Prediction, Verdict, heaviest
from kafkactl.metadata.image.model import ISR_AT, LEADER_AT, REPLICAS_AT, Partition


def with_quorum(found: Prediction, voters: Collection[int], losses: Sequence[Collection[int]]) -> Prediction:
    """Return a prediction of brokers lost, and what becomes of the quorum while those of each loss are away.

    Voters that are not among them are taken to be alive.
    """
    fatal = [lost for lost in losses if is_fatal(voters, lost)]
    findings = [_without_majority(voters, lost) for lost in fatal]
    if not fatal and len(losses) == 1:
        findings += _weaker(voters, losses[0])
    if not voters or not findings:
        return found
    verdict = heaviest([found.verdict, Verdict.UNAVAILABLE if fatal else Verdict.DEGRADED])
    later = (AFTER_MAJORITY,) if fatal else ()
    return replace(
        found, verdict=verdict, findings=(*findings, *found.findings), assumptions=(*found.assumptions, *later)
    )


AFTER_MAJORITY: Final = (
    "when a majority of the controllers is back, brokers that are still away are fenced and other replicas are elected"
)


def is_fatal(voters: Collection[int], lost: Collection[int]) -> bool:
    """Return True if the quorum has no majority without these nodes."""
    return bool(voters) and tolerates(voters, set(voters) - set(lost)) < 0


def out_of_reach(controller: ActiveController, away: Collection[int]) -> tuple[tuple[Change, ...], Counts]:
    """Return the changes of partitions whose absent leaders cannot be fenced, and the counts of all partitions then.

    The log keeps those leaders; the changes have -1, as for a partition that no replica leads.
    """
    image, enough = controller.image, controller.facts.rules.enough
    ends: dict[Key, Partition] = {}
    total = offline = under = at = 0
    for topic, number, fields in controller.all_fields():
        key, least = (topic.id, number), enough(controller.min_isr(topic), len(fields[REPLICAS_AT]))
        is_led = fields[LEADER_AT] != NO_LEADER and fields[LEADER_AT] not in away
        total, offline = total + 1, offline + (not is_led)
        under += not is_led or len(fields[ISR_AT]) < least
        at += is_led and len(fields[ISR_AT]) == least
        if fields[LEADER_AT] in away:
            ends[key] = controller.partition(key)._replace(leader=NO_LEADER)
    changes = [
        change_of(controller, key, image.topics[key[0]].partitions[key[1]], ends.get(key) or controller.partition(key))
        for key in dict.fromkeys((*ends, *controller.changed))
    ]
    moved = sum(change.leader_before != change.leader_after for change in changes)
    counts = Counts(total=total, leader_changes=moved, offline=offline, under_min_isr=under, at_min_isr=at)
    return tuple(sorted(changes, key=lambda change: change.rank)), counts


def unreachable(controller: ActiveController, changes: Sequence[Change], away: Collection[int]) -> Iterator[Finding]:
    """Yield the effects on producers and consumers while these brokers are away and nothing is elected.

    A leader cannot take a lost replica out of the ISR either: on 4.3.1 a record with acks=all timed out, and one with
    acks=1 was written.
    """
    names = [f"{change.topic}-{change.partition}" for change in changes if change.leader_after == NO_LEADER]
    if names:
        who = numbered("broker", sorted(away))
        yield blocker(
            "leader-out-of-reach",
            counted(len(names), "partition"),
            f"{who} led {first_few(names)}: no other leader is elected until a majority of the controllers is back",
            count=len(names),
            partitions=names[:SHOWN_NAMES],
        )
    gone = {*away, NO_LEADER}
    waiting = controller.keys(lambda fields: fields[LEADER_AT] not in gone and not gone.isdisjoint(fields[ISR_AT]))
    if waiting:
        yield warning(
            "isr-cannot-shrink",
            counted(len(waiting), "partition"),
            f"lost replicas stay in the ISR of {first_few(controller.names(waiting))}: writes with acks=all time out",
            count=len(waiting),
            partitions=controller.names(waiting[:SHOWN_NAMES]),
        )


def _without_majority(voters: Collection[int], lost: Collection[int]) -> Finding:
    return blocker(
        "quorum-loses-majority",
        _named(voters, lost),
        f"the quorum has no majority {_named(voters, lost)}: no broker can be fenced and no leader elected; "
        f"partitions led there are unavailable. {_sum(voters, lost)}",
    )


def _weaker(voters: Collection[int], lost: Collection[int]) -> Iterator[Finding]:
    if set(voters) & set(lost):
        named = _named(voters, lost)
        yield warning(
            "fault-tolerance-reduced", named, f"the quorum survives fewer failures {named}. {_sum(voters, lost)}"
        )


def _named(voters: Collection[int], lost: Collection[int]) -> str:
    gone = sorted(set(voters) & set(lost))
    return f"without {plural('voter', len(gone))} {', '.join(str(voter) for voter in gone)}"


def _sum(voters: Collection[int], lost: Collection[int]) -> str:
    return arithmetic(sorted(voters), set(voters) - set(lost))
