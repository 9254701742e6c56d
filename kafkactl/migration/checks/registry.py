"""`check`: all risks that an observation shows, in every state of the migration.

The rows are in the modules of this package, each a small function of a check (docs/migration-checks.md): C-01 to C-65
are pre-flight checks, X-… come from measurements on real clusters, and X-STATE is the migration state as a whole. A row
names the stages in which it runs. A question that the observation cannot answer is the warning `check-unknown`. Every
warning has to be accepted by name before a step is executed; a blocker cannot be accepted, except for two that are left
to the operator. Each finding and each question has its own id (ids.py), and accepting one accepts no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kafkactl.core.findings import Finding, Severity, blockers, warning
from kafkactl.core.frozen import changed
from kafkactl.migration.checks import access as check_access
from kafkactl.migration.checks import connects as check_connects
from kafkactl.migration.checks import controller_settings as check_decided
from kafkactl.migration.checks import controllers as check_controllers
from kafkactl.migration.checks import data as check_data
from kafkactl.migration.checks import dual_write as check_dual_write
from kafkactl.migration.checks import health as check_health
from kafkactl.migration.checks import identity as check_identity
from kafkactl.migration.checks import listeners as check_listeners
from kafkactl.migration.checks import machines as check_machines
from kafkactl.migration.checks import nodes as check_nodes
from kafkactl.migration.checks import places as check_places
from kafkactl.migration.checks import principals as check_principals
from kafkactl.migration.checks import restarts as check_restarts
from kafkactl.migration.checks import rights as check_rights
from kafkactl.migration.checks import topic_configs as check_topic_configs
from kafkactl.migration.checks import topic_ids as check_topic_ids
from kafkactl.migration.checks import witnesses as check_witnesses
from kafkactl.migration.checks.case import CheckCase, Row, Unknown, case_of
from kafkactl.migration.checks.ids import OBSERVED, UNKNOWN_ID, check_of, ids_by_check, is_accepted
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.evidence import Evidence
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.table import state_of_evidence

STATE_CHECK: Final = "X-STATE"
# C-34, C-35: what is under way is carried over, what waits for its deletion is dropped; both may be wanted.
_MAY_BE_WANTED: Final = frozenset({"reassignment-before-migration", "topic-deletion-before-migration"})
_WEIGHT: Final = {Severity.BLOCKER: 0, Severity.WARNING: 1, Severity.INFO: 3}
ROWS: Final[tuple[Row, ...]] = (
    *check_identity.ROWS,
    *check_connects.ROWS,
    *check_nodes.ROWS,
    *check_controllers.ROWS,
    *check_access.ROWS,
    *check_principals.ROWS,
    *check_health.ROWS,
    *check_rights.ROWS,
    *check_machines.ROWS,
    *check_data.ROWS,
    *check_topic_ids.ROWS,
    *check_topic_configs.ROWS,
    *check_witnesses.ROWS,
    *check_dual_write.ROWS,
    *check_decided.ROWS,
    *check_listeners.ROWS,
    *check_places.ROWS,
    *check_restarts.ROWS,
)


def check(
    observation: Observation, *, accepted: frozenset[str] = frozenset(), evidence: Evidence | None = None
) -> tuple[Finding, ...]:
    """Return all findings, by severity and check, each with `check` in its evidence.

    `accepted` are ids of findings and questions (ids.py): their warnings become info with `accepted` in their evidence.
    `evidence` is that of the observation, if it was gathered already. Never raises for what was observed.
    """
    return check_case(case_of(observation, evidence), accepted=accepted)


def check_case(case: CheckCase, *, accepted: frozenset[str] = frozenset()) -> tuple[Finding, ...]:
    """Return the findings of a case that exists already."""
    found: dict[tuple[str, str, object], Finding] = {}
    for finding in (*_of_the_observation(case.observation), *_of_rows(case)):
        found.setdefault((finding.id, finding.subject, finding.evidence.get("unknown")), finding)
    ids = {id for id, _, _ in found}
    found |= {(finding.id, finding.subject, None): finding for finding in _of_the_state(case) if finding.id not in ids}
    return tuple(_accepted(finding, accepted) for finding in sorted(found.values(), key=_place))


def open_questions(findings: Iterable[Finding]) -> list[Finding]:
    """Return every warning that was not accepted by name, as required before a step is begun."""
    return [finding for finding in findings if finding.severity is Severity.WARNING]


def check_numbers() -> tuple[str, ...]:
    """Return every check that a finding can belong to."""
    return tuple(sorted({*ids_by_check(), STATE_CHECK}))


def _of_the_state(case: CheckCase) -> Iterator[Finding]:
    """Yield the finding about a state to which no step of the procedure leads."""
    observed = state_of_evidence(case.evidence)
    if observed.state.is_broken and observed.state is not State.NOT_ENOUGH_EVIDENCE:
        for finding in blockers(observed.findings):
            yield _with_check(finding, STATE_CHECK)


def _of_the_observation(observation: Observation) -> Iterator[Finding]:
    """Yield findings about what could not be read or observed."""
    for finding in observation.findings:
        yield _with_check(finding, check_of(finding.id, OBSERVED))
    for log in observation.logs.values():
        for finding in log.findings:
            yield _with_check(finding, "C-08")


def _of_rows(case: CheckCase) -> Iterator[Finding]:
    for row in ROWS:
        if case.stage in row.stages:
            for said in row.find(case):
                if isinstance(said, Unknown):
                    yield _unknown(row, said)
                else:
                    yield _with_check(said, row.check)


def _unknown(row: Row, said: Unknown) -> Finding:
    return warning(
        UNKNOWN_ID,
        f"{row.check} {row.title}",
        f"unknown: {said.why}",
        f"Observe it, or accept it by its id: --accept {row.question}",
        check=row.check,
        question=row.question,
        unknown=said.why,
    )


def _with_check(finding: Finding, check: str) -> Finding:
    return changed(finding, evidence={"check": check, **finding.evidence})


def _place(finding: Finding) -> tuple[int, str]:
    """Return the place of a finding: blockers, warnings, unknowns, infos; within each by check."""
    kind = 2 if finding.id == UNKNOWN_ID else _WEIGHT[finding.severity]
    return kind, str(finding.evidence["check"])


def _accepted(finding: Finding, accepted: frozenset[str]) -> Finding:
    is_open = finding.severity is Severity.WARNING or finding.id in _MAY_BE_WANTED
    if not is_open or not is_accepted(finding, accepted):
        return finding
    return changed(finding, severity=Severity.INFO, evidence={**finding.evidence, "accepted": True})
