"""Folders of brokers: metadata partitions, and facts about user partitions around them. User segments are not read.

A SOURCE is a `__remote_log_metadata-N` folder, a folder that holds some, a broker's log directory, or a single `.log`
file of such a folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Final

from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import REMOTE_LOG_METADATA
from kafkactl.files.input_files import InputKind, open_regular, read_whole
from kafkactl.metadata.io.source import read_pieces
from kafkactl.metadata.verify.folder import LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA
from kafkactl.protocol.text.meta_properties import META_PROPERTIES, parse_meta_properties
from kafkactl.storage.epoch_checkpoints import parse_leader_epochs, parse_offsets
from kafkactl.storage.partition_folders import parse_topic_id
from kafkactl.tiered.cluster_view import ReplicaLog
from kafkactl.tiered.plain_records import PlainReader
from kafkactl.tiered.reading import FastRead, Read, read_fast, read_records

LOG_START_CHECKPOINT: Final = "log-start-offset-checkpoint"
_METADATA_FOLDER: Final = re.compile(rf"{re.escape(REMOTE_LOG_METADATA)}-(\d{{1,9}})")
_PARTITION_FOLDER: Final = re.compile(r"(.+)-(\d{1,9})")
_SEGMENT_NAME: Final = re.compile(r"(\d{20})\.log")


@frozen
class SegmentFile:
    """A `.log` file: its base offset, and its bytes when it was listed; `fetched` gives one that is not on a disk."""

    path: str
    base_offset: int
    size: int
    fetched: Callable[[], Iterable[bytes]] | None = field(default=None, repr=False)

    def pieces(self) -> Iterable[bytes]:
        """Return the bytes of the segment. Raise InputError, FailedError `input-file-unreadable`."""
        return read_pieces(self.path) if self.fetched is None else self.fetched()

    def copied_pieces(self) -> Iterable[bytes]:
        """Return the bytes for a copy: a link, which the owner of the folder may have put there, is an error."""
        return read_pieces(self.path, follow=False) if self.fetched is None else self.fetched()


@frozen
class MetadataReplica:
    """A replica of a metadata partition. `log_start` is the highest start offset that any file of the folder gives.

    `is_whole` is False for single files, because earlier files may be missing.
    """

    partition: int
    path: str
    files: tuple[SegmentFile, ...]
    log_start: int
    is_whole: bool = True

    def read(self) -> Iterator[Read]:
        """Yield the records in order. Raise InputError, FailedError `input-file-unreadable`."""
        for file in self.files:
            yield from read_records(file.pieces(), file=file.path, first_offset=file.base_offset)

    def read_fast(self) -> Iterator[FastRead]:
        """Yield the reads for a fold."""
        reader = PlainReader()
        for file in self.files:
            yield from read_fast(file.pieces(), file=file.path, first_offset=file.base_offset, reader=reader)

    @property
    def read_from(self) -> int:
        """Return the offset at which the files should begin."""
        return self.files[0].base_offset if self.files and self.is_whole else self.log_start


@frozen
class TieredSources:
    """Content of the sources. `logs` are replica logs of user partitions by topic id and number.

    `metadata_topic_ids` are the ids that replicas of the metadata topic were written with, each once.
    """

    paths: tuple[str, ...]
    replicas: tuple[MetadataReplica, ...]
    logs: dict[tuple[bytes, int], list[ReplicaLog]] = field(default_factory=dict)
    cluster_ids: tuple[str, ...] = ()
    metadata_topic_ids: tuple[bytes, ...] = ()
    notes: tuple[str, ...] = ()


def open_sources(paths: Iterable[str], *, needs_metadata: bool = True) -> TieredSources:
    """Open the sources that the paths name; only names, sizes and small files are read.

    Raises InputError `input-file-unreadable`, `no-remote-log-metadata`, `not-remote-log-metadata`.
    """
    found = _Found()
    for path in dict.fromkeys(paths):
        try:
            if Path(path).is_dir():
                found.folder(path)
            else:
                found.single(path)
        except (OSError, ValueError) as error:
            what = words = None
            if isinstance(error, OSError):
                what, words = error.filename, error.strerror  # of a folder in it, too
            raise InputError(
                f"{what or path} cannot be read: {words or error}",
                id="input-file-unreadable",
                next_step="Check path and permissions.",
            ) from error
    if needs_metadata and not found.replicas:
        raise without_metadata(paths)
    return found.opened(tuple(paths))


def without_metadata(paths: Iterable[str]) -> InputError:
    """Return the error of sources that hold no metadata partition."""
    names = ", ".join(paths)
    return InputError(
        f"no {REMOTE_LOG_METADATA} partition {f'in {names}' if names else 'was given'}",
        id="no-remote-log-metadata",
        next_step=f"Name {REMOTE_LOG_METADATA}-N folders, a broker's log directory, or use --from-cluster.",
    )


class _Found:
    """Sources that the paths contain."""

    def __init__(self) -> None:
        self.replicas: list[MetadataReplica] = []
        self.logs: dict[tuple[bytes, int], list[ReplicaLog]] = {}
        self.cluster_ids: list[str] = []
        self.metadata_topic_ids: list[bytes] = []
        self.notes: list[str] = []

    def opened(self, paths: tuple[str, ...]) -> TieredSources:
        """Return the found sources as a value."""
        return TieredSources(
            paths=paths,
            replicas=tuple(self.replicas),
            logs=self.logs,
            cluster_ids=tuple(dict.fromkeys(self.cluster_ids)),
            metadata_topic_ids=tuple(dict.fromkeys(self.metadata_topic_ids)),
            notes=tuple(self.notes),
        )

    def folder(self, path: str) -> None:
        """Add a metadata partition, a folder with some, or a broker's log directory."""
        folder = Path(path)
        named = _METADATA_FOLDER.fullmatch(folder.resolve().name)
        if named is not None:
            self.replicas.append(self._replica(folder, int(named[1]), _log_starts(folder.parent, self.notes)))
            return
        names = sorted(os.listdir(folder))  # noqa: PTH208  # names, not paths
        inside = [name for name in names if _METADATA_FOLDER.fullmatch(name) and (folder / name).is_dir()]
        if not inside and any(_SEGMENT_NAME.fullmatch(name) for name in names):
            raise InputError(
                f"{path} holds the segments of one partition, and is not named {REMOTE_LOG_METADATA}-N",
                id="not-remote-log-metadata",
                next_step=f"Name a {REMOTE_LOG_METADATA}-N folder: its number says which metadata partition it is.",
            )
        starts = _log_starts(folder, self.notes)
        for name in inside:
            self.replicas.append(self._replica(folder / name, int(name.rpartition("-")[2]), starts))
        self._user_partitions(folder, [name for name in names if name not in inside])

    def single(self, path: str) -> None:
        """Add one segment; the name of its folder contains the metadata partition."""
        file = Path(path)
        descriptor = open_regular(path)
        size = os.fstat(descriptor).st_size
        os.close(descriptor)
        named, base = _METADATA_FOLDER.fullmatch(file.resolve().parent.name), _SEGMENT_NAME.fullmatch(file.name)
        if named is None or base is None:
            raise InputError(
                f"{path} is not a segment in a {REMOTE_LOG_METADATA}-N folder",
                id="not-remote-log-metadata",
                next_step="Give the folder, or a file with its name and folder: the folder's number says which "
                "metadata partition the file is of.",
            )
        segment = SegmentFile(path=path, base_offset=int(base[1]), size=size)
        partition = int(named[1])
        self._metadata_topic_id(file.parent)
        for at, known in enumerate(self.replicas):
            if not known.is_whole and known.partition == partition and known.path == str(file.parent):
                files = tuple(sorted({*known.files, segment}, key=lambda found: found.base_offset))
                self.replicas[at] = MetadataReplica(
                    partition=partition, path=known.path, files=files, log_start=0, is_whole=False
                )
                return
        self.replicas.append(
            MetadataReplica(partition=partition, path=str(file.parent), files=(segment,), log_start=0, is_whole=False)
        )

    def _replica(self, folder: Path, partition: int, starts: dict[tuple[str, int], int]) -> MetadataReplica:
        self._metadata_topic_id(folder)
        files = _segments(folder)
        epochs = _leader_epochs(folder, self.notes)
        begins = [file.base_offset for file in files[:1]] + [start for _, start in epochs[:1]]
        begins.append(starts.get((REMOTE_LOG_METADATA, partition), 0))
        return MetadataReplica(partition=partition, path=str(folder), files=files, log_start=max(begins, default=0))

    def _metadata_topic_id(self, folder: Path) -> None:
        topic_id = _topic_id(folder) if (folder / PARTITION_METADATA).is_file() else None
        if topic_id is not None:
            self.metadata_topic_ids.append(topic_id)

    def _user_partitions(self, folder: Path, names: list[str]) -> None:
        broker_id = self._broker_id(folder)
        for name in names:
            named = _PARTITION_FOLDER.fullmatch(name)
            if named is None or not (folder / name / PARTITION_METADATA).is_file():
                continue
            try:
                self._user_partition(folder / name, int(named[2]), broker_id)
            except (InputError, FileNotFoundError):
                if (folder / name).exists():
                    raise
                # A broker renames the folder of a topic that is deleted.

    def _user_partition(self, folder: Path, number: int, broker_id: int | None) -> None:
        raw = _topic_id(folder)
        if raw is None:
            self.notes.append(f"{folder / PARTITION_METADATA} has no topic id: the partition was left out")
            return
        log = ReplicaLog(
            broker_id=broker_id,
            leader_epochs=_leader_epochs(folder, self.notes),
            segments=tuple((file.base_offset, file.size) for file in _segments(folder)),
        )
        self.logs.setdefault((raw, number), []).append(log)

    def _broker_id(self, folder: Path) -> int | None:
        path = folder / META_PROPERTIES
        if not path.is_file():
            return None
        try:
            found = parse_meta_properties(read_whole(path, InputKind.META_PROPERTIES), file=str(path))
        except DecodeError as error:
            self.notes.append(f"the broker of {folder} is not known: {error.message}")
            return None
        if found.cluster_id is not None:
            self.cluster_ids.append(found.cluster_id)
        return found.stored_id


