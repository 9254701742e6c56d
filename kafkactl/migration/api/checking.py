"""Checks of a migration, for every state: each danger that an observation shows."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from kafkactl.core.answers import plain_dict
from kafkactl.core.explanations import explanations
from kafkactl.core.findings import Finding, Severity, blockers
from kafkactl.core.frozen import frozen
from kafkactl.migration.api.answers import CheckCounts, MigrateCheck
from kafkactl.migration.api.observing import Lacking, lacking
from kafkactl.migration.checks import registry
from kafkactl.migration.checks.ids import OBSERVED, UNKNOWN_ID, accept_word, ids_by_check, present_word
from kafkactl.migration.driver.files import hand_edit_findings
from kafkactl.migration.io.journal_view import JournalView, read_journal_view
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.table import state_of_evidence

if TYPE_CHECKING:
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.observed.observation import Observation

__all__ = ["OBSERVED", "UNKNOWN_ID", "CheckResult", "accept_names", "check", "check_ids", "present_word"]


@frozen
class CheckResult:
    """Findings of a check.

    `open_findings` are warnings and unknowns that were not accepted; `lacks` is the evidence without which the answer
    says nothing.
    """

    state: State
    time_ms: int
    findings: tuple[Finding, ...]
    open_findings: tuple[Finding, ...]
    accepted: frozenset[str]
    lacks: Lacking | None = None

    @property
    def has_problems(self) -> bool:
        """Return True if a finding stops the migration."""
        return bool(blockers(self.findings))

    @property
    def passes(self) -> bool:
        """Return True if nothing stops the migration, nothing is open, and enough was observed."""
        return self.lacks is None and not self.has_problems and not self.open_findings

    @property
    def counts(self) -> CheckCounts:
        """Return the numbers of blockers, warnings and unknowns that are not accepted, and of infos."""
        unknown = sum(finding.id == UNKNOWN_ID for finding in self.open_findings)
        return {
            "blocker": len(blockers(self.findings)),
            "warning": len(self.open_findings) - unknown,
            "unknown": unknown,
            "info": sum(finding.severity is Severity.INFO for finding in self.findings),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the answer `migrate.check`."""
        found: MigrateCheck = {
            "state": self.state.value,
            "state_words": self.state.words,
            "time_ms": self.time_ms,
            "passes": self.passes,
            "too_little_seen": self.lacks is not None,
            "counts": self.counts,
            "open": sorted({accept_word(finding) for finding in self.open_findings}),
            "accepted": sorted(self.accepted),
            "findings": self.findings,
        }
        return plain_dict(found)


def check(
    observation: Observation, *, accepted: Collection[str] = (), inventory: Inventory | None = None
) -> CheckResult:
    """Check a migration in whatever state it is: checks C-01 to C-65 and dangers seen on real clusters (X-…).

    `accepted` are ids of findings and questions that the operator accepts, of one node with ID@broker-3; blockers stay.
    With `inventory`, only for an observation of the live cluster, the nodes' files are compared with the driver's
    journal. What was not observed is unknown, neither right nor wrong.
    """
    evidence = evidence_of(observation)
    edited = () if inventory is None else edits_of(read_journal_view(None, inventory), inventory, observation)
    found = (*edited, *registry.check(observation, accepted=frozenset(accepted), evidence=evidence))
    state = state_of_evidence(evidence).state
    return CheckResult(
        state=state,
        time_ms=observation.time_ms,
        findings=found,
        open_findings=tuple(registry.open_questions(found)),
        accepted=frozenset(accepted),
        lacks=lacking(observation, state),
    )


def edits_of(journal: JournalView | None, inventory: Inventory, observation: Observation) -> tuple[Finding, ...]:
    """Return the files that were edited since the driver read or wrote them; none without a journal.

    A saved file, without its comments and secrets, differs from the one on the node: only the live cluster's are
    compared.
    """
    return () if journal is None else tuple(hand_edit_findings(inventory, journal, observation))


def check_ids() -> frozenset[str]:
    """Return the ids of all findings and questions of the checks."""
    return frozenset(id for ids in ids_by_check().values() for id in ids)


def accept_names() -> frozenset[str]:
    """Return every id that `accepted` may name."""
    return check_ids().union(explanations()) - {UNKNOWN_ID}
