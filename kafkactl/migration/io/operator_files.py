"""The files that an operator names for a run of the migration's driver."""

from __future__ import annotations

from pathlib import Path

from kafkactl.files.input_files import InputKind, read_input, read_whole


class FilesOfOperator:
    """Files that the operator names. Each is read on request, up to the limit of its kind."""

    def copy(self, path: Path, name: str) -> bytes:
        """Return the copy of a configuration. Raises InputError."""
        return read_input(path, name, InputKind.NODE_CONFIG)

    def rendered(self, path: Path) -> bytes:
        """Return a file of the folder of `migrate render`. Raises OSError, InputError."""
        return read_whole(path, InputKind.RENDERED)
