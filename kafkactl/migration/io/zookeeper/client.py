"""A ZooKeeper client for the migration: the whole tree at one moment, one znode, and changes that check versions.

::

    with open_zookeeper("zk1:2181,zk2:2181/kafka", settings=ZooKeeperSettings(), timeout_ms=30_000) as zookeeper:
        tree = zookeeper.read_tree()

All paths are relative to the chroot. Every write names the version that was read before, as KIP-866's driver does: a
znode that another process changed in between is not written, and the error reports this.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from collections.abc import Set as AnySet
from typing import Any, Final

from kafkactl.change.clock import Clock, Deadline
from kafkactl.core.closing import Closing
from kafkactl.core.errors import FailedError, RefusedError, UnknownOutcomeError, UnreachableError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import frozen
from kafkactl.files.clock import SystemClock
from kafkactl.migration.io.zookeeper.link import CodeError, Link, LostError, read_only
from kafkactl.migration.io.zookeeper.read import ROOTS, Reader, changed, has_acl, is_restless
from kafkactl.migration.io.zookeeper.settings import Connect, ZooKeeperSettings, parse_connect, zookeeper_settings
from kafkactl.migration.zktree.tree import Tree, tree_of
from kafkactl.migration.zktree.znode import Znode
from kafkactl.net.transport import Address

SESSION_MS: Final = 10_000.0  # for a server that takes a connection and says nothing
PASSES: Final = 5  # looks at the tree before it is given as it is, in motion
_NO_NODE, _NO_AUTH, _BAD_VERSION, _EXISTS, _NOT_EMPTY = -101, -102, -103, -110, -111
_EPHEMERAL: Final = 1
_PATHS_NAMED: Final = 10
_READ_ONLY: Final = "zookeeper-read-only"
_POLL_MS: Final = 100.0
_WORD_BYTES: Final = 1 << 20


@frozen
class Member:
    """Answer of one server of the ensemble to `srvr`; `mode` is None if it does not answer or does not serve."""

    address: Address
    mode: str | None  # leader, follower, observer, standalone, read-only
    version: str | None


class ZooKeeper(Closing):
    """A session with the ensemble; a context manager. Each call has `timeout_ms` unless it is given a deadline."""

    def __init__(self, link: Link, timeout_ms: float, clock: Clock) -> None:
        self._link = link
        self._chroot = link.connect.chroot
        self._timeout_ms = timeout_ms
        self._clock = clock

    def close(self) -> None:
        """End the session."""
        self._link.close()

    @property
    def connect(self) -> Connect:
        """Return the servers and the chroot of the connection."""
        return self._link.connect

    @property
    def is_read_only(self) -> bool:
        """Return True if the server has lost its quorum and only lets read."""
        return self._link.is_read_only

    @property
    def session_id(self) -> int:
        """Return the session's number, as the owner of an ephemeral znode has it.

        Another one after the session has ended.
        """
        return self._link.session_id

    def await_return(self, deadline: Deadline | None = None) -> None:
        """Wait for the connection after a loss. Raises UnreachableError."""
        self._link.await_return(deadline or self._deadline())

    def read_tree(self, *, passes: int = PASSES, acls: bool = True, deadline: Deadline | None = None) -> Tree:
        """Return Kafka's znodes below the chroot at one moment; if that cannot be had, a finding names what
        moved. Raises UnreachableError.
        """
        reader = self._reader(deadline)
        zxid_before = reader.sync()
        found = reader.walk(ROOTS)
        moving: set[str] = set()
        zxid_after = reader.sync()
        for _ in range(1, passes):
            moving = set() if zxid_after == zxid_before else changed(found, reader)
            restless = {path for path in moving if is_restless(path)}
            if not moving - restless:
                moving = set()
                break
            zxid_before = reader.sync()
            _read_again(found, moving, reader)
            zxid_after = reader.sync()
        if acls:
            _add_acls(found, reader)
        return self._tree(found, moving, zxid_before, zxid_after)

    def read(self, path: str, *, deadline: Deadline | None = None) -> Znode | None:
        """Read one znode from the leader's state; None if it does not exist. Raise UnreachableError."""
        reader = self._reader(deadline)
        reader.sync()
        ((_, znode),) = reader.data([path])
        return znode

    def children(self, path: str, *, deadline: Deadline | None = None) -> tuple[str, ...]:
        """Return the sorted names below a znode; empty if it does not exist."""
        from kazoo.protocol.serialization import GetChildren

        until = deadline or self._deadline()
        self._reader(until).sync()
        try:
            return tuple(sorted(self._link.ask(GetChildren(self._absolute(path), None), until)))
        except CodeError as error:
            if error.code == _NO_NODE:
                return ()
            raise self._error_of(error, path, "read") from error

    def members(self) -> tuple[Member, ...]:
        """Return the status of each server of zookeeper.connect, if `srvr` is allowed."""
        return tuple(_member(server, self._word(server, b"srvr")) for server in self.connect.servers)

    def set(self, path: str, data: bytes, version: int, *, deadline: Deadline | None = None) -> int:
        """Give a znode other data if it still has this version; its version afterwards.

        Raises RefusedError `znode-changed` or `znode-gone`, UnreachableError, and UnknownOutcomeError if it cannot be
        determined whether the znode was written.
        """
        from kazoo.protocol.serialization import SetData

        _check_version(version)
        until = deadline or self._deadline()

        def done(now: Znode | None) -> bool:
            return now is not None and now.version == version + 1 and now.data == data

        self._write(SetData(self._absolute(path), data, version), path, version, done, until)
        return version + 1

    def create_ephemeral(self, path: str, data: bytes, *, deadline: Deadline | None = None) -> bool:
        """Create a znode that lasts as long as this session; False if there is one. Its parent has to be there.

        Everybody may read it; only this identity may delete it, if there is one. Raises as `set` does.
        """
        from kazoo.protocol.serialization import Create

        if self.is_read_only:
            raise read_only(self.connect)
        until = deadline or self._deadline()
        try:
            self._link.ask(Create(self._absolute(path), data, self._link.own_acl, _EPHEMERAL), until)
        except CodeError as error:
            if error.code == _EXISTS:
                return False
            raise self._error_of(error, path, "created") from error
        except LostError as error:
            found = self._after_loss(path, until, error)
            return found is not None and found.ephemeral_owner == self.session_id
        return True

    def delete(self, path: str, version: int, *, deadline: Deadline | None = None) -> None:
        """Delete a znode if it still has this version. Raises as `set` does, and RefusedError `znode-has-children`."""
        from kazoo.protocol.serialization import Delete

        _check_version(version)
        until = deadline or self._deadline()
        self._write(Delete(self._absolute(path), version), path, version, lambda now: now is None, until)

    def _write(
        self, request: Any, path: str, version: int, done: Callable[[Znode | None], bool], deadline: Deadline
    ) -> None:
        if self.is_read_only:
            raise read_only(self.connect)
        asked_before = False
        while True:
            try:
                self._link.ask(request, deadline)
                return
            except CodeError as error:
                if asked_before and error.code in (_NO_NODE, _BAD_VERSION) and done(self.read(path, deadline=deadline)):
                    return
                raise self._error_of(error, path, "changed") from error
            except LostError as error:
                asked_before = True
                if done(self._after_loss(path, deadline, error)):
                    return
            except UnreachableError as error:
                if error.id == _READ_ONLY and not asked_before:
                    raise  # the server itself says that nothing was written
                raise _unknown(path, error) from error

    def _after_loss(self, path: str, deadline: Deadline, error: LostError) -> Znode | None:
        while True:
            try:
                self._link.await_return(deadline)
                return self.read(path, deadline=deadline)
            except LostError:
                continue
            except UnreachableError:
                raise _unknown(path, error) from error

    def _deadline(self) -> Deadline:
        return Deadline.after(self._timeout_ms, self._clock)

    def _reader(self, deadline: Deadline | None) -> Reader:
        return Reader(self._link, self._chroot, deadline or self._deadline())

    def _absolute(self, path: str) -> str:
        return (self._chroot + path).rstrip("/") or "/"

    def _tree(self, found: dict[str, Znode], moving: AnySet[str], before: int, after: int) -> Tree:
        plain = tree_of(found.values(), chroot="")
        findings = [*_moved(moving), *self._unwritable()]
        return Tree(
            chroot=self._chroot,
            znodes=plain.znodes,
            names=plain.names,
            findings=(*plain.findings, *findings),
            zxid_before=before,
            zxid_after=after,
        )

    def _unwritable(self) -> list[Finding]:
        if not self.is_read_only:
            return []
        words = "the server has lost its quorum and allows only reads; its data may be outdated"
        return [warning("zookeeper-read-only", f"ZooKeeper {self.connect}", words, "Bring its quorum back first.")]

    def _error_of(self, error: CodeError, path: str, verb: str) -> RefusedError | UnreachableError | FailedError:
        if error.code == _NO_AUTH:
            return UnreachableError(
                f"{path} may not be {verb} by whom kafkactl is to ZooKeeper", id="zookeeper-no-permission"
            )
        known = _REFUSALS.get(error.code)
        if known is None:
            return FailedError(f"{path}: ZooKeeper answers {error.name}", id="zookeeper-request-failed")
        return RefusedError(
            f"{path} {known[1]}",
            id=known[0],
            next_step="Repeat the command before anything is changed: another client changed the znode.",
        )

    def _word(self, server: Address, word: bytes) -> str:
        """Return the answer to a four-letter word; empty if there is none."""
        timeout_s = min(2.0, self._timeout_ms / 1000)
        try:
            plain = socket.create_connection((server.host, server.port), timeout=timeout_s)
            with plain if self._link.tls is None else self._link.tls.wrap(plain, server) as connection:
                connection.sendall(word)
                said = b""
                while len(said) < _WORD_BYTES and (part := connection.recv(4096)):
                    said += part
        except OSError:
            return ""
        return said.decode("utf-8", "replace")


