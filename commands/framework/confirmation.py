"""Asking before a change, by degree of danger.

The answer is None (go ahead) or the finding that belongs in the command's own answer with outcome `refused`: a
refusal is an answer, not an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafkactl.commands.framework.deadline import paused
from kafkactl.commands.rendering import output
from kafkactl.core.findings import Finding, Severity

if TYPE_CHECKING:
    from kafkactl.commands.rendering.page import Page

_NO = "not-confirmed"
_IDS = frozenset({_NO, "confirmation-missing", "confirmation-mismatch"})


def confirm(question: str, *, yes: bool, subject: str) -> Finding | None:
    """Ask yes or no. `--yes` answers it; without a terminal a missing `--yes` is a refusal."""
    if yes:
        return None
    if not sys.stdin.isatty():
        return _refusal(
            "confirmation-missing",
            subject,
            "This command asks for confirmation, and there is no terminal to ask on.",
            "Give --yes.",
        )
    with paused():
        agreed = output.agreed(question)
    return None if agreed else _refusal(_NO, subject, "The question was answered with no.", "")


def confirm_cluster_id(question: str, cluster_id: str, *, confirm: str | None, subject: str) -> Finding | None:
    """Require the cluster id, typed or given by `--confirm`. `--yes` does not answer this."""
    if confirm is None and not sys.stdin.isatty():
        return _refusal(
            "confirmation-missing",
            subject,
            "This cannot be undone, and there is no terminal to ask on.",
            "Give --confirm with the id of the cluster; --yes is not enough.",
        )
    if confirm is None:
        with paused():
            confirm = output.answer_to((question, "Type the cluster id to go ahead"))
    if confirm.strip() == cluster_id:
        return None
    return _refusal(
        "confirmation-mismatch",
        subject,
        f"The id given to confirm is {confirm.strip()!r}, this cluster's is {cluster_id!r}.",
        "Make sure that this is the cluster you mean, then give its id.",
    )


def confirm_count(what: str, count: int, *, given: int | None, option: str, subject: str) -> Finding | None:
    """Require a number, typed or given by `option`: the amount that is given up. `--yes` does not answer this."""
    if given is None and not sys.stdin.isatty():
        return _refusal(
            "confirmation-missing",
            subject,
            f"This gives up {count} {what}, and there is no terminal to ask at.",
            f"Give {option} {count} if the list in the plan is acceptable; --yes is not enough.",
        )
    if given is None:
        with paused():
            typed = output.answer_to((f"This gives up {count} {what}.", "Type the number to go ahead"))
        given = int(typed) if typed.strip().isascii() and typed.strip().isdigit() else -1
    if given == count:
        return None
    return _refusal(
        "confirmation-mismatch",
        subject,
        f"The number given to confirm is {given}, the plan gives up {count} {what}.",
        "Read the list in the plan, then give its number.",
    )


def unconfirmed(findings: Iterable[Finding]) -> Finding | None:
    """Return the refusal of a question among findings, after which the plan that was shown need not be shown again."""
    return next((finding for finding in findings if finding.id in _IDS), None)


def show_unconfirmed(page: Page, refusal: Finding) -> None:
    """Show that a question was not answered with yes: nothing was changed."""
    page.heading("Not confirmed: nothing was changed", "warn")
    if refusal.id != _NO:
        page.findings((refusal,))


def _refusal(id: str, subject: str, message: str, next_step: str) -> Finding:
    return Finding(id=id, severity=Severity.BLOCKER, subject=subject, message=message, next_step=next_step)
