"""The words that all journeys share: findings, outcomes, and what they mean for the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from kafkactl.core.frozen import frozen
from kafkactl.core.remedies import remedy_of

if TYPE_CHECKING:
    from kafkactl.core.errors import KafkactlError


class Severity(StrEnum):
    """Severity of a finding: a blocker stops a change, a warning does not, info only informs."""

    BLOCKER = "blocker"
    WARNING = "warning"
    INFO = "info"


@frozen
class Finding:
    """Finding of a planner, check or gate.

    `id` is a short word in kebab-case formed from the cause (`cluster-id-mismatch`); `subject` names what it is about
    (`directory /disk1`, `node 3`); `evidence` holds JSON values only and never a secret; `next_step` is given where it
    is more than the catalogue's remedy of the id.
    """

    id: str
    """A short word formed from the cause; run `kafkactl explain ID` for details."""
    severity: Severity
    subject: str
    """Subject of the finding: `directory /disk1`, `node 3`."""
    message: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    next_step: str = ""

    @property
    def advice(self) -> str:
        """Return the action to take: the given next step, or the remedy of the id (schemas/explain).

        A finding of severity info has no remedy, only a given next step.
        """
        return self.next_step or ("" if self.severity is Severity.INFO else remedy_of(self.id))

    def to_dict(self) -> dict[str, Any]:
        """Return the one shape of findings in every answer (docs/reference/kinds.md).

        What is wrong always has a next step.
        """
        return {
            "id": self.id,
            "severity": self.severity.value,
            "subject": self.subject,
            "message": self.message,
            "evidence": dict(self.evidence),
            "next_step": self.advice,
        }


def blocker(id: str, subject: str, message: str, next_step: str = "", **evidence: Any) -> Finding:
    """Return a finding that stops a change; every other keyword is evidence."""
    return _finding(Severity.BLOCKER, evidence, id=id, subject=subject, message=message, next_step=next_step)


def error_finding(subject: str, error: KafkactlError, severity: Severity = Severity.BLOCKER) -> Finding:
    """Return an error as a finding about the subject."""
    return _finding(severity, {}, id=error.id, subject=subject, message=error.message, next_step=error.advice)


def warning(id: str, subject: str, message: str, next_step: str = "", **evidence: Any) -> Finding:
    """Return a finding that should be known before going on."""
    return _finding(Severity.WARNING, evidence, id=id, subject=subject, message=message, next_step=next_step)


def note(id: str, subject: str, message: str, next_step: str = "", **evidence: Any) -> Finding:
    """Return a finding that only informs."""
    return _finding(Severity.INFO, evidence, id=id, subject=subject, message=message, next_step=next_step)


def _finding(severity: Severity, evidence: Mapping[str, Any], **words: str) -> Finding:
    return Finding(severity=severity, evidence=evidence, **words)


def each_once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Remove findings with equal id, subject and message."""
    return tuple({(finding.id, finding.subject, finding.message): finding for finding in findings}.values())


def blockers(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that stop a change."""
    return [finding for finding in findings if finding.severity is Severity.BLOCKER]


class Outcome(StrEnum):
    """Outcome of a writing command."""

    DONE = "done"
    NOTHING_TO_DO = "nothing-to-do"
    PLANNED = "planned"
    REFUSED = "refused"
    FAILED = "failed"
    PARTIAL = "partial"
    UNKNOWN = "unknown"

    @property
    def exit_code(self) -> int:
        """Return the process exit code of a command that ends like this."""
        return _EXIT_CODES[self]


# Blockers that say nothing of the cluster: a right, a login or an address is missing, and no question was answered.
NOT_AUTHORISED: Final = "not-authorised"
LEADER_NOT_REACHED: Final = "leader-not-reached"
CONTROLLER_NOT_ASKED: Final = "controller-not-asked"
_NOT_ASKED: Final = frozenset({NOT_AUTHORISED, CONTROLLER_NOT_ASKED, LEADER_NOT_REACHED, "server-not-asked"})
NO_ACCESS: Final = "no_access"  # the evidence of a blocker of any id that only missing access led to
_NO_ACCESS_EXIT_CODE: Final = 4


def change_exit_code(outcome: Outcome, findings: Iterable[Finding]) -> int:
    """Return the exit code of a change: that of no access if nothing but access was missing, else the outcome's."""
    if outcome not in (Outcome.REFUSED, Outcome.FAILED):
        return outcome.exit_code
    stopping = blockers(findings)
    is_access = all(finding.id in _NOT_ASKED or NO_ACCESS in finding.evidence for finding in stopping)
    return _NO_ACCESS_EXIT_CODE if stopping and is_access else outcome.exit_code


_EXIT_CODES: dict[Outcome, int] = {
    Outcome.DONE: 0,
    Outcome.NOTHING_TO_DO: 0,
    Outcome.PLANNED: 0,
    Outcome.REFUSED: 3,
    Outcome.FAILED: 1,
    Outcome.PARTIAL: 5,
    Outcome.UNKNOWN: 6,
}


def planned_outcome(findings: Iterable[Finding], changes: bool) -> Outcome:
    """Return the outcome of a plan: refused if a finding blocks it, nothing to do if it `changes` nothing, else
    planned."""
    if blockers(findings):
        return Outcome.REFUSED
    return Outcome.PLANNED if changes else Outcome.NOTHING_TO_DO
