"""`features.change` and `features.verify` as the commands answer them (docs/reference/kinds.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, Outcome, Severity, blockers
from kafkactl.core.frozen import frozen
from kafkactl.features.change.outcome import Resolved, overall
from kafkactl.features.change.proof import Proof
from kafkactl.features.change.results import FeatureResult, Reply
from kafkactl.features.plan.plan import FeaturePlan


@frozen
class Answered:
    """What was answered about a feature, and what became of it: an answer alone does not say that."""

    result: FeatureResult
    outcome: Outcome

    to_dict = json_of("**result", "outcome")


def change_answer(
    plan: FeaturePlan,
    *,
    results: Iterable[FeatureResult] = (),
    resolved: Iterable[Resolved] = (),
    proof: Proof | None = None,
    findings: Iterable[Finding] = (),
    predictions: Mapping[str, bool | None] | None = None,
    dry_run: bool = False,
) -> dict[str, Any]:
    """The answer of a change that was planned, tried or made.

    `resolved` is what became of the changes that were sent, over all steps; changes that move and are not among them
    were not reached. `findings` are those that came up after planning; a blocker among them, before anything was
    sent, is a refusal. Where nothing was sent, results are those of the controller's dry run, and `predictions` what
    was expected of it. Levels that are written and not yet shown by every node leave the outcome at done: the proof
    and its findings, here warnings, say which nodes lag.
    """
    resolved, extra = tuple(resolved), tuple(findings)
    outcome = change_outcome(plan, resolved, extra, dry_run=dry_run)
    return {
        **plan.to_dict(),
        "outcome": outcome.value,
        "findings": [finding.to_dict() for finding in change_findings(plan, resolved, extra, proof)],
        "results": [answered.to_dict() for answered in answers_of(results, resolved)],
        "results_of": "change" if resolved else "dry-run",
        "predictions": [{"name": name, "accepted": accepted} for name, accepted in (predictions or {}).items()],
        "proof": [] if proof is None else [node.to_dict() for node in proof.nodes],
    }


def change_findings(
    plan: FeaturePlan, resolved: Iterable[Resolved], extra: Iterable[Finding], proof: Proof | None
) -> tuple[Finding, ...]:
    """Those of the plan, those that came up later, and those of the proof, none of which is a blocker any more."""
    lagging = () if proof is None else proof.findings
    return (
        *plan.findings,
        *extra,
        *(finding for feature in resolved for finding in feature.findings),
        *(replace(finding, severity=Severity.WARNING) for finding in lagging),
    )


def answers_of(results: Iterable[FeatureResult], resolved: Iterable[Resolved]) -> list[Answered]:
    """Each result with what became of the feature; with what the dry run says of it where nothing was sent."""
    became = {feature.name: feature.outcome for feature in resolved}
    validated = {Reply.ACCEPTED: Outcome.PLANNED, Reply.REFUSED: Outcome.REFUSED, Reply.UNCLEAR: Outcome.UNKNOWN}
    return [
        Answered(
            result=result,
            outcome=became.get(result.name, Outcome.UNKNOWN) if became else validated[result.reply],
        )
        for result in results
    ]


def change_outcome(
    plan: FeaturePlan, resolved: tuple[Resolved, ...], findings: tuple[Finding, ...], *, dry_run: bool
) -> Outcome:
    """How a change ended: by its plan where nothing was sent, else by what became of every change that moves."""
    if plan.outcome is not Outcome.PLANNED:
        return plan.outcome
    if not resolved:
        if blockers(findings):
            return Outcome.REFUSED
        return Outcome.PLANNED if dry_run else Outcome.FAILED
    reached = overall(resolved)
    whole = {feature.name for feature in resolved} >= {change.name for change in plan.changes if change.moves}
    return Outcome.PARTIAL if reached is Outcome.DONE and not whole else reached


def verify_answer(cluster_id: str | None, proof: Proof) -> dict[str, Any]:
    """The answer of `features verify`."""
    return {"cluster_id": cluster_id, "proved": proof.holds, **proof.to_dict()}
