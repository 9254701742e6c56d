"""The feature levels of a live cluster: describe them, plan a change, make it, and prove levels on every node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal

from kafkactl.change.clock import Deadline
from kafkactl.cluster.io.view import ObservedCluster, check_not_empty, observe_cluster_state, observe_levels
from kafkactl.core.answers import json_of
from kafkactl.core.callbacks import NoteCallback, ignore_note
from kafkactl.core.errors import KafkactlError
from kafkactl.core.findings import Finding, Outcome, blocker, warning
from kafkactl.core.frozen import frozen
from kafkactl.features.api.change import DryRun, change_features, observe_for, validate
from kafkactl.features.change.answer import (
    Answered,
    Prediction,
    answers_of,
    change_findings,
    change_outcome,
)
from kafkactl.features.change.kafka_words import failure_line, result_lines
from kafkactl.features.change.proof import NodeProof, Proof, prove
from kafkactl.features.plan import plan as planning
from kafkactl.features.plan.plan import FeaturePlan
from kafkactl.features.plan.plan_file import FeaturePlanFile, as_planned
from kafkactl.features.plan.request import FeatureRequest, Operation, parse_request

if TYPE_CHECKING:
    from kafkactl.features.change.outcome import Resolved
    from kafkactl.features.change.results import FeatureResult
    from kafkactl.kafka.client import Client

_POLL_MS: Final = 300
_IN_THE_PROOF: Final = ("node-not-asked", "brokers-not-known")
_RANGE_NOT_ASKED: Final = ("controller-not-asked", "broker-range-unknown")
_IN_THE_PLAN: Final = ("metadata-log-not-read",)


def feature_request(
    operation: str = "upgrade",
    *,
    metadata: str | None = None,
    features: Iterable[str] = (),
    release_version: str | None = None,
    unsafe: bool = False,
    convert_quorum: bool = False,
    accepted_min_insync: int | None = None,
) -> FeatureRequest:
    """Return the levels that an `operation` (upgrade, downgrade, disable) is to reach, by the words of
    kafka-features.sh.

    `metadata` and `release_version` are a release or the name of a level, `features` NAME=LEVEL, for disable NAME.
    Raises InputError for words that exclude each other, and for names and levels that are not known.
    """
    return parse_request(
        Operation(operation),
        metadata=metadata,
        features=features,
        release_version=release_version,
        unsafe=unsafe,
        convert_quorum=convert_quorum,
        accepted_min_insync=accepted_min_insync,
    )


@frozen
class FeatureChange:
    """A change of levels: as it was planned, and, unless `is_dry_run`, its outcome.

    `results` are the controller's answers, of its own dry run if nothing was sent. `out` is the plan file that was
    written, `plan_sha256` the checksum of the one that was written or applied.
    """

    plan: FeaturePlan
    request: FeatureRequest
    results: tuple[FeatureResult, ...] = ()
    resolved: tuple[Resolved, ...] = ()
    proof: Proof | None = None
    predictions: Mapping[str, bool | None] = field(default_factory=dict)
    notes: tuple[Finding, ...] = ()
    is_dry_run: bool = False
    out: str | None = None
    """The plan file that was written; None: none."""
    plan_sha256: str | None = None
    """Checksum of the plan file that was written or applied."""

    @property
    def outcome(self) -> Outcome:
        """Return `planned`, `nothing-to-do` or `refused`; once sent also `done`, `failed`, `partial` or `unknown`."""
        return change_outcome(self.plan, self.resolved, self.notes, dry_run=self.is_dry_run)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings of the plan, and those found afterwards."""
        return change_findings(self.plan, self.resolved, self.notes, self.proof)

    @property
    def answers(self) -> list[Answered]:
        """Return the controller's answer about each feature, with the outcome."""
        return answers_of(self.results, self.resolved)

    @property
    def lines(self) -> list[str]:
        """Return the output of kafka-features.sh for the results."""
        return result_lines(self.request.operation, self.answers, self.request.levels, dry_run=not self.resolved)

    @property
    def failure_line(self) -> str | None:
        """Return the line with which kafka-features.sh fails; None if it does not."""
        return failure_line(self.answers)

    @property
    def results_of(self) -> Literal["change", "dry-run"]:
        """Return `change`, or `dry-run` if requests were sent for validation only."""
        return "change" if self.resolved else "dry-run"

    @property
    def expected(self) -> list[Prediction]:
        """Return the predictions of the controller's answers."""
        return [Prediction(name=name, accepted=accepted) for name, accepted in self.predictions.items()]

    @property
    def node_proofs(self) -> tuple[NodeProof, ...]:
        """Return the levels that each node shows."""
        return () if self.proof is None else self.proof.nodes

    to_dict = json_of(
        "outcome", "cluster_id=plan.cluster_id", "changes=plan.changes", "steps=plan.steps", "findings",
        "results=answers", "results_of", "predictions=expected", "proof=node_proofs", "out", "plan_sha256",
        kind="features.change",
    )  # fmt: skip


