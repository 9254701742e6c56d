"""Waits of tests that have no cluster of the lab to wait with: one node, files, rights."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 120.0
_POLL_S = 0.1
T = TypeVar("T")


def answer_once(holds: Callable[[T], object], ask: Callable[[], T], timeout_s: float = PATIENCE_S) -> T:
    """Ask until the answer is as it is waited for, and return the last one, which the caller checks.

    The time is that of a machine on which everything takes twenty times as long as on an idle one.
    """
    until = time.monotonic() + timeout_s
    while not holds(answer := ask()) and time.monotonic() < until:
        time.sleep(_POLL_S)
    return answer
