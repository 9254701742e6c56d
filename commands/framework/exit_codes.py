"""Table of exit codes for all commands, and the only conversion of exceptions to exit codes."""

from __future__ import annotations

import click

from kafkactl.core.errors import KafkactlError

DONE = 0
FAILED = 1
USAGE = 2
REFUSED = 3
UNREACHABLE = 4
PARTLY_DONE = 5
UNKNOWN = 6
PROBLEMS_FOUND = 7
INTERRUPTED = 130

MEANINGS: dict[int, str] = {
    DONE: "done, nothing to do, or a healthy answer",
    FAILED: "failed",
    USAGE: "wrong usage, or an input file that cannot be understood",
    REFUSED: "refused by a check or gate; nothing was changed",
    UNREACHABLE: "cannot reach, or not authorised",
    PARTLY_DONE: "partly done",
    UNKNOWN: "timed out, or the outcome is unknown",
    PROBLEMS_FOUND: "the check found problems",
    INTERRUPTED: "interrupted",
}

READING = (DONE, FAILED, USAGE, UNREACHABLE, UNKNOWN, PROBLEMS_FOUND)
"""Codes of a command that only reads, from files or from a live cluster."""


def exit_code_of(error: BaseException) -> int:
    """Return the process exit code for an exception that ended a command."""
    match error:
        case KafkactlError():
            return error.exit_code
        case click.exceptions.Exit():
            return error.exit_code
        case KeyboardInterrupt() | click.Abort():
            return INTERRUPTED
        case click.UsageError() | click.FileError():
            return USAGE
        case ValueError() if has_too_many_digits(error):
            return USAGE
        case _:
            return FAILED


def has_too_many_digits(error: ValueError) -> bool:
    """Return True if Python refused to turn so many digits into a number (CVE-2020-10735): such a number comes from an
    input.

    If a reader knows the place it says more; this is for all places where digits are read.
    """
    return str(error).startswith("Exceeds the limit (")
