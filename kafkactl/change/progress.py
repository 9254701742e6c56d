"""Events that a running change reports to the operator: one class for all journeys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkactl.core.frozen import frozen


@frozen
class Event:
    """Something that happened, or is waited for.

    `kind` is plan, look, wait, send, action, ask, state, done, failed or note. `step` is the step that it is about and
    `state` what was observed last, each as its journey has it (a migration gives the name of its state). Of a wait,
    which is reported again with every observation, `text` is what is waited for and `seen` what was seen last.
    """

    kind: str
    text: str
    step: Any = None
    state: Any = None
    seen: str = ""


ProgressCallback = Callable[[Event], None]


def in_silence(_event: Event) -> None:
    """Ignore the event."""
