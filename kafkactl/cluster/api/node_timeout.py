"""Time limit for a silent node in an observation of many nodes."""

from __future__ import annotations

from typing import Final

NO_LIMIT: Final = float("inf")
DESCRIBE_MS: Final = 1_200.0
"""Time in ms that a silent node has if nothing is planned from its silence."""
_QUESTIONS = 5  # that are put one after the other before it is known that no node answers


def node_timeout_ms(most_ms: float, timeout_ms: float) -> float:
    """Return a share of the available time, so that the observation can end within it."""
    return min(most_ms, timeout_ms / _QUESTIONS)
