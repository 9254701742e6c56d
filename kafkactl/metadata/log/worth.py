"""From which size on a piece of a log is read by columns, which needs numpy."""

from __future__ import annotations

from typing import Final

WORTH_BYTES: Final = 1 << 20  # pieces below this are read record by record


def has_numpy() -> bool:
    """Whether numpy is installed; asking does not load it."""
    from importlib.util import find_spec

    return find_spec("numpy") is not None


def worth_bytes() -> int | None:
    """The size; None where nothing is read by columns."""
    return WORTH_BYTES if has_numpy() else None
