"""What the rules of a format share: how they speak, and in which order they are asked.

`format` of every Kafka release stops at its first complaint; the rules here tell all of them. The order in which
their blockers come out is Kafka's, so that the first one is what Kafka's own tool would have said (StorageTool.scala,
Formatter.java; storage.md 1.3), and a message holds Kafka's key phrase where there is one, for whoever searches for
it. The files of the rules, in that order: format_rules_arguments, format_rules_levels, format_rules_disks, then our
own guard. Warnings (format_rules_warnings) tell what Kafka does silently.

Words that cannot be parsed at all are no finding but an InputError (exit 2), raised by the parsers.
"""

from __future__ import annotations

from typing import Any

from kafkactl.plan import Finding, Severity


def blocker(id: str, subject: str, message: str, next_step: str, **evidence: Any) -> Finding:
    """A finding that stops the format."""
    return Finding(
        id=id,
        severity=Severity.BLOCKER,
        subject=subject,
        message=message,
        evidence=evidence,
        next_step=next_step,
    )


def warning(id: str, subject: str, message: str, next_step: str, **evidence: Any) -> Finding:
    """A finding that tells, and lets the format go on."""
    return Finding(
        id=id,
        severity=Severity.WARNING,
        subject=subject,
        message=message,
        evidence=evidence,
        next_step=next_step,
    )
