"""Callbacks of an operation, given by its caller, and their defaults, which do nothing.

An operation prints nothing. What must be known before it goes on reaches the caller through these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding

ExposureCallback: TypeAlias = Callable[[Iterable["Finding"]], None]
"""Gets the findings on what a connection or a file exposes (a password in the clear, a key that other users can read),
before anything is sent. To refuse, it raises RefusedError."""

NoteCallback: TypeAlias = Callable[[str], None]
"""Gets a line for a person to read, such as the step that is being taken."""


def ignore_exposure(findings: Iterable[Finding]) -> None:
    """Go on whatever is exposed."""


def ignore_note(text: str) -> None:
    """Leave the line unread."""


def ignore_moment() -> None:
    """Ignore the moment."""
