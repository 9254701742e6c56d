"""Holder of the driver's lock, as written in the znode `/kafkactl-migration-driver`.

The lock is an ephemeral znode inside the chroot that is none of Kafka's own paths, so brokers, controllers, the copy
and comparisons do not see it (migration/io/lock.py takes and checks it).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import Any, Final

from kafkactl.core.answers import json_of
from kafkactl.core.frozen import frozen
from kafkactl.core.json_input import parse_json

PATH: Final = "/kafkactl-migration-driver"
UNKNOWN: Final = "unknown"
_HIGHEST: Final = 2**45  # of a time that a calendar has


@frozen
class Holder:
    """The driver that holds the lock, as it wrote it there."""

    user: str
    host: str
    pid: int
    """0 if the lock does not say."""
    since_ms: int
    journal: str
    file: str
    """Device and inode of the journal, by which the same file is recognized."""

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Holder:
        """Return the holder from the content of the lock; a field that is missing or of another type is unknown."""
        pid, since_ms = (
            number if type(number) is int and 0 <= number < 2**52 else 0
            for number in (table.get("pid"), table.get("since_ms"))
        )
        user, host, journal, file = (
            str(table.get(name) or UNKNOWN) for name in ("user", "host", "journal", "journal_file")
        )
        return cls(user=user, host=host, pid=pid, since_ms=min(since_ms, _HIGHEST), journal=journal, file=file)

    @property
    def words(self) -> str:
        """Return the holder's name in messages."""
        since = datetime.datetime.fromtimestamp(self.since_ms / 1000, datetime.UTC)
        when = since.strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"{self.user}@{self.host} (process {self.pid}) since {when} with the journal {self.journal}"

    def is_predecessor_of(self, other: Holder) -> bool:
        """Return True if this holder had the same journal file on the same host.

        Two at a time are not possible there.
        """
        return (self.host, self.file) == (other.host, other.file) and self.file != UNKNOWN

    to_dict = json_of("user", "host", "pid", "since_ms", "journal", "journal_file=file")

    def to_bytes(self) -> bytes:
        """Return the content of the znode."""
        return json.dumps(self.to_dict()).encode()


def holder_in(data: bytes | None) -> Holder:
    """Return the holder that the znode names; fields that cannot be read are unknown."""
    try:
        table: Any = parse_json(data or b"")
    except ValueError:
        table = None
    return Holder.from_table(table if isinstance(table, dict) else {})


@frozen
class LockSeen:
    """The lock of `run`, `rollback` and `finalize`, the znode /kafkactl-migration-driver."""

    holder: Holder | None
    """None: no driver is at work."""

    @property
    def words(self) -> str:
        """Return the lock for people: `held by ann@ops1 (process 7) since 2023-11-14 22:13:20 UTC`."""
        return "free: no driver is at work" if self.holder is None else f"held by {self.holder.words}"

    to_dict = json_of("holder", "words")
