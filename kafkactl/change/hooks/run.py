"""Outcome of a hook's run: its end and its output."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from kafkactl.core.frozen import frozen


class HookEnd(StrEnum):
    """End of a hook. `asked`: there is no command, the operator has been asked to do it."""

    DONE = "done"
    ASKED = "asked"
    FAILED = "failed"
    CHANGED_MEANWHILE = "changed-meanwhile"
    NOT_READY = "not-ready"
    TIMED_OUT = "timed-out"
    NOT_STARTED = "not-started"


@frozen
class HookRun:
    """The result of a hook: `stdout`, cut at a bound (`truncated`), and a `message` for people, without secrets."""

    end: HookEnd
    exit_code: int | None = None
    stdout: bytes = b""
    truncated: bool = False
    message: str = ""
    attempts: int = 1
    elapsed_ms: int = 0

    @property
    def is_done(self) -> bool:
        """Return True if the hook reported its success; nothing more is known."""
        return self.end is HookEnd.DONE

    def to_dict(self) -> dict[str, Any]:
        """Return the journal entry without the output, which may contain secrets."""
        return {
            "end": self.end.value,
            "exit_code": self.exit_code,
            "told": self.message,
            "attempts": self.attempts,
            "elapsed_ms": self.elapsed_ms,
            "stdout_bytes": len(self.stdout),
        }
