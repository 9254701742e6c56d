"""Result of reading a file: its bytes, or the reason why there are none."""

from __future__ import annotations

from typing import Final

from kafkactl.core.frozen import frozen

_NOWHERE: Final = ", which leads to no file"


@frozen
class FileRead:
    """A file's bytes, or why they could not be read (`error`: the operating system's words)."""

    path: str
    content: bytes | None
    error: str | None = None
    mode: int = 0o644
    owner_uid: int = 0
    mtime_ms: int = 0


def dangling_words(target: str) -> str:
    """Return the error of a file whose name belongs to a link without a file at its end."""
    return f"a link to {target}{_NOWHERE}"


def link_step(error: str | None) -> str:
    """Return the next step if the error is a link that leads to no file; empty for any other error."""
    if error is None or not error.endswith(_NOWHERE):
        return ""
    return (
        "Keep the node stopped, and bring back the file that the link leads to: most often its disk is not mounted. "
        "Owner and mode are not the cause."
    )
