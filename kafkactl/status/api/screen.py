"""Facts about a status for its screen, in addition to the answer."""

from __future__ import annotations

from kafkactl.status.answer import worst_first
from kafkactl.status.changes import status_changes

__all__ = ["status_changes", "worst_first"]
