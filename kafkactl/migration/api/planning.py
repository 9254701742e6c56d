"""Plan of a migration: every step from the observed state to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkactl.core.answers import plain_dict
from kafkactl.core.findings import Finding, Outcome, each_once
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.migration.api.answers import CopySizes, MigratePlan
from kafkactl.migration.api.observing import Lacking, lacking
from kafkactl.migration.checks.remaining_work import afterwards
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.forward import forward_of
from kafkactl.migration.steps.m5 import expected_copy
from kafkactl.migration.steps.step import Move, Way
from kafkactl.migration.steps.table import state_of_evidence

if TYPE_CHECKING:
    from kafkactl.migration.copy.forecast import CopyForecast
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.observed.observation import Observation

_OF_RELEASE = "migration-release-unknown"  # the other findings of the copy are those of `migrate check`


@frozen
class MigrationPlan:
    """The steps, done and to be done; `copy` is the predicted copy of the tree as it is, None if it is done."""

    way: Way
    time_ms: int
    findings: tuple[Finding, ...]
    copy: CopyForecast | None = None
    lacks: Lacking | None = None

    @property
    def outcome(self) -> Outcome:
        """Return `planned`, `nothing-to-do` or `refused`."""
        return self.way.outcome

    def to_dict(self) -> dict[str, Any]:
        """Return the answer `migrate.plan`."""
        roles = [step.role for step in self.way.pending if step.action is Move.RESTART_NODE]
        found: MigratePlan = {
            "outcome": self.way.outcome,
            "state": self.way.state.value,
            "state_words": self.way.state.words,
            "time_ms": self.time_ms,
            "steps": self.way.steps,
            "restarts": {"brokers": roles.count(Role.BROKER), "controllers": roles.count(Role.CONTROLLER)},
            "prediction": _prediction(self.copy),
            "consequences": self.way.consequences,
            "findings": self.findings,
        }
        return plain_dict(found)


def plan(observation: Observation, inventory: Inventory | None = None) -> MigrationPlan:
    """Return the steps from an observed state to a finalized migration, their gates, and what the copy will write.

    Nothing is touched. What speaks against continuing is what `check` reports.
    """
    evidence = evidence_of(observation)
    way = forward_of(evidence, state_of_evidence(evidence), inventory)
    then = afterwards(observation) if way.state is State.M11 else ()
    copy = expected_copy(evidence, way.state)
    release = () if copy is None else tuple(finding for finding in copy.findings if finding.id == _OF_RELEASE)
    return MigrationPlan(
        way=way,
        time_ms=observation.time_ms,
        findings=each_once((*way.weighed((*observation.findings, *release)), *way.findings, *then)),
        copy=copy,
        lacks=lacking(observation, way.state),
    )


def _prediction(found: CopyForecast | None) -> CopySizes | None:
    if found is None:
        return None
    return {
        "outcome": found.outcome,
        "records": found.records,
        "by_type": found.by_type,
        "batches": found.batches,
        "bytes": found.bytes,
        "seconds": found.seconds,
        "exact": found.is_exact,
    }
