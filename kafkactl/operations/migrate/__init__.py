"""ZooKeeper to KRaft: observe, check, plan, render, drive and compare a migration."""

from __future__ import annotations

__all__: list[str] = []
