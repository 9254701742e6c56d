"""`kafkactl migrate check`: every danger that can be seen, at once, in every state of a migration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.accept import accepted_words, refuse_unknown_nodes
from kafkactl.commands.migrate.options import (
    ObservationArguments,
    accept_option,
    code_without_evidence,
    observation_options,
    open_inventory,
    open_observation,
)
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import changed

if TYPE_CHECKING:
    from kafkactl.migration.api.checking import CheckResult


@leaf_command(
    "check",
    examples=(
        "kafkactl migrate check --inventory migration.toml",
        "kafkactl migrate check --observation observation -o json",
    ),
    codes=exit_codes.READING,
    timeout="2m",
)  # fmt: skip
@observation_options
@accept_option
def command(*, source: ObservationArguments, accepted: tuple[str, ...]) -> None:
    """Report problems and risks of the migration, with evidence and remedies.

    Checks C-01 to C-65 and every risk found on real clusters (X-...) run on a live cluster or a saved
    observation. Information that was not observed is reported as unknown. The exit code is 7 if
    something blocks the migration; each warning and unknown has to be accepted by its own id
    (--accept) before a step is executed; `passes` is true if none is left.
    """
    from kafkactl.migration.api.checking import check

    accepted = accepted_words(accepted)
    inventory = None if source.inventory is None else open_inventory(source)
    if inventory is not None:
        refuse_unknown_nodes(accepted, [node.name for node in inventory.nodes])
    observation = open_observation(source)
    if inventory is None:
        refuse_unknown_nodes(accepted, [node.name for node in observation.nodes])
    found = check(observation, accepted=accepted, inventory=None if source.observation is not None else inventory)
    lacking = code_without_evidence(source, found.lacks)
    code = exit_codes.DONE if lacking is None else lacking
    emit(
        "migrate.check",
        found,
        render=_show,
        exit_code=exit_codes.PROBLEMS_FOUND if found.has_problems else code,
        listing="findings",
    )


def _show(page: Page, found: CheckResult) -> None:
    from kafkactl.commands.migrate.page import is_unknown, unknowns

    counts = found.counts
    counted = [f"{counts['blocker']} blocking", f"{counts['warning']} warnings", f"{counts['unknown']} unknown"]
    tone = "bad" if found.has_problems else "good" if found.passes else "warn"
    page.heading(f"{found.state}: {found.state.words}. Findings: {', '.join(counted)}", tone)
    findings = found.findings
    for severity, title in (
        (Severity.BLOCKER, "Blockers: correct these first"),
        (Severity.WARNING, "Warnings: read these before the next step"),
    ):
        _section(
            page,
            title,
            [finding for finding in findings if finding.severity is severity and not is_unknown(finding)],
        )
    unknowns(page, [finding for finding in findings if is_unknown(finding) and finding.severity is Severity.WARNING])
    _section(page, "For information", [finding for finding in findings if finding.severity is Severity.INFO])
    page.line(_verdict(found))


def _section(page: Page, title: str, findings: Sequence[Finding]) -> None:
    if findings:
        page.heading(title)
        page.findings(
            changed(finding, subject=f"{finding.evidence['check']}  {finding.subject}") for finding in findings
        )


def _verdict(found: CheckResult) -> Word:
    from kafkactl.migration.api.observing import Lacking

    if found.has_problems:
        return Word("Correct the blockers, then run `kafkactl migrate check` again.", "bad")
    if found.lacks is Lacking.RIGHTS:
        return Word(
            "kafkactl was not let in everywhere: give it the login or the right above, then check again.", "bad"
        )
    if found.lacks is not None:
        return Word("Too little was observed to exclude blockers: make every node reachable, then check again.", "bad")
    if found.open_findings:
        return Word("No blockers. Check each warning and unknown, then accept it with --accept.", "warn")
    return Word("No blockers, and no warning or unknown that is not accepted.", "good")
