"""Metadata logs in the folder of a saved observation: a directory for each controller, named after its id."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from kafkactl.core.errors import KafkactlError
from kafkactl.core.findings import Finding, warning
from kafkactl.metadata.io.source import LogSource, open_source


def observed_logs(place: Path, findings: list[Finding]) -> Iterator[tuple[int, LogSource]]:
    """Yield the logs by controller id; directories of another name, and logs that cannot be read, are findings."""
    try:
        names = sorted(os.listdir(place))  # noqa: PTH208
    except OSError as error:
        text = f"{place} cannot be listed: {error.strerror or error}"
        findings.append(warning("observed-log-unreadable", str(place), text))
        return
    for name in names:
        if not (name.isascii() and name.isdigit() and len(name) <= 10 and int(name) < 2**31):
            text = "the directory is not named after a controller's id and is ignored"
            findings.append(warning("observed-log-unreadable", str(place / name), text))
            continue
        try:
            yield int(name), open_source(str(place / name))
        except KafkactlError as error:
            findings.append(log_unreadable(int(name), error))


def log_unreadable(controller_id: int, error: KafkactlError) -> Finding:
    """Return the finding for a log that cannot be read."""
    text = f"the log cannot be read: {error.message}"
    subject = f"metadata log of controller {controller_id}"
    return warning("observed-log-unreadable", subject, text, error.advice, reason=error.id)
