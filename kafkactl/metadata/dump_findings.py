"""What could not be read of a log, as findings: each with its file, its byte, and what to make of it."""

from __future__ import annotations

from collections.abc import Sequence

from kafkactl.errors import DecodeError
from kafkactl.plan import Finding, Severity

_STEP = "`kafkactl log verify` tells what a restart would cut; do not start a node on this file before you know."


def dump_findings(problems: Sequence[DecodeError], count: int, tail: DecodeError | None = None) -> list[Finding]:
    """A finding for each problem, and one for those that were not kept (`count` is how many there were).

    `tail` is what the log ends with where that is no whole batch: told, and no problem.
    """
    findings = [_finding(error) for error in problems]
    if count > len(problems):
        left_out = Finding(
            id="more-damage",
            severity=Severity.BLOCKER,
            subject="the log",
            message=f"{count - len(problems)} more problems of {count} are not listed",
            evidence={"problems": count},
            next_step=_STEP,
        )
        findings.append(left_out)
    return findings if tail is None else [*findings, torn_tail(tail)]


def torn_tail(error: DecodeError) -> Finding:
    """The end of a log that is no batch: one that is being written, or room that was never written to."""
    message = f"It ends in the middle of a batch, at byte {error.offset}: a running node may be writing it."
    if error.id == "zero-tail":
        message = f"From byte {error.offset} on: {error.reason}. A start cuts them off."
    return Finding(
        id="torn-tail",
        severity=Severity.INFO,
        subject=f"file {error.file}",
        message=message,
        evidence={"position": error.offset},
    )


def _finding(error: DecodeError) -> Finding:
    where = f"byte {error.offset}" + (f", {error.path}" if error.path else "")
    return Finding(
        id=error.id,
        severity=Severity.BLOCKER,
        subject=f"file {error.file}",
        message=f"{where}: {error.reason}",
        evidence={"path": error.file, "offset": error.offset, "field": error.path or None},
        next_step=error.next_step or _STEP,
    )
