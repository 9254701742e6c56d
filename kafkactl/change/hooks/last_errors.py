"""The last errors in the output of a hook `logs`."""

from __future__ import annotations

import re
from typing import Final

from kafkactl.core.shown import visible
from kafkactl.protocol.redact import redacted_text

PATTERN: Final = "ERROR|FATAL|Exception"
_LINES: Final = 5
_LINE_CHARACTERS: Final = 300


def last_errors(text: str) -> tuple[str, ...]:
    """Return the last lines with an error, cut, without secrets and control characters."""
    found = [line.strip() for line in redacted_text(text).splitlines() if re.search(PATTERN, line)]
    return tuple(visible(line)[:_LINE_CHARACTERS] for line in found[-_LINES:])
