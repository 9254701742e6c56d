"""Brokers that are controllers too: losing them can cost the quorum its majority.

Then nobody fences anybody: the log stands still, and partitions that the lost brokers lead stay theirs, unreachable,
until a majority of the controllers is back (KIP-595). Only a node with both roles has the id of a broker and of a
voter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kafkactl.dryrun.prediction import Prediction, Verdict, heaviest
from kafkactl.plan import Finding, blocker, warning
from kafkactl.quorum.majority import arithmetic, tolerates


def with_quorum(found: Prediction, voters: Collection[int], losses: Sequence[Collection[int]]) -> Prediction:
    """A prediction of brokers lost, and what becomes of the quorum while those of each loss are away.

    Voters that are not among them are taken to be alive.
    """
    fatal = [lost for lost in losses if tolerates(voters, set(voters) - set(lost)) < 0]
    findings = [_without_majority(voters, lost) for lost in fatal]
    if not fatal and len(losses) == 1:
        findings += _weaker(voters, losses[0])
    if not voters or not findings:
        return found
    verdict = heaviest([found.verdict, Verdict.UNAVAILABLE if fatal else Verdict.DEGRADED])
    later = ("what is said of partitions comes about when a majority of the controllers is back",) if fatal else ()
    return replace(
        found, verdict=verdict, findings=(*findings, *found.findings), assumptions=(*found.assumptions, *later)
    )


def _without_majority(voters: Collection[int], lost: Collection[int]) -> Finding:
    names = ", ".join(str(one) for one in sorted(set(voters) & set(lost)))
    return blocker(
        "quorum-loses-majority",
        f"without {names}",
        f"{names} vote in the quorum, and no majority is left without them: nobody fences a broker or moves a leader, "
        f"and partitions that they lead are unreachable. {_sum(voters, lost)}",
        "Keep a majority of the voters alive.",
    )


def _weaker(voters: Collection[int], lost: Collection[int]) -> Iterator[Finding]:
    gone = sorted(set(voters) & set(lost))
    if gone:
        names = ", ".join(str(one) for one in gone)
        yield warning(
            "quorum-tolerates-less",
            f"without {names}",
            f"{names} vote in the quorum, which survives fewer failures without them. {_sum(voters, lost)}",
        )


def _sum(voters: Collection[int], lost: Collection[int]) -> str:
    return arithmetic(sorted(voters), set(voters) - set(lost))
