"""Verdict of an audit of tiered storage, in a word, limited by what was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kafkactl.core.findings import Finding, Severity

PROBLEMS: Final = "problems"
UNKNOWN: Final = "unknown"
WARNINGS: Final = "warnings"
SOUND: Final = "sound"
EMPTY: Final = "no-remote-log-metadata-records"
# With one of these, records that count may be missing from what was read.
_PARTIAL: Final = frozenset({EMPTY, "metadata-view-incomplete", "unread-metadata-batch"})

MEANINGS: Final[Mapping[str, str]] = {
    PROBLEMS: "Data is lost, cannot be read, or will be lost at a restart; or what was read contradicts itself.",
    UNKNOWN: "What was read shows no loss, but part of the metadata topic was not read.",
    WARNINGS: "Nothing is lost. Some of the store is used for nothing, or needs attention.",
    SOUND: "Every partition is as its leader's metadata says, as far as it was given.",
}
NOTHING: Final = "There was no record to judge."


def verdict_of(findings: Iterable[Finding]) -> str:
    """Return `problems` with a blocker, `unknown` where not everything was read, `warnings`, or `sound`."""
    found = list(findings)
    severities = {finding.severity for finding in found}
    if Severity.BLOCKER in severities:
        return PROBLEMS
    if any(finding.id in _PARTIAL for finding in found):
        return UNKNOWN
    return WARNINGS if Severity.WARNING in severities else SOUND


def meaning_of(findings: Iterable[Finding]) -> str:
    """Return the verdict in a sentence."""
    found = list(findings)
    verdict = verdict_of(found)
    if verdict == UNKNOWN and any(finding.id == EMPTY for finding in found):
        return NOTHING
    return MEANINGS[verdict]
