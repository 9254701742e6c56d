"""The exit gate of each state: what has to be seen, twice, before the next step.

A gate is open when all its findings only tell. A blocker says that something is wrong, a warning that it is not so far
yet or that is unknown. What is wrong is found by the checks (`checks.py`: the four witnesses of each broker, the
dual write, the guards against accidental finalization); the rows here say what is still to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kafkactl.core.findings import Finding, Severity, warning
from kafkactl.migration.checks.registry import check
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.plan.gate_progress import (
    controllers_final,
    controllers_formatted,
    copy_done,
    dual_write_seen,
    every_broker_entered,
    every_broker_on_kraft,
    no_migrating_registration,
    quorum_ready,
)
from kafkactl.migration.state.evidence import Evidence, evidence_of
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.table import state_of_evidence

APART_MS: Final = 10_000
Gate = Callable[[Evidence], Iterable[Finding]]

_GATES: Final[dict[State, tuple[Gate, ...]]] = {
    State.M2: (controllers_formatted,),
    State.M3: (quorum_ready,),
    State.M4: (quorum_ready, every_broker_entered),
    State.M4L: (quorum_ready, every_broker_entered),
    State.M5: (copy_done,),
    State.M6: (dual_write_seen,),
    State.M7: (dual_write_seen, every_broker_on_kraft),
    State.M8: (dual_write_seen, no_migrating_registration),
    State.M9: (dual_write_seen, no_migrating_registration),
    State.M10: (controllers_final,),
}
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
"""Findings of the checks that belong to a gate also where they only warn."""


def gates_of(state: State, observation: Observation, earlier: Observation | None = None) -> tuple[Finding, ...]:
    """What stands between a state and the next one, blockers first.

    `earlier` is the look before this one; where it is given, both have to show the same state, ten seconds apart, and
    the dual write has to have moved. Every blocker of the checks counts.
    """
    evidence = evidence_of(observation)
    return gates_seen(state, evidence, checked=check(observation, evidence=evidence), earlier=earlier)


def gates_seen(
    state: State, evidence: Evidence, *, checked: Iterable[Finding], earlier: Observation | None = None
) -> tuple[Finding, ...]:
    """The same from evidence and the findings of the checks, where they are there already."""
    found = [finding for finding in checked if finding.severity is Severity.BLOCKER or finding.id in _CHECKED]
    found += (finding for gate in _GATES.get(state, ()) for finding in gate(evidence))
    if earlier is not None:
        found += _twice(state, evidence, earlier)
    return tuple(sorted(found, key=lambda finding: list(Severity).index(finding.severity)))


def is_open(gates: Iterable[Finding]) -> bool:
    """Whether no condition is left."""
    return all(finding.severity is Severity.INFO for finding in gates)


def _twice(state: State, evidence: Evidence, earlier: Observation) -> Iterator[Finding]:
    """A gate seen once may be seen in passing."""
    before = evidence_of(earlier)
    apart_ms = evidence.observation.time_ms - earlier.time_ms
    if apart_ms < APART_MS or state_of_evidence(before).state is not state:
        yield warning(
            "condition-not-confirmed",
            "migration",
            f"{state} was not confirmed in two observations {APART_MS // 1000} s apart",
            apart_ms=apart_ms,
        )
    if state in (State.M6, State.M7, State.M8, State.M9) and _does_not_advance(before, evidence):
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
