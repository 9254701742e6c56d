"""What a plan for the disks of a node came to, whatever it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kafkactl.findings import Finding, Outcome
    from kafkactl.storage.model import Applied


class _Plan(Protocol):
    @property
    def outcome(self) -> Outcome: ...

    @property
    def findings(self) -> tuple[Finding, ...]: ...


class PlannedOrApplied:
    """A result with a `plan`, and `applied`, which is None where nothing was tried."""

    if TYPE_CHECKING:

        @property
        def plan(self) -> _Plan:
            """What was planned."""
            ...

        @property
        def applied(self) -> Applied | None:
            """What was done of it."""
            ...

    @property
    def outcome(self) -> Outcome:
        """planned, nothing-to-do or refused; once applied also done, failed or partial."""
        return self.plan.outcome if self.applied is None else self.applied.outcome

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of the plan, or of its application."""
        return self.plan.findings if self.applied is None else self.applied.findings
