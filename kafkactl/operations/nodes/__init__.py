"""The nodes that a live cluster knows: list, compare and unregister them."""

from __future__ import annotations

__all__: list[str] = []
