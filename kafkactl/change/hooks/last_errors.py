"""The last errors in the log of a node since its start, by its hook `logs`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafkactl.change.hooks.run import HookRun
from kafkactl.change.hooks.words import Value
from kafkactl.core.safe_text import visible
from kafkactl.protocol.redact import redacted_text

_PATTERN: Final = "ERROR|FATAL|Exception"
_BEFORE_START_MS: Final = 5_000  # the clocks of two machines
_LINES: Final = 5
_LINE_CHARACTERS: Final = 300


def errors_since(start_ms: float) -> Mapping[str, Value]:
    """Return the `extra` of a request for the errors since a start."""
    return {"pattern": _PATTERN, "since_ms": str(int(start_ms) - _BEFORE_START_MS)}


def last_errors(run: HookRun) -> tuple[str, ...]:
    """Return the last lines with an error, cut, without secrets and control characters; none if the hook failed."""
    text = run.stdout.decode("utf-8", "replace") if run.is_done else ""
    found = [line.strip() for line in redacted_text(text).splitlines() if re.search(_PATTERN, line)]
    return tuple(visible(line)[:_LINE_CHARACTERS] for line in found[-_LINES:])
