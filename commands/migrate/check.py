"""`kafkactl migrate check`: every danger that can be seen, at once, in every state of a migration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.accept import refuse_unknown_findings, refuse_unknown_nodes
from kafkactl.commands.migrate.options import (
    ACCEPT_HELP,
    ObservationArguments,
    code_without_evidence,
    observation_options,
    open_inventory,
    open_observation,
)
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.findings import Finding
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.observed.observation import Observation


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
@click.option(
    "--accept", "accepted", multiple=True, metavar="FINDING",
    help=ACCEPT_HELP,
)  # fmt: skip
def command(*, source: ObservationArguments, accepted: tuple[str, ...]) -> None:
    """Say what would go wrong in the migration, or is going wrong, with evidence and what to do.

    Checks C-01 to C-60 and every danger that was seen on real clusters (X-...), from a live cluster
    or a saved observation. What was not observed is unknown: neither right nor wrong. The exit code is
    7 if something stops the migration; each warning and unknown has to be accepted by its own name
    (--accept) before a step is taken; `passes` shows whether any is left.
    """
    from kafkactl.findings import Severity, blockers
    from kafkactl.migration.checks.numbers import UNKNOWN_ID, accept_word
    from kafkactl.migration.checks.registry import check, open_questions
    from kafkactl.migration.state.evidence import evidence_of
    from kafkactl.migration.state.table import situation_of

    refuse_unknown_findings(accepted)
    inventory = None if source.inventory is None else open_inventory(source)
    if inventory is not None:
        refuse_unknown_nodes(accepted, [one.name for one in inventory.nodes])
    observation = open_observation(source)
    if inventory is None:
        refuse_unknown_nodes(accepted, [one.name for one in observation.nodes])
    evidence = evidence_of(observation)
    edited = () if source.observation is not None else _edited(inventory, observation)
    found = (*edited, *check(observation, accepted=frozenset(accepted), evidence=evidence))
    asked = open_questions(found)
    state = situation_of(evidence).state
    counts = {
        "blocker": len(blockers(found)),
        "warning": sum(one.id != UNKNOWN_ID for one in asked),
        "unknown": sum(one.id == UNKNOWN_ID for one in asked),
        "info": sum(one.severity is Severity.INFO for one in found),
    }
    lacking = code_without_evidence(source, observation, state)
    emit(
        "migrate.check",
        {
            "state": state.value,
            "state_words": state.words,
            "time_ms": observation.time_ms,
            "passes": lacking is None and not blockers(found) and not asked,
            "too_little_seen": lacking is not None,
            "counts": counts,
            "open": sorted({accept_word(one) for one in asked}),
            "accepted": sorted(accepted),
            "findings": found,
        },
        render=_show,
        exit_code=exit_codes.PROBLEMS_FOUND if blockers(found) else exit_codes.DONE if lacking is None else lacking,
        listing="findings",
    )


def _edited(inventory: Inventory | None, observation: Observation) -> tuple[Finding, ...]:
    """Files that were edited since the driver read or wrote them; only where its journal is at hand.

    A saved file, without its comments and secrets, differs from the one on the node: only a live look is compared.
    """
    from kafkactl.adapters.migration.journal_view import look_into_journal
    from kafkactl.migration.driver.files import hand_edit_findings

    journal = None if inventory is None else look_into_journal(None, inventory)
    return () if inventory is None or journal is None else hand_edit_findings(inventory, journal, observation)


# --- for people -----------------------------------------------------------------------------------------------------


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    from kafkactl.commands.migrate.page import is_unknown, unknowns

    counts = answer["counts"]
    told = [f"{counts['blocker']} blocking", f"{counts['warning']} warnings", f"{counts['unknown']} unknown"]
    tone = "bad" if counts["blocker"] else "good" if answer["passes"] else "warn"
    page.heading(f"{answer['state']}: {answer['state_words']}. Findings: {', '.join(told)}", tone)
    findings = answer["findings"]
    for severity, title in (("blocker", "Stops the migration"), ("warning", "To be known before going on")):
        _section(page, title, [one for one in findings if one["severity"] == severity and not is_unknown(one)])
    unknowns(page, [one for one in findings if is_unknown(one) and one["severity"] == "warning"])
    _section(page, "For information", [one for one in findings if one["severity"] == "info"])
    page.line(_verdict(answer))


def _section(page: Page, title: str, findings: list[Mapping[str, Any]]) -> None:
    if findings:
        page.heading(title)
        page.findings({**one, "subject": f"{one['evidence']['check']}  {one['subject']}"} for one in findings)


def _verdict(answer: Mapping[str, Any]) -> Word:
    if answer["counts"]["blocker"]:
        return Word("Do not go on before what stops the migration is put right.", "bad")
    if answer["too_little_seen"]:
        return Word("Too little was observed to say that nothing stops the migration.", "bad")
    if answer["open"]:
        return Word("Nothing stops the migration; what is open has to be looked at and accepted first.", "warn")
    return Word("Nothing stops the migration, and nothing is open.", "good")
