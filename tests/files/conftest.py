"""Fixtures of the tests of files."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the paths that were synced so far, in order."""
    found: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        found.append(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return found
