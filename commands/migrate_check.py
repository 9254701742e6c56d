"""`kafkactl migrate check`: every danger that can be seen, at once, in every state of a migration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kafkactl.commands import exit_codes
from kafkactl.commands.leaf import leaf_command
from kafkactl.commands.migrate_options import ObservationArguments, observation_options, open_observation
from kafkactl.commands.output import emit
from kafkactl.commands.page import Page, Word


@leaf_command(
    "check",
    examples=(
        "kafkactl migrate check --inventory migration.toml",
        "kafkactl migrate check --observation observation --accept C-41 --accept C-30",
    ),
    codes=(
        exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.UNREACHABLE, exit_codes.UNKNOWN,
        exit_codes.PROBLEMS_FOUND,
    ),
    timeout="2m",
)  # fmt: skip
@observation_options
@click.option(
    "--accept", "accepted", multiple=True, metavar="CHECK",
    help="A check (C-41) or finding whose warnings and unknowns you have looked at yourself. Blockers stay.",
)  # fmt: skip
def command(*, source: ObservationArguments, accepted: tuple[str, ...]) -> None:
    """Say what would go wrong in the migration, or is going wrong, with evidence and what to do.

    Checks C-01 to C-60 and every danger that was seen on real clusters (X-...), from a live cluster
    or a saved observation. What was not observed is unknown: neither right nor wrong. The exit code is
    7 if something stops the migration; warnings and unknowns have to be accepted by name (--accept)
    before a step is taken, which `passes` tells.
    """
    from kafkactl.migration.checks import UNKNOWN_ID, check, open_questions
    from kafkactl.migration.state import situation_of
    from kafkactl.migration.state_evidence import evidence_of
    from kafkactl.plan import Severity, blockers

    _refuse_unknown_names(accepted)
    observation = open_observation(source)
    evidence = evidence_of(observation)
    found = check(observation, accepted=frozenset(accepted), evidence=evidence)
    asked = open_questions(found)
    state = situation_of(evidence).state
    counts = {
        "blocker": len(blockers(found)),
        "warning": sum(one.id != UNKNOWN_ID for one in asked),
        "unknown": sum(one.id == UNKNOWN_ID for one in asked),
        "info": sum(one.severity is Severity.INFO for one in found),
    }
    emit(
        "migrate.check",
        {
            "state": state.value,
            "state_words": state.words,
            "time_ms": observation.time_ms,
            "passes": not blockers(found) and not asked,
            "counts": counts,
            "open": sorted({str(one.evidence["check"]) for one in asked}),
            "accepted": sorted(accepted),
            "findings": found,
        },
        render=_show,
        exit_code=exit_codes.PROBLEMS_FOUND if blockers(found) else exit_codes.DONE,
        listing="findings",
    )


def _refuse_unknown_names(accepted: tuple[str, ...]) -> None:
    """A misspelt name would accept nothing, and nobody would notice."""
    if not accepted:
        return
    from kafkactl.migration.checks import check_numbers
    from kafkactl.schema.explanations import explanations

    known = check_numbers()
    wrong = [name for name in accepted if name not in known and name not in explanations()]
    if wrong:
        import difflib

        near = difflib.get_close_matches(wrong[0].upper(), known, n=1, cutoff=0.5)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise click.BadOptionUsage("--accept", f"There is no check or finding {wrong[0]!r}.{meant}")


# --- for people -----------------------------------------------------------------------------------------------------


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    counts = answer["counts"]
    told = [f"{counts['blocker']} blocking", f"{counts['warning']} warnings", f"{counts['unknown']} unknown"]
    tone = "bad" if counts["blocker"] else "good" if answer["passes"] else "warn"
    page.heading(f"{answer['state']}: {answer['state_words']}. Findings: {', '.join(told)}", tone)
    findings = answer["findings"]
    for severity, title in (("blocker", "Stops the migration"), ("warning", "To be known before going on")):
        _section(page, title, [one for one in findings if one["severity"] == severity and not _is_unknown(one)])
    _unknowns(page, [one for one in findings if _is_unknown(one) and one["severity"] == "warning"])
    _section(page, "For information", [one for one in findings if one["severity"] == "info"])
    page.line(_verdict(answer))


def _section(page: Page, title: str, findings: list[Mapping[str, Any]]) -> None:
    if findings:
        page.heading(title)
        page.findings({**one, "subject": f"{one['evidence']['check']}  {one['subject']}"} for one in findings)


def _unknowns(page: Page, findings: list[Mapping[str, Any]]) -> None:
    if not findings:
        return
    page.heading("Unknown: the observation does not tell")
    page.table(("check", "about", "why"), [
        (one["evidence"]["check"], one["subject"].partition(" ")[2], one["evidence"]["unknown"]) for one in findings
    ])  # fmt: skip
    names = " ".join(f"--accept {number}" for number in dict.fromkeys(one["evidence"]["check"] for one in findings))
    page.line(Word(f"Look yourself, then: {names}", "dim"))


def _is_unknown(finding: Mapping[str, Any]) -> bool:
    return "unknown" in finding["evidence"]


def _verdict(answer: Mapping[str, Any]) -> Word:
    if answer["counts"]["blocker"]:
        return Word("Do not go on before what stops the migration is put right.", "bad")
    if answer["open"]:
        return Word("Nothing stops the migration; what is open has to be looked at and accepted first.", "warn")
    return Word("Nothing stops the migration, and nothing is open.", "good")
