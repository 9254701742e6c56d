"""Outcome of a feature change, from the levels observed afterwards, never from the answer.

A lost answer, a time-out and a controller that resigned with the record on its way all leave it open whether the level
was written. The level is read again, and the outcome is unknown only if that does not decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from kafkactl.change.reply import Reply
from kafkactl.core.findings import Finding, Outcome, note, warning
from kafkactl.core.frozen import frozen
from kafkactl.features.change.results import FeatureResult
from kafkactl.features.plan.change import FeatureChange


class ObservedLevel(StrEnum):
    """The level that the active controller shows afterwards, against the change that was asked for."""

    AFTER = "after"  # the level that was asked for
    BEFORE = "before"  # the level that was there
    OTHER = "other"  # a third level: another operator or process changed it
    UNREAD = "unread"


@frozen
class Resolved:
    """Outcome of one feature: `done`, `failed` or `unknown`, with its findings."""

    name: str
    outcome: Outcome
    findings: tuple[Finding, ...] = ()


# `settled` says that nothing of the request can land any more: a later request was answered by the same active
# controller in the same epoch (its queue keeps the order), or its records were seen to be committed or cut off.
_RESOLUTIONS: Final[dict[tuple[Reply, ObservedLevel], tuple[Outcome, Outcome]]] = {
    # (answer, level afterwards): (outcome while unsettled, outcome once settled)
    (Reply.ACCEPTED, ObservedLevel.AFTER): (Outcome.DONE, Outcome.DONE),
    (Reply.ACCEPTED, ObservedLevel.BEFORE): (Outcome.UNKNOWN, Outcome.FAILED),
    (Reply.ACCEPTED, ObservedLevel.OTHER): (Outcome.UNKNOWN, Outcome.UNKNOWN),
    (Reply.ACCEPTED, ObservedLevel.UNREAD): (Outcome.UNKNOWN, Outcome.UNKNOWN),
    (Reply.REFUSED, ObservedLevel.AFTER): (Outcome.DONE, Outcome.DONE),
    (Reply.REFUSED, ObservedLevel.BEFORE): (Outcome.FAILED, Outcome.FAILED),
    (Reply.REFUSED, ObservedLevel.OTHER): (Outcome.FAILED, Outcome.FAILED),
    (Reply.REFUSED, ObservedLevel.UNREAD): (Outcome.FAILED, Outcome.FAILED),
    (Reply.UNCLEAR, ObservedLevel.AFTER): (Outcome.DONE, Outcome.DONE),
    (Reply.UNCLEAR, ObservedLevel.BEFORE): (Outcome.UNKNOWN, Outcome.FAILED),
    (Reply.UNCLEAR, ObservedLevel.OTHER): (Outcome.UNKNOWN, Outcome.UNKNOWN),
    (Reply.UNCLEAR, ObservedLevel.UNREAD): (Outcome.UNKNOWN, Outcome.UNKNOWN),
}


def resolve(
    changes: Iterable[FeatureChange],
    results: Iterable[FeatureResult],
    levels: Mapping[str, int] | None,
    *,
    settled: bool,
) -> tuple[Resolved, ...]:
    """Return the outcome of each change of one request.

    `levels` are the finalized levels as the active controller shows them afterwards (level 0 may be left out), None
    if they could not be read. While an outcome is unknown and `settled` is False it is worth reading again.
    """
    replies = {result.name: result for result in results}
    return tuple(_resolve_one(change, replies.get(change.name), levels, settled) for change in changes)


def overall(resolved: Iterable[Resolved]) -> Outcome:
    """Return the outcome of several changes together."""
    outcomes = {feature.outcome for feature in resolved}
    if not outcomes:
        return Outcome.NOTHING_TO_DO
    if Outcome.UNKNOWN in outcomes:
        return Outcome.UNKNOWN
    if outcomes == {Outcome.DONE}:
        return Outcome.DONE
    return Outcome.PARTIAL if Outcome.DONE in outcomes else Outcome.FAILED


def _resolve_one(
    change: FeatureChange, result: FeatureResult | None, levels: Mapping[str, int] | None, settled: bool
) -> Resolved:
    reply = Reply.UNCLEAR if result is None else result.reply
    seen = _seen(change, levels)
    outcome = _RESOLUTIONS[reply, seen][settled]
    return Resolved(name=change.name, outcome=outcome, findings=tuple(_remarks(change, reply, seen, outcome, levels)))


def _seen(change: FeatureChange, levels: Mapping[str, int] | None) -> ObservedLevel:
    if levels is None:
        return ObservedLevel.UNREAD
    level = levels.get(change.name, 0)
    if level == change.after:
        return ObservedLevel.AFTER
    return ObservedLevel.BEFORE if level == change.before else ObservedLevel.OTHER


def _remarks(
    change: FeatureChange, reply: Reply, seen: ObservedLevel, outcome: Outcome, levels: Mapping[str, int] | None
) -> Iterable[Finding]:
    subject, found = f"feature {change.name}", (levels or {}).get(change.name, 0)
    evidence: dict[str, Any] = {
        "from": change.before,
        "to": change.after,
        "found": None if seen is ObservedLevel.UNREAD else found,
    }
    if seen is ObservedLevel.OTHER:
        yield warning(
            "feature-level-changed-by-others",
            subject,
            f"{change.name} is at {found}, neither where it was ({change.before}) nor where it was to go "
            f"({change.after}): another operator or process changes levels",
            **evidence,
        )
    elif reply is Reply.ACCEPTED and outcome is Outcome.FAILED:
        yield warning(
            "accepted-change-not-made",
            subject,
            f"the controller answered that {change.name} is at {change.after}, and it is not",
            **evidence,
        )
    elif reply is not Reply.ACCEPTED and seen is ObservedLevel.AFTER:
        yield note(
            "change-made-despite-answer",
            subject,
            f"no answer confirmed the change, but {change.name} is at {change.after}: the change was made",
            "Nothing to do.",
            **evidence,
        )
    elif outcome is Outcome.UNKNOWN:
        yield warning(
            "feature-outcome-unknown",
            subject,
            f"the outcome is unknown: {change.name} may or may not reach {change.after}",
            **evidence,
        )
