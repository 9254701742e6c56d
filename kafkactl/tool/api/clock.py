"""The time of this host, for the progress of what takes long."""

from __future__ import annotations

from kafkactl.files.clock import SystemClock

__all__ = ["SystemClock"]
