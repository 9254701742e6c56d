"""Findings about parts of a log that could not be read: each with its file, its byte, and its meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kafkactl.core.errors import DecodeError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import changed
from kafkactl.protocol.control_records import ControlType

GAP: Final = "metadata-log-gap"
EMPTY_LOG: Final = "empty-metadata-log"
NOT_THIS_LOG: Final = (
    "Give the directory of a node that has been started; `kafkactl storage info` shows what is on this disk."
)
PAST_DAMAGE: Final = "--past-damage"
_OTHER: Final = "Compare with the logs of the other nodes: `kafkactl log verify` names the one that reaches furthest."
_STEP: Final = "`kafkactl log verify` shows what a restart would truncate; check it before a node starts on this file."


def dump_findings(problems: Sequence[DecodeError], count: int, tail: DecodeError | None = None) -> list[Finding]:
    """Return a finding for each problem, and one for those that were not kept; `count` is the number of all.

    `tail` is what the log ends with if that is not a whole batch: reported, but not a problem.
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
    """Return the finding about the end of a log that is not a batch: one that is being written, or room that was never
    written to."""
    where = f"byte {error.offset}: {error.reason}"
    message = f"The file ends in the middle of a batch ({where}). A running node may be writing it."
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
    """Return the finding about a snapshot without its last record: it is unknown how much of the state is missing."""
    return Finding(
        id="checkpoint-truncated",
        severity=Severity.BLOCKER,
        subject=f"file {file}",
        message="The checkpoint has no end (SnapshotFooter): records after the cut are not in this state.",
        evidence={},
        next_step="Take the log of another node, or move this file away and begin with an earlier one.",
    )


def empty_log(name: str, *, what: str = "metadata record") -> Finding:
    """Return the finding about a source that is empty, so that nothing is known."""
    return Finding(
        id=EMPTY_LOG,
        severity=Severity.WARNING,
        subject=f"log {name}",
        message=f"{name} contains no {what}, so it says nothing about the cluster.",
        evidence={},
    )


def has_records(counts: Mapping[str, int]) -> bool:
    """Return True if one of these record types is not a control record."""
    return any(count and name not in _CONTROL for name, count in counts.items())


_CONTROL: Final = frozenset(control_type.record_name for control_type in ControlType)


def log_cut(
    error: DecodeError,
    *,
    end: int,
    offset: int,
    records: int,
    last_offset: int | None,
    snapshot_end: int | None,
    wanted: int | None,
) -> Finding:
    """Return the finding about the first bad batch of a log, at which a node of Kafka ends it; `offset` is the expected
    one.

    `records` that can still be read after it, up to `last_offset`, are not in the state. `snapshot_end` is the end
    offset of the snapshot that replaces what was at the cut, None if none does. `wanted` is the offset whose state
    was asked for, None for the end.
    """
    beyond = last_offset is not None and (snapshot_end is None or last_offset >= snapshot_end)
    text = f"byte {error.offset}: {error.reason}. Offset {offset} was due there, and a node of Kafka ends the log there"
    if snapshot_end is None:
        text += f": this state is that before offset {offset}."
    else:
        text += f" and continues from the snapshot: this state is that of the snapshot at {snapshot_end}."
    if beyond:
        text += (
            f" {records} records after it, up to offset {last_offset}, can be read and are left out ({PAST_DAMAGE})."
        )
    missed = wanted is not None and wanted >= (offset if snapshot_end is None else snapshot_end)
    if missed:
        text += f" The state at offset {wanted}, which was asked for, is not shown."
    harmless = snapshot_end is not None and not beyond and not missed
    return Finding(
        id="undecodable-record",
        severity=Severity.WARNING if harmless else Severity.BLOCKER,
        subject=f"file {error.file}",
        message=text,
        evidence={
            "position": error.offset,
            "end": end,
            "offset": offset,
            "reason": error.id,
            "readable_records": records,
            "readable_up_to": last_offset,
            "snapshot_end": snapshot_end,
        },
        next_step=_STEP if harmless else _OTHER,
    )


def covered_damage(error: DecodeError, offset: int) -> Finding:
    """Return the finding about bytes that are not a sound batch, whose content the snapshot at that offset replaces."""
    return Finding(
        id="undecodable-record",
        severity=Severity.WARNING,
        subject=f"file {error.file}",
        message=f"byte {error.offset}: {error.reason}. The snapshot at {offset} covers what was there.",
        evidence={"position": error.offset},
        next_step=_STEP,
    )


def gap_finding(file: str, first: int, behind: int, *, then: str) -> Finding:
    """Return the finding about batches that do not follow on each other: the expected offset, and the one found.

    `then` is what follows for the answer, such as "they are not in this state".
    """
    return Finding(
        id=GAP,
        severity=Severity.BLOCKER,
        subject=f"file {file}",
        message=f"{_gap(first, behind)}: {then}.",
        evidence={"first": first, "behind": behind},
        next_step="Give the complete directory, or all files that belong together.",
    )


def covered_gap(gap: Finding, offset: int) -> Finding:
    """Return the finding about missing batches that the snapshot at that offset replaces."""
    text = _gap(gap.evidence["first"], gap.evidence["behind"])
    message = f"{text}. The snapshot at {offset} covers them: this state is that of the snapshot and of what follows."
    return changed(gap, severity=Severity.WARNING, message=message)


def _gap(first: int, behind: int) -> str:
    if behind > first:
        return f"The records from offset {first} to {behind - 1} were not read"
    return f"The records from offset {behind} on stand here again, behind those up to {first - 1}"


_BAD_BATCH: Final = frozenset(
    {"crc-mismatch", "unsupported-magic", "truncated-batch", "invalid-batch-length", "invalid-record-count"}
)
_ENDS_HERE: Final = ". A node of Kafka ends the log here; what is shown after it is what can still be read"


def _finding(error: DecodeError) -> Finding:
    where = f"byte {error.offset}" + (f", {error.path}" if error.path else "")
    return Finding(
        id=error.id,
        severity=Severity.BLOCKER,
        subject=f"file {error.file}",
        message=f"{where}: {error.reason}" + (_ENDS_HERE if error.id in _BAD_BATCH else ""),
        evidence={"path": error.file, "offset": error.offset, "field": error.path or None},
        next_step=error.next_step or _STEP,
    )
