"""An observation saved: a folder that is there whole or not at all, and without secrets unless they are asked for.

Invariant: without `include_secrets` no byte that is written holds one. ZooKeeper's data, configurations and logs are
rewritten for that, and the damage in them stays damage. With it or without it, the folder is its owner's alone (0700,
files 0600).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from kafkactl.core.errors import FailedError, RefusedError
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.files.whole_file import make_folders, whole_folder
from kafkactl.metadata.io.source import LogFile
from kafkactl.metadata.log.redact import redact_runs
from kafkactl.migration.io.saved_observation import LOGS, OBSERVATION, ZNODES, CapturedMigration
from kafkactl.migration.observed.raw_observation import render_observation
from kafkactl.migration.observed.redact import redact_observation
from kafkactl.migration.zktree.redact import redact_znodes
from kafkactl.migration.zktree.znode import encode_znodes
from kafkactl.protocol.log.batch_runs import walk_runs

_FILE_MODE = 0o600


def save_observation(folder: str, captured: CapturedMigration, *, include_secrets: bool = False) -> None:
    """Write the captured observation into a new or empty folder.

    Raises RefusedError `observation-folder-in-use`, FailedError `observation-not-written`, and what reading the logs
    raises. Nothing is left of it if it fails.
    """
    place = Path(folder)
    check_free(place)
    try:
        make_folders(place.parent)
    except (OSError, ValueError) as error:
        raise _not_written(folder, error) from error
    try:
        with whole_folder(place) as work:
            _write(work, captured, include_secrets=include_secrets)
    except OSError as error:
        raise _not_written(folder, error) from error


def check_free(place: Path) -> None:
    """Refuse a folder that is in use, before an observation is made that could not be saved in it.

    Raises RefusedError `observation-folder-in-use`, FailedError `observation-not-written`.
    """
    try:
        held = os.listdir(place)  # noqa: PTH208  # names, not paths
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        if not (isinstance(error, NotADirectoryError) and place.exists()):
            raise _not_written(str(place), error) from error
        held = [place.name]
    if held:
        raise RefusedError(f"{place} is there already and not empty", id="observation-folder-in-use")


def _not_written(folder: str, error: OSError | ValueError) -> FailedError:
    words = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return FailedError(f"the observation cannot be written to {folder}: {words}", id="observation-not-written")


def _write(work: Path, captured: CapturedMigration, *, include_secrets: bool) -> None:
    raw = captured.raw if include_secrets else redact_observation(captured.raw)
    _file(work / OBSERVATION, [render_observation(raw)])
    if captured.znodes is not None:
        znodes = captured.znodes if include_secrets else redact_znodes(captured.znodes)
        _file(work / ZNODES[0], [encode_znodes(znodes)])
    for id, source in captured.logs.items():
        place = work / LOGS / str(id) / METADATA_LOG
        place.mkdir(parents=True)
        for file in source.files(checkpoints=True):
            _file(place / file.name.rsplit("/", 1)[-1], _log_bytes(file, include_secrets=include_secrets))


def _log_bytes(file: LogFile, *, include_secrets: bool) -> Iterable[bytes]:
    return file.pieces() if include_secrets else redact_runs(walk_runs(file.pieces(), file=file.name))


def _file(path: Path, pieces: Iterable[bytes]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        for piece in pieces:
            file.write(piece)
        os.fchmod(file.fileno(), _FILE_MODE)
