"""An observation as a folder: `observation.json`, the logs of the metadata topic, a listing of the store."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kafkactl.core.errors import FailedError, InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.json_input import JsonInputError, parse_json
from kafkactl.core.kafka_names import METADATA_LOG, REMOTE_LOG_METADATA
from kafkactl.files.input_files import InputKind, read_input, read_whole
from kafkactl.files.whole_file import check_place, whole_folder
from kafkactl.metadata.verify.folder import LEADER_EPOCH_CHECKPOINT
from kafkactl.tiered.bucket import StoredObject
from kafkactl.tiered.cluster_view import ClusterView
from kafkactl.tiered.io.sources import MetadataReplica
from kafkactl.tiered.observation import listing_time, parse_observation

OBSERVATION: Final = "observation.json"
LOGS: Final = "remote-log-metadata"
BUCKET: Final = "bucket.jsonl.gz"
CLUSTER_METADATA: Final = "cluster-metadata"
_GZIP: Final = 16 + zlib.MAX_WBITS


@frozen
class SavedObservation:
    """Content of a folder: missing paths are None or empty."""

    path: str
    view: ClusterView
    logs: tuple[str, ...]
    bucket: str | None
    cluster_metadata: str | None
    bucket_time_ms: int | None = None


def read_observation(path: str) -> SavedObservation:
    """Return the observation in a folder. Raises InputError `input-file-unreadable`, `invalid-observation`."""
    folder = Path(path)
    file = folder / OBSERVATION
    try:
        document = parse_json(read_input(file, "observation", InputKind.TIERED_OBSERVATION))
    except JsonInputError as error:
        raise InputError(
            f"{file} is not JSON: {error}",
            id="invalid-observation",
            next_step="Take the observation again with `kafkactl tiered observe`.",
        ) from None
    logs, bucket, metadata = folder / LOGS, folder / BUCKET, folder / CLUSTER_METADATA / METADATA_LOG
    return SavedObservation(
        path=path,
        view=parse_observation(document, file=str(file)),
        logs=tuple(sorted(str(part) for part in logs.iterdir() if part.is_dir())) if logs.is_dir() else (),
        bucket=str(bucket) if bucket.is_file() else None,
        cluster_metadata=str(metadata) if metadata.is_dir() else None,
        bucket_time_ms=listing_time(document, file=str(file)),
    )


def write_observation(
    path: str, document: Mapping[str, Any], replicas: Sequence[MetadataReplica], objects: Sequence[StoredObject] | None
) -> None:
    """Save an observation in a new or empty folder of its owner's: whole, or nothing.

    Raises InputError `observation-folder-not-empty`, FailedError `observation-not-written`, and what reading raises.
    """
    check_observation_target(path)
    try:
        with whole_folder(Path(path).absolute()) as made:
            _write_all(made, document, replicas, objects)
    except OSError as error:
        raise _not_written(path, error) from error


def check_observation_target(path: str) -> None:
    """Raise the errors of `write_observation` about its folder, before anything is read."""
    folder = Path(path)
    try:
        check_place(folder)
        is_free = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    except OSError as error:
        raise _not_written(path, error) from error
    if not is_free:
        raise InputError(
            f"{path} is not an empty folder",
            id="observation-folder-not-empty",
            next_step="Name a folder that is not there yet: nothing is overwritten.",
        )


def _not_written(path: str, error: OSError) -> FailedError:
    return FailedError(
        f"{path} cannot be written: {error.strerror or error}",
        id="observation-not-written",
        next_step="Check the folder above it, its permissions and its free space.",
    )


def _write_all(
    made: Path, document: Mapping[str, Any], replicas: Sequence[MetadataReplica], objects: Sequence[StoredObject] | None
) -> None:
    _write(made / OBSERVATION, [json.dumps(document, indent=1).encode()])
    names: dict[str, str] = {}
    for replica in replicas:
        name = names.setdefault(str(Path(replica.path).parent), f"replica-{len(names) + 1}")
        place = made / LOGS / name / f"{REMOTE_LOG_METADATA}-{replica.partition}"
        place.mkdir(parents=True, mode=0o700)
        for file in replica.files:
            _write(place / f"{file.base_offset:020}.log", file.copied_pieces())
        epochs = Path(replica.path) / LEADER_EPOCH_CHECKPOINT
        if os.path.lexists(epochs):
            _write(place / LEADER_EPOCH_CHECKPOINT, [_read_copied(epochs)])
    if objects is not None:
        _write(made / BUCKET, _packed(json.dumps(_object(found)) + "\n" for found in objects))


def _packed(lines: Iterable[str]) -> Iterator[bytes]:
    """Yield lines as a gzip file, so that a listing of millions of objects is in memory once."""
    packer = zlib.compressobj(wbits=_GZIP)
    for line in lines:
        yield packer.compress(line.encode())
    yield packer.flush()


def _object(found: StoredObject) -> dict[str, Any]:
    """Return an object as a line of a listing; one in any archive class has the class of Amazon S3."""
    line: dict[str, Any] = {"key": found.key, "size": found.size, "mtime_ms": found.mtime_ms}
    return line | {"storage_class": "GLACIER"} if found.is_archived else line


def _read_copied(path: Path) -> bytes:
    try:
        return read_whole(path, InputKind.OF_LOG_DIRECTORY, follow=False)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", id="input-file-unreadable") from error


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        for piece in pieces:
            file.write(piece)
