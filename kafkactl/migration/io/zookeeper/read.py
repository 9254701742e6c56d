"""Reader of Kafka's tree in a ZooKeeper: many znodes per request, as they were at one moment.

ZooKeeper cannot read several znodes atomically, so the tree is read until nothing changed between two passes. If there
was no transaction between the first and the last answer (the zxid is the same), one pass is enough; otherwise every
znode is read again, and changed ones replace the earlier ones. Znodes that keep changing are reported. Those that
change all the time (notifications, `/migration` in dual write) are not waited for.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import UnreachableError
from kafkactl.migration.io.zookeeper.link import CodeError, Link, LostError
from kafkactl.migration.io.zookeeper.multi import GET_CHILDREN, GET_DATA, NO_AUTH, NO_NODE, Answer, MultiRead, Stat
from kafkactl.migration.zktree.znode import MOST_UNPACKED_BYTES, MOST_ZNODES, Hidden, Znode, ZnodeAcl

ROOTS: Final = (
    "/admin",
    "/brokers",
    "/cluster",
    "/config",
    "/consumers",
    "/controller",
    "/controller_epoch",
    "/delegation_token",
    "/feature",
    "/isr_change_notification",
    "/kafka-acl",
    "/kafka-acl-changes",
    "/kafka-acl-extended",
    "/kafka-acl-extended-changes",
    "/latest_producer_id_block",
    "/log_dir_event_notification",
    "/migration",
)
RESTLESS: Final = (
    "/brokers/seqid",
    "/config/changes",
    "/delegation_token/token_changes",
    "/isr_change_notification",
    "/kafka-acl-changes",
    "/kafka-acl-extended-changes",
    "/log_dir_event_notification",
    "/migration",
)
_LEAVES: Final = ("/consumers",)  # offsets of consumers of before 0.9: many, and not migrated
_TOPICS: Final = "/brokers/topics/"
_IN_FLIGHT: Final = 4
_MOST_PATHS: Final = 1000  # in one request
_FEWEST_PATHS: Final = 16
_ANSWER_BYTES: Final = 1 << 20  # what one answer should have, by the size of the last ones
_SINGLES: Final = 500  # requests for one znode each that wait at a time
_RETRIES: Final = 5


class Reader:
    """Reader of the znodes below a chroot ("" or with a leading slash); paths it takes and gives are relative to it."""

    def __init__(self, link: Link, chroot: str, deadline: Deadline) -> None:
        self._link = link
        self._chroot = chroot
        self._deadline = deadline
        self._multi: bool | None = None  # whether the server knows multiRead

    def sync(self) -> int:
        """Sync the server with its leader, and return the zxid afterwards. Raises UnreachableError."""
        from kazoo.protocol.serialization import Sync

        if self._link.is_read_only:
            self.data(["/"])
        else:
            try:
                self._again(lambda: self._link.ask(Sync(self._chroot or "/"), self._deadline))
            except CodeError as error:
                raise UnreachableError(
                    f"ZooKeeper at {self._link.connect} refuses to be read: it answers {error.name}",
                    id="zookeeper-request-failed",
                ) from error
        return self._link.last_zxid

    def walk(self, roots: Iterable[str]) -> dict[str, Znode]:
        """Return every relevant znode at and below these paths, by path; without their ACLs."""
        found: dict[str, Znode] = {}
        level, data_bytes = list(roots), 0
        while level:
            inner = []
            for path, znode in self.data(level):
                if znode is not None:
                    found[path] = znode
                    data_bytes += len(znode.data or b"")
                    self._check_size(len(found), data_bytes)
                    if path not in _LEAVES and (znode.num_children or znode.hidden):
                        inner.append(path)
                elif _is_state(path):
                    inner.append(path.rpartition("/")[0])
            # A partition is only asked for itself if it has no state: it has no data and no other child.
            lost = [path for path in inner if _is_partition(path) and path not in found]
            found.update((path, znode) for path, znode in self.data(lost) if znode is not None)
            level = []
            for path, names in self._children(inner, found):
                level += [below for name in names if (below := _below(path, name)) not in found]
                self._check_size(len(found) + len(level), 0)
        return found

    def _check_size(self, znodes: int, data_bytes: int) -> None:
        """Raise an error for more data than a cluster has: a server's answer must not take the memory of this host."""
        if znodes > MOST_ZNODES or data_bytes > MOST_UNPACKED_BYTES:
            raise UnreachableError(
                f"ZooKeeper at {self._link.connect} has more than {MOST_ZNODES} znodes below {self._chroot or '/'}, or"
                f" more than {MOST_UNPACKED_BYTES} bytes in them",
                id="zookeeper-tree-too-large",
            )

    def _children(self, paths: list[str], found: dict[str, Znode]) -> Iterator[tuple[str, Sequence[str]]]:
        asked = []
        for path in paths:
            if _is_topic(path) and found[path].num_children == 1:
                yield path, ("partitions",)
            elif not (_is_partition(path) and path not in found):
                asked.append(path)
        for path, answer in zip(asked, self._read(GET_CHILDREN, asked), strict=True):
            if isinstance(answer, list):
                yield path, answer

    def data(self, paths: list[str]) -> Iterator[tuple[str, Znode | None]]:
        """Yield each path with its znode, None if it does not exist; unreadable data is hidden."""
        barred = []
        for path, answer in zip(paths, self._read(GET_DATA, paths), strict=True):
            if answer == NO_AUTH:
                barred.append(path)
            elif isinstance(answer, tuple):
                yield path, _znode(path, answer[0], answer[1])
            else:
                yield path, None
        for path, stat in zip(barred, self._singles("Exists", barred, None), strict=True):
            if isinstance(stat, tuple):
                yield path, _znode(path, None, tuple(stat), Hidden.NO_PERMISSION)
            elif stat == NO_AUTH:  # servers from 3.8.4 on do not even say that much
                yield path, Znode(path=path, data=None, hidden=Hidden.NO_PERMISSION)
            else:
                yield path, None

    def acls(self, paths: list[str]) -> Iterator[tuple[str, tuple[ZnodeAcl, ...]]]:
        """Yield each path with its access list; empty if it is unreadable."""
        for path, answer in zip(paths, self._singles("GetACL", paths), strict=True):
            entries = answer[0] if isinstance(answer, tuple) else ()
            yield path, tuple(ZnodeAcl(perms=entry.perms, scheme=entry.id.scheme, id=entry.id.id) for entry in entries)

    def _read(self, operation: int, paths: list[str]) -> Iterator[Answer]:
        if self._multi is None and paths:
            self._multi = self._knows_multi()
        if self._multi:
            return self._multis(operation, paths)
        name = "GetData" if operation == GET_DATA else "GetChildren"
        return self._singles(name, paths, None)

    def _knows_multi(self) -> bool:
        """Return True if the server knows MultiRead; servers before 3.6 answer with nothing, or hang up."""
        try:
            self._link.ask(MultiRead(GET_DATA, ["/"]), self._deadline.at_most(10_000))
        except (struct.error, ValueError, IndexError, CodeError, LostError):
            self._link.await_return(self._deadline)
            return False
        return True

    def _multis(self, operation: int, paths: list[str]) -> Iterator[Answer]:
        waiting: list[tuple[MultiRead, list[str], Any]] = []
        at, size = 0, _FEWEST_PATHS
        while at < len(paths) or waiting:
            while at < len(paths) and len(waiting) < _IN_FLIGHT:
                part = [self._absolute(path) for path in paths[at : at + size]]
                at += len(part)
                request = MultiRead(operation, part)
                waiting.append((request, part, self._link.send(request)))
            request, part, pending = waiting.pop(0)
            try:
                answers = self._link.wait(pending, self._deadline)
            except LostError:
                again = MultiRead(operation, part)
                answers = self._again(lambda again=again: self._link.ask(again, self._deadline))
            each = max(1, request.answer_bytes // len(part))
            size = max(_FEWEST_PATHS, min(_MOST_PATHS, _ANSWER_BYTES // each, size * 4))
            yield from answers

    def _singles(self, name: str, paths: list[str], *more: object) -> Iterator[Any]:
        """Yield the answers, or the code of an error in the place of one."""
        from kazoo.protocol import serialization

        make = getattr(serialization, name)
        for at in range(0, len(paths), _SINGLES):
            requests = [make(self._absolute(path), *more) for path in paths[at : at + _SINGLES]]
            waiting = [self._link.send(request) for request in requests]
            for request, pending in zip(requests, waiting, strict=True):
                try:
                    yield self._link.wait(pending, self._deadline)
                except CodeError as error:
                    yield error.code
                except LostError:
                    yield self._again(lambda request=request: self._code_or(request))

    def _code_or(self, request: Any) -> Any:
        try:
            return self._link.ask(request, self._deadline)
        except CodeError as error:
            return error.code

    def _again(self, ask: Any) -> Any:
        """Repeat a read after a loss, a limited number of times."""
        failure: UnreachableError | None = None
        for _ in range(_RETRIES):
            try:
                if failure is not None:
                    self._link.await_return(self._deadline)
                return ask()
            except LostError as error:
                failure = error
        assert failure is not None
        raise failure

    def _absolute(self, path: str) -> str:
        return (self._chroot + path).rstrip("/") or "/"


def _znode(path: str, data: bytes | None, stat: Stat, hidden: Hidden | None = None) -> Znode:
    czxid, mzxid, ctime, mtime, version, cversion, _, owner, _, children, pzxid = stat
    return Znode(
        path=path,
        data=data,
        version=version,
        cversion=cversion,
        czxid=czxid,
        mzxid=mzxid,
        pzxid=pzxid,
        ctime_ms=ctime,
        mtime_ms=mtime,
        ephemeral_owner=owner,
        num_children=children,
        hidden=hidden,
    )


def is_restless(path: str) -> bool:
    """Return True if this znode changes all the time while a cluster works."""
    return any(path == parent or path.startswith(parent + "/") for parent in RESTLESS)


def has_acl(path: str) -> bool:
    """Return True if a znode's access list is read: those of partitions are as their topic's, and many."""
    return not (path.startswith(_TOPICS) and path.count("/") > 3)


def _is_topic(path: str) -> bool:
    return path.startswith(_TOPICS) and path.count("/") == 3


def _is_partition(path: str) -> bool:
    """Return True for `/brokers/topics/T/partitions/P`."""
    return path.startswith(_TOPICS) and path.count("/") == 5 and path.split("/")[4] == "partitions"


def _is_state(path: str) -> bool:
    return path.startswith(_TOPICS) and path.count("/") == 6 and path.endswith("/state")


def _below(path: str, name: str) -> str:
    below = f"{path}/{name}"
    return f"{below}/state" if _is_partition(below) else below


def changed(before: dict[str, Znode], reader: Reader) -> set[str]:
    """Return the changed paths: other data, other children, or removed."""
    found = set()
    for path, znode in reader.data(list(before)):
        was = before[path]
        if znode is None or (znode.mzxid, znode.pzxid, znode.czxid) != (was.mzxid, was.pzxid, was.czxid):
            found.add(path)
    return found


__all__ = ["NO_NODE", "RESTLESS", "ROOTS", "Reader", "changed", "has_acl", "is_restless"]