def open_zookeeper(
    connect: str | Connect,
    *,
    settings: ZooKeeperSettings | None = None,
    timeout_ms: float = 30_000,
    session_ms: float = SESSION_MS,
    clock: Clock | None = None,
) -> ZooKeeper:
    """Open a session. `connect` as in server.properties. Raises InputError and UnreachableError.

    `timeout_ms` is for each call; a server that is there gives a session much sooner than it gives a large tree, so
    at most `session_ms` of it are for the session.
    """
    clock = clock or SystemClock()
    place = parse_connect(connect) if isinstance(connect, str) else connect
    link = Link(place, settings or ZooKeeperSettings(), Deadline.after(min(session_ms, timeout_ms), clock))
    return ZooKeeper(link, timeout_ms, clock)


_REFUSALS: Final = {
    _NO_NODE: ("znode-gone", "is not there any more"),
    _BAD_VERSION: ("znode-changed", "has another version than the one that was looked at"),
    _NOT_EMPTY: ("znode-has-children", "has children"),
}


def _check_version(version: int) -> None:
    if version < 0:
        raise ValueError("a negative version would mean any: nothing is written so")


def _unknown(path: str, error: UnreachableError) -> UnknownOutcomeError:
    return UnknownOutcomeError(
        f"whether {path} was changed is unknown: {error.message}", id="zookeeper-write-unknown", cause=error.cause
    )


