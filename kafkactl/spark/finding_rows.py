"""The findings of `log verify` and `log lint` about one metadata log as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kafkactl.core.errors import KafkactlError
from kafkactl.core.findings import Finding
from kafkactl.core.safe_text import json_text
from kafkactl.metadata.api.image import lint, load_image
from kafkactl.metadata.api.verify import verify_logs

Row = tuple[Any, ...]


def finding_rows(path: str, failed: Callable[[KafkactlError], None]) -> Iterator[Row]:
    """Return id, severity, subject, message and evidence (JSON text) of each finding, each once.

    `failed` receives the error if one of the two commands would give an error in place of an answer.
    """
    rows: dict[Row, None] = {}
    for check in (_verified, _linted):
        try:
            rows |= dict.fromkeys(map(finding_row, check(path)))
        except KafkactlError as error:
            failed(error)
    yield from rows


def _verified(path: str) -> Iterable[Finding]:
    return verify_logs([path]).findings


def _linted(path: str) -> Iterable[Finding]:
    return lint(load_image(path, whole=True), path).findings


def finding_row(finding: Finding) -> Row:
    """Return the columns of one finding."""
    evidence = json_text(dict(finding.evidence), compact=True)
    return finding.id, finding.severity.value, finding.subject, finding.message, evidence
