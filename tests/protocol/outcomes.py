"""Outcome of a decoder on given bytes, in a form that allows comparing two decoders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkactl.core.errors import DecodeError


def outcome(decode: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return the value, or everything that the error says. Whatever is not a DecodeError goes through."""
    try:
        return decode(*arguments, **named)
    except DecodeError as error:
        return type(error), error.id, error.offset, error.path, error.reason, error.file