def plan_change(client: Client, request: FeatureRequest, *, planned: FeaturePlanFile | None = None) -> FeatureChange:
    """Plan a change, and ask the active controller for its own dry run. Nothing is changed in the cluster.

    Every blocker is in the result; if a plan file is given (`planned`), also what differs
    from it. Raises UnreachableError if the cluster cannot be observed.
    """
    view = observe_for(client, request)
    plan = as_planned(planning.plan_change(view.state, request), planned)
    asked = DryRun(results=(), predictions={})
    if view.state.active_controller is not None and any(change.moves for change in plan.changes):
        asked = validate(client, plan, view.state)
    return FeatureChange(
        plan=plan,
        request=request,
        results=asked.results,
        predictions=asked.predictions,
        notes=(*_not_in_plan(plan, view.findings), *asked.findings, *_not_asked(asked.error)),
        is_dry_run=True,
    )


def change_levels(
    client: Client,
    request: FeatureRequest,
    *,
    timeout_ms: float = 120_000.0,
    on_note: NoteCallback = ignore_note,
    planned: FeaturePlanFile | None = None,
) -> FeatureChange:
    """Change levels: observe, plan, ask for the controller's dry run, send, and prove the levels on every node.

    Nothing is sent while there is a blocker, or a difference from a plan file (`planned`).
    `on_note` gets a line for every step. Raises UnreachableError if nothing was sent yet and the cluster cannot
    be asked; after that, what is not known is part of the result.
    """
    until = Deadline.after(timeout_ms, client.clock)
    run = change_features(client, request, deadline=until, tell=lambda event: on_note(event.text), planned=planned)
    return FeatureChange(
        plan=run.plan,
        request=request,
        results=run.results,
        resolved=run.resolved,
        proof=run.proof,
        predictions=run.predictions,
        notes=(*_not_in_plan(run.plan, run.view.findings), *run.findings),
    )


def _without(findings: Sequence[Finding], ids: Sequence[str]) -> list[Finding]:
    """Return the findings of an observation but for those of which the plan, or the proof, speaks itself."""
    return [finding for finding in findings if finding.id not in ids]


def _not_in_plan(plan: FeaturePlan, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of an observation that the plan does not repeat, as it does of nodes that were not asked."""
    weighed = {finding.subject for finding in plan.findings if finding.id in _RANGE_NOT_ASKED}
    found = _without(findings, _IN_THE_PLAN)
    return [finding for finding in found if finding.id != "node-not-asked" or finding.subject not in weighed]


def _not_asked(error: KafkactlError | None) -> list[Finding]:
    if error is None:
        return []
    weighed = blocker if error.id == "not-authorised" else warning
    return [
        weighed(
            "server-not-asked",
            "controller",
            f"the active controller could not be asked for its dry run: {error.message}",
            error.advice,
            error=error.id,
        )
    ]


@frozen
class LevelProof:
    """Levels of every node compared with the requested ones; `wanted` are those levels by feature."""

    view: ObservedCluster
    wanted: Mapping[str, int]
    proof: Proof

    @property
    def is_proved(self) -> bool:
        """Return True if every node shows all of them."""
        return self.proof.holds

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return findings about wrong or missing levels, then the findings of the observation."""
        return (*self.proof.findings, *_without(self.view.findings, _IN_THE_PROOF))

    to_dict = json_of(
        "cluster_id=view.state.cluster_id", "proved=is_proved", "proof=proof.nodes", "findings", "wanted",
        kind="features.verify",
    )  # fmt: skip


def verify_levels(
    client: Client,
    *,
    metadata: str | None = None,
    features: Iterable[str] = (),
    release_version: str | None = None,
    wait_ms: float = 0.0,
) -> LevelProof:
    """Ask every node for its levels, again for `wait_ms` until all have them.

    The levels are named as in `feature_request`; without, they are those of the active controller. Raises InputError
    for words that are not understood, UnreachableError if no node answers.
    """
    wanted = _wanted(metadata, tuple(features), release_version)
    view = observe_cluster_state(client)
    check_not_empty(view)
    levels = wanted or dict(view.state.finalized)
    until = Deadline.after(wait_ms, client.clock)
    proof = prove(view.state, levels)
    while not proof.holds and not until.passed:
        client.clock.sleep_ms(min(_POLL_MS, until.left_ms))
        view = observe_levels(client, view)
        proof = prove(view.state, levels)
    return LevelProof(view=view, wanted=levels, proof=proof)


def _wanted(metadata: str | None, features: tuple[str, ...], release_version: str | None) -> dict[str, int]:
    if metadata is None and not features and release_version is None:
        return {}
    # A level of 0 may be looked for, so the words are read as those of a downgrade.
    operation = Operation.UPGRADE if release_version is not None else Operation.DOWNGRADE
    asked = parse_request(operation, metadata=metadata, features=features, release_version=release_version)
    return dict(asked.levels)
