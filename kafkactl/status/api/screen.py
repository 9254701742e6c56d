"""Facts about a status for its screen, in addition to the answer."""

from __future__ import annotations

from kafkactl.status.answer import worst_first

__all__ = ["worst_first"]
