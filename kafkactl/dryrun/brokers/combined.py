"""Brokers that are controllers too: losing them can cost the quorum its majority.

Without a majority no broker is fenced and the log does not grow. Partitions that the lost brokers lead keep these
leaders, and cannot be reached, until a majority of the controllers is back (KIP-595). Only a node with both roles has
the id of a broker and of a voter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kafkactl.dryrun.prediction import Prediction, Verdict, heaviest
from kafkactl.findings import Finding, blocker, warning
from kafkactl.quorum.majority import arithmetic, majority, tolerates
from kafkactl.wording import plural


def with_quorum(
    found: Prediction, voters: Collection[int], losses: Sequence[Collection[int]], *, is_simulated: bool = True
) -> Prediction:
    """A prediction of brokers lost, and what becomes of the quorum while those of each loss are away.

    Voters that are not among them are taken to be alive. `is_simulated`: what is said of partitions is about
    these losses.
    """
    fatal = [lost for lost in losses if tolerates(voters, set(voters) - set(lost)) < 0]
    findings = [_without_majority(voters, lost) for lost in fatal]
    if not fatal and len(losses) == 1:
        findings += _weaker(voters, losses[0])
    if not voters or not findings:
        return found
    verdict = heaviest([found.verdict, Verdict.UNAVAILABLE if fatal else Verdict.DEGRADED])
    later = (
        ("what is said of partitions comes about when a majority of the controllers is back",)
        if fatal and is_simulated
        else ()
    )
    return replace(
        found, verdict=verdict, findings=(*findings, *found.findings), assumptions=(*found.assumptions, *later)
    )


def worst_for_quorum(voters: Collection[int], brokers: Collection[int], size: int) -> tuple[int, ...]:
    """A smallest set of brokers, at most so many, without which no majority is left; () where there is none.

    >>> worst_for_quorum([1, 2, 3], [1, 2, 3, 4], 2), worst_for_quorum([1, 2, 3], [1, 4], 2)
    ((1, 2), ())
    """
    both, needed = sorted(set(voters) & set(brokers)), len(voters) - majority(len(voters)) + 1
    return tuple(both[:needed]) if needed <= min(size, len(both)) else ()


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
