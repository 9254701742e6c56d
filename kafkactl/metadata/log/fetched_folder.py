"""Folders with logs that only the machine of the driver has: how workers of Spark find them on their own machines."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

FETCHED: Final = "kafkactl-fetched-"  # with this begins the name of the folder that they are in


def within_fetched(path: str) -> str | None:
    """Return a path from the fetched folder on; None for a path that was not fetched.

    >>> within_fetched("/tmp/kafkactl-fetched-x1/0/00000000000000000000.log")
    'kafkactl-fetched-x1/0/00000000000000000000.log'
    """
    parts = PurePath(path).parts
    at = next((at for at, part in enumerate(parts) if part.startswith(FETCHED)), None)
    return None if at is None else str(PurePath(*parts[at:]))


def fetched_folder(path: str) -> str | None:
    """Return the fetched folder of a path, or None."""
    inside = within_fetched(path)
    return None if inside is None else path[: -len(inside)] + PurePath(inside).parts[0]
