"""The only place where input files are opened and read whole: regular files only, each kind up to a stated size.

Opening never waits, and the size of what is read is limited before the first byte. A FIFO, a socket, a device or a
directory has no size and may have no end, so it is refused, whatever name or link leads to it. The limits are far
above the sizes found in practice, and far below what would exhaust the memory of a host that runs Kafka.

All refusals are OSErrors with a text in `strerror`, so that callers report them as any other file that cannot be read.
This is a module of its own so that it loads fast.
"""

from __future__ import annotations

import errno
import os
import stat
from enum import Enum
from typing import TYPE_CHECKING

from kafkactl.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

_KIB, _MIB = 1024, 1024 * 1024
_READ_BYTES = _MIB
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


# What values are made of where a text is parsed: each may take a hundred times the bytes that it has in the file.
_OF_JSON = (b",", b"[", b"{")
_OF_LINES = (b"\n", b"\r", b",", b"[", b"{", b".")
_MOST_OF_JSON = 2_000_000  # a reassignment of 200,000 partitions has 1.4 million
_MOST_OF_OBSERVATION = 20_000_000
_MOST_OF_LINES = 200_000  # 100 times a large inventory, or the longest configuration


class InputKind(Enum):
    """Kind of a file that is read whole: its name in errors, and its limits in bytes and in parts of a text."""

    DUMPED = "a file that is dumped", 32 * _MIB
    SAVED_TREE = "a saved ZooKeeper tree", 256 * _MIB
    DOCUMENT = "a JSON document", 64 * _MIB, _OF_JSON, _MOST_OF_JSON  # a plan of 5,000 nodes has about 15 MB
    INVENTORY = "an inventory or other TOML file", 8 * _MIB, _OF_LINES, _MOST_OF_LINES
    SCRIPT = "a simulation script", _MIB, _OF_LINES, _MOST_OF_LINES
    SCRAM = "a file of credentials", 8 * _MIB, (b"\n", b"\r"), _MOST_OF_LINES
    CLIENT_CONFIG = "a client's configuration", 16 * _MIB, _OF_LINES, _MOST_OF_LINES
    NODE_CONFIG = "a node's configuration", 16 * _MIB, _OF_LINES, _MOST_OF_LINES
    STORE = "a key store, trust store or private key", 64 * _MIB
    LOGIN = "a token or login file", _MIB
    ARGUMENTS = "an argument file", 16 * _MIB
    CONTEXTS = "a contexts file", _MIB, _OF_LINES, _MOST_OF_LINES
    META_PROPERTIES = "a meta.properties", _MIB, _OF_LINES, _MOST_OF_LINES
    PARTITION_METADATA = "a partition.metadata", 64 * _KIB
    QUORUM_STATE = "a quorum-state", _MIB
    # Far above what a format writes: Kafka cuts a bootstrap batch at 8 MiB.
    OF_LOG_DIRECTORY = "such a file in a log directory", 32 * _MIB
    RENDERED = "a rendered file", 16 * _MIB
    MANIFEST = "a manifest", 64 * _MIB, _OF_JSON, _MOST_OF_JSON
    JOURNAL = "a journal", 64 * _MIB, _OF_JSON, _MOST_OF_JSON
    KEPT = "a file that a journal keeps", 256 * _MIB
    # The topic ids of 200,000 topics on each of several brokers take 60 bytes each.
    MIGRATION_OBSERVATION = "an observation of a migration", 512 * _MIB, _OF_JSON, _MOST_OF_OBSERVATION
    # An observation of 200,000 partitions with ten local segments each, and a listing of ten million objects.
    TIERED_OBSERVATION = "an observation of tiered storage", 512 * _MIB, _OF_JSON, _MOST_OF_OBSERVATION
    LISTING = "a listing of an object store", 2048 * _MIB

    def __init__(self, words: str, most_bytes: int, parts: tuple[bytes, ...] = (), most_parts: int = 0) -> None:
        self.words = words
        self.most_bytes = most_bytes
        self.parts = parts
        self.most_parts = most_parts


