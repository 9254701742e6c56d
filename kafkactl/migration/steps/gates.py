"""The exit gate of a state: the conditions to observe, twice, before the next step.

A gate is open when all its findings are notes. A blocker reports something wrong, a warning something unfinished or
unknown. The checks find what is wrong (the four witnesses of each broker, the dual write, the guards against accidental
finalization); the gate functions in the states' files find what is unfinished.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kafkactl.core.findings import Finding, Severity, warning
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.evidence import Evidence, evidence_of
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.step import File, Step
from kafkactl.migration.steps.table import definition_of, state_of_evidence

APART_MS: Final = 10_000
_CHECKED: Final = frozenset(
    {
        "accidental-finalization",
        "controller-down",
        "controller-without-flag",
        "node-refuses-client",
        "quorum-question-denied",
        "quorum-without-leader",
        "several-controllers",
        "under-replicated-partitions",
        "broker-down",
        "broker-state-inconsistent",
        "zookeeper-behind",
    }
)
"""Findings of the checks that belong to a gate also if they are warnings."""
_OF_THE_QUORUM: Final = frozenset({"quorum-without-leader", "started-controllers-ended"})


def gates_seen(
    state: State, evidence: Evidence, *, checked: Iterable[Finding], earlier: Observation | None = None
) -> tuple[Finding, ...]:
    """Return the findings between a state and the next one, blockers first.

    `checked` are the findings of the checks: every blocker counts, and a warning that belongs to a gate. If the
    observation before this one is given (`earlier`), both have to show the same state, ten seconds apart, and the dual
    write has to have advanced.
    """
    definition = definition_of(state)
    gates = () if definition is None else definition.gate
    found = [finding for finding in checked if finding.severity is Severity.BLOCKER or finding.id in _CHECKED]
    found += (finding for gate in gates for finding in gate(evidence))
    if earlier is not None:
        found += _twice(state, evidence, earlier)
    return tuple(sorted(found, key=lambda finding: list(Severity).index(finding.severity)))


def gates_of_rollback(step: Step | None, checked: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the blockers of a rollback that is under way, whose next step is `step`; exit gates are of the way there.

    A quorum is needed as long as brokers return from KRaft. Then the controllers are stopped, and none starts them.
    """
    needs_quorum = step is not None and step.file is File.MIGRATION
    found = (finding for finding in checked if finding.severity is Severity.BLOCKER)
    return tuple(finding for finding in found if needs_quorum or finding.id not in _OF_THE_QUORUM)


def _twice(state: State, evidence: Evidence, earlier: Observation) -> Iterator[Finding]:
    """Report a gate that a single observation shows: it may be open for a moment."""
    before = evidence_of(earlier)
    apart_ms = evidence.observation.time_ms - earlier.time_ms
    if apart_ms < APART_MS or state_of_evidence(before).state is not state:
        yield warning(
            "condition-not-confirmed",
            "migration",
            f"{state} was not confirmed in two observations {APART_MS // 1000} s apart",
            apart_ms=apart_ms,
        )
    definition = definition_of(state)
    if definition is not None and definition.is_mirrored and _does_not_advance(before, evidence):
        yield warning(
            "dual-write-stalled",
            "/migration",
            f"/migration stayed at offset {evidence.dual_write.offset} in two observations while the log grew",
            metadata_offset=evidence.dual_write.offset,
        )


def _does_not_advance(before: Evidence, now: Evidence) -> bool:
    old, new = before.dual_write, now.dual_write
    grown = old.last is not None and new.last is not None and new.last > old.last
    return grown and old.offset == new.offset
