"""One file as it was read: its bytes, or the reason why there are none."""

from __future__ import annotations

from kafkactl.core.frozen import frozen


@frozen
class FileRead:
    """A file's bytes, or why they could not be read (`error`: the operating system's words)."""

    path: str
    content: bytes | None
    error: str | None = None
    mode: int = 0o644
    owner_uid: int = 0
    mtime_ms: int = 0
