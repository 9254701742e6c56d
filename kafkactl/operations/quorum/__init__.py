"""The voter set of a live cluster: describe, plan and change it."""

from __future__ import annotations

__all__: list[str] = []
