"""A run's file operations, in order and with their data: recorded below the functions of `os`, and made to fail there.

Files and folders are numbers, so that a name can move while what it names stays the same. Content that a file object
writes past `os.write` is noticed before the next operation. Nothing outside the traced folder is recorded.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkactl.files import filesystem

Place = tuple[int, str]  # a folder's number, and a name in it
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
FOLDER = -1


@dataclass(frozen=True)
class Operation:
    """`names` are the names that change and what they lead to then; `content` is the whole file after a write."""

    kind: str
    node: int = 0
    names: tuple[tuple[Place, int | None], ...] = ()
    content: bytes | None = None


@dataclass(frozen=True)
class Injected:
    """Operation number `at` (from 0) fails: `before` or `after` it happens, `short` (a third is written), `space`."""

    at: int
    fault: str


class Model:
    """A tree as numbers: the names in each folder, the content of each file, the number that an inode has."""

    def __init__(self) -> None:
        self.folders: dict[int, dict[str, int]] = {0: {}}
        self.contents: dict[int, bytes] = {}
        self.inodes: dict[tuple[int, int], int] = {}
        self.next = 1

    def add(self, found: os.stat_result, content: bytes | None) -> int:
        """Return a number for what is new on the disk."""
        node = self.next
        self.next += 1
        if content is None:
            self.folders[node] = {}
        else:
            self.contents[node] = content
        self.inodes[found.st_dev, found.st_ino] = node
        return node


def read_tree(root: Path) -> Model:
    """Return the tree that is on the disk."""
    model = Model()
    found = root.stat()
    model.inodes[found.st_dev, found.st_ino] = 0
    _read_folder(model, root, 0)
    return model


def _read_folder(model: Model, path: Path, node: int) -> None:
    for entry in sorted(path.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            model.folders[node][entry.name] = inner = model.add(entry.lstat(), None)
            _read_folder(model, entry, inner)
        else:
            content = os.fsencode(entry.readlink()) if entry.is_symlink() else entry.read_bytes()
            model.folders[node][entry.name] = model.add(entry.lstat(), content)


class Tracer:
    """Records what is done below `root`; the functions of `os` are its methods while `recording` is open."""

    def __init__(self, model: Model, injected: Injected | None = None) -> None:
        self.operations: list[Operation] = []
        self.model = model
        self._injected = injected
        self.count = 0
        self.labels: list[str] = []
        self._watched: dict[int, int] = {}
        self._real: dict[str, Callable[..., Any]] = {}

    @contextlib.contextmanager
    def recording(self) -> Iterator[Tracer]:
        """Patch, and undo it at the end."""
        changed = {
            "open": self._open, "write": self._write, "fsync": self._fsync, "close": self._close,
            "mkdir": self._mkdir, "rmdir": self._unlink("rmdir"), "unlink": self._unlink("unlink"),
            "remove": self._unlink("remove"), "rename": self._rename("rename"), "replace": self._rename("replace"),
            "link": self._link, "fchmod": self._other("fchmod"), "fchown": self._other("fchown"),
        }  # fmt: skip
        self._real = {name: getattr(os, name) for name in changed}
        real_open, real_flock, real_rename = io.open, fcntl.flock, filesystem._renameat2
        names = tempfile._name_sequence  # type: ignore[attr-defined]
        with contextlib.ExitStack() as undo:
            for name, function in changed.items():
                undo.callback(setattr, os, name, self._real[name])
                setattr(os, name, function)
            undo.callback(setattr, io, "open", real_open)
            io.open = self._io_open(real_open)  # type: ignore[assignment]
            undo.callback(setattr, fcntl, "flock", real_flock)
            fcntl.flock = self._flock(real_flock)
            undo.callback(setattr, filesystem, "_renameat2", real_rename)
            filesystem._renameat2 = self._renameat2(real_rename)
            undo.callback(setattr, tempfile, "_name_sequence", names)
            tempfile._name_sequence = (f"t{number}" for number in range(1 << 30))  # type: ignore[attr-defined]
            undo.callback(self._forget)
            yield self
            self.look()

    def _forget(self) -> None:
        for descriptor in self._watched.values():
            self._real["close"](descriptor)
        self._watched.clear()

    def look(self) -> None:
        """Notice what was written past `os.write`."""
        for node, descriptor in self._watched.items():
            content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
            if content != self.model.contents[node]:
                self.model.contents[node] = content
                self.operations.append(Operation("write", node, content=content))

    def mark(self) -> None:
        """Mark what is recorded so far as relied on from here on: by a request to a cluster, or the command's own
        answer."""
        self.look()
        self.operations.append(Operation("mark"))

    def _do(self, kind: str, function: Callable[[], Any]) -> Any:
        """Return the operation, or its failure."""
        self.look()
        injected, number = self._injected, self.count
        self.count += 1
        self.labels.append(kind)
        if injected is None or injected.at != number:
            return function()
        if injected.fault == "before":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if injected.fault == "space":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        result = function()
        return _FailAfter(result)

    def _finish(self, result: Any) -> Any:
        if isinstance(result, _FailAfter):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return result

    def _place(self, path: Any, dir_fd: int | None) -> Place | None:
        if isinstance(path, int):
            return None
        text = os.fsdecode(path)
        above, name = os.path.split(text)
        try:
            found = os.stat(above or ".", dir_fd=dir_fd) if above or dir_fd is None else os.fstat(dir_fd)
        except OSError:
            return None
        folder = self.model.inodes.get((found.st_dev, found.st_ino))
        return None if folder is None or folder not in self.model.folders else (folder, name)

    def _names(self, kind: str, node: int, *changes: tuple[Place, int | None]) -> None:
        for (folder, name), leads_to in changes:
            if leads_to is None:
                self.model.folders[folder].pop(name, None)
            else:
                self.model.folders[folder][name] = leads_to
        self.operations.append(Operation(kind, node, names=changes))

    def _at(self, place: Place) -> int | None:
        return self.model.folders[place[0]].get(place[1])

    def _open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        place = self._place(path, dir_fd) if flags & _WRITING else None
        if place is None:
            return int(self._real["open"](path, flags, mode, dir_fd=dir_fd))
        real = self._real
        result = self._do("open", lambda: real["open"](path, flags, mode, dir_fd=dir_fd))
        descriptor = result.result if isinstance(result, _FailAfter) else result
        found, node = os.fstat(descriptor), self._at(place)
        if node is None:
            node = self.model.add(found, b"")
            self._names("create", node, (place, node))
        else:
            self.operations.append(Operation("open"))
        if node not in self._watched and node in self.model.contents:
            self._watched[node] = real["open"](f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
        if isinstance(result, _FailAfter):
            real["close"](descriptor)
        return int(self._finish(result))

    def _write(self, descriptor: int, data: Any) -> int:
        if self._node(descriptor) is None:
            return int(self._real["write"](descriptor, data))
        if self._injected is not None and self._injected.at == self.count and self._injected.fault == "short":
            data = data[: max(1, len(data) // 3)]
        if self._injected is not None and self._injected.at == self.count and self._injected.fault == "space":
            self._real["write"](descriptor, data[: len(data) // 3])
        result = self._do("write", lambda: self._real["write"](descriptor, data))
        self.look()
        if self._injected is not None and self._injected.fault == "short" and isinstance(result, _FailAfter):
            return int(result.result)
        return int(self._finish(result))

    def _node(self, descriptor: int) -> int | None:
        found = os.fstat(descriptor)
        return self.model.inodes.get((found.st_dev, found.st_ino))

    def _fsync(self, descriptor: int) -> None:
        node = self._node(descriptor)
        if node is None:
            return
        result = self._do("fsync", lambda: None)
        self.operations.append(Operation("fsync", node))
        self._finish(result)

    def _close(self, descriptor: int) -> None:
        try:
            known = self._node(descriptor) is not None
        except OSError:
            known = False
        if known:
            self.look()
            self.operations.append(Operation("close"))
        self._real["close"](descriptor)

    def _mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        place = self._place(path, dir_fd)
        if place is None:
            self._real["mkdir"](path, mode, dir_fd=dir_fd)
            return
        result = self._do("mkdir", lambda: self._real["mkdir"](path, mode, dir_fd=dir_fd))
        node = self.model.add(os.stat(path, dir_fd=dir_fd, follow_symlinks=False), None)
        self._names("mkdir", node, (place, node))
        self._finish(result)

    def _unlink(self, kind: str) -> Callable[..., None]:
        def unlink(path: Any, *, dir_fd: int | None = None) -> None:
            place = self._place(path, dir_fd)
            if place is None:
                self._real[kind](path, dir_fd=dir_fd)
                return
            result = self._do(kind, lambda: self._real[kind](path, dir_fd=dir_fd))
            self._names("rmdir" if kind == "rmdir" else "unlink", self._at(place) or 0, (place, None))
            self._finish(result)

        return unlink

    def _rename(self, kind: str) -> Callable[..., None]:
        def rename(old: Any, new: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
            source, target = self._place(old, src_dir_fd), self._place(new, dst_dir_fd)
            if source is None or target is None:
                self._real[kind](old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
                return
            result = self._do(
                "rename", lambda: self._real[kind](old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            )
            node = self.model.folders[source[0]][source[1]]
            self._names("rename", node, (source, None), (target, node))
            self._finish(result)

        return rename

    def _link(
        self, old: Any, new: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None, **more: Any
    ) -> None:
        source, target = self._place(old, src_dir_fd), self._place(new, dst_dir_fd)
        call = self._real["link"]
        if source is None or target is None:
            call(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, **more)
            return
        result = self._do("link", lambda: call(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, **more))
        node = self.model.folders[source[0]][source[1]]
        self._names("link", node, (target, node))
        self._finish(result)

    def _renameat2(self, real: Callable[..., bool]) -> Callable[..., bool]:
        def rename(old: str, new: str, at: int, flags: int) -> bool:
            dir_fd = None if at == filesystem._AT_CWD else at
            source, target = self._place(old, dir_fd), self._place(new, dir_fd)
            assert source is not None and target is not None, (old, new)
            result = self._do("rename", lambda: real(old, new, at, flags))
            done = result.result if isinstance(result, _FailAfter) else result
            if done:
                node, other = self.model.folders[source[0]][source[1]], self._at(target)
                self._names("rename", node, (source, other), (target, node))
            return bool(self._finish(result))

        return rename

    def _other(self, name: str) -> Callable[..., None]:
        def change(descriptor: int, *arguments: Any) -> None:
            if self._node(descriptor) is None:
                self._real[name](descriptor, *arguments)
                return
            result = self._do(name, lambda: self._real[name](descriptor, *arguments))
            self.operations.append(Operation(name))
            self._finish(result)

        return change

    def _flock(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def flock(descriptor: int, how: int) -> Any:
            if self._node(descriptor) is None:
                return real(descriptor, how)
            result = self._do("flock", lambda: real(descriptor, how))
            self.operations.append(Operation("flock"))
            return self._finish(result)

        return flock

    def _io_open(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def opened(file: Any, mode: str = "r", *arguments: Any, **more: Any) -> Any:
            if not isinstance(file, int) and set(mode) & set("wax+") and more.get("opener") is None:
                more["opener"] = lambda path, flags: os.open(path, flags, 0o666)
            return real(file, mode, *arguments, **more)

        return opened


@dataclass(frozen=True)
class _FailAfter:
    """The operation happened, and its caller gets an error."""

    result: Any


def kinds(operations: Sequence[Operation]) -> dict[str, int]:
    """Return how many there are of each kind."""
    found: dict[str, int] = {}
    for operation in operations:
        found[operation.kind] = found.get(operation.kind, 0) + 1
    return found
