"""What could not be read of a log, as findings: each with its file, its byte, and what to make of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafkactl.errors import DecodeError
from kafkactl.frozen import changed
from kafkactl.plan import Finding, Severity

GAP: Final = "metadata-log-gap"
_STEP: Final = "`kafkactl log verify` tells what a restart would cut; do not start a node on this file before you know."


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


def cut_checkpoint(file: str) -> Finding:
    """A snapshot without its last record: nobody knows how much of the state is missing."""
    return Finding(
        id="checkpoint-cut",
        severity=Severity.BLOCKER,
        subject=f"file {file}",
        message="It has no end (SnapshotFooter): what stood behind is not in this state.",
        evidence={},
        next_step="Take the log of another node, or move this file away and begin with an earlier one.",
    )


def covered_damage(error: DecodeError, offset: int) -> Finding:
    """Bytes that are no sound batch, where the snapshot at that offset stands for all that was in them."""
    return Finding(
        id="undecodable-record",
        severity=Severity.WARNING,
        subject=f"file {error.file}",
        message=f"byte {error.offset}: {error.reason}. The snapshot at {offset} stands for what was there.",
        evidence={"position": error.offset},
        next_step=_STEP,
    )


def gap_finding(file: str, first: int, behind: int, *, then: str) -> Finding:
    """Where batches do not follow on each other: the offset that was due, and the one that came.

    `then` is what follows for the answer, such as "they are not in this state".
    """
    return Finding(
        id=GAP,
        severity=Severity.BLOCKER,
        subject=f"file {file}",
        message=f"{_gap(first, behind)}: {then}.",
        evidence={"first": first, "behind": behind},
        next_step="Name the whole folder, or all the files that belong together.",
    )


def covered_gap(gap: Finding, offset: int) -> Finding:
    """The same where the snapshot at that offset stands for what is missing."""
    text = _gap(gap.evidence["first"], gap.evidence["behind"])
    message = f"{text}. The snapshot at {offset} stands for them: what is said here is of it and of what follows."
    return changed(gap, severity=Severity.WARNING, message=message)


def _gap(first: int, behind: int) -> str:
    if behind > first:
        return f"The records from offset {first} to {behind - 1} were not read"
    return f"The records from offset {behind} on stand here again, behind those up to {first - 1}"


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
