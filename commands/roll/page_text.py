"""Words that the pages of `kafkactl roll` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkactl.roll.rollback_path import RollbackPath


def word_of(value: bool | None) -> str:
    """Return yes, no or unknown."""
    return "unknown" if value is None else "yes" if value else "no"


def rollback_line(found: RollbackPath) -> str:
    """Return a rollback as one line."""
    to = f" to {found.to}" if found.to else ""
    return f"Rollback{to}: {word_of(found.possible)} ({found.how.value}): {found.reason}"