def _topic_id(folder: Path) -> bytes | None:
    """Return the topic id in a partition's folder, None if its file names none."""
    found = parse_topic_id(read_whole(folder / PARTITION_METADATA, InputKind.PARTITION_METADATA))
    return None if found is None else found.raw


def _segments(folder: Path) -> tuple[SegmentFile, ...]:
    """Return the `.log` files of a partition in order; those that are renamed for deletion do not count."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            named = _SEGMENT_NAME.fullmatch(entry.name)
            if named is None:
                continue
            try:
                size = entry.stat().st_size
            except FileNotFoundError:  # deleted meanwhile
                continue
            found.append(SegmentFile(path=str(folder / entry.name), base_offset=int(named[1]), size=size))
    return tuple(sorted(found, key=lambda file: file.base_offset))


def _leader_epochs(folder: Path, notes: list[str]) -> tuple[tuple[int, int], ...]:
    """Return the epochs; () if the file is missing or cannot be understood, which is noted."""
    path = folder / LEADER_EPOCH_CHECKPOINT
    if not path.is_file():
        return ()
    try:
        return parse_leader_epochs(read_whole(path, InputKind.OF_LOG_DIRECTORY), file=str(path))
    except DecodeError as error:
        notes.append(f"leader epochs are unknown: {error.message}")
        return ()


def _log_starts(folder: Path, notes: list[str]) -> dict[tuple[str, int], int]:
    path = folder / LOG_START_CHECKPOINT
    if not path.is_file():
        return {}
    try:
        return parse_offsets(read_whole(path, InputKind.OF_LOG_DIRECTORY), file=str(path))
    except DecodeError as error:
        notes.append(f"log start offsets were not read: {error.message}")
        return {}
