"""The journal of a change, as the loop that carries the change out uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kafkactl.change.journal_lines import Entry


class Journal(Protocol):
    """An open journal. An entry counts once `append` returned."""

    @property
    def path(self) -> str:
        """The file, for messages."""
        ...

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Everything in it, oldest first."""
        ...

    def append(self, entry: str, data: Mapping[str, Any]) -> Entry:
        """Write an entry; it is on the disk when this returns. Raises FailedError `journal-not-written`."""
        ...

    def now_ms(self) -> int:
        """Milliseconds since the epoch, by the clock that gives entries their time."""
        ...