def open_regular(path: str | os.PathLike[str], *, follow: bool = True, at: int | None = None) -> int:
    """Return a descriptor for reading a regular file, opened without waiting; the caller closes it.

    `at` is the descriptor of the folder that a relative path starts from; without `follow` a link is an error.
    Raises OSError; for anything that is not a regular file, its text states what it is.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, dir_fd=at)
    except OSError as error:
        if error.errno == errno.ELOOP and not follow:
            raise OSError(errno.ELOOP, "a symbolic link, expected was a regular file", str(path)) from None
        raise
    except ValueError:  # a zero byte: no file system has such a name
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path) from None
    try:
        check_regular(os.fstat(descriptor), str(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_regular(found: os.stat_result, path: str) -> None:
    """Raise OSError if this is not a regular file."""
    kind = stat.S_IFMT(found.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if kind != stat.S_IFREG:
        raise OSError(errno.EINVAL, f"{_KINDS.get(kind, 'not a file')}, expected was a regular file", path)


def irregular(path: Path) -> str | None:
    """Return the kind of file at a path that is not a regular file or a link to one; None if it is, or nothing is
    there.

    Raises OSError if the path cannot be examined.
    """
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP):
            raise
        return "a link that leads to no file" if path.is_symlink() else None
    if kind == stat.S_IFREG:
        return None
    return "a directory" if kind == stat.S_IFDIR else _KINDS.get(kind, "not a file")


def read_open(descriptor: int, kind: InputKind, path: str) -> bytes:
    """Read all bytes of an open file. Raise OSError, also if the file exceeds the limit of its kind."""
    size = os.fstat(descriptor).st_size
    if size > kind.most_bytes:
        words = f"{size} bytes long, at most {kind.most_bytes} are read of {kind.words}"
        raise OSError(errno.EFBIG, words, path)
    parts, left = [], kind.most_bytes + 1
    while left and (part := os.read(descriptor, min(left, _READ_BYTES))):
        parts.append(part)
        left -= len(part)
    if not left:  # it grew meanwhile, or its file system does not know sizes (/proc)
        words = f"longer than the {kind.most_bytes} bytes that are read of {kind.words}"
        raise OSError(errno.EFBIG, words, path)
    data = b"".join(parts)
    check_parts(data, kind, path)
    return data


def check_parts(data: bytes, kind: InputKind, path: str) -> None:
    """Raise OSError if a text would come to more values than are made of its kind."""
    count = sum(data.count(part) for part in kind.parts)
    if count > kind.most_parts:
        signs = "commas and brackets" if kind.parts == _OF_JSON else "lines, commas, dots and brackets"
        words = f"the file has {count} {signs}, and at most {kind.most_parts} are read of {kind.words}"
        raise OSError(errno.EFBIG, words, path)


def read_whole(path: str | os.PathLike[str], kind: InputKind, *, follow: bool = True, at: int | None = None) -> bytes:
    """Return all bytes of a regular file. Raises OSError, also if it is not a regular file, or too large for its kind.

    `follow` and `at` are those of `open_regular`.
    """
    descriptor = open_regular(path, follow=follow, at=at)
    try:
        return read_open(descriptor, kind, str(path))
    finally:
        os.close(descriptor)


def read_input(path: Path, what: str, kind: InputKind) -> bytes:
    """Return a file that the operator named.

    `what` says what it should be. Raises InputError `input-file-unreadable`.
    """
    try:
        return read_whole(path, kind)
    except OSError as error:
        raise unreadable_input(path, what, error.strerror or str(error), read_advice(error)) from error


def read_advice(error: BaseException) -> str | None:
    """Return the next step if this user may not read a file; None for other errors."""
    if not isinstance(error, PermissionError):
        return None
    return "Run the command as a user who may read it: its owner, or root."


def unreadable_input(path: Path, what: str, why: str, next_step: str | None = None) -> InputError:
    """Return the error for an operator's file that cannot be read."""
    return InputError(f"{what} {path} cannot be read: {why}", id="input-file-unreadable", next_step=next_step)
