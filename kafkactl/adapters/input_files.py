"""Files that the operator names: configurations, inventories, plans, users. A module of its own, for it loads fast."""

from __future__ import annotations

from pathlib import Path

from kafkactl.errors import InputError

# An inventory of 5,000 nodes has about 500 kB, its plan about 15 MB.
_LARGEST_INPUT_BYTES = 256 * 1024 * 1024


def read_input(path: Path, what: str) -> bytes:
    """A file that the operator named. `what` says what it should be. Raises InputError `input-file-unreadable`."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_INPUT_BYTES + 1)
    except OSError as error:
        raise unreadable_input(path, what, error.strerror or str(error)) from error
    if len(data) > _LARGEST_INPUT_BYTES:
        raise unreadable_input(path, what, f"larger than {_LARGEST_INPUT_BYTES} bytes")
    return data


def unreadable_input(path: Path, what: str, why: str) -> InputError:
    """The error for a file of the operator's that cannot be read."""
    return InputError(
        f"{what} {path} cannot be read: {why}",
        id="input-file-unreadable",
        next_step="Check the path and the permissions, then run the command again.",
    )
