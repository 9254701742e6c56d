"""`features.change` and `features.verify` as the commands answer them (docs/reference/kinds.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, cast

from kafkactl.change.reply import Reply
from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.findings import Finding, Outcome, Severity, blockers
from kafkactl.core.frozen import frozen
from kafkactl.features.change.outcome import Resolved, overall
from kafkactl.features.change.proof import Proof
from kafkactl.features.change.results import FeatureResult
from kafkactl.features.plan.plan import FeaturePlan

FeatureOutcome = Literal[Outcome.DONE, Outcome.FAILED, Outcome.UNKNOWN, Outcome.PLANNED, Outcome.REFUSED]


@frozen
class Prediction:
    """Prediction of the controller's answer; null: only the controller can know."""

    name: str
    accepted: bool | None

    to_dict = by_fields


@frozen
class Answered:
    """Answer about one feature, and its outcome."""

    result: FeatureResult
    outcome: FeatureOutcome

    to_dict = json_of("**result", "outcome")


def change_findings(
    plan: FeaturePlan, resolved: Iterable[Resolved], extra: Iterable[Finding], proof: Proof | None
) -> tuple[Finding, ...]:
    """Return findings of the plan, later findings, and those of the proof, none of which is a blocker now."""
    lagging = () if proof is None else proof.findings
    return (
        *plan.findings,
        *extra,
        *(finding for feature in resolved for finding in feature.findings),
        *(replace(finding, severity=Severity.WARNING) for finding in lagging),
    )


def answers_of(results: Iterable[FeatureResult], resolved: Iterable[Resolved]) -> list[Answered]:
    """Return each result with the outcome of the feature; with the dry run's outcome if no request was sent."""
    became = {feature.name: feature.outcome for feature in resolved}
    validated = {Reply.ACCEPTED: Outcome.PLANNED, Reply.REFUSED: Outcome.REFUSED, Reply.UNCLEAR: Outcome.UNKNOWN}
    return [
        Answered(
            result=result,
            outcome=cast(
                "FeatureOutcome",
                became.get(result.name, Outcome.UNKNOWN) if became else validated[result.reply],
            ),
        )
        for result in results
    ]


def change_outcome(
    plan: FeaturePlan, resolved: tuple[Resolved, ...], findings: tuple[Finding, ...], *, dry_run: bool
) -> Outcome:
    """Return the outcome of a change: by the plan if no request was sent, else by the outcomes of all moving
    features."""
    if plan.outcome is not Outcome.PLANNED:
        return plan.outcome
    if not resolved:
        if blockers(findings):
            return Outcome.REFUSED
        return Outcome.PLANNED if dry_run else Outcome.FAILED
    reached = overall(resolved)
    whole = {feature.name for feature in resolved} >= {change.name for change in plan.changes if change.moves}
    return Outcome.PARTIAL if reached is Outcome.DONE and not whole else reached
