"""Bytes that come over the network and are read later: few of them in memory, more in a file without a name.

The file is this user's alone and goes with the process, whatever ends it: metadata logs hold credentials.
"""

from __future__ import annotations

import contextlib
import io
import weakref
from collections.abc import Iterator
from typing import IO, Final

from kafkactl.core.errors import FailedError

_IN_MEMORY_BYTES: Final = 8 * 1024 * 1024
_PIECE_BYTES: Final = 4 * 1024 * 1024


def discard(file: IO[bytes]) -> None:
    """Close a file without a name; what a full disk did not take of it is of no use."""
    with contextlib.suppress(OSError):
        file.close()


class Spool:
    """Spool of bytes: `add` appends, `pieces` returns everything from the beginning, as often as it is called."""

    def __init__(self) -> None:
        self._file: IO[bytes] = io.BytesIO()
        self._is_on_disk = False
        self.size_bytes = 0

    def add(self, data: bytes) -> None:
        """Keep these bytes, too. Raises FailedError `fetched-log-not-written`."""
        try:
            if not self._is_on_disk and self.size_bytes + len(data) > _IN_MEMORY_BYTES:
                self._move_to_disk()
            self._file.seek(self.size_bytes)
            self._file.write(data)
            self._file.flush()  # a full disk is reported here, not by the reader
        except OSError as error:
            import tempfile

            raise FailedError(
                f"{tempfile.gettempdir()}: the log of the cluster cannot be kept there: {error.strerror or error}",
                id="fetched-log-not-written",
            ) from error
        self.size_bytes += len(data)

    def _move_to_disk(self) -> None:
        import tempfile  # takes longer to load than most logs that a command asks a node for

        file = tempfile.TemporaryFile()  # noqa: SIM115  # closed with this value
        weakref.finalize(self, discard, file)
        for piece in self.pieces():
            file.write(piece)
        self._file, self._is_on_disk = file, True

    def pieces(self) -> Iterator[bytes]:
        """Yield the whole present content."""
        at = 0
        while at < self.size_bytes:
            self._file.seek(at)
            piece = self._file.read(min(_PIECE_BYTES, self.size_bytes - at))
            at += len(piece)
            yield piece