def _read_again(found: dict[str, Znode], moving: set[str], reader: Reader) -> None:
    """Read the changed znodes and all below them again."""
    roots = {path for path in moving if not any(above in moving for above in _above(path))}
    for path in [znode for znode in found if znode in roots or any(above in roots for above in _above(znode))]:
        del found[path]
    found.update(reader.walk(sorted(roots)))


def _above(path: str) -> Iterator[str]:
    """Yield the paths of the znodes that a znode is below, its parent first."""
    while path := path.rpartition("/")[0]:
        yield path


def _add_acls(found: dict[str, Znode], reader: Reader) -> None:
    import dataclasses

    wanted = [path for path in found if has_acl(path)]
    for path, acl in reader.acls(wanted):
        found[path] = dataclasses.replace(found[path], acl=acl)


def _moved(moving: AnySet[str]) -> list[Finding]:
    if not moving:
        return []
    paths = sorted(moving)
    return [
        warning(
            "tree-changed-while-read",
            paths[0],
            f"{len(paths)} znodes changed each time they were read; the tree is not as it was at one moment",
            paths=paths[:_PATHS_NAMED],
            count=len(paths),
        )
    ]


def _member(server: Address, said: str) -> Member:
    words = dict(line.split(":", 1) for line in said.splitlines() if ":" in line)
    version = words.get("Zookeeper version", "").strip().partition("-")[0].partition(",")[0]
    return Member(address=server, mode=words.get("Mode", "").strip() or None, version=version or None)


__all__ = ["Member", "ZooKeeper", "ZooKeeperSettings", "open_zookeeper", "zookeeper_settings"]
