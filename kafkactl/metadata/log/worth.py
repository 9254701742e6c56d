"""Size from which a piece of a log is read by columns."""

from __future__ import annotations

from typing import Final

WORTH_BYTES: Final = 1 << 20  # pieces below this are read record by record


def has_numpy() -> bool:
    """Whether numpy is installed; asking does not load it."""
    from importlib.util import find_spec

    return find_spec("numpy") is not None
