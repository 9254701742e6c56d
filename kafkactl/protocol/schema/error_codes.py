"""Kafka's error codes by number: schemas/errors.toml as values.

Source: `clients/.../Errors.java` of the newest release; a code keeps its meaning in all releases.
"""

from __future__ import annotations

import functools

from kafkactl.core.data_files import read_data
from kafkactl.core.frozen import frozen


@frozen
class ErrorCode:
    """An error code. `retriable`: the same request may succeed later. `known` is False for a code from a newer Kafka,
    whose name is then made of its number."""

    code: int
    name: str
    retriable: bool
    known: bool = True


def error_code(code: int) -> ErrorCode:
    """Return the error code with that number, known or not.

    >>> error_code(41).name
    'NOT_CONTROLLER'
    """
    known = _table().get(code)
    return known or ErrorCode(code=code, name=f"UNKNOWN_ERROR_CODE_{code}", retriable=False, known=False)


def error_codes() -> tuple[ErrorCode, ...]:
    """Return every known error code, lowest number first."""
    return tuple(_table()[code] for code in sorted(_table()))


@functools.cache
def _table() -> dict[int, ErrorCode]:
    import tomli

    rows = tomli.loads(read_data("errors.toml").decode("utf-8"))
    return {int(code): ErrorCode(code=int(code), **row) for code, row in rows.items()}
